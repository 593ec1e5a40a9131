import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// What all pages of a sendout have in common. Only the apps' names can change.
final class PageSource: Sendable {
  /// The template's name and version; `nil` for a sendout without pages.
  let template: (name: String, version: Int32)?
  let message: MessageTemplate
  /// What templates can name of each of its apps.
  let apps: [PushAppID: AppFields]
  let sendout: SendoutFields

  init(
    template: (name: String, version: Int32)?, message: MessageTemplate, apps: [PushAppID: AppFields],
    sendout: SendoutFields
  ) {
    self.template = template
    self.message = message
    self.apps = apps
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
    let apps = try await PushApps(database, vault: vault).list(key.customer).filter { sendout.apps.contains($0.id) }
    let message = try sendout.message()
    return PageSource(
      template: sendout.template, message: try MessageTemplate(message),
      apps: Dictionary(apps.map { ($0.id, AppFields(appId: $0.appID, name: $0.name)) }) { first, _ in first },
      sendout: sendout.fields(of: message))
  }
}
