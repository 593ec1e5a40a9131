import ArgumentParser

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
      CommandGroup(
        name: "Management",
        subcommands: [
          CustomerCommand.self, KeyCommand.self, UserCommand.self, AppCommand.self, ContactCommand.self,
          SuppressionCommand.self, ListCommand.self, SegmentCommand.self, ImportCommand.self, ExportCommand.self,
          TemplateCommand.self,
          SendCommand.self, SendoutCommand.self, MessageCommand.self, TriggerCommand.self, SMSCommand.self,
          HybridCommand.self, DataTreeCommand.self, WhyCommand.self, ReportCommand.self,
          AlarmsCommand.self, ActivityCommand.self, LinksCommand.self,
          SoftphoneCommand.self,
          AuditCommand.self,
        ]),
    ])
}
