/// Brings a schema forward, one transaction a file, one program at a time.
///
/// What has been applied stands in the table `schema_migration`, with checksums. An advisory lock, held for the length of
/// each transaction, makes a second program wait and then find the work done.
public struct Migrator: Sendable {
  private let pool: Pool
  private let migrations: [Migration]

  /// - Parameter migrations: in any order.
  public init(_ pool: Pool, _ migrations: [Migration]) {
    self.pool = pool
    self.migrations = migrations.sorted { $0.name < $1.name }
  }

  /// What `apply` would do, in order.
  /// - Parameter database: where to look; the pool when `nil`.
  /// - Throws: `MigrationError` when what has been applied does not fit the files; `PostgresError`.
  public func pending(on database: (any Querying)? = nil) async throws -> [Migration] {
    let database = database ?? pool
    guard try await database.query(MigrationQueries.tableExists).first?.decode(Bool.self) == true else {
      return try missing(from: [])
    }
    return try missing(from: try await applied(database))
  }

  /// - Parameter database: where to look; the pool when `nil`.
  /// - Throws: `MigrationError.pending` when there is anything to apply, and whatever else `pending` throws.
  public func check(on database: (any Querying)? = nil) async throws {
    let pending = try await pending(on: database)
    guard pending.isEmpty else { throw MigrationError.pending(names: pending.map(\.name)) }
  }

  /// Applies what is pending and returns it.
  /// - Parameter progress: told of each migration as it begins.
  /// - Throws: `MigrationError`; `PostgresError`. What was applied before the error stays.
  @discardableResult
  public func apply(progress: @Sendable (Migration) -> Void = { _ in }) async throws -> [Migration] {
    var done: [Migration] = []
    while let migration = try await applyNext(progress) { done.append(migration) }
    return done
  }

  private func applyNext(_ progress: @Sendable (Migration) -> Void) async throws -> Migration? {
    // Look before locking: `apply` on a schema that is up to date disturbs nobody.
    guard try await !pending().isEmpty else { return nil }
    return try await pool.transaction { transaction in
      try await transaction.runScript("schema_migration.lock", MigrationQueries.lock)
      try await transaction.runScript("schema_migration.create", MigrationQueries.createTable)
      guard let next = try missing(from: try await applied(transaction)).first else { return nil }
      progress(next)
      do {
        try await transaction.runScript(next.name, next.sql)
      } catch PostgresError.server(let error) {
        throw MigrationError.failed(name: next.name, error)
      }
      try await transaction.query(MigrationQueries.record, next.name, next.sql)
      return next
    }
  }

  private struct Applied {
    var name: String
    var isUnchanged: Bool?
  }

  /// What the database has, compared with the files. The server reckons the checksums, of both.
  private func applied(_ database: any Querying) async throws -> [Applied] {
    let rows = try await database.query(MigrationQueries.compare, migrations.map(\.name), migrations.map(\.sql))
    return try rows.map { row in
      let (name, isUnchanged) = try row.decode(String.self, Bool?.self)
      return Applied(name: name, isUnchanged: isUnchanged)
    }
  }

  private func missing(from applied: [Applied]) throws -> [Migration] {
    for (one, next) in zip(migrations, migrations.dropFirst()) where one.name == next.name {
      throw MigrationError.duplicate(name: one.name)
    }
    for migration in applied {
      guard let isUnchanged = migration.isUnchanged else { throw MigrationError.unknown(name: migration.name) }
      guard isUnchanged else { throw MigrationError.changed(name: migration.name) }
    }
    let names = Set(applied.map(\.name))
    let missing = migrations.filter { !names.contains($0.name) }
    if let first = missing.first, let last = names.max(), first.name < last {
      throw MigrationError.outOfOrder(name: first.name, appliedAfter: last)
    }
    return missing
  }
}
