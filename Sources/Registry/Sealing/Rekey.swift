public import Postgres
import Wire

/// Seals everything under the current master key, so that older ones can be put away.
public struct Rekey: Sendable {
  /// How far it is.
  public struct Progress: Sendable, Equatable {
    /// Sealed anew by this run.
    public var resealed = 0
    /// Sealed under the current key before.
    public var current = 0
    /// Left as they were, since no master key at hand opens them; each named by its place.
    public var unreadable: [String] = []

    public init() {}
  }

  private let database: any Querying
  private let vault: Vault

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// Goes over all sealed values, each on its own, so that it may be stopped and started at any time.
  /// - Parameters:
  ///   - trial: whether only to look what a run would do.
  ///   - report: told after the hub's own secrets and after every customer.
  public func run(
    trial: Bool = false, _ report: @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Progress {
    var progress = Progress()
    for row in try await database.query(RekeyQueries.secrets) {
      let (name, bytes, key) = try row.decode(String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      guard let new = try renew(sealed, HubSecrets.context(name), &progress), !trial else { continue }
      try await database.query(RekeyQueries.replaceSecret, name, bytes, Bytes(new.bytes), new.masterKeyID)
    }
    report(progress)
    for customer in try await Customers(database).all() {
      try await run(customer.id, &progress, trial)
      report(progress)
    }
    return progress
  }

  private func run(_ customer: CustomerID, _ progress: inout Progress, _ trial: Bool) async throws {
    for row in try await database.query(RekeyQueries.credentials, customer.rawValue) {
      let (app, kind, bytes, key) = try row.decode(Int64.self, String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      let context = PushCredential.context(customer, PushAppID(app), kind)
      guard let new = try renew(sealed, context, &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceCredential, customer.rawValue, app, kind, bytes, Bytes(new.bytes), new.masterKeyID)
    }
    for row in try await database.query(RekeyQueries.replies, customer.rawValue) {
      let (key, body) = try row.decode(String.self, Bytes.self)
      let context = IdempotentReplies.context(customer, key)
      guard let new = try renew(Sealed(joined: body.bytes), context, &progress), !trial else { continue }
      try await database.query(RekeyQueries.replaceReply, customer.rawValue, key, body, Bytes(new.joined))
    }
  }

  /// The value sealed anew; `nil` when there is nothing to do or nothing that could be done.
  private func renew(_ sealed: Sealed, _ context: String, _ progress: inout Progress) throws -> Sealed? {
    guard sealed.masterKeyID != vault.currentID else {
      progress.current += 1
      return nil
    }
    guard let secret = try? vault.open(sealed, context: context) else {
      progress.unreadable.append(context)
      return nil
    }
    progress.resealed += 1
    return try vault.seal(secret, context: context)
  }
}
