/// Any JSON: for fields whose form is the caller's own business.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number without a fraction that fits 64 bits.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])
}

extension JSONValue: Codable {
  public init(from decoder: any Decoder) throws {
    // A guess that fails costs as much as a value, so the frequent kinds come first.
    if let members = try? decoder.container(keyedBy: Name.self) {
      self = .object(
        try Dictionary(
          uniqueKeysWithValues: members.allKeys.map { ($0.stringValue, try members.decode(JSONValue.self, forKey: $0)) }
        ))
      return
    }
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else {
      self = .array(try container.decode([JSONValue].self))
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { _, last in last })
  }
}

extension JSONValue {
  /// The member of that name, if this is an object that has it.
  public subscript(_ name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }
}

extension JSONValue {
  /// Reads JSON; texts cannot hold U+0000.
  /// - Parameter deepest: how far arrays and objects may be nested.
  public init(json: [UInt8], deepest: Int = JSONReader.maximumDepth) throws(JSONProblem) {
    // An array's pointer is good for the length of the call, and typed errors do not pass through `withUnsafeBytes`.
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(JSONProblem) in
        try JSONReader.read(bytes, deepest: deepest) { reader throws(JSONProblem) in try reader.value() }
      }
    }
    self = try result.get()
  }

  /// The value as JSON, with members in the order of their names.
  public var json: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let flag): bytes += (flag ? "true" : "false").utf8
    case .integer(let number): bytes += String(number).utf8
    case .number(let number): bytes += String(number).utf8
    case .string(let text): JSONText.appendQuoted(text, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, (name, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONText.appendQuoted(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// The same with a JSON merge patch (RFC 7396): null removes a member, objects are merged, and anything else replaces.
  public func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var members: [String: JSONValue] = [:]
    if case .object(let own) = self { members = own }
    for (name, change) in changes {
      if change == .null {
        members.removeValue(forKey: name)
      } else {
        members[name] = (members[name] ?? .null).merging(change)
      }
    }
    return .object(members)
  }

  /// The text, if this is one.
  public var text: String? { if case .string(let text) = self { text } else { nil } }
}

extension JSONReader {
  /// Reads whatever comes next. Of members of the same name, the last one counts. Names that differ only in their Unicode normalization
  /// are refused: they are equal as texts and not as bytes.
  public mutating func value() throws(JSONProblem) -> JSONValue {
    switch try kind() {
    case .null:
      _ = try null()
      return .null
    case .boolean: return .bool(try boolean())
    case .string: return .string(try string())
    case .number:
      let number = try number()
      return Int64(number).map(JSONValue.integer) ?? .number(Double(number) ?? 0)
    case .array:
      var values: [JSONValue] = []
      try array { reader, _ throws(JSONProblem) in values.append(try reader.value()) }
      return .array(values)
    case .object:
      var members: [String: JSONValue] = [:]
      try object { reader, key throws(JSONProblem) in
        let (name, value) = (key.description, try reader.value())
        if let index = members.index(forKey: name), !members.keys[index].utf8.elementsEqual(name.utf8) {
          throw JSONProblem("is there twice, in different forms of Unicode: send names in NFC")
        }
        members[name] = value
      }
      return .object(members)
    }
  }
}
