import FoundationEssentials
import Wire

/// A contact's properties, kept as the JSON text they are stored in and read only where a template names one.
public struct Properties: Sendable, Equatable {
  private let json: String

  /// - Parameter json: a JSON object, as PostgreSQL gives `contact.properties`. Anything else holds no properties.
  public init(json: String = "{}") { self.json = json }

  /// These properties, and those of `others` that these do not name.
  public func merged(over others: Properties) -> Properties {
    guard case .object(let own) = try? JSONValue(json: Array(json.utf8)),
      case .object(let all) = try? JSONValue(json: Array(others.json.utf8))
    else { return self }
    return Properties(json: String(decoding: JSONValue.object(all.merging(own) { $1 }).json, as: UTF8.self))
  }

  /// Bytes of the text.
  var size: Int { json.utf8.count }

  /// All properties as an object; `nil` if the text is no JSON object.
  var decoded: PropertyValue? {
    var json = json
    let value = json.withUTF8 { bytes in
      try? JSONReader.glance(bytes) { reader throws(JSONProblem) in try PropertyValue(&reader) }
    }
    guard case .object = value else { return nil }
    return value
  }

  /// The property at the end of a path: its name, and then names within it if it is an object. Members before it are skipped,
  /// which takes a fraction of the time that decoding them does.
  func value(at path: ArraySlice<String>) -> PropertyValue? {
    guard !path.isEmpty else { return nil }
    var json = json
    return json.withUTF8 { bytes in
      try? JSONReader.glance(bytes) { reader throws(JSONProblem) in
        for name in path {
          guard try reader.find(name) else { return nil }
        }
        return try PropertyValue(&reader)
      }
    }
  }
}

/// A contact's property, or a further field of a message.
enum PropertyValue: Sendable, Equatable {
  case null
  case text(String)
  /// A number as it was written, so that a price keeps its last zero.
  case number(String)
  case bool(Bool)
  case list([PropertyValue])
  case object([UTF8String: PropertyValue])

  init(_ value: JSONValue) {
    self =
      switch value {
      case .null: .null
      case .bool(let value): .bool(value)
      case .number(let value): .number(value.text)
      case .string(let value): .text(value)
      case .array(let values): .list(values.map(PropertyValue.init))
      case .object(let members): .object(members.mapValues(PropertyValue.init))
      }
  }

  init(_ reader: inout JSONReader) throws(JSONProblem) {
    switch try reader.kind() {
    case .null:
      _ = try reader.null()
      self = .null
    case .boolean: self = .bool(try reader.boolean())
    case .number: self = .number(try reader.number())
    case .string: self = .text(try reader.string())
    case .array:
      var values: [PropertyValue] = []
      try reader.array { reader, _ throws(JSONProblem) in values.append(try PropertyValue(&reader)) }
      self = .list(values)
    case .object:
      var members: [UTF8String: PropertyValue] = [:]
      try reader.object { reader, key throws(JSONProblem) in members[key.name] = try PropertyValue(&reader) }
      self = .object(members)
    }
  }

  /// The value at the end of a path into this value.
  func value(at path: ArraySlice<String>) -> PropertyValue? {
    guard let name = path.first else { return self }
    guard case .object(let members) = self else { return nil }
    return members[name]?.value(at: path.dropFirst())
  }
}
