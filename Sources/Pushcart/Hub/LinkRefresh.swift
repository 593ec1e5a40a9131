import Content
import Logging
import Postgres
import Registry
import ServiceLifecycle

/// Keeps the hub's link signer up to date: `pushcart links rotate` and changed maximum ages reach it without a restart.
struct LinkRefresh: Service {
  private let pool: Pool
  private let keys: LinkKeys
  private let signer: LinkSigner
  private let logger: Logger

  init(_ pool: Pool, _ keys: LinkKeys, _ signer: LinkSigner, logger: Logger) {
    self.pool = pool
    self.keys = keys
    self.signer = signer
    self.logger = logger
  }

  func run() async throws {
    for try await event in pool.notifications(on: [LinkKeys.channel]).cancelOnGracefulShutdown() {
      // The settings of before stay in force until the database answers again, which is told as `mayHaveMissed`.
      do {
        signer.replace(try await keys.load())
      } catch {
        logger.error(
          "link keys could not be read, links are signed and verified as before",
          metadata: ["cause": "\(event)", "error": "\(error)"])
      }
    }
  }
}

extension LinkSigner {
  convenience init(_ settings: LinkSettings) {
    self.init(
      keys: settings.keys.mapValues(\.bytes), lastDays: settings.lastDays, maximumAges: settings.maximumAges)
  }

  func replace(_ settings: LinkSettings) {
    replace(keys: settings.keys.mapValues(\.bytes), lastDays: settings.lastDays, maximumAges: settings.maximumAges)
  }
}

extension LinkSettings {
  /// A day after a key got its successor, as hubs may hear of that late.
  fileprivate var lastDays: [Int64: LinkDay] { supersededAt.mapValues { LinkDay(LinkDay(of: $0).number + 1) } }
}
