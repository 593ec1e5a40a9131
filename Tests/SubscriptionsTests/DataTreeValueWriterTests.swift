import Support
import Testing
import Wire

@Suite struct DataTreeValueWriterTests {
  private static func write(_ leaves: DataTreeLeaves, isShallow: Bool = false) -> (json: JSONValue?, places: Int) {
    var writer = DataTreeValueWriter(isShallow: isShallow)
    for (path, json) in leaves.json.map({ (String($0.key.dropFirst()), $0.value) })
      .sorted(by: { Array($0.0.utf8).lexicographicallyPrecedes(Array($1.0.utf8)) })
    {
      writer.add(path, json)
    }
    return (try? JSONValue(parsing: writer.finish()), writer.placeCount)
  }

  @Test(arguments: [
    "null", "1", #""a""#, "[1,{}]", #"{"a":1}"#, #"{"a":{"b":{"c":1,"d":2},"e":[5]},"a-b":3,"ab":4}"#,
    #"{"a":{"b":1},"a-":{"b":1},"a0":{"b":{"c":{"d":1}}},"b":2}"#, #"{"é\"\\":{"\u0001":1.50}}"#,
    #"{"x":{"a":{"b":{"c":1}}},"y":{"a":{"b":{"c":1}}},"z":1}"#,
  ])
  func `Leaves in their order make the value they came from`(json: String) throws {
    let value = try JSONValue(parsing: json.utf8)
    #expect(Self.write(try DataTreeLeaves(value, at: .root)).json == value)
  }

  @Test func `Random values come back, with as many places as they have`() throws {
    var random = SystemRandomNumberGenerator()
    func value(_ depth: Int) -> JSONValue {
      guard depth < 5, Bool.random(using: &random) else { return [1, "x", true, [2]].randomElement(using: &random)! }
      var members: [UTF8String: JSONValue] = [:]
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let name = (0..<Int.random(in: 1...3, using: &random)).map { _ in "-.0aé".randomElement(using: &random)! }
        if ![".", ".."].contains(String(name)) { members[UTF8String(String(name))] = value(depth + 1) }
      }
      return members.isEmpty ? 1 : .object(members)
    }
    func places(_ value: JSONValue) -> Int {
      guard case .object(let members) = value else { return 0 }
      return members.count + members.values.reduce(0) { $0 + places($1) }
    }
    for _ in 0..<500 {
      let made = value(0)
      let leaves = try DataTreeLeaves(made, at: .root)
      let written = Self.write(leaves)
      #expect(written.json == made && written.places == places(made))
      var shallow = made
      if case .object(let members) = made { shallow = .object(members.mapValues { _ in true }) }
      let names = Self.write(leaves, isShallow: true).json
      if case .object = made { #expect(names == shallow) }
    }
  }
}
