public import Postgres
import Locking

/// A database of a test's own, with every migration applied.
///
/// ```swift
/// try await withDatabase { database in
///   try await database.pool.query(…)
/// }
/// ```
public struct TestDatabase: Sendable {
  public let name: String
  /// For libpq: psql takes it too.
  public let connectionString: String
  /// Connections to it; more pools may be opened with `withPool`.
  public let pool: Pool
  let server: TestServer

  /// Another pool on the same database, for as long as `body` runs.
  @discardableResult
  public func withPool<Answer: Sendable>(
    _ configure: (inout PoolConfiguration) -> Void = { _ in }, _ body: (Pool) async throws -> Answer
  ) async throws -> Answer { try await server.withPool(to: name, configure, body) }

  /// Runs SQL that is of no interest to the code under test: set-up, or a look at a table.
  @discardableResult
  public func query<each Value: PostgresEncodable>(_ sql: String, _ values: repeat each Value) async throws -> Rows {
    try await pool.query(sql: sql, repeat each values)
  }
}

extension Querying {
  /// Runs SQL of a test's own.
  @discardableResult
  public func query<each Value: PostgresEncodable>(sql: String, _ values: repeat each Value) async throws -> Rows {
    try await query(Statement("test.\(sql.hashValue)", .write, sql), repeat each values)
  }
}

extension TestDatabase {
  /// What `pg_locks` has of this database, for FROM. The view shows those of all tests, whose tables have the same numbers.
  public static let locks = """
    (SELECT lock.* FROM pg_locks AS lock JOIN pg_database AS own ON own.oid = lock.database
      WHERE own.datname = current_database()) AS lock
    """
  /// The backends of this database, for FROM.
  public static let activity = "(SELECT * FROM pg_stat_activity WHERE datname = current_database()) AS activity"

  /// Returns when a statement waits for somebody's lock.
  public func someoneWaits(_ count: Int = 1, as observer: Pool) async throws {
    let look = Statement(
      "test.someone_waits", .write,
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
      """)
    try await waitUntil { try await observer.query(look)[0].decode(Int.self) >= count }
  }
}

/// Runs `body` on a fresh clone of the migrated template, which is dropped afterwards.
/// - Parameter configure: steers `database.pool`.
@discardableResult
public func withDatabase<Answer: Sendable>(
  _ configure: (inout PoolConfiguration) -> Void = { _ in }, _ body: (TestDatabase) async throws -> Answer
) async throws -> Answer {
  await limit.enter()
  defer { limit.leave() }
  let server = try await TestServer.shared
  let name = "test_\(serial.add(1, ordering: .relaxed).newValue)_\(UInt32.random(in: 0 ... .max))"
  let options = try await server.copyOptions
  let create = Statement("test.create", .write, "CREATE DATABASE \(name) TEMPLATE \(server.template) \(options)")
  try await server.administration.query(create)
  let outcome: Result<Answer, any Error>
  do {
    let answer = try await server.withPool(to: name, configure) { pool in
      try await body(
        TestDatabase(name: name, connectionString: server.connectionString(name), pool: pool, server: server))
    }
    outcome = .success(answer)
  } catch {
    outcome = .failure(error)
  }
  let drop = Statement("test.drop", .write, "DROP DATABASE \(name) WITH (FORCE)")
  _ = try? await server.administration.query(drop)
  return try outcome.get()
}

private let serial = Atomic(0)
/// Tests run all at once, and the server takes a few hundred connections.
private let limit = ConcurrencyLimit(32)

/// Lets a number of tasks through at once; the others wait, first come, first served.
private final class ConcurrencyLimit: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state in
      guard state.waiting.isEmpty else { return Optional(state.waiting.removeFirst()) }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}

/// Counts the statements that pass through it, by name.
public final class CountingDatabase: Querying {
  private let database: any Querying
  private let seen = Mutex<[String: Int]>([:])

  public init(_ database: any Querying) { self.database = database }

  public var counts: [String: Int] { seen.withLock(\.self) }

  /// How many statements passed whose names begin so; of all of them if nothing is said.
  public func count(of prefix: String = "") -> Int {
    counts.filter { $0.key.hasPrefix(prefix) }.values.reduce(0, +)
  }

  public func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    seen.withLock { $0[statement.name, default: 0] += 1 }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}
