package import Logging
package import Postgres
package import Registry
public import ServiceLifecycle
package import Wire

/// Does what there is to do of erasures, a portion of a table at a time.
///
/// A step is a transaction that begins by locking the erasure's row and moves it on. A hub that is killed has done a step or not, and any
/// hub does the next one.
package struct ErasureWork: Sendable {
  private let pool: Pool
  private let steps: [(name: String, statement: Statement)]

  package init(_ pool: Pool, _ tables: [PersonalTable]) {
    self.pool = pool
    steps = tables.compactMap { table in
      if case .inPortions(let statement) = table.erasure { (table.name, statement) } else { nil }
    }
  }

  package func due() async throws -> [(customer: CustomerID, number: Int64)] {
    try await pool.query(ErasureQueries.due).map { row in
      let (customer, number) = try row.decode(Int64.self, Int64.self)
      return (CustomerID(customer), number)
    }
  }

  /// How long a statement may take: a step looks at all rows of an import.
  private static let limit = Duration.seconds(600)
  private static let start: [Int64] = [0, 0]

  /// Erases the next portion.
  /// - Returns: whether there is more to do at once. It is false, too, if another hub is at it.
  package func step(_ customer: CustomerID, _ number: Int64) async throws -> Bool {
    try await pool.transaction(of: customer.rawValue, limit: Self.limit) { transaction in
      try await transaction.query(ErasureQueries.unlimit)
      guard let row = try await transaction.query(ErasureQueries.lock, customer.rawValue, number).first else {
        return false
      }
      let (contact, names, step, cursor) = try row.decode(Int64.self, [String].self, String?.self, [Int64].self)
      // Another version's step that is not known begins all of them anew.
      let place = step.flatMap { name in steps.firstIndex { $0.name == name } }
      let current = place ?? 0
      guard current < steps.count else { return false }
      let next = try await transaction.query(
        steps[current].statement, customer.rawValue, contact, names, place == nil ? Self.start : cursor, number
      ).first?.decode([Int64]?.self)
      if let cursor = next ?? nil {
        try await transaction.query(
          ErasureQueries.advance, customer.rawValue, number, steps[current].name, cursor)
      } else if current + 1 < steps.count {
        try await transaction.query(
          ErasureQueries.advance, customer.rawValue, number, steps[current + 1].name, Self.start)
      } else {
        try await transaction.query(ErasureQueries.end, customer.rawValue, number)
        return false
      }
      return true
    }
  }
}

/// The service that erases people; any number of hubs can run it. It asks every second what is due. Each erasure gets a turn of some
/// steps, so that nobody's holds up another's.
public struct ErasureRunner: Service {
  private let work: ErasureWork
  private let scanEvery: Duration
  private let logger: Logger
  /// How many steps an erasure has in a turn.
  private static let turn = 16

  package init(_ pool: Pool, _ tables: [PersonalTable], scanEvery: Duration = .seconds(1), logger: Logger) {
    work = ErasureWork(pool, tables)
    self.scanEvery = scanEvery
    self.logger = logger
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        let hasMore = await round()
        if !hasMore { try? await Task.sleep(for: scanEvery) }
      }
    }
  }

  private func round() async -> Bool {
    var hasMore = false
    do {
      for (customer, number) in try await work.due() {
        do {
          var steps = 0
          while try await work.step(customer, number) {
            steps += 1
            if steps == Self.turn || Task.isCancelled {
              hasMore = true
              break
            }
          }
        } catch {
          guard !Task.isCancelled else { return false }
          logger.error(
            "an erasure's step failed, trying again later",
            metadata: ["customer": "\(customer)", "erasure": "\(number)", "error": "\(error)"])
        }
      }
    } catch {
      guard !Task.isCancelled else { return false }
      logger.warning("could not look for erasures, trying again later", metadata: ["error": "\(error)"])
    }
    return hasMore
  }
}
