package import Postgres
import Wire

/// Seals everything under the current master key, so that older ones can be dropped.
public struct Rekey: Sendable {
  /// How far it is.
  public struct Progress: Sendable, Equatable {
    /// Sealed again by this run.
    public var resealed = 0
    /// Sealed under the current key already.
    public var current = 0
    /// Left as they were, since no known master key opens them; each named by its place.
    public var unreadable: [String] = []

    public init() {}
  }

  private let database: any Querying
  private let vault: Vault
  private let user: String
  private let columns: [SealedColumn]

  /// - Parameters:
  ///   - user: who does it at the command line, for the audit log of each customer.
  ///   - columns: what is sealed, of all rooms.
  package init(_ database: any Querying, vault: Vault, by user: String, columns: [SealedColumn]) {
    self.database = database
    self.vault = vault
    self.user = user
    self.columns = columns
  }

  /// Goes over all sealed values, each on its own, so that it may be stopped and started at any time.
  /// - Parameters:
  ///   - trial: whether only to look what a run would do.
  ///   - report: called after the hub's own secrets and after every customer.
  public func run(
    trial: Bool = false, _ report: @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Progress {
    var progress = Progress()
    for column in columns where !column.isTenants { try await run(column, of: nil, &progress, trial) }
    report(progress)
    for customer in try await Customers(database).all() {
      for column in columns where column.isTenants { try await run(column, of: customer.id, &progress, trial) }
      report(progress)
    }
    return progress
  }

  private func run(
    _ column: SealedColumn, of customer: CustomerID?, _ progress: inout Progress, _ trial: Bool
  ) async throws {
    var parameters = ParameterBuffer()
    if let customer { parameters.append(customer.rawValue) }
    for row in try await database.run(column.read, parameters) {
      let (key, value, masterKey) = try row.decode([String].self, Bytes.self, String?.self)
      let sealed = masterKey.map { Sealed(bytes: value.bytes, masterKeyID: $0) } ?? Sealed(joined: value.bytes)
      guard let new = try renew(sealed, column.place(customer, key), &progress), !trial else { continue }
      var values = parameters
      values.append(key)
      values.append(value)
      values.append(Bytes(masterKey == nil ? new.joined : new.bytes))
      if masterKey != nil { values.append(new.masterKeyID) }
      if column.isAudited {
        values.append(user)
        values.append(AuditAction.Other.rekey.rawValue)
      }
      _ = try await database.run(column.replace, values)
    }
  }

  /// The value, sealed again; `nil` when it needs no sealing or cannot be opened.
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
