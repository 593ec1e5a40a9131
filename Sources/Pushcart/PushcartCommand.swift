import ArgumentParser
import Operations

@main
struct PushcartCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pushcart", abstract: "A self-hosted marketing push hub.",
    groupedSubcommands: [
      CommandGroup(
        name: "Hub",
        subcommands: [
          DemoCommand.self, ServeCommand.self, MigrateCommand.self, CheckCommand.self, RekeyCommand.self,
          RetentionCommand.self,
          SimulatorCommand.self, DocumentsCommand.self,
        ]),
      CommandGroup(
        name: "Management",
        subcommands: [CustomerCommand.self] + managed + [
          WhyCommand.self, LinksCommand.self, SoftphoneCommand.self, AuditCommand.self,
        ]),
    ])

  /// The commands of all kinds of things that are managed.
  private static var managed: [any ParsableCommand.Type] {
    ManagementOperations.kinds.compactMap { $0 as? any CommandedOperations.Type }.flatMap { $0.commands }
  }
}

/// Operations with commands. The file of the commands says which.
protocol CommandedOperations: ManagedOperations {
  typealias Command = any ParsableCommand.Type
  static var commands: [Command] { get }
}
