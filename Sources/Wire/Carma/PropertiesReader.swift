extension JSONReader {
  /// Most keys of one `properties`.
  static let maximumProperties = 100
  /// Longest name of a property, in characters.
  static let maximumPropertyName = 100
  /// Longest value of a property, in bytes of UTF-8.
  static let maximumPropertyValue = 4096

  /// A flat object of strings, numbers, booleans and nulls, as JSON that holds nothing else; `nil` for `null`.
  ///
  /// Numbers keep the digits they were sent with. Nested objects and arrays are refused: templates could not show them, and
  /// "merged key by key" would mean two things.
  mutating func properties() throws(JSONProblem) -> String? {
    if try null() { return nil }
    guard try kind() == .object else { throw JSONProblem("must be an object") }
    var writer = JSONWriter()
    var count = 0
    writer.open("{")
    try object { reader, key throws(JSONProblem) in
      count += 1
      let name = key.description
      guard count <= Self.maximumProperties else { throw JSONProblem("is one more than \(Self.maximumProperties)") }
      guard !name.isEmpty, name.unicodeScalars.count <= Self.maximumPropertyName, !name.utf8.contains(0) else {
        throw JSONProblem("must have a name of 1 to \(Self.maximumPropertyName) characters without U+0000")
      }
      writer.name(name)
      try reader.property(into: &writer)
    }
    writer.close("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private mutating func property(into writer: inout JSONWriter) throws(JSONProblem) {
    switch try kind() {
    case .string:
      let text = try string()
      guard text.utf8.count <= Self.maximumPropertyValue else {
        throw JSONProblem("must not be longer than \(Self.maximumPropertyValue) bytes")
      }
      writer.value(text)
    case .number:
      let text = try number()
      guard text.utf8.count <= 64, Self.exponent(text) <= 300 else { throw JSONProblem("must be a smaller number") }
      writer.raw(text)
    case .boolean: writer.raw(try boolean() ? "true" : "false")
    case .null:
      _ = try null()
      writer.raw("null")
    case .object, .array: throw JSONProblem("must be a string, a number, true, false or null")
    }
  }

  /// PostgreSQL writes a number out in full, so an exponent must not be able to make it long.
  private static func exponent(_ number: String) -> UInt {
    guard let mark = number.firstIndex(where: { $0 == "e" || $0 == "E" }) else { return 0 }
    return Int(number[number.index(after: mark)...])?.magnitude ?? .max
  }
}
