public import Delivery
public import Foundation
public import Logging
public import Providers
public import Sendouts
import ServiceLifecycle

/// A hub's part that sends, as tests want it: quick to retry and to look again.
public struct TestHub: Sendable {
  public var dispatch = DispatchSettings.unhurried
  public var runner = RunnerSettings()
  /// Share of each back-off: 0 tries again at once.
  public var jitter = 0.0
  public var logger = TestServer.logger
  /// Its machine's time of day.
  public var now: @Sendable () -> Date = { Date() }
  /// By which closed lanes are tried again.
  public var clock: @Sendable () -> ContinuousClock.Instant = { .now }

  public init() {
    // A slow machine extends no lease in time, so none ends by itself: see `endLeases`.
    dispatch.lease = .seconds(3600)
    dispatch.extendEvery = .milliseconds(500)
    runner.checkEvery = .milliseconds(200)
    runner.scanEvery = .milliseconds(500)
    runner.batchSize = 40
  }
}

extension DispatchSettings {
  /// No push service is silent, no recipient is read again, and no message is refused, only because the machine is slow.
  public static var unhurried: DispatchSettings {
    var settings = DispatchSettings()
    settings.verdictTimeout = .seconds(60)
    settings.recipientAge = .seconds(60)
    settings.connectTimeout = .seconds(60)
    settings.acceptTimeout = .seconds(120)
    return settings
  }
}

extension SendingBench {
  public func dispatcher(_ hub: TestHub = TestHub(), services: PushServices? = nil) -> Dispatcher {
    let jitter = hub.jitter
    return Dispatcher(
      pool, services: services ?? self.services, links: links, suppressions: .ofTests, settings: hub.dispatch,
      logger: hub.logger,
      time: ServerClock(hub.now), clock: hub.clock, random: { jitter })
  }

  public func runner(_ hub: TestHub = TestHub(), services: PushServices? = nil) -> SendoutRunner {
    SendoutRunner(
      pool, dispatcher: dispatcher(hub, services: services), vault: vault, settings: hub.runner,
      logger: hub.logger)
  }

  /// Runs `body` while so many hubs send. They drop everything when it ends, as if they were killed and their leases
  /// had ended.
  /// - Parameter services: send in place of the bench's own.
  @discardableResult
  public func withHubs<Answer: Sendable>(
    _ count: Int = 1, services: PushServices? = nil, _ configure: (inout TestHub) -> Void = { _ in },
    _ body: () async throws -> Answer
  ) async throws -> Answer {
    var hub = TestHub()
    configure(&hub)
    let answer = try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        let runner = runner(hub, services: services)
        group.addTask { try await runner.run() }
      }
      defer { group.cancelAll() }
      return try await body()
    }
    try await endLeases()
    return answer
  }

  /// Lets any hub take over what is claimed, as if it were not extended for too long.
  public func endLeases() async throws {
    try await database.query("UPDATE push_batch SET lease_until = now() - interval '1 second' WHERE state = 'claimed'")
  }
}
