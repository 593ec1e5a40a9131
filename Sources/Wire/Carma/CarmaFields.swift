/// What Carma's bodies leave open about their values (protocol notes, section 12): numbers come as strings and strings as
/// numbers, absent and `null` say the same.
extension JSONReader {
  /// A text; a number or a boolean is taken as it is written.
  public mutating func text() throws(JSONProblem) -> String? {
    switch try kind() {
    case .string: return try string()
    case .number: return try number()
    case .boolean: return try boolean() ? "true" : "false"
    case .null:
      _ = try null()
      return nil
    case .object, .array: throw JSONProblem("must be a string")
    }
  }

  /// A whole number, as a number or a string; absent when empty.
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
    let expected = "1 (iOS), 2 (Android), 3 (Windows) or 6 (Firebase)"
    guard let number = try integer(Int16.self, expected) else { return nil }
    guard let type = AppType(rawValue: number) else { throw JSONProblem("must be \(expected)") }
    return type
  }

  /// `true`, `"true"` in any case, `1`, and what is their contrary; absent when empty.
  mutating func flag() throws(JSONProblem) -> Bool? {
    let expected = "true or false"
    switch try kind() {
    case .boolean, .string, .number, .null: break
    case .object, .array: throw JSONProblem("must be \(expected)")
    }
    switch try text()?.lowercased() {
    case nil, "": return nil
    case "true", "1": return true
    case "false", "0": return false
    default: throw JSONProblem("must be \(expected)")
    }
  }

  /// A number that names something; "" clears.
  mutating func reference(_ expected: String) throws(JSONProblem) -> Change<Int64> {
    if try null() { return .keep }
    guard let number = try integer(Int64.self, expected) else { return .clear }
    guard number > 0 else { throw JSONProblem("must be \(expected)") }
    return .set(number)
  }

  /// A date; "" clears.
  mutating func date() throws(JSONProblem) -> Change<CarmaDate> {
    let text: String?
    let kind = try kind()
    switch kind {
    case .number, .string, .null: text = try self.text()
    default: text = "?"
    }
    guard let text else { return .keep }
    guard !text.isEmpty else { return .clear }
    guard let date = CarmaDate(text) else {
      throw JSONProblem("must be a date: milliseconds since 1970, or as in 1980-02-29")
    }
    return .set(date)
  }
}
