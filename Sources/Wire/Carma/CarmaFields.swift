/// What Carma's bodies leave open about their values (protocol notes, section 12). Numbers come as strings and strings
/// as numbers; absent and `null` mean the same.
extension JSONReader {
  /// A text; a number is taken as it is written.
  mutating func text() throws(JSONProblem) -> String? {
    switch try kind() {
    case .string: return try string()
    case .number: return try number()
    case .null:
      _ = try null()
      return nil
    case .boolean, .object, .array: throw JSONProblem("must be a string")
    }
  }

  /// A token: a text, or the JSON of an object as it is written.
  mutating func deviceToken() throws(JSONProblem) -> String? {
    try kind() == .object ? try raw() : try text()
  }

  /// A whole number, as a number or a string; `nil` when empty.
  mutating func integer<Integer: FixedWidthInteger>(
    _: Integer.Type = Integer.self, _ expected: String
  ) throws(JSONProblem) -> Integer? {
    let text: String?
    switch try kind() {
    case .number, .string, .null: text = try self.text()
    default: throw JSONProblem("must be \(expected)")
    }
    guard let text, !text.isEmpty else { return nil }
    guard let value = Integer(text) else { throw JSONProblem("must be \(expected)") }
    return value
  }

  mutating func appType() throws(JSONProblem) -> AppType? {
    guard let number = try integer(Int16.self, AppType.choiceOfApps) else { return nil }
    guard let type = AppType(rawValue: number), type != .sms else {
      throw JSONProblem("must be \(AppType.choiceOfApps)")
    }
    return type
  }

  /// `true`, `"true"` in any case or `1`, and their opposites; `nil` when empty.
  mutating func flag() throws(JSONProblem) -> Bool? {
    let expected = "true or false"
    let text: String?
    switch try kind() {
    case .boolean: return try boolean()
    case .string, .number, .null: text = try self.text()
    case .object, .array: throw JSONProblem("must be \(expected)")
    }
    switch text?.lowercasedASCII {
    case nil, "": return nil
    case "true", "1": return true
    case "false", "0": return false
    default: throw JSONProblem("must be \(expected)")
    }
  }

  mutating func invalidationType() throws(JSONProblem) -> InvalidationType? {
    let expected = "a whole number from 0 to \(Int16.max)"
    guard let number = try integer(Int16.self, expected) else { return nil }
    guard number >= 0 else { throw JSONProblem("must be \(expected)") }
    return InvalidationType(rawValue: number)
  }

  /// A list's number; "" clears.
  mutating func listID() throws(JSONProblem) -> Change<Int64> {
    let expected = "a list's number"
    if try null() { return .keep }
    guard let number = try integer(Int64.self, expected) else { return .clear }
    guard number > 0 else { throw JSONProblem("must be \(expected)") }
    return .set(number)
  }

  /// A date; "" clears.
  mutating func date() throws(JSONProblem) -> Change<CarmaDate> {
    let text: String?
    switch try kind() {
    case .number, .string, .null: text = try self.text()
    default: text = "?"
    }
    guard let text else { return .keep }
    guard !text.isEmpty else { return .clear }
    guard let date = CarmaDate(text) else {
      throw JSONProblem("must be a date: milliseconds since 1970, or as in 1980-02-29 or 2016-02-09T11:00:00+0100")
    }
    return .set(date)
  }

  /// A flat object of strings, numbers, booleans and nulls, as compact JSON with its names in the order of their bytes; `nil` for
  /// `null`. Of a name given twice the last value counts.
  ///
  /// Nested objects and arrays are refused: templates could not show them, and merging them key by key would be ambiguous.
  /// - Parameter isKept: whether to keep the property of that name.
  mutating func properties(where isKept: (UTF8String) -> Bool = { _ in true }) throws(JSONProblem) -> String? {
    if try null() { return nil }
    guard try kind() == .object else { throw JSONProblem("must be an object") }
    var properties: [UTF8String: JSONValue] = [:]
    var count = 0
    try object { reader, key throws(JSONProblem) in
      count += 1
      let name = key.name
      guard count <= PropertyLimits.count else { throw JSONProblem("is one more than \(PropertyLimits.count)") }
      guard !name.text.isEmpty, name.text.unicodeScalars.count <= PropertyLimits.name, !name.text.utf8.contains(0),
        CombiningMarks.areFew(in: name.text)
      else {
        throw JSONProblem("must have a name of 1 to \(PropertyLimits.name) characters without U+0000")
      }
      guard isKept(name) else { return try reader.skip() }
      properties[name] = try reader.property()
    }
    return String(decoding: JSONValue.object(properties).json, as: UTF8.self)
  }

  private mutating func property() throws(JSONProblem) -> JSONValue {
    switch try kind() {
    case .object, .array: throw JSONProblem("must be a string, a number, true, false or null")
    case .string, .number, .boolean, .null: break
    }
    let value = try value()
    guard value.text.map({ $0.utf8.count <= PropertyLimits.value }) ?? true else {
      throw JSONProblem("must not be longer than \(PropertyLimits.value) bytes")
    }
    return value
  }
}

/// Limits of the `properties` in one request.
enum PropertyLimits {
  /// Most properties.
  static let count = 100
  /// Longest name, in characters.
  static let name = 100
  /// Longest value, in bytes of UTF-8.
  static let value = 4096
}

extension PushDevicesBody {
  /// Drops every property but these.
  /// - Throws: `JSONProblem` when `properties` is not a flat object.
  public mutating func keepProperties(_ names: Set<UTF8String>) throws {
    guard let text = properties else { return }
    let kept = try Array(text.utf8).withUnsafeBytes { bytes in
      try JSONReader.read(bytes) { reader throws(JSONProblem) in
        try reader.properties { names.contains($0) }
      }
    }
    properties = kept == "{}" ? nil : kept
  }
}

/// What a property may be called, for those that do not come as JSON.
public enum PropertyRule {
  /// Most properties of one request, or of one row.
  public static let count = PropertyLimits.count
  /// Longest value, in bytes of UTF-8.
  public static let value = PropertyLimits.value

  /// Whether a property may have that name.
  public static func allows(name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= PropertyLimits.name && !name.utf8.contains(0)
      && CombiningMarks.areFew(in: name)
  }
}
