import ArgumentParser
import Foundation
import Testing

@testable import Pushcart

@Suite struct ReadmeCommandTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  @Test func `Every command that README names exists`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let named = readme.matches(of: #/(?:`|\n|&& )pushcart ([a-z]+)(?: ([a-z][a-z-]*)\b)?/#)
    #expect(named.count >= 10)
    for name in named {
      let command = try #require(Self.subcommand(String(name.1), of: PushcartCommand.self), "pushcart \(name.1)")
      guard let second = name.2, !command.configuration.subcommands.isEmpty else { continue }
      #expect(Self.subcommand(String(second), of: command) != nil, "pushcart \(name.1) \(second)")
    }
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

  private static func subcommand(_ name: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { $0._commandName == name }
  }

  private static func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
    [command] + command.configuration.subcommands.flatMap(all)
  }
}
