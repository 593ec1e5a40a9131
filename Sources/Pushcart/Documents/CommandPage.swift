import ArgumentParser
import Wire

/// `docs/cli.md`: every command with its options, from ArgumentParser's own account of them.
struct CommandPage {
  private let root: CommandHelp

  /// - Throws: if the account cannot be read.
  init(_ command: (some ParsableCommand).Type) throws {
    root = try JSONCoding.decode(HelpDump.self, from: command._dumpHelp().utf8, rules: .own).command
  }

  var text: String {
    """
    # Command line

    \(Document.note)

    `pushcart` is one binary: the hub, what manages it, and the Simulator. Management commands work on the database directly, so \
    no hub has to run; hubs that run take changes up at once.

    Every command shows its options with `--help`. Every management command takes `--json`, which prints JSON with the names of the \
    REST API. It also takes the flags of the database and the master keys, which `--help-hidden` shows; the \
    [settings](settings.md) of the same names say the same. A command ends with 0, or with another status and a sentence on \
    standard error.

    \(contents)
    \(commands(root.visibleSubcommands).map(section).joined(separator: "\n"))
    """
  }

  private var contents: String {
    Markdown.table(
      ["Command", "What it does"],
      root.visibleSubcommands.map { ["[`\($0.name)`](#\(anchor($0)))", Markdown.escaped($0.abstract ?? "")] }) + "\n"
  }

  private func anchor(_ command: CommandHelp) -> String { command.name.replacing(" ", with: "-") }

  /// Commands, each with those below it.
  private func commands(_ commands: [CommandHelp]) -> [CommandHelp] {
    commands.flatMap { [$0] + self.commands($0.visibleSubcommands) }
  }

  private func section(_ command: CommandHelp) -> String {
    let depth = String(repeating: "#", count: (command.superCommands ?? []).count + 1)
    var parts = ["\(depth) \(command.name)", Markdown.escaped(command.abstract ?? "")]
    parts += (command.discussion ?? "").replacing("\n\n", with: "\u{0}").split(separator: "\u{0}").map(paragraph)
    let options = command.visibleArguments
    if !options.isEmpty {
      parts.append(Markdown.table(["Option", "What it is"], options.map { [$0.usage, $0.explanation] }))
    }
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  /// Examples are blocks of their own.
  private func paragraph(_ text: Substring) -> String {
    guard text.hasPrefix(Self.exampleWord) else { return Markdown.escaped(String(text)) }
    return "```sh\n\(text.dropFirst(Self.exampleWord.count))\n```"
  }

  private static let exampleWord = "Example: "
}

private struct HelpDump: Decodable {
  var command: CommandHelp
}

private struct CommandHelp: Decodable {
  var commandName: String
  var superCommands: [String]?
  var shouldDisplay: Bool?
  var abstract: String?
  var discussion: String?
  var subcommands: [CommandHelp]?
  var arguments: [ArgumentDescription]?

  /// With those above it, as in `pushcart key add`.
  var name: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }

  var visibleSubcommands: [CommandHelp] {
    (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
  }

  /// Without those that every command has.
  var visibleArguments: [ArgumentDescription] {
    (arguments ?? []).filter { argument in
      argument.shouldDisplay && !["help", "json"].contains(argument.longName)
    }
  }
}

private struct ArgumentDescription: Decodable {
  struct Name: Decodable {
    var kind: String
    var name: String
  }

  var kind: String
  var shouldDisplay: Bool
  var isOptional: Bool
  var isRepeating: Bool
  var names: [Name]?
  var valueName: String?
  var defaultValue: String?
  var allValues: [String]?
  var abstract: String?

  var longName: String? { names?.first { $0.kind == "long" }?.name }

  /// As in `--port <port>`.
  var usage: String {
    let value = kind == "flag" ? "" : "<\(valueName ?? "value")>"
    let flags = (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }.joined(separator: ", ")
    return "`" + [flags, value].filter { !$0.isEmpty }.joined(separator: " ") + (isRepeating ? " …" : "") + "`"
  }

  var explanation: String {
    var text = Markdown.escaped(abstract ?? "")
    if let allValues { text += " One of \(allValues.map { "`\($0)`" }.joined(separator: ", "))." }
    if let defaultValue { text += " Default: `\(defaultValue)`." }
    if !isOptional { text += " Required." }
    return text
  }
}
