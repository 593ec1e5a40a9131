public import FoundationEssentials
public import Postgres
public import Wire

/// What page links are signed and verified by.
public struct LinkSettings: Sendable {
  /// The keys by their numbers, without retired ones. The highest number signs; the others still verify what they signed.
  public let keys: [Int64: Secret]
  /// When each key but the highest had a successor. A link that is dated later was forged with a leaked key.
  public let supersededAt: [Int64: Date]
  /// Days after which a link is refused, of customers that set this.
  public let maximumAges: [CustomerID: Int32]
}

/// The store of the keys that sign page links. They are the hub's own, shared by all customers.
public struct LinkKeys: Sendable {
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
    let numbers = keys.keys.sorted()
    let superseded = zip(numbers, numbers.dropFirst()).compactMap { number, next in
      keys[next].map { (number, $0.createdAt) }
    }
    return LinkSettings(
      keys: keys.filter { !$0.value.isRetired }.mapValues(\.secret),
      supersededAt: Dictionary(uniqueKeysWithValues: superseded), maximumAges: Dictionary(uniqueKeysWithValues: ages))
  }

  /// Makes a new key, with which every hub signs as soon as it hears of it. Links that were signed before stay good until they
  /// reach their customer's maximum age; the key before signs nothing that is dated later. The audit log of every customer has a
  /// line of it.
  /// - Returns: the new key's number.
  public func rotate(by actor: ChangeAuthor) async throws -> Int64 {
    try await pool.transaction { [vault] transaction in
      let secrets = HubSecrets(transaction, vault: vault)
      var number = Self.numbered(try await secrets.load(namesBeginningWith: Self.prefix)).keys.max() ?? 0
      repeat { number += 1 } while try await !secrets.make(Self.name(number))
      for customer in try await Customers(transaction).all() {
        try await ManagementChange(transaction, customer: customer.id, actor: actor)
          .record(.other(.rotateLinks), "links", after: ["linkKeyId": number])
      }
      try await transaction.notify(.links, "")
      return number
    }
  }

  /// Refuses every link that a key signed: for a key that leaked. It must have been replaced before.
  /// - Throws: `RegistryError.invalid`.
  public func retire(_ number: Int64, by actor: ChangeAuthor) async throws {
    try await pool.transaction { [vault] transaction in
      let secrets = HubSecrets(transaction, vault: vault)
      let numbers = Self.numbered(try await secrets.load(namesBeginningWith: Self.prefix)).keys
      guard numbers.contains(number) else {
        throw RegistryError.invalid(field: "key", problem: "is the number of no link key")
      }
      guard number != numbers.max() else {
        throw RegistryError.invalid(field: "key", problem: "signs links now: run `pushcart links rotate` first")
      }
      guard try await secrets.retire(Self.name(number)) else { return }
      for customer in try await Customers(transaction).all() {
        try await ManagementChange(transaction, customer: customer.id, actor: actor)
          .record(.other(.retireLinks), "links", after: ["linkKeyId": number])
      }
      try await transaction.notify(.links, "")
    }
  }

  private static let prefix = "links/"
  private static func name(_ number: Int64) -> String { "\(prefix)\(number)" }

  private static func numbered(_ secrets: [String: HubSecret]) -> [Int64: HubSecret] {
    Dictionary(
      uniqueKeysWithValues: secrets.compactMap { name, secret in
        Int64(name.dropFirst(prefix.count)).map { ($0, secret) }
      })
  }
}
