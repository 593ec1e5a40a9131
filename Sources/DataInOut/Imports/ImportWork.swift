import Locking
package import Postgres
package import Registry
package import Wire

/// Does what there is to do of imports whose files have come: finds duplicates, merges rows, registers tokens, and ends them. Steps take turns
/// by `StepRunner`.
package struct ImportWork: SteppedWork {
  package let pool: Pool
  private let suppressions: SuppressionKey
  private let endpoints: EndpointRules
  /// How many rows a step merges. They are locked for as long as it takes, some 80 ms.
  private let portion: Int64
  /// Of a file with so many rows, a step that looks at all of them is long. It takes seconds for each million, or minutes on a busy server.
  private let longFrom: Int64
  private let longSteps = OneAtATime()
  private let statistics = OneAtATime()

  /// - Parameter endpoints: where tokens that are endpoints may lead.
  package init(
    _ pool: Pool, suppressions: SuppressionKey, endpoints: EndpointRules, portion: Int64 = 4000,
    longFrom: Int64 = 1_000_000
  ) {
    self.pool = pool
    self.suppressions = suppressions
    self.endpoints = endpoints
    self.portion = portion
    self.longFrom = longFrom
  }

  package let name = "import"

  package static let queries = ImportStepQueries.steps

  /// The import has failed. Rows that are merged stay, and its counts say how many.
  package func giveUp(
    _ customer: CustomerID, _ number: ImportID, after failures: Int, _ fault: String
  ) async throws {
    try await pool.query(
      ImportStepQueries.giveUp, customer.rawValue, number.rawValue,
      """
      \(fault) The hub has tried \(failures) times. What was merged before stays, and the counts say how much. Whoever runs the hub finds \
      more in its log.
      """)
  }

  /// Somebody else wrote what a step was about. It was rolled back, and is to be run again.
  struct Raced: Error {}

  /// Does the next thing.
  /// - Returns: whether there may be more to do at once. It is false, too, if another hub is at it, and if the step is long while this hub has
  ///   another long one under way: it leaves its place to customers whose steps are short.
  /// - Throws: `PostgresError`. It is to be tried again later.
  package func step(_ customer: CustomerID, _ number: ImportID) async throws -> Bool {
    var tries = 0
    while true {
      do {
        let (isMore, hasGrown) = try await inStep(of: customer) { transaction in
          guard let row = try await transaction.query(ImportStepQueries.lock, customer.rawValue, number.rawValue).first
          else {
            return (false, false)
          }
          let step = ImportStep(
            customer: customer, number: number, progress: try ImportStep.Progress(row), transaction: transaction,
            portion: portion, suppressions: suppressions, endpoints: endpoints)
          guard step.looksAtAll, step.progress.staged >= longFrom else { return (try await step.run(), step.hasGrown) }
          return (try await longSteps.runUnlessTaken { try await step.run() } ?? false, false)
        }
        // The next steps do not wait for it. Where somebody else is at it, there will be statistics, too: imports of any number of customers
        // take one connection.
        if hasGrown {
          Task { [pool, statistics] in
            try? await statistics.runUnlessTaken { _ = try await pool.query(ImportStepQueries.refreshStatistics) }
          }
        }
        return isMore
      } catch  where tries < 3 && Self.isRaced(error) {
        tries += 1
      }
    }
  }

  private static func isRaced(_ error: any Error) -> Bool {
    if error is Raced || ImportedDevices.isRaced(error) { return true }
    guard case PostgresError.server(let error) = error else { return false }
    return [ServerError.uniqueViolation, ServerError.deadlockDetected, ServerError.checkViolation].contains(
      error.sqlState)
  }
}

/// Lets one of a hub's tasks run at a time, such as a long step. `StepRunner` has two places, so two customers with large files would take both,
/// and the connections for them, for as long as these steps last.
private final class OneAtATime: Sendable {
  private let isTaken = Mutex(false)

  /// - Returns: nil if another one runs.
  func runUnlessTaken<Answer>(_ body: () async throws -> Answer) async rethrows -> Answer? {
    let isFree = isTaken.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
    guard isFree else { return nil }
    defer { isTaken.withLock { $0 = false } }
    return try await body()
  }
}
