import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Synchronization
import Wire

/// What all pages of a sendout have in common. Nothing of it ever changes but the app's name.
final class PageSource: Sendable {
  /// The template's name and version; `nil` for a sendout without pages.
  let template: (name: String, version: Int32)?
  let message: MessageTemplate
  let app: AppFields
  let sendout: SendoutFields

  init(
    template: (name: String, version: Int32)?, message: MessageTemplate, app: AppFields, sendout: SendoutFields
  ) {
    self.template = template
    self.message = message
    self.app = app
    self.sendout = sendout
  }
}

/// Reads what the pages of a sendout have in common, and remembers it for a minute.
final class PageSources: Sendable {
  private struct Entry {
    let source: PageSource?
    let expires: ContinuousClock.Instant
  }

  private static let capacity = 1000
  private static let timeToLive = Duration.seconds(60)

  private let database: any Querying
  private let vault: Vault
  private let entries = Mutex<[SendoutKey: Entry]>([:])

  init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// - Returns: `nil` if it is not at hand, and one of `nil` if there is no such sendout.
  func cached(_ key: SendoutKey) -> PageSource?? {
    entries.withLock { $0[key] }.flatMap { $0.expires > .now ? .some($0.source) : nil }
  }

  /// - Returns: `nil` if there is no such sendout.
  func source(_ key: SendoutKey) async throws -> PageSource? {
    if let cached = cached(key) { return cached }
    let source = try await load(key)
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
      entries[key] = Entry(source: source, expires: .now + Self.timeToLive)
    }
    return source
  }

  private func load(_ key: SendoutKey) async throws -> PageSource? {
    let rows = try await database.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue)
    guard let sendout = try rows.first.map(Sendout.init) else { return nil }
    let app = try await PushApps(database, vault: vault).find(key.customer, sendout.app)
    let message = try sendout.message()
    return PageSource(
      template: sendout.template, message: try MessageTemplate(message),
      app: AppFields(appId: app?.appID, name: app?.name), sendout: sendout.fields(of: message))
  }
}
