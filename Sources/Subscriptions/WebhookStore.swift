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
      try Self.check(destination, "destinations.\(name)", rule)
    }
    guard settings.destinations.count <= 100,
      settings.destinations.keys.allSatisfy({ (1...100).contains($0.utf8.count) })
    else {
      throw SubscriptionsError.invalid(
        field: "destinations", problem: "holds more than 100, or a name of more than 100 bytes")
    }
    let sealed = try vault.seal(
      Secret(bytes: Array(try JSONCoding.encode(settings))), context: SealedColumn.webhooks.place(customer, app))
    guard try await !database.query(DataTreeQueries.lock, customer.rawValue, app).isEmpty else {
      throw SubscriptionsError.notEnabled(app: app)
    }
    try await database.query(
      DataTreeQueries.saveSettings, customer.rawValue, app, Bytes(sealed.bytes), sealed.masterKeyID)
  }

  private static func check(
    _ destination: WebhookDestination, _ field: String, _ rule: EndpointRule
  ) throws(SubscriptionsError) {
    for (index, address) in destination.destinationUris.enumerated() {
      let place = "\(field).destinationUris[\(index)]"
      guard address.acceptAnyCertificate != true else {
        throw .invalid(
          field: "\(place).acceptAnyCertificate", problem: "must be false, as certificates are always checked")
      }
      let endpoint: PushEndpoint
      do {
        endpoint = try PushEndpoint(url: address.uri)
      } catch {
        throw .invalid(field: "\(place).uri", problem: error.problem)
      }
      if let problem = rule.problem(with: endpoint) { throw .invalid(field: "\(place).uri", problem: problem) }
    }
    for (name, value) in destination.headers ?? [:] {
      guard name.lowercasedASCII == WebhookDestination.tokenHeader.lowercasedASCII else {
        throw .invalid(field: "\(field).headers", problem: "may hold only \(WebhookDestination.tokenHeader)")
      }
      guard (1...1024).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        throw .invalid(field: "\(field).headers", problem: "must hold 1 to 1024 characters of visible ASCII")
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
