import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// The settings of apps' webhooks, sealed, since their headers are secrets.
public struct WebhookStore: Sendable {
  private let database: any Querying
  private let vault: Vault

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// The store within a transaction.
  public func within(_ transaction: any Querying) -> WebhookStore { WebhookStore(transaction, vault: vault) }

  /// The settings of an app; without destinations if nobody has made any.
  /// - Throws: `SubscriptionsError.notEnabled`; `RegistryError.sealed` when no master key at hand opens them.
  public func settings(_ customer: CustomerID, app: String) async throws -> WebhookSettings {
    guard let row = try await database.query(DataTreeQueries.settings, customer.rawValue, app).first else {
      throw SubscriptionsError.notEnabled(app: app)
    }
    guard case let (bytes?, key?) = try row.decode(Bytes?.self, String?.self) else { return WebhookSettings() }
    let opened = try vault.open(
      Sealed(bytes: bytes.bytes, masterKeyID: key), context: SealedColumn.webhooks.place(customer, app))
    return try JSONCoding.decode(WebhookSettings.self, from: opened.bytes)
  }

  /// Replaces the settings.
  /// - Parameter rule: where webhooks may lead.
  /// - Throws: `SubscriptionsError.notEnabled`, `.invalid`.
  public func save(
    _ settings: WebhookSettings, _ customer: CustomerID, app: String, rule: EndpointRule
  ) async throws {
    for (name, destination) in settings.destinations {
      try Self.check(destination, rule) { "destinations.\(name).\($0)" }
    }
    guard settings.destinations.count <= Self.most,
      settings.destinations.keys.allSatisfy({ (1...100).contains($0.text.utf8.count) })
    else {
      throw SubscriptionsError.invalid(
        field: "destinations", problem: "holds more than \(Self.most), or a name of more than 100 bytes")
    }
    guard try await !database.query(DataTreeQueries.lock, customer.rawValue, app).isEmpty else {
      throw SubscriptionsError.notEnabled(app: app)
    }
    try await store(settings, customer, app: app)
  }

  private func store(_ settings: WebhookSettings, _ customer: CustomerID, app: String) async throws {
    let sealed = try vault.seal(
      Secret(bytes: Array(try JSONCoding.encode(settings))), context: SealedColumn.webhooks.place(customer, app))
    try await database.query(
      DataTreeQueries.saveSettings, customer.rawValue, app, Bytes(sealed.bytes), sealed.masterKeyID)
  }

  /// Most webhooks of an app.
  private static let most = 100
  /// Most bytes of an address.
  private static let longestURI = 2048

  /// Adds or changes a webhook. The caller has to run it in a transaction: it locks the app's webhooks against concurrent changes.
  /// - Parameter rule: where webhooks may lead.
  /// - Throws: `SubscriptionsError.notEnabled`, `.invalid`; `RegistryError.sealed` when no master key at hand opens the others.
  package func save(
    _ request: WebhookRequest, named name: String, _ customer: CustomerID, app: String, rule: EndpointRule
  ) async throws -> (before: WebhookSettings, after: WebhookSettings) {
    guard (1...100).contains(name.utf8.count) else {
      throw SubscriptionsError.invalid(field: "name", problem: "must have 1 to 100 bytes")
    }
    return try await change(customer, app: app) { before throws(SubscriptionsError) in
      var after = before
      let destination = request.applied(to: before.destinations[name])
      after.destinations[name] = destination
      after = after.restored(from: before)
      guard !destination.destinationUris.isEmpty else {
        throw .invalid(field: "uris", problem: "is missing: a new webhook needs at least one address")
      }
      if let long = destination.destinationUris.firstIndex(where: { $0.uri.utf8.count > Self.longestURI }) {
        throw .invalid(field: "uris[\(long)]", problem: "must be an https address of up to \(Self.longestURI) bytes")
      }
      guard after.destinations.count <= Self.most else {
        throw .invalid(field: "name", problem: "is that of one more webhook, and an app has at most \(Self.most)")
      }
      try Self.check(after.destinations[name] ?? destination, rule) { place in
        // The settings name the place by other fields than the request does.
        if place.hasPrefix("headers") { return "token" }
        return place.replacing("destinationUris", with: "uris").replacing(".uri", with: "")
      }
      return after
    }
  }

  /// Removes a webhook, which ends its subscriptions. The caller has to run it in a transaction.
  /// - Throws: `SubscriptionsError.notEnabled`, `.webhookUnknown`; `RegistryError.sealed` when no master key at hand opens the others.
  package func remove(
    _ name: String, _ customer: CustomerID, app: String
  ) async throws -> (before: WebhookSettings, after: WebhookSettings) {
    try await change(customer, app: app) { before throws(SubscriptionsError) in
      var after = before
      guard after.destinations.removeValue(forKey: UTF8String(name)) != nil else { throw .webhookUnknown(name: name) }
      return after
    }
  }

  /// Locks the app's tree, so that two changes at once do not lose one of them.
  private func change(
    _ customer: CustomerID, app: String, _ change: (WebhookSettings) throws(SubscriptionsError) -> WebhookSettings
  ) async throws -> (before: WebhookSettings, after: WebhookSettings) {
    guard try await !database.query(DataTreeQueries.lock, customer.rawValue, app).isEmpty else {
      throw SubscriptionsError.notEnabled(app: app)
    }
    let before = try await settings(customer, app: app)
    let after = try change(before)
    try await store(after, customer, app: app)
    return (before, after)
  }

  private static func check(
    _ destination: WebhookDestination, _ rule: EndpointRule, field: (String) -> String
  ) throws(SubscriptionsError) {
    for (index, address) in destination.destinationUris.enumerated() {
      let place = "destinationUris[\(index)]"
      guard address.acceptAnyCertificate != true else {
        throw .invalid(
          field: field("\(place).acceptAnyCertificate"), problem: "must be false, as certificates are always checked")
      }
      let endpoint: PushEndpoint
      do {
        endpoint = try PushEndpoint(url: address.uri)
      } catch {
        throw .invalid(field: field("\(place).uri"), problem: error.problem)
      }
      if let problem = rule.problem(with: endpoint) { throw .invalid(field: field("\(place).uri"), problem: problem) }
    }
    for (name, value) in destination.headers ?? [:] {
      guard name.lowercasedASCII == WebhookDestination.tokenHeader.lowercasedASCII else {
        throw .invalid(field: field("headers"), problem: "may hold only \(WebhookDestination.tokenHeader)")
      }
      guard (1...1024).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        throw .invalid(field: field("headers"), problem: "must hold 1 to 1024 characters of visible ASCII")
      }
    }
  }

  /// How long subscriptions of a webhook last that do not say so, in seconds.
  func duration(_ customer: CustomerID, app: String, of webhook: String) async throws -> Double {
    guard let destination = try await settings(customer, app: app).destinations[webhook] else {
      throw SubscriptionsError.invalid(field: "webhook", problem: "names no destination of the settings")
    }
    return Double(destination.subscribeDurationSeconds)
  }
}
