/// Applies migrations to a schema, one transaction for each file, one program at a time.
///
/// The table `schema_migration` records what has been applied, with checksums. An advisory lock, held for the length of
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
  /// - Parameter progress: called with each migration as it begins.
  /// - Throws: `MigrationError`; `PostgresError`. What was applied before the error stays.
  @discardableResult
  public func apply(progress: @Sendable (Migration) -> Void = { _ in }) async throws -> [Migration] {
    var done: [Migration] = []
    while let migration = try await applyNext(progress) { done.append(migration) }
    return done
  }

  private func applyNext(_ progress: @Sendable (Migration) -> Void) async throws -> Migration? {
    // Looks before it locks: `apply` takes no lock on a schema that is up to date.
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

  /// What the database has, compared with the files. The server computes the checksums of both.
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

/// One forward step of the schema: the text of one file.
public struct Migration: Sendable, Equatable {
  /// The file's name without its extension, as in `0001_tenants`; migrations are applied in the order of their names.
  public let name: String
  /// Any number of statements. They run in one transaction, so none of them may be one that refuses to, such as
  /// CREATE INDEX CONCURRENTLY.
  public let sql: String

  public init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// Why the schema is not, or cannot be brought, up to date. Each case names the file.
public enum MigrationError: Error, Sendable, Equatable {
  /// The file was changed after it had been applied.
  case changed(name: String)
  /// The database has a migration that this program does not know: a newer release has been here.
  case unknown(name: String)
  /// Not applied, though a later one is: two branches numbered their files at the same time.
  case outOfOrder(name: String, appliedAfter: String)
  /// Two files of one name.
  case duplicate(name: String)
  /// A statement of the file failed. The file had no effect; those before it have been applied.
  case failed(name: String, ServerError)
  /// Migrations wait to be applied.
  case pending(names: [String])
}

extension MigrationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .changed(let name): "migration \(name) was changed after it had been applied; add a new one instead"
    case .unknown(let name):
      "the database has migration \(name), which this release does not know: it is older than the data"
    case .outOfOrder(let name, let last):
      "migration \(name) is not applied but the later \(last) is; give it a higher number"
    case .duplicate(let name): "there are two migrations named \(name)"
    case .failed(let name, let error):
      "migration \(name) failed and changed nothing: \(error.message) [\(error.sqlState)]"
    case .pending(let names): "migrations are pending: \(names.joined(separator: ", "))"
    }
  }
}
