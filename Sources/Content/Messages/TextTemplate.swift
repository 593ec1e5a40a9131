import Wire

/// One of a message's texts, compiled for a hundred thousand recipients.
struct TextTemplate: Sendable {
  /// Most bytes of UTF-8 in a text.
  private static let sizeLimit = 16 << 10

  /// The text as a recipient reads it.
  let template: CompiledTemplate
  /// The template's pieces as parts of a JSON string.
  private let nodesInJSON: [TemplateNode]
  /// The whole JSON string if the text has no tag.
  private let constantJSON: [UInt8]?

  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ text: String, field: String, isVerbatim: Bool) throws(ContentError) {
    template = try CompiledTemplate(text, field: field, sizeLimit: Self.sizeLimit, isVerbatim: isVerbatim)
    nodesInJSON = template.nodes.map(\.inJSON)
    constantJSON = template.isConstant ? JSONText.quoted(text) : nil
  }

  /// What `init` refuses in a text without templates.
  static func checkVerbatim(_ text: String, field: () -> String) throws(ContentError) {
    try CompiledTemplate.check(text, sizeLimit: sizeLimit, field: field)
  }

  func render(_ context: PageContext, within budget: inout RenderBudget) -> String {
    var bytes: [UInt8] = []
    template.append(context, .text, within: &budget, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The text for one recipient as a JSON string, quotation marks included.
  func json(_ context: PageContext, within budget: inout RenderBudget) -> [UInt8] {
    if let constantJSON { return constantJSON }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(template.size + 64)
    appendJSON(context, within: &budget, to: &bytes)
    return bytes
  }

  /// Appends what `json` gives.
  func appendJSON(_ context: PageContext, within budget: inout RenderBudget, to bytes: inout [UInt8]) {
    if let constantJSON { return bytes.append(contentsOf: constantJSON) }
    bytes.append(UInt8(ascii: "\""))
    TemplateRenderer.append(
      nodesInJSON, context, .json, templateSize: template.size, within: &budget, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }
}

/// The number on an app's icon.
enum BadgeTemplate: Sendable {
  case constant([UInt8])
  case text(TextTemplate)

  private static let range = 0...Int(Int32.max)

  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ badge: Badge, field: String, isVerbatim: Bool) throws(ContentError) {
    switch badge {
    case .number(let number):
      guard Self.range.contains(number) else {
        throw .invalid(field: field, problem: "is not between 0 and \(Int32.max)")
      }
      self = .constant(Array(String(number).utf8))
    case .template(let source):
      let text = try TextTemplate(source, field: field, isVerbatim: isVerbatim)
      guard text.template.isConstant else {
        self = .text(text)
        return
      }
      guard let number = Self.number(source) else { throw .invalid(field: field, problem: "is not a whole number") }
      self = .constant(Array(String(number).utf8))
    }
  }

  /// The digits for one recipient; `nil` when the template gives no number for them, so that the icon stays as it is.
  func digits(_ context: PageContext, within budget: inout RenderBudget) -> [UInt8]? {
    switch self {
    case .constant(let digits): digits
    case .text(let text): Self.number(text.render(context, within: &budget)).map { Array(String($0).utf8) }
    }
  }

  private static func number(_ text: String) -> Int? {
    Int(text.trimmed).flatMap { range.contains($0) ? $0 : nil }
  }
}
