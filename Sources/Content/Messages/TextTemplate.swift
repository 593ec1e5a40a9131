import Mustache

/// One of a message's texts, made ready for a hundred thousand recipients.
///
/// Most texts are constant or hold plain variables only. Those are written straight into the payload; whatever else Mustache has
/// is left to its renderer, with the same outcome.
struct TextTemplate: Sendable {
  private enum Form {
    case constant
    case pieces([Piece])
    case mustache(MustacheTemplate)
  }

  private enum Piece {
    case text(String)
    case variable(Variable)
  }

  let source: String
  /// Whether its outcome depends on the recipient.
  let isPersonal: Bool
  let namesProperties: Bool
  private let form: Form
  /// A constant text as JSON.
  private let quoted: [UInt8]

  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ text: String, field: String) throws(ContentError) {
    guard !text.utf8.contains(0) else { throw .invalid(field: field, problem: "holds U+0000") }
    guard text.utf8.count <= 16_384 else { throw .invalid(field: field, problem: "is longer than 16 KiB") }
    let tags = try TagScanner.tags(of: text, field: field)
    source = text
    quoted = tags.isEmpty ? JSONText.quoted(text) : []
    isPersonal = tags.contains { tag in
      tag.kind != .comment && tag.path.map { Variable(path: $0).isPersonal } ?? true
    }
    namesProperties = tags.contains(where: \.mayNameProperty)
    if tags.isEmpty {
      form = .constant
    } else if let pieces = Self.pieces(text, tags) {
      form = .pieces(pieces)
    } else {
      form = .mustache(try MustacheTemplate(text, .text, field: field))
    }
  }

  var isConstant: Bool { if case .constant = form { true } else { false } }

  func render(_ context: PageContext) -> String {
    switch form {
    case .constant: source
    case .pieces(let pieces):
      pieces.reduce(into: "") { text, piece in
        switch piece {
        case .text(let constant): text += constant
        case .variable(let variable): text += context.text(variable) ?? ""
        }
      }
    case .mustache(let template):
      template.render(PageScope(context: context, budget: RenderBudget(templateSize: source.utf8.count)))
    }
  }

  /// The text for one recipient as a JSON string.
  func appendJSON(_ context: PageContext, to bytes: inout [UInt8]) {
    switch form {
    case .constant: bytes.append(contentsOf: quoted)
    case .pieces(let pieces):
      bytes.append(UInt8(ascii: "\""))
      for piece in pieces {
        switch piece {
        case .text(let text): JSONText.append(text, to: &bytes)
        case .variable(let variable): if let text = context.text(variable) { JSONText.append(text, to: &bytes) }
        }
      }
      bytes.append(UInt8(ascii: "\""))
    case .mustache: JSONText.appendQuoted(render(context), to: &bytes)
    }
  }

  /// The text in pieces, if it has plain variables only.
  private static func pieces(_ text: String, _ tags: [TemplateTag]) -> [Piece]? {
    let bytes = Array(text.utf8)
    var pieces: [Piece] = []
    var end = 0
    for tag in tags {
      guard tag.kind == .variable || tag.kind == .unescaped, let path = tag.path else { return nil }
      if tag.range.lowerBound > end {
        pieces.append(.text(String(decoding: bytes[end..<tag.range.lowerBound], as: UTF8.self)))
      }
      pieces.append(.variable(Variable(path: path)))
      end = tag.range.upperBound
    }
    if end < bytes.count { pieces.append(.text(String(decoding: bytes[end...], as: UTF8.self))) }
    return pieces
  }
}
