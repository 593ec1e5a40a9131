import ArgumentParser

/// The commands that call operations, as the console shows them.
enum OperationNames {
  /// The words of a command by its operation's id, as in `key list` for `listKeys`.
  static let commands = commands(of: PushcartCommand.self, [])

  private static func commands(of command: any ParsableCommand.Type, _ words: [String]) -> [String: String] {
    var found: [String: String] = [:]
    if let command = command as? any OperationCalling.Type { found[command.operationID] = words.joined(separator: " ") }
    for subcommand in command.configuration.subcommands {
      let name = subcommand.configuration.commandName ?? subcommand._commandName
      found.merge(commands(of: subcommand, words + [name])) { first, _ in first }
    }
    return found
  }
}

/// A command that calls one operation.
protocol OperationCalling {
  /// As in `listKeys`.
  static var operationID: String { get }
}
