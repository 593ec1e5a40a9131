import ArgumentParser
import Testing
import Wire

@testable import Pushcart

@Suite struct MessageFieldOptionsTests {
  @Test func `Each option of a message sets its field, and texts may begin with a hyphen`() throws {
    var (arguments, members): ([String], [(String, JSONValue)]) = ([], [])
    for field in MessageBody.allFields {
      let value: (argument: String?, json: JSONValue)
      switch field.value {
      case .text, .source: value = ("-20 %", "-20 %")
      case .badge: value = ("3", 3)
      case .seconds: value = ("60", 60)
      case .priority: value = ("normal", "normal")
      case .pushType: value = ("voip", "voip")
      case .flag(_, let flag): value = (nil, .bool(flag))
      case .names, .members, .overrides, .translations: continue
      }
      let words = field.option.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }
      arguments += ["--\(words.joined())"] + [value.argument].compactMap(\.self)
      members.append((field.name, value.json))
    }
    let body = try MessageOptions.parse(arguments).body
    #expect(try JSONValue(encoding: body) == .object(Dictionary(named: members)))
    #expect(try MessageOptions.parse([]).body == MessageBody())
  }

  @Test func `A time to live beyond the limits is refused`() {
    for seconds in ["-1", "\(MessageBody.maximumTTL + 1)"] {
      #expect {
        try MessageOptions.parse(["--ttl=\(seconds)"])
      } throws: { error in
        MessageOptions.message(for: error) == "--ttl takes 0 to \(MessageBody.maximumTTL) seconds."
      }
    }
  }
}
