import Testing
import Wire

@Suite struct DatasyncLeavesTests {
  @Test(arguments: [
    (#"{"a":1,"b":{"c":"x","d":[1,{"e":null}]}}"#, #"{"a":1,"b":{"c":"x","d":[1,{"e":null}]}}"#),
    (#"{"a":null,"b":{},"c":{"d":{}}}"#, "null"), ("[]", "[]"), (#""x""#, #""x""#), ("null", "null"),
    ("false", "false"),
    (#"{"a":{"b":null,"c":0}}"#, #"{"a":{"c":0}}"#),
  ])
  func `A value is what its leaves make`(json: String, expected: String) throws {
    for path in ["/", "/users", "/users/\u{301}alice"] {
      let path = try DatasyncPath(text: path)
      let leaves = try DatasyncLeaves(try JSONValue(json: Array(json.utf8)), at: path)
      #expect(String(decoding: leaves.value(at: path.stored).json, as: UTF8.self) == expected)
    }
  }

  @Test(arguments: [
    "", "users", "//", "/users/", "/users//a", "/.", "/a/..", "/a\u{0}b", "/" + String(repeating: "x", count: 769),
    String(repeating: "/a", count: 33),
  ])
  func `A path that names no place is refused`(text: String) {
    #expect(throws: JSONProblem.self) { try DatasyncPath(text: text) }
  }

  @Test func `The longest path is one, and members that no path has are refused`() throws {
    let name = String(repeating: "é", count: 384)
    let path = try DatasyncPath(text: String(repeating: "/" + name, count: 32))
    #expect(path.names == [String](repeating: name, count: 32))
    #expect(throws: JSONProblem.self) { try DatasyncLeaves(["a": 1], at: path) }
    for member in ["", ".", "..", "a/b", String(repeating: "x", count: 769)] {
      #expect(throws: JSONProblem.self) { try DatasyncLeaves(.object([member: true]), at: .root) }
    }
    #expect(throws: JSONProblem.self) { try DatasyncLeaves(try JSONValue(json: Array("1e999".utf8)), at: .root) }
  }
}
