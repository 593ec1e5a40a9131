import Delivery
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Locking
import Testing
import Wire

@Suite struct LostClaimTests {
  @Test(arguments: [1, 3])
  func `What a claim without a reply has claimed is released before the next claim, however often that takes`(
    failures: Int
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all, batchSize: 40)
      }
      let database = LossyDatabase(bench.pool, failures: failures)
      let dispatcher = Dispatcher(
        database, services: bench.services, links: bench.links, suppressions: .ofTests,
        settings: .unhurried, logger: TestServer.logger)
      let result = await dispatcher.dispatch(
        try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane)
      #expect(result.end == .drained)
      #expect(database.claimsBeforeRelease == 0)
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 100, sent: 100, accepted: 100))
    }
  }

  @Test func `A run that is stopped releases it too`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(40)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all, batchSize: 40)
      }
      let stop = StopSignal()
      let database = LossyDatabase(bench.pool, failures: 2) { stop.stop() }
      let dispatcher = Dispatcher(
        database, services: bench.services, links: bench.links, suppressions: .ofTests,
        settings: .unhurried, logger: TestServer.logger)
      let result = await dispatcher.dispatch(
        try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane,
        stop: stop)
      #expect(result.end == .stopped)
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 40, queued: 40))
      #expect(bench.simulator.apns.count == 0)
    }
  }
}

/// Loses the reply to the first claim, and is away for the statements after it that look for what was claimed.
private final class LossyDatabase: Querying {
  private struct State {
    var isLost = false
    var isReleased = false
    var failures: Int
    var claimsBeforeRelease = 0
  }

  private let database: any Querying
  private let state: Mutex<State>
  private let whenLost: @Sendable () -> Void

  init(_ database: any Querying, failures: Int, whenLost: @escaping @Sendable () -> Void = {}) {
    self.database = database
    self.whenLost = whenLost
    state = Mutex(State(failures: failures))
  }

  /// Claims after the lost one, while what that has claimed was not released.
  var claimsBeforeRelease: Int { state.withLock(\.claimsBeforeRelease) }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let (losesReply, isAway) = state.withLock { state -> (Bool, Bool) in
      switch statement.name {
      case "batch.claim":
        if state.isLost, !state.isReleased { state.claimsBeforeRelease += 1 }
        defer { state.isLost = true }
        return (!state.isLost, false)
      case "batch.claimed_by":
        state.failures -= 1
        return (false, state.failures >= 0)
      case "batch.release":
        state.isReleased = true
        return (false, false)
      default: return (false, false)
      }
    }
    if isAway { throw PostgresError.unavailable("away") }
    let rows = try await database.run(statement, parameters, deadline: deadline)
    guard losesReply else { return rows }
    whenLost()
    throw PostgresError.unknownOutcome(statement: statement.name)
  }
}
