/// Reads and writes `Codable` types by way of `JSONValue`, so that numbers keep their digits and texts their bytes.
///
/// Foundation's coders read a number as one of a fixed size, and compare names by their normal form.
public enum JSONCoding {
  /// - Throws: `JSONProblem` if the bytes are no JSON; `DecodingError` if it is not that type's.
  public static func decode<Value: Decodable>(
    _: Value.Type = Value.self, from json: some Sequence<UInt8>, rules: JSONReader.Rules = .usual
  ) throws -> Value {
    try Value(from: try JSONValue(json: Array(json), rules: rules))
  }

  /// The JSON of a value, with members in the order of their names.
  /// - Throws: `EncodingError` for a number that JSON cannot write.
  public static func encode(_ value: some Encodable) throws -> [UInt8] { try JSONValue(encoding: value).json }
}

extension Decodable {
  /// - Throws: `DecodingError`.
  public init(from json: JSONValue) throws { self = try ValueDecoder(json, []).decode(Self.self) }
}

struct ValueDecoder: Decoder {
  let value: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: JSONValue, _ codingPath: [any CodingKey]) {
    self.value = value
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch([UTF8String: JSONValue].self) }
    return KeyedDecodingContainer(Members(members: members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else { throw mismatch([JSONValue].self) }
    return Items(values: values, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  fileprivate func mismatch(_ type: any Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "is of another type"))
  }
}

extension ValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let flag) = value else { throw mismatch(type) }
    return flag
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let text) = value else { throw mismatch(type) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard case .number(let number) = value else { throw mismatch(type) }
    return number.double
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }

  /// A number with a fraction of zeros is a whole one, too.
  private func whole<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard case .number(let number) = value, let whole = Number(number.text) ?? Number(exactly: number.double) else {
      throw mismatch(type)
    }
    return whole
  }

  func decode(_ type: Int.Type) throws -> Int { try whole(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let json = value as? Value { json } else { try Value(from: self) }
  }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [UTF8String: JSONValue]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0.text) } }
  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try at(key).decodeNil() }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try at(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
    -> KeyedDecodingContainer<Nested>
  {
    try at(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try at(key).unkeyedContainer() }
  func superDecoder() throws -> any Decoder { try at(NamedKey("super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try at(key) }

  private func at(_ key: some CodingKey) throws -> ValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "is missing"))
    }
    return ValueDecoder(value, codingPath + [key])
  }
}

private struct Items: UnkeyedDecodingContainer {
  let values: [JSONValue]
  let codingPath: [any CodingKey]
  var currentIndex = 0

  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex == values.count }

  private mutating func next<Value>(_ body: (ValueDecoder) throws -> Value) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Value.self, .init(codingPath: codingPath, debugDescription: "has too few items"))
    }
    let value = try body(ValueDecoder(values[currentIndex], codingPath + [NamedKey("\(currentIndex)")]))
    currentIndex += 1
    return value
  }

  /// Passes over a null, and over nothing else.
  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, values[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.decode(type) } }
  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try next { try $0.container(keyedBy: type) }
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }
  mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}
