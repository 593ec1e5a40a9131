import Foundation
import Testing

/// What compares or reads text of others otherwise than by its bytes.
@Suite struct TextTests {
  private static let forbidden: [(what: String, instead: String)] = [
    ("JSONDecoder", "JSONCoding, which keeps digits and bytes"), ("JSONEncoder", "JSONCoding"),
    ("JSONSerialization", "JSONValue"), ("[String: JSONValue]", "[UTF8String: JSONValue]"),
    (".lowercased()", "lowercasedASCII, or it is text for people"), (".uppercased() ==", "lowercasedASCII"),
    (".uppercased() !=", "lowercasedASCII"), (".uppercased() {", "lowercasedASCII"),
    (".replacing(\"'\", with: \"''\")", "replacing(each:with:)"),
    (".replacing(\"'\", with: #\"'", "replacing(each:with:)"),
  ]
  /// Where letters of people change their case, or names are the project's own.
  private static let exempt = [
    "/Sources/Content/Rendering/", "/Sources/EmbedTool/", "/Sources/Pushcart/",
    "/Sources/Registry/Contacts/ContactSearch.swift", "/Sources/Registry/Users/PasswordRule.swift",
    "/Sources/Simulator/", "/Sources/Web/Description/",
  ]

  @Test(arguments: forbidden.map(\.what))
  func `Text of others is read and compared by its bytes`(what: String) throws {
    for file in House.swiftFiles(in: "Sources") where !Self.exempt.contains(where: file.path.contains) {
      for (index, line) in try String(contentsOf: file, encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false
      )
      .enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        #expect(!line.contains(what), "\(file.path):\(index + 1) has \(what): use \(Self.instead(what))")
      }
    }
  }

  @Test func `Text of others is compared as UTF8String or by its bytes`() throws {
    let compared = try Regex(
      #"(\.text|\.string\("[^"]*"\))\)? (==|!=|<|>) (?!nil\b)|contains\((name|key)\.text\)"#)
    for file in House.swiftFiles(in: "Sources") where !Self.exempt.contains(where: file.path.contains) {
      for (index, line) in try String(contentsOf: file, encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false
      )
      .enumerated() {
        #expect(line.firstMatch(of: compared) == nil, "\(file.path):\(index + 1)")
      }
    }
  }

  private static func instead(_ what: String) -> String { forbidden.first { $0.what == what }?.instead ?? "" }
}
