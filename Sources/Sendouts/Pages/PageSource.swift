import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// What all pages of a sendout have in common. Only the apps' names can change.
final class PageSource: Sendable {
  /// What the pushes of a variant say, and the name and version of the template of their page.
  struct Variant: Sendable {
    let template: (name: String, version: Int32)?
    let content: MessageContent
  }

  /// The template's name and version; `nil` for a sendout without pages.
  let template: (name: String, version: Int32)?
  /// What all its pushes say; `nil` for a stream, in which each push has a message of its own.
  let content: MessageContent?
  /// In their order; none for a sendout without variants.
  let variants: [Variant]
  let traits: StreamTraits
  /// What templates can name of each of its apps.
  let apps: [PushAppID: AppFields]

  init(
    template: (name: String, version: Int32)?, content: MessageContent?, variants: [Variant], traits: StreamTraits,
    apps: [PushAppID: AppFields]
  ) {
    self.template = template
    self.content = content
    self.variants = variants
    self.traits = traits
    self.apps = apps
  }
}

/// Reads what the pages of a sendout have in common, and caches it for a minute.
final class PageSources: Sendable {
  private let database: any Querying
  private let vault: Vault
  private let cache = SharedCache<SendoutKey, PageSource?>(capacity: 1000, lifetime: .seconds(60))

  init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// - Returns: `nil` if it is not cached, and `.some(nil)` if it is cached that there is no such sendout.
  func cached(_ key: SendoutKey) -> PageSource?? { cache.cached(key) }

  /// What the push of a stream says; `nil` if there is no such push.
  func content(of link: PushLink, _ traits: StreamTraits) async throws -> MessageContent? {
    try await Messages(database).content(ofPush: link.push, SendoutKey(link.customer, link.sendout), traits)
  }

  /// The variant that a push says; `nil` if there is no such push.
  func variant(of link: PushLink) async throws -> Int16? {
    try await Ledger(database).variant(of: link.push, SendoutKey(link.customer, link.sendout))
  }

  /// - Returns: `nil` if there is no such sendout.
  func source(_ key: SendoutKey) async throws -> PageSource? {
    try await cache.value(key) { try await self.load(key) }
  }

  private func load(_ key: SendoutKey) async throws -> PageSource? {
    let rows = try await database.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue)
    guard let sendout = try rows.first.map(Sendout.init) else { return nil }
    let apps = try await PushApps(database, vault: vault).list(key.customer).filter { sendout.apps.contains($0.id) }
    return PageSource(
      template: sendout.template, content: sendout.isStream ? nil : try sendout.content(),
      variants: try await variants(of: sendout), traits: sendout.traits,
      apps: Dictionary(apps.map { ($0.id, AppFields(appId: $0.appID, name: $0.name)) }) { first, _ in first })
  }

  private func variants(of sendout: Sendout) async throws -> [PageSource.Variant] {
    let contents = sendout.isStream ? [] : try sendout.variantContents()
    guard !contents.isEmpty else { return [] }
    let (variants, versions) = (
      try sendout.campaign().variants ?? [], try await Ledger(database).templateVersions(of: sendout.key)
    )
    return zip(variants, contents).enumerated().map { index, variant in
      let own = variant.0.template.flatMap { name in versions[Int16(index + 1)].map { (name, $0) } }
      return PageSource.Variant(template: own ?? sendout.template, content: variant.1)
    }
  }
}
