import Testing
import Wire

@Suite struct JSONNumberTests {
  @Test(arguments: [
    "0", "-0", "19.90", "100.00", "12345678901234567890", "1e400", "-1.5E-7", "1E+2",
    "0.\(String(repeating: "1", count: 98))",
  ])
  func `A number keeps its text, read and written`(text: String) throws {
    #expect(JSONNumber(text)?.text == text)
    let value = try JSONValue(json: Array("[\(text)]".utf8))
    #expect(String(decoding: value.json, as: UTF8.self) == "[\(text)]")
    let decoded = try JSONCoding.decode([String: JSONValue].self, from: #"{"a":\#(text)}"#.utf8)
    #expect(String(decoding: try JSONCoding.encode(decoded), as: UTF8.self) == #"{"a":\#(text)}"#)
  }

  @Test(arguments: [
    "", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1 2", "NaN", "Infinity", "٣",
    String(repeating: "1", count: 101),
  ])
  func `What JSON does not write is no number`(text: String) {
    #expect(JSONNumber(text) == nil)
    #expect(throws: JSONProblem.self) { try JSONValue(json: Array(text.utf8)) }
  }

  @Test(arguments: [
    ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.00E+0"], ["0", "-0", "0.0", "0e99", "-0.00e-5"],
    ["-100", "-1e2", "-1.0E+2"],
    ["12345678901234567890", "1234567890123456789e1", "12345678901234567890.000"], ["1e400", "10e399", "0.1e401"],
  ])
  func `Numbers are equal by their values, whatever their size`(texts: [String]) {
    let numbers = texts.compactMap { JSONNumber($0) }
    #expect(numbers.count == texts.count)
    #expect(Set(numbers).count == 1)
  }

  @Test(arguments: [
    ("12345678901234567890", "12345678901234567891"), ("0.1", "0.10000000000000000001"), ("1e400", "1e401"),
    ("1", "-1"),
    ("9007199254740993", "9007199254740992"),
  ])
  func `Numbers that differ in any digit are not equal`(one: String, other: String) throws {
    #expect(try #require(JSONNumber(one)) != #require(JSONNumber(other)))
  }
}
