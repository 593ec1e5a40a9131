import ArgumentParser
import Foundation
import Testing

@testable import Pushcart

@Suite struct DocumentCommandTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  @Test(arguments: documents)
  func `Every command that a document names exists`(document: String) throws {
    let named = try Self.text(document).matches(of: #/(?:`|\n|&& )pushcart ([a-z]+)(?: ([a-z][a-z-]*)\b)?/#)
    for name in named {
      let command = try #require(Self.subcommand(String(name.1), of: PushcartCommand.self), "pushcart \(name.1)")
      guard let second = name.2, !command.configuration.subcommands.isEmpty else { continue }
      #expect(Self.subcommand(String(second), of: command) != nil, "pushcart \(name.1) \(second)")
    }
  }

  @Test(arguments: documents)
  func `Every option of a command in a document's examples exists`(document: String) throws {
    for block in try Self.text(document).matches(of: #/(?s)\n```sh\n(.*?)```/#).map({ String($0.1) }) {
      for line in block.replacing(#/\\\n */#, with: " ").split(separator: "\n") {
        for call in line.matches(of: #/(?:^|&& |sudo )pushcart ((?:[^&|#'"]|'[^']*'|"[^"]*")*)/#).map(\.1) {
          let words = call.replacing(#/'[^']*'|"[^"]*"/#, with: "text").split(separator: " ")
          var command: any ParsableCommand.Type = PushcartCommand.self
          for word in words {
            if let inner = Self.subcommand(String(word), of: command) { command = inner } else { break }
          }
          let help = PushcartCommand.helpMessage(for: command, includeHidden: true, columns: 1000)
          for option in words where option.hasPrefix("--") {
            let isThere = help.contains(try Regex("\(option)\\b(?!-)"))
            #expect(isThere, "\(call) has no \(option)")
          }
        }
      }
    }
  }

  @Test func `Documents name many commands`() throws {
    let named = try Self.documents.flatMap {
      try Self.text($0).matches(of: #/(?:`|\n)pushcart ([a-z]+ ?[a-z]*)/#).map(\.1)
    }
    #expect(Set(named).count >= 40)
  }

  @Test func `Every command has an abstract, and every leaf command an example`() {
    for command in Self.all(PushcartCommand.self) {
      #expect(!command.configuration.abstract.isEmpty, "\(command)")
      if command.configuration.subcommands.isEmpty {
        #expect(command.configuration.discussion.contains("pushcart "), "\(command._commandName)")
      }
    }
  }

  @Test func `The help of serve names every setting`() {
    let help = ServeCommand.helpMessage(columns: 500)
    for setting in Setting.all { #expect(help.contains(setting.variable), "\(setting.variable)") }
  }

  /// Documents that people write, from the repository's root. The page of commands comes from these themselves.
  static let documents: [String] = {
    let files = FileManager.default.enumerator(atPath: root.appending(path: "docs").path)
    let pages = (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") && $0 != "cli.md" }
      .map { "docs/\($0)" }
    return (["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"] + pages).sorted()
  }()

  private static func text(_ document: String) throws -> String {
    try String(contentsOf: root.appending(path: document), encoding: .utf8)
  }

  private static func subcommand(_ name: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { $0._commandName == name }
  }

  private static func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
    [command] + command.configuration.subcommands.flatMap(all)
  }
}
