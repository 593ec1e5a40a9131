import Wire

/// A Mustache text, parsed once and rendered many times.
struct CompiledTemplate: Sendable {
  let nodes: [TemplateNode]
  /// Bytes of the text it was parsed from.
  let size: Int
  /// Whether the text has no tag, so that every recipient gets it as it is.
  let isConstant: Bool
  /// Whether the outcome may differ between recipients.
  let isPersonal: Bool
  /// What it may name of the contact and the device, as `PageContext.recipientFields` has it.
  let recipientFields: Set<String>
  /// Whether it names `url` or `pushreadurl`, so that they have to be signed.
  let namesLinks: Bool

  /// Parses a text.
  /// - Parameters:
  ///   - field: what the text's field is called in errors.
  ///   - isVerbatim: whether tags in it are text like any other.
  /// - Throws: `ContentError.invalid` for U+0000 and for texts longer than `sizeLimit` bytes, `.unparsable` with the line.
  init(_ text: String, field: String, sizeLimit: Int, isVerbatim: Bool = false) throws(ContentError) {
    size = text.utf8.count
    try Self.check(text, sizeLimit: sizeLimit) { field }
    guard !isVerbatim else {
      (nodes, isConstant, isPersonal, recipientFields, namesLinks) = ([.text(Array(text.utf8))], true, false, [], false)
      return
    }
    var parser = TemplateParser(text)
    do throws(TemplateProblem) {
      nodes = try parser.parse()
    } catch {
      throw .unparsable(field: field, line: error.line, reason: error.reason)
    }
    isConstant = parser.tagCount == 0
    isPersonal = parser.names.contains(where: \.isPersonal)
    recipientFields = Set(parser.names.flatMap(\.recipientFields))
    namesLinks = parser.names.contains { $0.variable.isLink }
  }

  /// What is refused of any text.
  static func check(_ text: String, sizeLimit: Int, field: () -> String) throws(ContentError) {
    guard text.utf8.count <= sizeLimit else {
      throw .invalid(field: field(), problem: "is longer than \(sizeLimit >> 10) KiB")
    }
    guard !text.utf8.contains(0) else { throw holdsNUL(field()) }
  }

  static func holdsNUL(_ field: String) -> ContentError { .invalid(field: field, problem: "holds U+0000") }

  /// Appends what the template gives for one recipient.
  func append(
    _ context: PageContext, _ escaping: Escaping, within budget: inout RenderBudget, to bytes: inout [UInt8]
  ) {
    TemplateRenderer.append(nodes, context, escaping, templateSize: size, within: &budget, to: &bytes)
  }
}

/// A piece of a compiled template.
indirect enum TemplateNode: Sendable {
  case text([UInt8])
  /// `escapes`: whether the value is escaped as the format needs it.
  case variable(TemplateName, escapes: Bool)
  case section(TemplateName, [TemplateNode])
  case inverted(TemplateName, [TemplateNode])

  /// The piece as part of a JSON string: its texts are escaped now, and every value when it is rendered.
  var inJSON: TemplateNode {
    switch self {
    case .text(let bytes):
      var escaped: [UInt8] = []
      JSONText.append(String(decoding: bytes, as: UTF8.self), to: &escaped)
      return .text(escaped)
    case .variable(let name, _): return .variable(name, escapes: true)
    case .section(let name, let nodes): return .section(name, nodes.map(\.inJSON))
    case .inverted(let name, let nodes): return .inverted(name, nodes.map(\.inJSON))
    }
  }
}

/// What a tag names, such as `device.model`, `.` or `uppercased(firstName)`.
struct TemplateName: Sendable {
  /// A function applied to a value, as swift-mustache knows them.
  enum Transform: String {
    case capitalized, count, empty, equalzero, even, first, index, last, lowercased, minusone, odd, plusone, reversed
    case uppercased
  }

  /// The names between the dots; empty for `.` and for a position such as `last()`.
  let path: [String]
  /// Whether only the innermost section is searched, as for `.name`.
  let isLocal: Bool
  /// The transforms in the order in which they are applied; `nil` for one that does not exist, whose outcome is empty.
  let transforms: [Transform?]
  /// Whether the transforms apply to the position in the list, as in `last()`.
  let isPosition: Bool
  /// What the path stands for outside of sections.
  let variable: Variable

  /// - Parameters:
  ///   - path: the names between the dots.
  ///   - isPosition: whether there is no name at all, but transforms alone.
  ///   - transforms: their names, the outermost first.
  init(_ path: [String], isLocal: Bool, isPosition: Bool, transforms: [String]) {
    self.path = path
    self.isLocal = isLocal
    self.isPosition = isPosition
    self.transforms = transforms.reversed().map { Transform(rawValue: $0) }
    variable = path.isEmpty ? .nothing : Variable(path: path)
  }

  /// Within `properties` every name may be a property.
  private var isProperties: Bool { path.first == "properties" }
  var isPersonal: Bool { isProperties || variable.isPersonal }
  /// What has to be known of the recipient to find the name. Around sections about the device only `device` itself is named.
  var recipientFields: [String] {
    if isProperties { return ["properties"] }
    if path.first == "device" { return ["device"] }
    return switch variable {
    case .contact(let field): [field.name]
    case .property: ["properties"]
    case .device, .app, .sendout, .sendoutField, .url, .pushreadurl, .unsubscribeUrl, .nothing: []
    }
  }
}
