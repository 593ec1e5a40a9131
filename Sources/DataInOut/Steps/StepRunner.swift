package import Logging
import Outbox
package import Postgres
import Registry
import Retrying
import ServiceLifecycle
package import Wire

/// What any hub does step by step, such as imports: of customers' rows of a table, which are known by their numbers.
///
/// A step is a transaction that begins by locking the row, and moves it on. A hub that is killed has done a step or not, and any hub does the
/// next one.
package protocol SteppedWork: Sendable {
  associatedtype Number: Identifier

  var pool: Pool { get }
  /// What a row is called in logs.
  var name: String { get }
  static var queries: StepQueries { get }

  /// Does the next step.
  /// - Returns: whether there may be more to do at once. It is false, too, if another hub is at it.
  func step(_ customer: CustomerID, _ number: Number) async throws -> Bool

  /// Decides what becomes of a row whose step has failed `RetryPolicy.mostStepFailures` times in a row, or more. It is tried again in any case,
  /// as long as there is something to do.
  /// - Parameter fault: a sentence for the people of the customer.
  /// - Throws: `PostgresError`.
  func giveUp(_ customer: CustomerID, _ number: Number, after failures: Int, _ fault: String) async throws
}

extension SteppedWork {
  /// Runs a step's transaction. A statement may look at all rows of a file, or of a list: it takes seconds for each million.
  func inStep<Outcome: Sendable>(
    of customer: CustomerID, locks: LockWait = .unlimited, _ body: @Sendable (Transaction) async throws -> Outcome
  ) async throws -> Outcome {
    try await pool.transaction(of: customer.rawValue, limit: .seconds(3600), locks: locks) { transaction in
      try await transaction.query(StepQueries.unlimited)
      return try await body(transaction)
    }
  }

  /// The rows of all customers that are due.
  /// - Throws: `PostgresError`.
  package func due() async throws -> [(customer: CustomerID, number: Number)] {
    try await pool.query(Self.queries.due).map { row in
      let (customer, number) = try row.decode(Int64.self, Int64.self)
      return (CustomerID(customer), Number(number))
    }
  }

  /// The customer's rows that are due, the oldest first, and how often the next step of each has failed in a row.
  fileprivate func due(of customer: CustomerID) async throws -> [(number: Number, failures: Int)] {
    try await pool.query(Self.queries.dueOf, customer.rawValue).map { row in
      let (number, failures) = try row.decode(Int64.self, Int32.self)
      return (Number(number), Int(failures))
    }
  }

  /// - Parameter failures: of the step in a row, this one included.
  fileprivate func noteFailure(
    _ customer: CustomerID, _ number: Number, _ failures: Int, _ fault: StepFault, tryAgainAfter delay: Duration
  ) async throws {
    let noted = try await pool.query(
      Self.queries.noteFailure, customer.rawValue, number.rawValue, Int32(failures - 1), fault.sentence,
      delay / .seconds(1))
    // If another hub has counted meanwhile, so many failures were not in a row.
    if !noted.isEmpty, failures >= RetryPolicy.mostStepFailures {
      try await giveUp(customer, number, after: failures, fault.sentence)
    }
  }

  fileprivate func noteSuccess(_ customer: CustomerID, _ number: Number) async throws {
    try await pool.query(Self.queries.noteSuccess, customer.rawValue, number.rawValue)
  }
}

/// The service that does stepped work; any number of hubs can run it.
///
/// It is woken when a customer adds something, and asks every second what is due. A customer has one turn at a time, in which its oldest row goes on, and gives it to a customer that waits
/// after each step. So nobody's file of millions holds up another's: a step that takes minutes takes one of two places, and no hub has two
/// such steps under way (`ImportWork.step`).
///
/// A step that fails is tried again after the delays of `RetryPolicy.steps`, whichever hub does it. An outage of the database is no fault of
/// the step, and is neither counted nor waited for longer than the next scan.
package struct StepRunner<Work: SteppedWork>: Service {
  private let work: Work
  private let scanEvery: Duration
  private let logger: Logger

  /// After how long a step is told to operators: others have waited for it.
  private static var longStep: Duration { .seconds(60) }
  /// How many customers can have their turns at the same time. Each takes a connection of the pool.
  private static var places: LanePlaces { LanePlaces(most: 2, ofCustomer: 1, reserve: 0) }

  package init(_ work: Work, scanEvery: Duration = .seconds(1), logger: Logger) {
    self.work = work
    self.scanEvery = scanEvery
    self.logger = logger
  }

  private struct Turn: DueLane {
    let customer: CustomerID
  }

  /// Stops at once: what a step has not committed is done again.
  package func run() async throws {
    let runner = LaneRunner(scanEvery: scanEvery, places: Self.places, logger: logger) {
      Array(Set(try await work.due().map { Turn(customer: $0.customer) }))
    } send: { turn, mayGoOn in
      await self.turn(of: turn.customer, while: mayGoOn)
    }
    await cancelWhenGracefulShutdown { await runner.run(wokenBy: work.pool, on: [ChangeChannel.step.name]) }
  }

  /// Goes through a customer's rows in their order. One that has nothing to do now, or has failed, leaves its turn to the next one.
  /// - Returns: whether there may be more to do at once.
  func turn(of customer: CustomerID, while mayGoOn: @Sendable () -> Bool) async -> Bool {
    do {
      for (number, failures) in try await work.due(of: customer) {
        var failures = failures
        while try await step(customer, number, &failures) {
          guard mayGoOn() else { return true }
        }
      }
    } catch {
      if !Task.isCancelled {
        // Another step has locked what this one needs, which is no trouble, and can last.
        logger.log(
          level: DatabaseUnavailable(error) == .locked ? .debug : .warning,
          "could not go on with the \(work.name)s of a customer, trying again later",
          metadata: ["customer": "\(customer)", "error": "\(error)"])
      }
    }
    return false
  }

  /// - Parameter failures: of the step until now.
  /// - Returns: whether there may be more to do at once.
  /// - Throws: what is no fault of the step.
  private func step(_ customer: CustomerID, _ number: Work.Number, _ failures: inout Int) async throws -> Bool {
    do {
      let begun = ContinuousClock.now
      let hasMore = try await work.step(customer, number)
      let duration = begun.duration(to: .now)
      if duration >= Self.longStep {
        logger.notice(
          "a step of an \(work.name) took long, and other customers' long ones waited for it",
          metadata: ["customer": "\(customer)", work.name: "\(number)", "seconds": "\(duration.components.seconds)"])
      }
      // Another hub may be at it; then it notes that itself.
      if failures > 0, hasMore {
        try await work.noteSuccess(customer, number)
        failures = 0
      }
      return hasMore
    } catch {
      guard let fault = StepFault(error) else { throw error }
      failures += 1
      let delay = RetryPolicy.steps.delay(after: failures)
      logger.error(
        "a step of an \(work.name) failed, trying again later",
        metadata: [
          "customer": "\(customer)", work.name: "\(number)", "failures": "\(failures)", "delay": "\(delay)",
          "error": "\(error)",
        ])
      try await work.noteFailure(customer, number, failures, fault, tryAgainAfter: delay)
      return false
    }
  }
}

/// An error that is a step's own fault: it is not expected to go away by itself.
struct StepFault {
  /// For the people of the customer: without values, and without anything of the hub's tables.
  let sentence: String

  /// - Returns: `nil` for what is none: the database is away or too busy, or the hub stops.
  init?(_ error: any Error) {
    switch error {
    case is CancellationError: return nil
    case let problem as UnusableFile: sentence = problem.sentence
    case is ImportWork.Raced: sentence = "Others went on writing the contacts of these rows."
    case PostgresError.timedOut(let statement): sentence = "The database took too long (\(statement))."
    case PostgresError.server(let problem) where DatabaseUnavailable(error) == nil:
      sentence = "The database refused it (\(problem.statement), SQLSTATE \(problem.sqlState))."
    default:
      guard DatabaseUnavailable(error) == nil else { return nil }
      sentence = "The hub has a fault (\(type(of: error)))."
    }
  }
}
