import Wire

/// A value that a template can name beside plain texts: a contact's property, or a further field of a message.
enum PropertyValue: Sendable, Equatable {
  case null
  case text(String)
  /// A number as it was written, so that a price keeps its last zero.
  case number(String)
  case bool(Bool)
  case list([PropertyValue])
  case object([String: PropertyValue])

  init(_ value: JSONValue) {
    self =
      switch value {
      case .null: .null
      case .bool(let value): .bool(value)
      case .integer(let value): .number(String(value))
      case .number(let value): .number(String(value))
      case .string(let value): .text(value)
      case .array(let values): .list(values.map(PropertyValue.init))
      case .object(let members): .object(members.mapValues(PropertyValue.init))
      }
  }

  /// The value as a template prints it: a list with commas, an object not at all.
  var printed: String {
    switch self {
    case .null, .object: ""
    case .text(let text): text
    case .number(let digits): digits
    case .bool(let value): value ? "true" : "false"
    case .list(let values): values.map(\.printed).joined(separator: ", ")
    }
  }

  /// What stands at the end of a path into this value.
  func value(at path: ArraySlice<String>) -> PropertyValue? {
    guard let name = path.first else { return self }
    guard case .object(let members) = self else { return nil }
    return members[name]?.value(at: path.dropFirst())
  }
}
