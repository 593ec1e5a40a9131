import Foundation
import Postgres
import Support
import Locking
import Testing

/// Asks the running hub for one thing after the other while hub and database are killed, and remembers what was acknowledged.
final class RunUnderKills: Sendable {
  /// Asks for the thing of that number, from 1 on. Returns whether it was acknowledged; if not, it may still have been committed.
  typealias Ask = @Sendable (_ number: Int64, _ of: TestWebServer) async -> Bool

  private struct State {
    var hub: ProcessFixture.Hub?
    var last: Int64 = 0
    var acknowledged: [Int64] = []
    var waitingForHub: [CheckedContinuation<ProcessFixture.Hub, Never>] = []
    var waitingForCount: (count: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let pushcart: Pushcart
  private let goal: Int
  private let ask: Ask
  private let state = Mutex(State())

  /// - Parameter goal: how much is to be acknowledged.
  init(_ pushcart: Pushcart, goal: Int, ask: @escaping Ask) {
    self.pushcart = pushcart
    self.goal = goal
    self.ask = ask
  }

  var acknowledgedNumbers: [Int64] { state.withLock { $0.acknowledged } }

  /// Runs until the goal is reached. Hub and database are killed in turn, the hub first, and the hub once more at the end.
  func underKills(_ kills: Int, of cluster: PrivateCluster, workers: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<workers { group.addTask { await self.work() } }
      for kill in 1...kills {
        try await startHub()
        await acknowledged(kill * goal / (kills + 1))
        if kill % 2 == 1 {
          await killHub()
        } else {
          #expect(Foundation.kill(try #require(cluster.processID), SIGKILL) == 0)
        }
      }
      try await startHub()
      try await group.waitForAll()
    }
    await killHub()
  }

  /// Starts a hub unless one runs.
  private func startHub() async throws {
    guard state.withLock({ $0.hub == nil }) else { return }
    let hub = try await ProcessFixture.Hub(pushcart, logLevel: "info")
    state.withLock { state in
      state.hub = hub
      for waiting in state.waitingForHub { waiting.resume(returning: hub) }
      state.waitingForHub = []
    }
  }

  private func killHub() async {
    let hub = state.withLock { state in
      defer { state.hub = nil }
      return state.hub
    }
    await hub?.process.die()
  }

  /// Waits until so much is acknowledged.
  private func acknowledged(_ count: Int) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.acknowledged.count >= count {
          continuation.resume()
        } else {
          state.waitingForCount = (count, continuation)
        }
      }
    }
  }

  /// Asks until the goal is reached, for each number once.
  private func work() async {
    while let number = next() {
      if await ask(number, await currentHub().server) { acknowledge(number) }
    }
  }

  private func next() -> Int64? {
    state.withLock { state in
      guard state.acknowledged.count < goal else { return nil }
      state.last += 1
      return state.last
    }
  }

  private func currentHub() async -> ProcessFixture.Hub {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if let hub = state.hub { continuation.resume(returning: hub) } else { state.waitingForHub.append(continuation) }
      }
    }
  }

  private func acknowledge(_ number: Int64) {
    state.withLock { state in
      state.acknowledged.append(number)
      if let waiting = state.waitingForCount, state.acknowledged.count >= waiting.count {
        waiting.continuation.resume()
        state.waitingForCount = nil
      }
    }
  }
}
