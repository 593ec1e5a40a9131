import Wire

/// A further field of a message: JSON of any form, with a template wherever it holds a text.
indirect enum FieldTemplate: Sendable {
  /// JSON that is the same for all.
  case constant([UInt8])
  case text(TextTemplate)
  case list([FieldTemplate])
  case object([(key: [UInt8], value: FieldTemplate)])

  /// Lists and objects within each other.
  private static let depthLimit = 8

  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ value: JSONValue, field: String, depth: Int = FieldTemplate.depthLimit) throws(ContentError) {
    guard depth > 0 else { throw .invalid(field: field, problem: "is nested more than \(Self.depthLimit) deep") }
    switch value {
    case .null: self = .constant(Array("null".utf8))
    case .bool(let value): self = .constant(Array((value ? "true" : "false").utf8))
    case .integer(let value): self = .constant(Array(String(value).utf8))
    case .number(let value):
      guard value.isFinite else { throw .invalid(field: field, problem: "is not a number") }
      self = .constant(Array(String(value).utf8))
    case .string(let text): self = .text(try TextTemplate(text, field: field))
    case .array(let values):
      var list: [FieldTemplate] = []
      for (index, value) in values.enumerated() {
        list.append(try FieldTemplate(value, field: "\(field)[\(index)]", depth: depth - 1))
      }
      self = .list(list)
    case .object(let members):
      var object: [(key: [UInt8], value: FieldTemplate)] = []
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        guard !name.utf8.contains(0) else { throw .invalid(field: field, problem: "holds U+0000") }
        object.append((JSONText.quoted(name), try FieldTemplate(value, field: "\(field).\(name)", depth: depth - 1)))
      }
      self = .object(object)
    }
  }

  var texts: [TextTemplate] {
    switch self {
    case .constant: []
    case .text(let text): [text]
    case .list(let values): values.flatMap(\.texts)
    case .object(let members): members.flatMap(\.value.texts)
    }
  }

  func append(_ context: PageContext, to bytes: inout [UInt8]) {
    switch self {
    case .constant(let json): bytes.append(contentsOf: json)
    case .text(let text): bytes.append(contentsOf: text.json(context))
    case .list(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.append(context, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: member.key)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(context, to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}
