import ArgumentParser
import Postgres

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Bring the database's schema up to date.",
    discussion: """
      Several may run at once: one works, the others wait and find it done. Hubs of the release before go on serving.

      Example: pushcart migrate --database-url postgres://pushcart@localhost/pushcart
      """)

  @OptionGroup var database: DatabaseFlags

  func run() async throws {
    var settings = try await Settings.read(database.given, needsMasterKey: false)
    settings.database.statementTimeout = .seconds(24 * 3600)
    Logs.start(settings)
    try await settings.withPool { pool in
      let applied = try await Migrator(pool, Migration.embedded).apply {
        StandardStream.output.line("applying \($0.name)")
      }
      StandardStream.output.line(applied.isEmpty ? "The schema is up to date." : "\(applied.count) applied.")
      if let remedy = try await ReportRole.remedy(pool) {
        StandardStream.output.line("The role pushcart_report cannot read the reports; a superuser lets it: \(remedy)")
      }
    }
  }
}
