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
    let runner = LaneRunner(scanEvery: .milliseconds(10), logger: TestServer.logger) {
      receivers.due.withLock { Array($0) }
    } send: { lane, _ in
      receivers.sent.withLock { _ = $0.insert(lane) }
      if lane.customer == CustomerID(1) { await receivers.untilAnswer() }
      receivers.due.withLock { _ = $0.remove(lane) }
      return false
    }
    let running = Task { await runner.run() }
    defer { running.cancel() }
    try await waitUntil { receivers.sent.withLock { $0.count } == 32 }
    // As many as a customer may have. The next one begins when one of these has ended.
    let other = Receivers.Lane(customer: CustomerID(2), number: 1)
    receivers.due.withLock { _ = $0.insert(other) }
    try await waitUntil { receivers.sent.withLock { $0.contains(other) } }
    #expect(receivers.sent.withLock { $0.count } == 32 + 1)
    receivers.answer(1)
    try await waitUntil { receivers.sent.withLock { $0.count } == 32 + 1 + 1 }
    receivers.answer(100_000)
    try await waitUntil { receivers.due.withLock(\.isEmpty) }
  }

  @Test func `Lanes in which nothing can be sent have one turn each time that is asked what is due`() async throws {
    let all = (1...1200).map { Receivers.Lane(customer: CustomerID(Int64($0 % 30)), number: $0) }
    let asked = Mutex(0)
    let turns = Mutex(0)
    // It asks what is due at its start alone.
    let runner = LaneRunner(scanEvery: .seconds(86_400), logger: TestServer.logger) {
      asked.withLock { $0 += 1 }
      return all
    } send: { _, _ in
      turns.withLock { $0 += 1 }
      return false
    }
    let running = Task { await runner.run() }
    try await waitUntil { turns.withLock(\.self) >= all.count }
    running.cancel()
    await running.value
    #expect(asked.withLock(\.self) == 1 && turns.withLock(\.self) == all.count)
  }

  @Test func `Lanes that have always more to send take turns, however many customers there are`() {
    let all = (1...600).map { Receivers.Lane(customer: CustomerID(Int64($0)), number: 1) }
    var lanes = DueLanes<Receivers.Lane>()
    var underWay: [Receivers.Lane] = []
    var turns: [Receivers.Lane: Int] = [:]
    lanes.wait(all)
    for turn in 0..<6_000 {
      while let lane = lanes.begin() {
        underWay.append(lane)
        turns[lane, default: 0] += 1
      }
      #expect(underWay.count == LanePlaces().most)
      let lane = underWay.removeFirst()
      #expect(lanes.othersWait(for: lane))
      lanes.end(lane, mayBeMore: true)
      // What is due is asked in between.
      if turn.isMultiple(of: 100) { lanes.wait(all.shuffled()) }
    }
    #expect(turns.count == all.count && (turns.values.max() ?? 0) - (turns.values.min() ?? 0) <= 2)
  }

  @Test func `A lane that is due again while it is sent is sent once more, by the same task`() async throws {
    let receivers = Receivers()
    let lane = Receivers.Lane(customer: CustomerID(1), number: 1)
    let calls = Mutex((now: 0, most: 0, all: 0))
    let runner = LaneRunner(scanEvery: .milliseconds(10), logger: TestServer.logger) {
      [lane]
    } send: { _, _ in
      calls.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
      await receivers.untilAnswer()
      calls.withLock { $0.now -= 1 }
      return false
    }
    let running = Task { await runner.run() }
    defer { running.cancel() }
    for count in 1...3 {
      try await waitUntil { calls.withLock(\.all) == count }
      receivers.answer(1)
    }
    #expect(calls.withLock(\.most) == 1)
  }

  @Test(arguments: 1...UInt64(isSoak ? 20 : 4))
  func `Whatever is due, ends and goes on, bounds are kept, and each lane that waits has its turn`(seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    let places = seed.isMultiple(of: 2) ? LanePlaces() : LanePlaces(most: 2, ofCustomer: 1, reserve: 0)
    var lanes = DueLanes<Receivers.Lane>(places)
    var underWay: [Receivers.Lane] = []
    let all = (1...40).flatMap { customer in
      (1...Int.random(in: 1...60, using: &random)).map {
        Receivers.Lane(customer: CustomerID(Int64(customer)), number: $0)
      }
    }
    func begin() {
      while let lane = lanes.begin() {
        #expect(!underWay.contains(lane))
        underWay.append(lane)
        let own = underWay.count { $0.customer == lane.customer }
        #expect(underWay.count <= places.most && own <= places.ofCustomer)
      }
    }
    for _ in 1...50 {
      lanes.wait(all.filter { _ in Bool.random(using: &random) })
      begin()
      for lane in underWay.filter({ _ in Int.random(in: 0...9, using: &random) == 0 }) {
        underWay.removeAll { $0 == lane }
        lanes.end(lane, mayBeMore: Bool.random(using: &random))
        begin()
      }
    }
    lanes.wait(all)
    begin()
    var turns = Set(underWay)
    while let lane = underWay.popLast() {
      lanes.end(lane, mayBeMore: false)
      begin()
      turns.formUnion(underWay)
    }
    #expect(turns == Set(all))
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
