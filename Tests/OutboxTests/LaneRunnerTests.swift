import Locking
import Support
import Testing
import Wire

@testable import Outbox

@Suite struct LaneRunnerTests {
  @Test func `A customer whose receivers never answer leaves others room, and what waits follows what has ended`()
    async throws
  {
    let receivers = Receivers()
    receivers.due.withLock { due in
      for number in 1...100 { due.insert(.init(customer: CustomerID(1), number: number)) }
    }
    // It asks what is due at its start, and from then on when it is woken.
    let runner = LaneRunner(scanEvery: .seconds(86_400), logger: TestServer.logger) {
      receivers.due.withLock { Array($0) }
    } send: { lane in
      receivers.sent.withLock { _ = $0.insert(lane) }
      if lane.customer == CustomerID(1) { await receivers.untilAnswer() }
      receivers.due.withLock { _ = $0.remove(lane) }
    }
    let running = Task { await runner.run() }
    defer { running.cancel() }
    try await waitUntil { receivers.sent.withLock { $0.count } == 32 }
    // As many as a customer may have. The next one begins when one of these has ended.
    let other = Receivers.Lane(customer: CustomerID(2), number: 1)
    receivers.due.withLock { _ = $0.insert(other) }
    receivers.answer(1)
    try await waitUntil { receivers.sent.withLock { $0.contains(other) } }
    try await waitUntil { receivers.sent.withLock { $0.count } == 32 + 1 + 1 }
    receivers.answer(100_000)
    try await waitUntil { receivers.due.withLock(\.isEmpty) }
  }

  @Test func `A lane that is due again while it is sent is sent once more, by the same task`() async throws {
    let receivers = Receivers()
    let lane = Receivers.Lane(customer: CustomerID(1), number: 1)
    let calls = Mutex((now: 0, most: 0, all: 0))
    let runner = LaneRunner(scanEvery: .milliseconds(10), logger: TestServer.logger) {
      [lane]
    } send: { _ in
      calls.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
      await receivers.untilAnswer()
      calls.withLock { $0.now -= 1 }
    }
    let running = Task { await runner.run() }
    defer { running.cancel() }
    for count in 1...3 {
      try await waitUntil { calls.withLock(\.all) == count }
      receivers.answer(1)
    }
    #expect(calls.withLock(\.most) == 1)
  }
}

/// Lanes that are due, and receivers that answer when they are told to.
private final class Receivers: Sendable {
  struct Lane: DueLane {
    let customer: CustomerID
    let number: Int
  }

  let due = Mutex<Set<Lane>>([])
  let sent = Mutex<Set<Lane>>([])
  private let answers = Mutex(0)

  func answer(_ count: Int) { answers.withLock { $0 += count } }

  func untilAnswer() async {
    try? await waitUntil {
      answers.withLock { answers in
        guard answers > 0 else { return false }
        answers -= 1
        return true
      }
    }
  }
}
