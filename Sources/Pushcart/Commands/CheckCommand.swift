import ArgumentParser
import Logging

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Say what stands between these settings and a hub that works.",
    discussion: """
      One line for each part, ok or wrong, and what to do. The exit code is 0 when all is well.

      Example: pushcart check --config /etc/pushcart.json
      """)

  @OptionGroup(title: "Hub") var hub: ServeFlags
  @OptionGroup(title: "Database") var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var masterKeys: MasterKeyFlags
  @OptionGroup(title: "Push services") var providers: ProviderFlags

  func run() async throws {
    let given = hub.given + database.given + masterKeys.given + providers.given
    let settings: Settings
    do {
      settings = try await Settings.read(given, needsMasterKey: true)
    } catch let error as SettingsError {
      for problem in error.problems { StandardStream.output.line("wrong  settings         \(problem)") }
      throw ExitCode.failure
    }
    Logs.start(settings, usual: .critical)
    var isWell = true
    for await finding in Diagnostics(settings).findings() {
      isWell = isWell && finding.isWell
      let part = finding.part + String(repeating: " ", count: max(1, 17 - finding.part.count))
      StandardStream.output.line("\(finding.isWell ? "ok   " : "wrong")  \(part)\(finding.sentence)")
    }
    if !isWell { throw ExitCode.failure }
  }
}
