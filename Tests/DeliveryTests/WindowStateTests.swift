import Registry
import Support
import Testing
import Wire

@testable import Delivery

/// Who gets which places of the window, without a task or a clock.
@Suite struct WindowStateTests {
  private let start = ContinuousClock.now

  private func lane(_ customer: Int64, _ app: Int64 = 1) -> LaneKey {
    LaneKey(customer: CustomerID(customer), lane: Lane(app: PushAppID(app), isSandbox: false))
  }

  private func wait(
    _ state: inout WindowState, _ member: Int, _ count: Int, after seconds: Double = 0
  ) -> [(id: Int, grant: SliceGrant?)] {
    state.wait(member, for: [SliceNeed(capacity: count, last: PushNumber(1))], of: nil, at: start + .seconds(seconds))
    return state.resumable(at: start + .seconds(seconds))
  }

  @Test func `A lane begins with a fifth of the window, and each answer lets it have one more`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(1))
    let member = state.join(lane(1), isBulk: true)
    let first = wait(&state, member, 10)
    #expect(first.first?.grant?.capacity.count == 10)
    #expect(wait(&state, member, 10).isEmpty)
    state.release(first[0].grant?.capacity ?? Capacity())
    let next = state.resumable(at: start)
    #expect(next.count == 1)
    #expect(wait(&state, member, 10).count == 1, "ten answers let it have twenty")
    #expect(wait(&state, member, 10).isEmpty)
  }

  @Test func `Places of pushes that did not leave are free, and earn the lane nothing`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(1))
    let member = state.join(lane(1), isBulk: true)
    let first = wait(&state, member, 10)[0].grant?.capacity ?? Capacity()
    state.release(first, isAnswered: false)
    #expect(state.free == 50)
    #expect(wait(&state, member, 10).count == 1)
    #expect(wait(&state, member, 1).isEmpty, "it has a fifth of the window, as at its beginning")
  }

  @Test func `Places that are not answered in time count for their lane alone`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(1))
    let silent = (1...5).map { state.join(lane(1, $0), isBulk: true) }
    var granted = 0
    for member in silent { granted += wait(&state, member, 10).count }
    #expect(granted == 2, "lanes that have had no answer have half of the window together, and leave a fifth")
    let other = state.join(lane(2), isBulk: true)
    #expect(!wait(&state, other, 10, after: 0.5).contains { $0.id == other })
    let late = state.resumable(at: start + .seconds(1))
    #expect(late.first?.id == other, "its customer holds nothing")
    let isSilent = [1, 3].map { state.isSilent(lane(1, $0), at: start + .seconds(1)) }
    #expect(isSilent == [true, false])
  }

  @Test func `Who waits in a silent lane is turned away, and others of the customer are not`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(1))
    let (silent, well) = (state.join(lane(1, 1), isBulk: false), state.join(lane(1, 2), isBulk: false))
    _ = wait(&state, silent, 10)
    #expect(wait(&state, silent, 1).isEmpty)
    #expect(state.alarm == start + .seconds(1))
    let turnedAway = state.resumable(at: start + .seconds(1))
    #expect(turnedAway.map(\.id) == [silent] && turnedAway[0].grant == nil)
    #expect(wait(&state, well, 1, after: 1).first?.grant != nil)
  }

  @Test func `A request for one place does not wait behind one for many, and the larger one has its turn in the end`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(3600))
    let lanes = (1...4).map { state.join(lane($0), isBulk: false) }
    // All have been answered before.
    for member in lanes {
      let capacity = wait(&state, member, 10)[0].grant?.capacity
      state.release(capacity ?? Capacity())
    }
    var held: [Capacity] = []
    for member in lanes.prefix(2) {
      for _ in 1...2 { held.append(wait(&state, member, 10)[0].grant?.capacity ?? Capacity()) }
    }
    _ = wait(&state, lanes[3], 5)
    #expect(wait(&state, lanes[2], 10).isEmpty)
    var passed = 0
    while let capacity = wait(&state, lanes[3], 1).first?.grant?.capacity, passed < 100 {
      state.release(capacity)
      passed += 1
    }
    #expect(passed >= 50 && passed < 100)
    state.release(held[0])
    #expect(state.resumable(at: start).contains { $0.id == lanes[2] })
  }

  @Test func `Messages get what is free, three fifths of the window at most, and none in a silent lane`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(1))
    let taken = state.reserve(of: CustomerID(1), in: [lane(1)], upTo: 100, at: start)
    #expect(taken.count == 30)
    let none = state.reserve(of: CustomerID(2), in: [lane(2)], upTo: 100, at: start)
    #expect(none.count == 0)
    let parts = state.assign(taken, to: [(lane(1, 1), 12), (lane(1, 2), 3)])
    #expect(parts.map(\.count) == [12, 3])
    #expect(state.free == 35)
    let late = start + .seconds(1)
    let isSilent = [1, 2].map { state.isSilent(lane(1, $0), at: late) }
    #expect(isSilent == [true, false])
    let more = [1, 2].map { state.reserve(of: CustomerID(1), in: [lane(1, $0)], upTo: 5, at: late).count }
    #expect(more == [0, 5])
    for part in parts { state.release(part) }
    #expect(state.free == 45)
  }

  @Test
  func `Beside many messages broadcasts leave thrice what these wanted, until they have taken a window without any`() {
    var state = WindowState(size: 50, verdictTimeout: .seconds(3600))
    let member = state.join(lane(1), isBulk: true)
    for _ in 1...5 { state.release(wait(&state, member, 10)[0].grant?.capacity ?? Capacity()) }
    let messages = state.reserve(of: CustomerID(2), in: [], upTo: 20, at: start)
    #expect(messages.count == 20)
    state.release(messages)
    // 35 stay free.
    let first = wait(&state, member, 10)[0].grant?.capacity ?? Capacity()
    #expect(wait(&state, member, 10).isEmpty)
    state.release(first)
    var capacity = state.resumable(at: start)[0].grant?.capacity ?? Capacity()
    for _ in 1...4 {
      state.release(capacity)
      capacity = wait(&state, member, 10)[0].grant?.capacity ?? Capacity()
    }
    #expect(wait(&state, member, 10).count == 1, "a fifth is left free")
  }

  /// Random customers, lanes, speeds and outages.
  @Test(arguments: 1...12) func `Nobody with capacity waits for long, and shares are kept`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let verdictTimeout = Duration.seconds(1)
    var state = WindowState(size: 100, verdictTimeout: verdictTimeout)
    struct Lane {
      let key: LaneKey
      let member: Int
      /// How long its service takes; nil if it never answers.
      var speed: Double?
      var waitsSince: ContinuousClock.Instant?
      var held: [(capacity: Capacity, since: ContinuousClock.Instant)] = []
    }
    var lanes: [Lane] = []
    for customer in 1...Int64.random(in: 2...5, using: &random) {
      for app in 1...Int64.random(in: 1...4, using: &random) {
        let key = lane(customer, app)
        let isSilent = Int.random(in: 0..<3, using: &random) == 0
        lanes.append(
          Lane(
            key: key, member: state.join(key, isBulk: Bool.random(using: &random)),
            speed: isSilent ? nil : Double.random(in: 0.005...0.1, using: &random)))
      }
    }
    var now = start
    func note(_ resumed: [(id: Int, grant: SliceGrant?)]) {
      for (id, grant) in resumed {
        guard let index = lanes.firstIndex(where: { $0.member == id }) else { continue }
        #expect(lanes[index].waitsSince != nil, "it asked")
        lanes[index].waitsSince = nil
        if let capacity = grant?.capacity { lanes[index].held.append((capacity, now)) }
      }
    }
    var answered = 0
    for _ in 1...1600 {
      now += .milliseconds(5)
      for index in lanes.indices {
        if let speed = lanes[index].speed {
          for held in lanes[index].held where now - held.since >= .seconds(speed) {
            state.release(held.capacity)
            answered += held.capacity.count
          }
          lanes[index].held.removeAll { now - $0.since >= .seconds(speed) }
        }
        let isEnded = state.end(of: lanes[index].member) != nil
        if lanes[index].waitsSince == nil, !isEnded, Int.random(in: 0..<3, using: &random) == 0 {
          lanes[index].waitsSince = now
          state.wait(
            lanes[index].member,
            for: [SliceNeed(capacity: Int.random(in: 1...20, using: &random), last: PushNumber(1))],
            of: nil, at: now)
        }
      }
      note(state.resumable(at: now))
      let fresh = lanes.flatMap(\.held).reduce(0) { now - $1.since < verdictTimeout ? $0 + $1.capacity.count : $0 }
      #expect(fresh <= 100 && state.fresh == fresh)
      for lane in lanes {
        let overdue = lane.held.reduce(0) { now - $1.since >= verdictTimeout ? $0 + $1.capacity.count : $0 }
        #expect(overdue <= 120, "at most what it held when it fell silent")
        // A few lanes that have had no answer fill their half of the window for a second each.
        if let since = lane.waitsSince { #expect(now - since < .seconds(6), "\(lane.key)") }
      }
    }
    if lanes.contains(where: { $0.speed != nil }) { #expect(answered > 400) }
    for lane in lanes {
      state.leave(lane.member)
      for held in lane.held { state.release(held.capacity) }
    }
    #expect(state.free == 100)
  }
}
