extension JSONValue {
  /// What a value is in JSON. A member that is nil is left out.
  /// - Throws: `EncodingError` for a number that JSON cannot write.
  public init(encoding value: some Encodable) throws {
    let place = EncodedPlace()
    try ValueEncoder(place: place, codingPath: []).encode(value)
    self = place.value
  }
}

/// Where a value will stand; what holds it is complete only when all of it has been encoded.
private final class EncodedPlace {
  private var single: JSONValue = .null
  private var items: [EncodedPlace]?
  private var members: [UTF8String: EncodedPlace]?

  var value: JSONValue {
    if let members { return .object(members.mapValues(\.value)) }
    return items.map { .array($0.map(\.value)) } ?? single
  }

  func set(_ value: JSONValue) { single = value }
  func beObject() { members = members ?? [:] }
  func beArray() { items = items ?? [] }
  var count: Int { items?.count ?? 0 }

  func item() -> EncodedPlace {
    let place = EncodedPlace()
    items?.append(place)
    return place
  }

  func member(_ name: String) -> EncodedPlace {
    let place = EncodedPlace()
    members?[name] = place
    return place
  }
}

private struct ValueEncoder: Encoder, SingleValueEncodingContainer {
  let place: EncodedPlace
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
    place.beObject()
    return KeyedEncodingContainer(EncodedMembers(place: place, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    place.beArray()
    return EncodedItems(place: place, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { place.set(.null) }
  func encode(_ value: Bool) { place.set(.bool(value)) }
  func encode(_ value: String) { place.set(.string(value)) }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Double) throws {
    guard let number = Int64(exactly: value).map({ JSONNumber($0) }) ?? JSONNumber(value) else {
      throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "is no number of JSON"))
    }
    place.set(.number(number))
  }

  private func encode(whole value: some FixedWidthInteger) { place.set(.number(JSONNumber(value))) }
  func encode(_ value: Int) { encode(whole: value) }
  func encode(_ value: Int8) { encode(whole: value) }
  func encode(_ value: Int16) { encode(whole: value) }
  func encode(_ value: Int32) { encode(whole: value) }
  func encode(_ value: Int64) { encode(whole: value) }
  func encode(_ value: UInt) { encode(whole: value) }
  func encode(_ value: UInt8) { encode(whole: value) }
  func encode(_ value: UInt16) { encode(whole: value) }
  func encode(_ value: UInt32) { encode(whole: value) }
  func encode(_ value: UInt64) { encode(whole: value) }

  func encode<Value: Encodable>(_ value: Value) throws {
    if let json = value as? JSONValue { place.set(json) } else { try value.encode(to: self) }
  }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let place: EncodedPlace
  let codingPath: [any CodingKey]

  private func at(_ key: some CodingKey) -> ValueEncoder {
    ValueEncoder(place: place.member(key.stringValue), codingPath: codingPath + [key])
  }

  func encodeNil(forKey key: Key) { at(key).encodeNil() }
  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try at(key).encode(value) }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    at(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { at(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { at(NamedKey("super")) }
  func superEncoder(forKey key: Key) -> any Encoder { at(key) }
}

private struct EncodedItems: UnkeyedEncodingContainer {
  let place: EncodedPlace
  let codingPath: [any CodingKey]

  var count: Int { place.count }

  private func next() -> ValueEncoder {
    ValueEncoder(place: place.item(), codingPath: codingPath + [NamedKey("\(count)")])
  }

  func encodeNil() { next().encodeNil() }
  func encode<Value: Encodable>(_ value: Value) throws { try next().encode(value) }
  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    next().container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
  func superEncoder() -> any Encoder { next() }
}
