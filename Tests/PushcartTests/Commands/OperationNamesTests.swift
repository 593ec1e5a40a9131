import ArgumentParser
import Operations
import Testing

@testable import Pushcart

@Suite struct OperationNamesTests {
  @Test func `Each command that calls an operation is known by it, and can be asked for help`() throws {
    let commands = OperationNames.commands
    #expect(commands["listKeys"] == "key list")
    #expect(commands["showSendout"] == "sendout show")
    let ids = Set(ManagementOperations.all.map(\.description.id))
    #expect(Set(commands.keys).isSubset(of: ids))
    #expect(commands.count > 30)
    for words in commands.values {
      #expect(!PushcartCommand.helpMessage(for: try command(words)).isEmpty, "\(words)")
    }
  }

  private func command(_ words: String) throws -> any ParsableCommand.Type {
    try words.split(separator: " ").reduce(PushcartCommand.self) { (command: any ParsableCommand.Type, word) in
      try #require(command.configuration.subcommands.first { $0._commandName == word }, "\(words)")
    }
  }
}
