import Support
import Testing

@testable import Postgres

/// The state machine alone: no socket, no server, a clock that stands still until it is moved.
@Suite struct PoolStateTests {
  private static let one = Statement("test.one", .read, "SELECT 1")

  private var state: PoolState
  private var now = MonotonicInstant(nanoseconds: 0)

  init() { state = PoolState(Self.configuration()) }

  private static func configuration() -> PoolConfiguration {
    var configuration = PoolConfiguration(connectionString: "")
    configuration.sharedConnections = 2
    configuration.dedicatedConnections = 1
    configuration.queueLimit = 200
    configuration.queueTimeout = .seconds(5)
    configuration.hungAfter = .seconds(1)
    return configuration
  }

  private func call(deadline: MonotonicInstant = .distantFuture) -> Call {
    Call(Self.one, ParameterBuffer(), role: .read, deadline: deadline)
  }

  private static let tenants = Statement("test.tenants", .read, "SELECT 1 FROM device WHERE customer_id = $1::bigint")

  private func call(of customer: Int64) -> Call { Call(Self.tenants, ParameterBuffer(customer), role: .read) }

  /// What is to be done now. What is turned away is finished, as the driver does it.
  private mutating func actions() -> [String] {
    var all: [String] = []
    while let action = state.next(at: now) { all.append(carryOut(action)) }
    return all
  }

  private func carryOut(_ action: PoolState.Action) -> String {
    switch action {
    case .open(let id, let purpose): return "open \(id) \(purpose)"
    case .send(_, let id): return "send \(id)"
    case .lease(let id, let waiter):
      waiter.finish(.failure(CancellationError()))
      return "lease \(id)"
    case .turnAway(let call, let error):
      call.fail(error)
      return "turn away \(name(error))"
    case .refuse(let waiter, let error):
      waiter.finish(.failure(error))
      return "refuse \(name(error))"
    case .passDeadlines(let late): return "late \(late.count)"
    case .close: return "close"
    }
  }

  private func name(_ error: PostgresError) -> String {
    switch error {
    case .unavailable(let reason): reason
    case .busy: "busy"
    default: "\(error)"
    }
  }

  /// A state with one shared connection open, at number 0.
  private mutating func openShared() {
    #expect(actions() == ["open 0 shared"])
    state.opened(0)
    #expect(state.proved(0) == false)
  }

  /// A state with all shared connections open and idle, at the first numbers.
  private mutating func openAllShared() {
    openShared()
    while true {
      // One of two is sent behind the other.
      for _ in 0..<2 { #expect(state.enqueue(call(), at: now) == nil) }
      _ = actions()
      guard let id = state.connections.firstIndex(where: { $0.phase == .opening(.shared) }) else { break }
      state.opened(id)
    }
    for id in state.connections.indices { state.connections[id].load = ConnectionLoad() }
  }

  // MARK: Connections

  @Test mutating func `One shared connection is kept open without any call`() {
    #expect(actions() == ["open 0 shared"])
    #expect(actions() == [])
    state.opened(0)
    #expect(actions() == [])
    state.closed(0)
    #expect(actions() == ["open 0 shared"])
  }

  @Test mutating func `Calls that wait open more shared connections, up to the limit`() {
    for _ in 0..<5 { #expect(state.enqueue(call(), at: now) == nil) }
    #expect(actions() == ["open 0 shared", "open 1 shared"])
  }

  @Test mutating func `A call sent behind another has another connection opened`() {
    openShared()
    for _ in 0..<2 { #expect(state.enqueue(call(), at: now) == nil) }
    #expect(actions() == ["send 0", "send 0", "open 1 shared"])
    state.opened(1)
    for _ in 0..<2 { #expect(state.enqueue(call(), at: now) == nil) }
    #expect(actions() == ["send 1", "send 1"])
  }

  @Test mutating func `After a failure connections are opened one at a time, and not before the back-off ends`() {
    let reasons = ["away", "still away"]
    for _ in 0..<5 { #expect(state.enqueue(call(), at: now) == nil) }
    #expect(actions() == ["open 0 shared", "open 1 shared"])
    #expect(state.failed(0, reasons[0], at: now, jitter: 1) == true)
    #expect(actions() == [])
    #expect(state.failed(1, reasons[1], at: now, jitter: 1) == false)
    #expect(actions() == [])
    #expect(state.wakeTime == state.backoff.notBefore)
    now = state.wakeTime
    #expect(actions() == ["open 0 shared"])
    state.opened(0)
    // Open is not proven: a proxy opens connections to nowhere.
    #expect(actions() == Array(repeating: "send 0", count: 5) + ["open 1 shared"])
    #expect(state.proved(0) == true)
    #expect(state.proved(1) == false)
  }

  @Test mutating func `A listener has a connection of its own for as long as it is needed`() {
    openShared()
    state.needsListener = true
    #expect(actions() == ["open 1 listening"])
    state.opened(1)
    #expect(actions() == [])
    state.closed(1)
    #expect(actions() == ["open 1 listening"])
    state.needsListener = false
    #expect(state.failed(1, "away", at: now) == true)
    now = now.advanced(by: .seconds(1))
    #expect(actions() == [])
  }

  // MARK: Calls

  @Test
  mutating func `A call goes to the least loaded connection, and waits for a new one rather than behind a slow one`() {
    openShared()
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(actions() == ["send 0"])
    now = now.advanced(by: .milliseconds(30))
    // The first is slow, and another connection may be had.
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(actions() == ["open 1 shared"])
    state.opened(1)
    #expect(actions() == ["send 1"])
    state.connections[0].load = ConnectionLoad()
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(actions() == ["send 0"])
  }

  @Test mutating func `A connection whose server hangs gets nothing more, and waiting calls expire`() {
    openShared()
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(actions() == ["send 0"])
    now = now.advanced(by: .seconds(2))
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(actions() == ["open 1 shared"])
    #expect(state.failed(1, "away", at: now) == true)
    now = now.advanced(by: .seconds(5))
    #expect(actions() == ["turn away no connection was free within 5.0 seconds: away"])
  }

  @Test mutating func `A full connection gets no more, and a full queue turns away the last to arrive`() {
    openShared()
    for _ in 0..<128 { #expect(state.enqueue(call(), at: now) == nil) }
    _ = actions()
    #expect(state.connections[0].load.callsInFlight == 128)
    let waiting = (0..<201).map { _ in call() }
    for call in waiting { #expect(state.enqueue(call, at: now) == nil) }
    #expect(actions() == ["turn away busy"])
    #expect(waiting.last?.isFinished == true)
    #expect(state.calls.count == 200)
  }

  @Test mutating func `Calls that come back go first, in the order they were sent`() {
    openShared()
    let calls = (0..<4).map { _ in call() }
    for call in calls[2...] { #expect(state.enqueue(call, at: now) == nil) }
    for call in calls[..<2] { state.requeue(call, at: now) }
    for call in calls {
      guard case .send(let sent, 0)? = state.next(at: now) else {
        Issue.record("nothing was sent")
        return
      }
      #expect(sent === call)
    }
  }

  @Test mutating func `A call that came back and expires later does not keep the others from expiring`() {
    _ = state.enqueue(call(), at: now)
    now = now.advanced(by: .seconds(1))
    state.requeue(call(), at: now)
    _ = actions()
    #expect(state.failed(0, "away", at: now) == true)
    #expect(state.failed(1, "away", at: now) == false)
    now = now.advanced(by: .seconds(4))
    #expect(actions().first == "turn away no connection was free within 5.0 seconds: away")
    #expect(state.calls.count == 1)
  }

  @Test mutating func `A call that is over is neither sent nor turned away`() {
    let over = call()
    #expect(state.enqueue(over, at: now) == nil)
    over.fail(CancellationError())
    openShared()
    #expect(actions() == [])
    #expect(state.calls.isEmpty)
  }

  @Test mutating func `Cancelled calls make room in a full queue and have no connection opened`() {
    let cancelled = (0..<150).map { _ in call() }
    let first = call()
    #expect(state.enqueue(first, at: now) == nil)
    for call in cancelled { #expect(state.enqueue(call, at: now) == nil) }
    for call in cancelled { call.fail(CancellationError()) }
    #expect(actions() == ["open 0 shared"])
    let waiting = (0..<199).map { _ in call() }
    for call in waiting { #expect(state.enqueue(call, at: now) == nil) }
    #expect(actions() == ["open 1 shared"])
    #expect(waiting.allSatisfy { !$0.isFinished })
    #expect(state.calls.count == 200)
  }

  @Test mutating func `Calls past their deadline leave the queue, whatever is in front of them`() {
    let late = now.advanced(by: .seconds(1))
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(state.enqueue(call(deadline: late), at: now) == nil)
    #expect(state.enqueue(call(deadline: now), at: now) != nil)
    _ = actions()
    #expect(state.wakeTime == late)
    now = late
    #expect(actions() == ["late 1"])
    #expect(state.calls.count == 1)
  }

  @Test mutating func `Deadlines in a row are looked at together`() {
    for number in 1...1000 {
      #expect(state.enqueue(call(deadline: MonotonicInstant(nanoseconds: Int64(number) * 50_000)), at: now) == nil)
      if number % 200 == 0 { _ = actions() }
    }
    var looks = 0
    while !state.calls.isEmpty {
      now = state.wakeTime
      looks += actions().count { $0.hasPrefix("late") }
    }
    // A thousand in 50 ms.
    #expect(looks <= 7)
    #expect(now <= MonotonicInstant(nanoseconds: 60_000_000))
  }

  // MARK: Leases

  @Test mutating func `Connections are leased first come, first served, each to one at a time`() {
    openShared()
    let waiters = (0..<3).map { _ in ConnectionWaiter() }
    for waiter in waiters { #expect(state.enqueue(waiter, at: now) == nil) }
    waiters[1].isTaken = true
    waiters[1].cancel()
    #expect(actions() == ["open 1 dedicated"])
    state.opened(1)
    #expect(actions() == ["lease 1"])
    #expect(waiters[0].isFinished && !waiters[2].isFinished)
    state.returned(1)
    #expect(actions() == ["lease 1"])
    #expect(waiters[2].isFinished)
    // In a state that is in doubt it is closed, and a new one opened once it is needed.
    state.closed(1)
    #expect(actions() == [])
    #expect(state.enqueue(ConnectionWaiter(), at: now) == nil)
    #expect(actions() == ["open 1 dedicated"])
  }

  @Test mutating func `Waiters for a lease expire, and their number is limited`() {
    openShared()
    for _ in 0..<200 { #expect(state.enqueue(ConnectionWaiter(), at: now) == nil) }
    #expect(state.enqueue(ConnectionWaiter(), at: now).map(name) == "busy")
    #expect(actions() == ["open 1 dedicated"])
    #expect(state.wakeTime == now.advanced(by: .seconds(5)))
    now = state.wakeTime
    #expect(actions() == Array(repeating: "refuse busy", count: 200))
  }

  @Test mutating func `Who waited in vain is told whether the database is away or its connections are busy`() {
    #expect(actions() == ["open 0 shared"])
    #expect(state.unservedByDeadline.isUnavailable)
    state.opened(0)
    // A proxy may open connections to nowhere.
    #expect(state.unservedByDeadline.isUnavailable)
    #expect(state.proved(0) == false)
    #expect(!state.unservedByDeadline.isUnavailable)
    #expect(state.enqueue(ConnectionWaiter(), at: now) == nil)
    #expect(actions() == ["open 1 dedicated"])
    #expect(state.failed(1, "away", at: now) == true)
    #expect(state.unservedByDeadline.isUnavailable)
  }

  @Test mutating func `A cancelled waiter makes room for another and has no connection opened`() {
    openShared()
    let waiters = (0..<200).map { _ in ConnectionWaiter() }
    for waiter in waiters { #expect(state.enqueue(waiter, at: now) == nil) }
    for waiter in waiters { waiter.finish(.failure(CancellationError())) }
    #expect(state.enqueue(ConnectionWaiter(), at: now) == nil)
    #expect(state.waiters.count == 1)
    #expect(actions() == ["open 1 dedicated"])
    // A waiter behind one that waits, and over: not a reason for a connection more.
    var configuration = Self.configuration()
    configuration.dedicatedConnections = 2
    state = PoolState(configuration)
    openShared()
    let over = ConnectionWaiter()
    for waiter in [ConnectionWaiter(), over] { #expect(state.enqueue(waiter, at: now) == nil) }
    over.finish(.failure(CancellationError()))
    #expect(actions() == ["open 1 dedicated"])
  }

  // MARK: Customers

  @Test func `The customer of a tenant's statement is its first parameter, if that is a bigint`() {
    func flow(_ parameters: ParameterBuffer, of statement: Statement = Self.tenants) -> Int64 {
      Call(statement, parameters, role: .read).flow
    }
    #expect(flow(ParameterBuffer(Int64(7), "x")) == 7 && flow(ParameterBuffer(Int64(-1))) == -1)
    #expect(flow(ParameterBuffer()) == 0 && flow(ParameterBuffer("7")) == 0)
    #expect(flow(ParameterBuffer([Int64(7)])) == 0 && flow(ParameterBuffer(Int64?.none)) == 0)
    #expect(flow(ParameterBuffer(Int64(7)), of: Self.one) == 0)
  }

  @Test mutating func `Customers take turns, however many calls one of them has waiting`() {
    var calls = FlowTable<Call>(connections: 1)
    for _ in 0..<100 { calls.append(call(of: 1)) }
    for _ in 0..<3 { calls.append(call(of: 2)) }
    var sent: [Int64] = []
    while let next = calls.next() {
      sent.append(next.flow)
      calls.take(for: 0, at: now)
      #expect(calls.leave(next) == 0 && calls.leave(next) == nil)
    }
    #expect(sent.count == 103 && calls.isEmpty)
    // A turn is some 15 small calls.
    #expect(sent.prefix(20).count { $0 == 2 } == 3)
  }

  @Test func `What is answered soon widens a flow's window, and what is not narrows it`() {
    var window = FlowWindow()
    for _ in 0..<1000 { window.answered(after: 1_000_000, isLast: false) }
    #expect(window.size == FlowWindow.most)
    window.answered(after: 1_000_000, isLast: true)
    #expect(window.size == 2 * FlowWindow.idleSize)
    for _ in 0..<1000 { window.answered(after: 300_000_000, isLast: false) }
    #expect(window.size == FlowWindow.least)
    window.answered(after: 1_000_000, isLast: true)
    window.close()
    #expect(window.size == FlowWindow.least)
  }

  @Test mutating func `A customer's calls leave a shared connection to others`() {
    var configuration = Self.configuration()
    configuration.sharedConnections = 3
    state = PoolState(configuration)
    openAllShared()
    for _ in 0..<12 { #expect(state.enqueue(call(of: 1), at: now) == nil) }
    #expect(Set(actions()) == ["send 0", "send 1"])
    #expect(state.enqueue(call(of: 2), at: now) == nil)
    #expect(actions() == ["send 2"])
  }

  @Test mutating func `Customers whose statements take long have few in flight, and leave a connection to others`() {
    var configuration = Self.configuration()
    configuration.sharedConnections = 4
    state = PoolState(configuration)
    openAllShared()
    for customer in Int64(1)...3 {
      // Known to the pool.
      #expect(state.enqueue(call(of: customer), at: now) == nil)
      _ = actions()
      state.keepsBusy(customer, at: now)
    }
    for id in 0...3 { state.connections[id].load = ConnectionLoad() }
    for customer in Int64(1)...3 {
      for _ in 0..<20 { #expect(state.enqueue(call(of: customer), at: now) == nil) }
    }
    var connections: [Int64: Set<Int>] = [:]
    var count: [Int64: Int] = [:]
    while let action = state.next(at: now) {
      guard case .send(let call, let id) = action else { continue }
      connections[call.flow, default: []].insert(id)
      count[call.flow, default: 0] += 1
    }
    #expect(connections.values.allSatisfy { $0.count <= 3 })
    #expect(count.values.allSatisfy { $0 <= 3 * FlowWindow.least })
    #expect(connections.values.reduce(into: Set()) { $0.formUnion($1) }.count <= 3)
    #expect(state.enqueue(call(of: 4), at: now) == nil)
    let free = Set(0...3).subtracting(connections.values.joined())
    #expect(actions() == free.map { "send \($0)" })
  }

  @Test mutating func `Long transactions leave connections to short ones, and customers to each other`() {
    var configuration = Self.configuration()
    configuration.dedicatedConnections = 6
    state = PoolState(configuration)
    openShared()
    for customer in [Int64(1), 1, 1, 2, 3, 4, 5] {
      #expect(state.enqueue(ConnectionWaiter(flow: customer, isLong: true), at: now) == nil)
    }
    func leases() -> Int {
      while let id = state.connections.firstIndex(where: { $0.phase == .opening(.dedicated) }) { state.opened(id) }
      var count = 0
      while true {
        let done = actions()
        count += done.count { $0.hasPrefix("lease") }
        guard let id = state.connections.firstIndex(where: { $0.phase == .opening(.dedicated) }) else { return count }
        state.opened(id)
      }
    }
    // No more than leave a third of the connections to short ones.
    #expect(leases() == 4)
    #expect(state.longWaiters.count == 3)
    for _ in 0..<3 { #expect(state.enqueue(ConnectionWaiter(flow: 1), at: now) == nil) }
    #expect(leases() == 2)
    #expect(state.waiters.count == 1)
  }

  @Test mutating func `A customer that fills the queue is turned away before others`() {
    openShared()
    for _ in 0..<128 { #expect(state.enqueue(call(), at: now) == nil) }
    _ = actions()
    let many = (0..<250).map { _ in call(of: 1) }
    let few = (0..<20).map { _ in call(of: 2) }
    for call in many + few { #expect(state.enqueue(call, at: now) == nil) }
    _ = actions()
    #expect(state.calls.count == 200)
    #expect(few.allSatisfy { !$0.isFinished })
  }

  // MARK: The end

  @Test mutating func `A pool that drains takes nothing new and closes once all is done`() {
    openShared()
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(state.enqueue(ConnectionWaiter(), at: now) == nil)
    #expect(actions() == ["send 0", "open 1 dedicated"])
    state.drain()
    #expect(state.enqueue(call(), at: now) != nil)
    #expect(state.enqueue(ConnectionWaiter(), at: now) != nil)
    state.opened(1)
    #expect(actions() == ["lease 1"])
    state.connections[0].load = ConnectionLoad()
    #expect(actions() == [])
    state.returned(1)
    #expect(actions() == ["close"])
    #expect(actions() == [])
  }

  @Test mutating func `A pool that ends at once gives back those that wait`() {
    #expect(state.enqueue(call(), at: now) == nil)
    #expect(state.enqueue(ConnectionWaiter(), at: now) == nil)
    let waiting = state.close()
    #expect(waiting.calls.count == 1 && waiting.waiters.count == 1)
    #expect(actions() == [])
    #expect(state.enqueue(call(), at: now) != nil)
  }

  // MARK: Any order

  @Test(arguments: 0..<UInt64(isSoak ? 50 : 10))
  func `In any order of events no call or waiter is forgotten and no limit is exceeded`(seed: UInt64) {
    var run = RandomRun(seed: seed)
    for _ in 0..<300 { run.step() }
    run.finish()
    #expect(run.problems == [])
  }
}

/// Events in random order, as a server and its clients may cause them, and the invariants.
private struct RandomRun {
  private var random: SeededGenerator
  private var state: PoolState
  private var now = MonotonicInstant(nanoseconds: 0)
  private let configuration: PoolConfiguration
  private var opening: Set<PoolState.ConnectionID> = []
  private var shared: [PoolState.ConnectionID: [Call]] = [:]
  private var idle: Set<PoolState.ConnectionID> = []
  private var leased: [PoolState.ConnectionID: ConnectionWaiter] = [:]
  private var listening: Set<PoolState.ConnectionID> = []
  private var purposes: [PoolState.ConnectionID: PoolState.Purpose] = [:]
  /// All calls that the pool has taken and that are not over.
  private var calls: [Call] = []
  private var waiters: [ConnectionWaiter] = []
  private(set) var problems: Set<String> = []
  private var isDraining = false
  private var isClosed = false

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var configuration = PoolConfiguration(connectionString: "")
    configuration.sharedConnections = .random(in: 1...3, using: &random)
    configuration.dedicatedConnections = .random(in: 1...3, using: &random)
    configuration.queueLimit = .random(in: 5...300, using: &random)
    configuration.queueTimeout = .milliseconds(.random(in: 50...2000, using: &random))
    configuration.hungAfter = .milliseconds(.random(in: 30...1000, using: &random))
    self.configuration = configuration
    state = PoolState(configuration)
  }

  mutating func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30: enqueueCalls()
    case 30..<38: enqueueWaiter()
    case 38..<52: finishOpening()
    case 52..<72: answer()
    case 72..<80: release()
    case 80..<84: lose()
    case 84..<88: calls.randomElement(using: &random)?.fail(CancellationError())
    case 88..<90: state.needsListener = .random(using: &random)
    case 90..<92: handBack()
    case 92..<94: state.keepsBusy(someCustomer(), at: now)
    case 94..<95 where Int.random(in: 0..<10, using: &random) == 0:
      isDraining = true
      state.drain()
    default: now = now.advanced(by: .milliseconds(Int.random(in: 1...100, using: &random)))
    }
    settle()
  }

  /// The server answers everything, and every lease ends: nothing may be left.
  mutating func finish() {
    state.needsListener = false
    state.drain()
    for _ in 0..<10_000 where !isClosed {
      while !opening.isEmpty { finishOpening() }
      for id in shared.keys {
        for call in shared[id] ?? [] { leave(call) }
        shared[id] = []
      }
      for id in leased.keys {
        idle.insert(id)
        state.returned(id)
      }
      leased = [:]
      settle()
      if !isClosed, opening.isEmpty { now = max(now, min(state.wakeTime, now.advanced(by: .milliseconds(100)))) }
    }
    require(isClosed, "it does not end")
    require(calls.allSatisfy(\.isFinished) && waiters.allSatisfy(\.isFinished), "somebody was forgotten")
  }

  // MARK: Events

  /// 0 for none.
  private mutating func someCustomer() -> Int64 { .random(in: 0...4, using: &random) }

  /// A call's result has come.
  private mutating func leave(_ call: Call) {
    call.fail(CancellationError())
    state.left(call, at: now)
  }

  private mutating func enqueueCalls() {
    let customer = someCustomer()
    for _ in 0..<Int.random(in: 1...40, using: &random) {
      let hasDeadline = Bool.random(using: &random)
      let deadline = now.advanced(by: .milliseconds(Int.random(in: 0...1000, using: &random)))
      let call = Call(
        Statement("test", .read, "customer_id"), customer == 0 ? ParameterBuffer() : ParameterBuffer(customer),
        role: .read,
        deadline: hasDeadline ? deadline : .distantFuture)
      if state.enqueue(call, at: now) == nil {
        calls.append(call)
        require(!isDraining, "a call was taken while draining")
      }
    }
  }

  private mutating func enqueueWaiter() {
    let waiter = ConnectionWaiter(flow: someCustomer(), isLong: .random(using: &random))
    if state.enqueue(waiter, at: now) == nil { waiters.append(waiter) }
    if Int.random(in: 0..<5, using: &random) == 0 {
      waiter.isTaken = true
      waiter.cancel()
    }
  }

  private mutating func finishOpening() {
    guard let id = opening.sorted().randomElement(using: &random), let purpose = purposes[id] else { return }
    opening.remove(id)
    guard Int.random(in: 0..<4, using: &random) > 0 else {
      _ = state.failed(id, "away", at: now, jitter: 0.5)
      return
    }
    state.opened(id)
    switch purpose {
    case .shared: shared[id] = []
    case .dedicated: idle.insert(id)
    case .listening: listening.insert(id)
    }
    if Bool.random(using: &random) { _ = state.proved(id) }
  }

  private mutating func answer() {
    guard let id = shared.keys.sorted().randomElement(using: &random) else { return }
    _ = state.proved(id)
    let count = Int.random(in: 0...(shared[id]?.count ?? 0), using: &random)
    for call in shared[id]?.prefix(count) ?? [] { leave(call) }
    shared[id]?.removeFirst(count)
  }

  private mutating func release() {
    guard let id = leased.keys.sorted().randomElement(using: &random) else { return }
    leased[id] = nil
    if Bool.random(using: &random) {
      idle.insert(id)
      state.returned(id)
    } else {
      state.closed(id)
    }
  }

  private mutating func lose() {
    let all = Array(shared.keys) + Array(idle) + Array(leased.keys) + Array(listening)
    guard let id = all.sorted().randomElement(using: &random) else { return }
    for call in shared[id] ?? [] { leave(call) }
    shared[id] = nil
    idle.remove(id)
    leased[id] = nil
    listening.remove(id)
    if state.connections[id].isProven { state.closed(id) } else { _ = state.failed(id, "lost", at: now, jitter: 0.5) }
  }

  /// A call that was sent comes back unrun.
  private mutating func handBack() {
    guard let id = shared.keys.sorted().randomElement(using: &random), let call = shared[id]?.popLast() else { return }
    state.left(call, at: now)
    if !call.isFinished { state.requeue(call, at: now) }
  }

  // MARK: Actions

  private mutating func settle() {
    for (id, calls) in shared {
      let since = state.connections[id].load.headSince
      state.connections[id].load = ConnectionLoad(
        callsInFlight: calls.count, headSince: calls.isEmpty ? .distantFuture : min(since, now))
    }
    while let action = state.next(at: now) {
      require(!isClosed, "an action after the end")
      carryOut(action)
    }
    check()
  }

  private mutating func carryOut(_ action: PoolState.Action) {
    switch action {
    case .open(let id, let purpose):
      require(state.backoff.notBefore <= now, "opened during the back-off")
      require(state.backoff.lastFailure == nil || opening.isEmpty, "two attempts during an outage")
      require(!isUsed(id), "opened twice")
      opening.insert(id)
      purposes[id] = purpose
    case .send(let call, let id):
      require(!call.isFinished && calls.contains { $0 === call }, "an unknown call was sent")
      require(!isInFlight(call), "sent twice")
      shared[id, default: []].append(call)
      require(shared[id]?.count ?? 0 <= ConnectionLoad.mostCalls, "too many on one connection")
    case .lease(let id, let waiter):
      require(idle.remove(id) != nil, "leased what is not idle")
      let first = waiters.first { !$0.isFinished && $0.flow == waiter.flow && $0.isLong == waiter.isLong }
      require(waiter === first, "leased out of turn")
      leased[id] = waiter
      waiter.finish(.failure(CancellationError()))
    case .turnAway(let call, let error):
      require(!call.isFinished, "a call that is over was turned away")
      call.fail(error)
    case .refuse(let waiter, let error):
      require(!waiter.isFinished, "a waiter that is over was refused")
      waiter.finish(.failure(error))
    case .passDeadlines(let late):
      for call in late { call.fail(PostgresError.unavailable("late")) }
      for call in shared.values.joined() where !call.isFinished { state.watch(call.deadline) }
    case .close: isClosed = true
    }
  }

  // MARK: Invariants

  private mutating func require(_ isSo: Bool, _ problem: String) {
    if !isSo { problems.insert(problem) }
  }

  private func isUsed(_ id: PoolState.ConnectionID) -> Bool {
    opening.contains(id) || shared[id] != nil || idle.contains(id) || leased[id] != nil || listening.contains(id)
  }

  private func isInFlight(_ call: Call) -> Bool { shared.values.contains { $0.contains { $0 === call } } }

  private mutating func check() {
    calls.removeAll(where: \.isFinished)
    waiters.removeAll(where: \.isFinished)
    func opening(_ purpose: PoolState.Purpose) -> Int { self.opening.count { purposes[$0] == purpose } }
    require(shared.count + opening(.shared) <= configuration.sharedConnections, "too many shared connections")
    require(
      idle.count + leased.count + opening(.dedicated) <= configuration.dedicatedConnections, "too many dedicated ones")
    require(listening.count + opening(.listening) <= 1, "two connections listen")
    require(state.count(.shared) == shared.count && state.count(.leased) == leased.count, "phases differ")
    require(state.calls.count <= configuration.queueLimit, "the queue is too long")
    guard !isClosed else { return }
    let wakeTime = state.wakeTime
    require(calls.allSatisfy { isInFlight($0) || wakeTime <= $0.expires }, "a call waits for ever")
    require(waiters.isEmpty || wakeTime < .distantFuture, "a waiter waits for ever")
    require(idle.isEmpty || waiters.allSatisfy { !hasRoom(for: $0) }, "a waiter waits in vain")
    checkShares()
  }

  private func leases(of customer: Int64, isLong: Bool) -> Int {
    leased.values.count { $0.flow == customer && $0.isLong == isLong }
  }

  private func hasRoom(for waiter: ConnectionWaiter) -> Bool {
    let ofCustomer = leases(of: waiter.flow, isLong: waiter.isLong)
    let share = waiter.isLong ? state.shares.longTransactions : state.shares.transactions
    if waiter.isLong, leased.values.count(where: \.isLong) >= state.shares.allLongTransactions { return false }
    return waiter.flow == 0 || ofCustomer < share
  }

  /// Nobody has more than its share, and nobody who has less waits while a connection has nothing to do.
  private mutating func checkShares() {
    require(
      leased.values.count(where: \.isLong) <= state.shares.allLongTransactions, "too many long transactions")
    let isAnyFree = shared.contains { $1.isEmpty && state.connections[$0].phase == .shared }
    for customer in Int64(1)...4 {
      require(
        leases(of: customer, isLong: false) <= state.shares.transactions
          && leases(of: customer, isLong: true) <= state.shares.longTransactions,
        "a customer has too many transactions")
      let connections = shared.values.count { $0.contains { $0.flow == customer } }
      require(connections <= state.shares.pipelines, "a customer has too many shared connections")
      if isAnyFree, calls.contains(where: { $0.flow == customer && !isInFlight($0) }) {
        require(
          connections >= state.shares.pipelines || slowOnesWait, "a call waits in vain"
        )
      }
    }
  }

  /// Whether connections are kept from customers whose statements take long.
  private var slowOnesWait: Bool { state.connections.contains { $0.slowCalls > 0 } }
}

extension PostgresError {
  fileprivate var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
}
