import ArgumentParser

@main
struct PushcartCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pushcart", abstract: "A self-hosted marketing push hub.",
    subcommands: [
      ServeCommand.self, CustomerCommand.self, KeyCommand.self, AppCommand.self, ListCommand.self, TemplateCommand.self,
      SendCommand.self, SendoutCommand.self,
    ])
}
