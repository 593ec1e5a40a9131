public import Delivery
public import Providers
public import Sendouts
import ServiceLifecycle

/// A hub's part that sends, as tests want it: quick to retry and to look again.
public struct TestHub: Sendable {
  public var dispatch = DispatchSettings()
  public var runner = RunnerSettings()
  /// Share of each back-off: 0 tries again at once.
  public var jitter = 0.0

  public init() {
    dispatch.extendEvery = .milliseconds(500)
    runner.checkEvery = .milliseconds(200)
    runner.scanEvery = .milliseconds(500)
    runner.batchSize = 40
  }
}

extension SendingBench {
  public func dispatcher(_ hub: TestHub = TestHub(), services: PushServices? = nil) -> Dispatcher {
    let jitter = hub.jitter
    return Dispatcher(
      pool, services: services ?? self.services, links: links, settings: hub.dispatch, logger: TestServer.logger,
      random: { jitter })
  }

  public func runner(_ hub: TestHub = TestHub(), services: PushServices? = nil) -> SendoutRunner {
    SendoutRunner(
      pool, dispatcher: dispatcher(hub, services: services), vault: vault, settings: hub.runner,
      logger: TestServer.logger)
  }

  /// Runs `body` while so many hubs send. They drop everything when it ends, as if they were killed.
  @discardableResult
  public func withHubs<Answer: Sendable>(
    _ count: Int = 1, _ configure: (inout TestHub) -> Void = { _ in }, _ body: () async throws -> Answer
  ) async throws -> Answer {
    var hub = TestHub()
    configure(&hub)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        let runner = runner(hub)
        group.addTask { try await runner.run() }
      }
      defer { group.cancelAll() }
      return try await body()
    }
  }
}
