/// Any member name of a JSON object.
private struct AnyKey: CodingKey {
  let stringValue: String
  let intValue: Int? = nil
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// The container of a body whose fields are all known; any other field is an error, so that a typo is told and not
  /// taken for silence. Carma's bodies are read without this: there unknown fields are ignored.
  public func container<Key: CodingKey & CaseIterable>(onlyKnown keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let known = keys.allCases.map(\.stringValue)
    for key in try container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath + [AnyKey(stringValue: String(key.stringValue.prefix(60)))],
          debugDescription: "is not a field here; known are \(known.joined(separator: ", "))"))
    }
    return try container(keyedBy: keys)
  }
}
