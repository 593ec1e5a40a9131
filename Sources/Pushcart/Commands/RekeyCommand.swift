import ArgumentParser
import Registry

struct RekeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey", abstract: "Seal everything under the current master key.",
    discussion: """
      To change the master key: make the new one PUSHCART_MASTER_KEY and the one so far PUSHCART_OLD_MASTER_KEYS on every \
      hub, restart them, run this, and then take the old one away. It may be stopped and started at any time.

      Example: PUSHCART_OLD_MASTER_KEYS_FILE=old.key PUSHCART_MASTER_KEY_FILE=new.key pushcart rekey
      """)

  @OptionGroup var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var keys: MasterKeyFlags

  func run() async throws {
    let settings = try await Settings.read(database.given + keys.given, needsMasterKey: true)
    guard let keys = settings.masterKeys else { return }
    Logs.start(settings)
    let done = try await settings.withPool { pool in
      try await Rekey(pool, vault: Vault(keys)).run { progress in
        StandardStream.output.line("sealed anew: \(progress.resealed), current before: \(progress.current)")
      }
    }
    for place in done.unreadable { StandardStream.output.line("opens under no key that was given: \(place)") }
    guard done.unreadable.isEmpty else { throw ExitCode.failure }
    StandardStream.output.line("Everything is sealed under master key \(keys.currentID).")
  }
}
