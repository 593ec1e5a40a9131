import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// What all pages of a sendout have in common. Only the app's name can change.
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

/// Reads what the pages of a sendout have in common, and caches it for a minute.
final class PageSources: Sendable {
  private let database: any Querying
  private let vault: Vault
  private let cache = ExpiringCache<SendoutKey, PageSource?>(timeToLive: .seconds(60), capacity: 1000)

  init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// - Returns: `nil` if it is not cached, and `.some(nil)` if it is cached that there is no such sendout.
  func cached(_ key: SendoutKey) -> PageSource?? { cache.cached(key) }

  /// - Returns: `nil` if there is no such sendout.
  func source(_ key: SendoutKey) async throws -> PageSource? {
    try await cache.value(key) { try await self.load(key) }
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
