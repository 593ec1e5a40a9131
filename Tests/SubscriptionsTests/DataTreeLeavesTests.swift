import Testing
import Wire

@Suite struct DataTreeLeavesTests {
  @Test(arguments: [
    (#"{"a":1,"b":{"c":"x","d":[1,{"e":null}]}}"#, #"{"a":1,"b":{"c":"x","d":[1,{"e":null}]}}"#),
    (#"{"a":null,"b":{},"c":{"d":{}}}"#, "null"), ("[]", "[]"), (#""x""#, #""x""#), ("null", "null"),
    ("false", "false"),
    (#"{"a":{"b":null,"c":0}}"#, #"{"a":{"c":0}}"#),
  ])
  func `A value is what its leaves make`(json: String, expected: String) throws {
    for path in ["/", "/users", "/users/\u{301}alice"] {
      let path = try DataTreePath(text: path)
      let leaves = try DataTreeLeaves(try JSONValue(json: Array(json.utf8)), at: path)
      #expect(String(decoding: (leaves.value(at: path.stored) ?? .null).json, as: UTF8.self) == expected)
    }
  }

  @Test func `Objects count as leaves do, since they take as much memory`() throws {
    let leaves = DataTreeLeaves(json: [
      "/x/a/b/c/": "1", "/x/a/b/d/": "2", "/x/a-b/": "3", "/x/ab/": "4", "/x/a/e/": "[5]",
    ])
    let value = try JSONValue(json: Array(#"{"a":{"b":{"c":1,"d":2},"e":[5]},"a-b":3,"ab":4}"#.utf8))
    #expect(leaves.value(at: "/x/", most: 7) == value)
    #expect(leaves.value(at: "/x/", most: 6) == nil)
    #expect(leaves.value(at: "/") == ["x": value])
    // 700 objects of one leaf each have paths of 21 MB, half of them the leaves', though the body has 10 KB.
    let deep = try DataTreePath(text: String(repeating: "/" + String(repeating: "n", count: 500), count: 30))
    let objects = JSONValue.object(Dictionary(named: (0..<700).map { ("m\($0)", ["a": 1]) }))
    #expect(throws: JSONProblem.self) { try DataTreeLeaves(objects, at: deep) }
  }

  @Test(arguments: [
    "", "users", "//", "/users/", "/users//a", "/.", "/a/..", "/a\u{0}b", "/" + String(repeating: "x", count: 769),
    String(repeating: "/a", count: 33),
  ])
  func `A path that names no place is refused`(text: String) {
    #expect(throws: JSONProblem.self) { try DataTreePath(text: text) }
  }

  @Test func `The longest path is one, and members that no path has are refused`() throws {
    let name = String(repeating: "é", count: 384)
    let path = try DataTreePath(text: String(repeating: "/" + name, count: 32))
    #expect(path.names == [String](repeating: name, count: 32))
    #expect(throws: JSONProblem.self) { try DataTreeLeaves(["a": 1], at: path) }
    for member in ["", ".", "..", "a/b", String(repeating: "x", count: 769)] {
      #expect(throws: JSONProblem.self) { try DataTreeLeaves(.object([UTF8String(member): true]), at: .root) }
    }
  }
}
