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
          RetentionCommand.self, RecountCommand.self,
          SimulatorCommand.self, DocumentsCommand.self,
        ]),
      CommandGroup(name: "Management", subcommands: management),
    ])

  /// The commands of all kinds of things that are managed come in the order of their operations.
  private static var management: [any ParsableCommand.Type] {
    var commands: [any ParsableCommand.Type] = [CustomerCommand.self]
    for case let kind as any CommandedOperations.Type in ManagementOperations.kinds { commands += kind.commands }
    return commands + [WhyCommand.self, LinksCommand.self, SoftphoneCommand.self, AuditCommand.self]
  }
}

/// Operations with commands. The file of the commands says which.
protocol CommandedOperations: ManagedOperations {
  typealias Command = any ParsableCommand.Type
  static var commands: [Command] { get }
}
