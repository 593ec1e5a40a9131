public import Postgres
public import Wire

/// What page links are signed and judged by.
public struct LinkSettings: Sendable {
  /// The keys by their numbers. The highest number signs; the others still verify what they signed.
  public let keys: [Int64: Secret]
  /// Days after which a link is refused, of customers that set this.
  public let maximumAges: [CustomerID: Int32]
}

/// The store of the keys that sign page links. They are the hub's own, shared by all customers.
public struct LinkKeys: Sendable {
  /// Hubs are notified here when a key is added or a maximum age changes.
  package static let channel = RegistryChannel.links.rawValue

  private let pool: Pool
  private let vault: Vault

  public init(_ pool: Pool, vault: Vault) {
    self.pool = pool
    self.vault = vault
  }

  /// All keys, the first one made now if there is none, and the customers' maximum ages.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens one of them.
  public func load() async throws -> LinkSettings {
    let secrets = HubSecrets(pool, vault: vault)
    var keys = Self.numbered(try await secrets.load(namesBeginningWith: Self.prefix))
    if keys.isEmpty {
      _ = try await secrets.make(Self.name(1))
      keys = Self.numbered(try await secrets.load(namesBeginningWith: Self.prefix))
    }
    let ages = try await Customers(pool).all().compactMap { customer in
      customer.settings.linkMaximumAgeDays.map { (customer.id, $0) }
    }
    return LinkSettings(keys: keys, maximumAges: Dictionary(uniqueKeysWithValues: ages))
  }

  /// Makes a new key, with which every hub signs as soon as it hears of it. Links that were signed before stay good until they
  /// reach their customer's maximum age. The audit log of every customer has a line of it.
  /// - Returns: the new key's number.
  public func rotate(by actor: ChangeAuthor) async throws -> Int64 {
    try await pool.transaction { [vault] transaction in
      let secrets = HubSecrets(transaction, vault: vault)
      var number = Self.numbered(try await secrets.load(namesBeginningWith: Self.prefix)).keys.max() ?? 0
      repeat { number += 1 } while try await !secrets.make(Self.name(number))
      for customer in try await Customers(transaction).all() {
        try await ManagementChange(transaction, customer: customer.id, actor: actor)
          .record(.rotateLinks, "links", after: ["linkKeyId": number])
      }
      try await transaction.notify(.links, "")
      return number
    }
  }

  private static let prefix = "links/"
  private static func name(_ number: Int64) -> String { "\(prefix)\(number)" }

  private static func numbered(_ secrets: [String: Secret]) -> [Int64: Secret] {
    Dictionary(
      uniqueKeysWithValues: secrets.compactMap { name, secret in
        Int64(name.dropFirst(prefix.count)).map { ($0, secret) }
      })
  }
}
