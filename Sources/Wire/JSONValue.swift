/// Any JSON: for fields whose form is the caller's own business.
///
/// Two values are equal if their texts have the same bytes, and their numbers the same values.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  case object([UTF8String: JSONValue])

  /// A whole number.
  public static func integer(_ number: some BinaryInteger) -> JSONValue { .number(JSONNumber(number)) }
}

extension JSONValue: Hashable {
  public static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)): one == other
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let flag): hasher.combine(flag)
    case .number(let number): hasher.combine(number)
    case .string(let text): hasher.combine(UTF8String(text))
    case .array(let values): hasher.combine(values)
    case .object(let members): hasher.combine(members)
    }
  }
}

extension JSONValue: Codable {
  /// - Throws: `DecodingError` for a decoder that is not `JSONCoding`'s: others lose digits of numbers.
  public init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? ValueDecoder else {
      throw DecodingError.typeMismatch(
        JSONValue.self, .init(codingPath: decoder.codingPath, debugDescription: "is read by JSONCoding alone"))
    }
    self = decoder.value
  }

  /// - Throws: `EncodingError` for an encoder that is not `JSONCoding`'s, which takes values as they are.
  public func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      self, .init(codingPath: encoder.codingPath, debugDescription: "is written by JSONCoding alone"))
  }
}

/// In `flag ? value : nil` the literal is JSON's null, which an optional then holds: Swift takes the type of both from the value. An `if` says
/// what is meant.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (UTF8String, JSONValue)...) {
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
  /// Reads JSON.
  public init(json: [UInt8], rules: JSONReader.Rules = .usual) throws(JSONProblem) {
    // An array's pointer is good for the length of the call, and typed errors do not pass through `withUnsafeBytes`.
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(JSONProblem) in
        try JSONReader.read(bytes, rules: rules) { reader throws(JSONProblem) in try reader.value() }
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
    case .number(let number): bytes += number.text.utf8
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
        JSONText.appendQuoted(name.text, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// The value as JSON for people: a member or item on each line.
  public var indented: String {
    func lines(_ value: JSONValue, _ indent: String) -> String {
      let inner = indent + "  "
      switch value {
      case .array(let values) where !values.isEmpty:
        return "[\n" + values.map { inner + lines($0, inner) }.joined(separator: ",\n") + "\n\(indent)]"
      case .object(let members) where !members.isEmpty:
        let sorted = members.sorted { $0.key < $1.key }
        let texts = sorted.map { name, value in
          inner + String(decoding: JSONText.quoted(name.text), as: UTF8.self) + " : " + lines(value, inner)
        }
        return "{\n" + texts.joined(separator: ",\n") + "\n\(indent)}"
      default: return String(decoding: value.json, as: UTF8.self)
      }
    }
    return lines(self, "")
  }

  /// This value with a JSON merge patch (RFC 7396): null removes a member, objects are merged, and anything else replaces.
  public func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var members: [UTF8String: JSONValue] = [:]
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

  /// This value with what another says in its place: members replace those of the same name, null too, and objects are merged.
  func overlaid(with change: JSONValue) -> JSONValue {
    guard case .object(let changes) = change, case .object(var members) = self else { return change }
    for (name, value) in changes { members[name] = members[name]?.overlaid(with: value) ?? value }
    return .object(members)
  }

  /// The number, if this is a whole one that fits.
  public var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }

  /// The text, if this is one.
  public var text: String? { if case .string(let text) = self { text } else { nil } }
}

extension JSONReader {
  /// Reads an item of a list whose others are read all the same.
  /// - Returns: what is wrong with the item alone.
  /// - Throws: what makes the document unreadable.
  public mutating func item() throws(JSONProblem) -> Result<JSONValue, JSONProblem> {
    var attempt = self
    do throws(JSONProblem) {
      let value = try attempt.value()
      self = attempt
      return .success(value)
    } catch {
      if error.isOfBody { throw error }
      try skip()
      return .failure(error)
    }
  }

  /// Reads whatever comes next. Of members of the same name, the last one counts.
  public mutating func value() throws(JSONProblem) -> JSONValue {
    switch try kind() {
    case .null:
      _ = try null()
      return .null
    case .boolean: return .bool(try boolean())
    case .string: return .string(try string())
    case .number: return .number(JSONNumber(checked: try number()))
    case .array:
      var values: [JSONValue] = []
      try array { reader, _ throws(JSONProblem) in values.append(try reader.value()) }
      return .array(values)
    case .object:
      var members: [UTF8String: JSONValue] = [:]
      try object { reader, key throws(JSONProblem) in
        let name = key.name
        guard reader.rules.allowsNUL || !name.text.utf8.contains(0) else {
          throw .ofBody("has a name that holds U+0000")
        }
        members[name] = try reader.value()
      }
      return .object(members)
    }
  }
}
