import Support
import Testing

@testable import Postgres

/// The state machine with servers that take their time, on a clock of milliseconds: no socket, no server.
@Suite struct PoolFairnessTests {
  @Test(arguments: 0..<UInt64(isSoak ? 20 : 4))
  func `Whatever others send, a customer that sends little is answered soon`(seed: UInt64) {
    var run = LoadedPool(seed: seed)
    for _ in 0..<20_000 { run.tick() }
    #expect(run.turnedAway == 0)
    // Until the pool knows who is slow, it takes a few of their statements.
    #expect(run.longestWait <= 250, "\(run.customers)")
    #expect(run.answers > 20)
  }

  @Test func `A customer that sends alone has all but one of the connections`() {
    var run = LoadedPool(customers: [.init(id: 1, waiting: 400, shortest: 1, longest: 1)])
    for _ in 0..<2000 { run.tick() }
    #expect(run.connections(of: 1) == 3)
    // One a millisecond on each of three connections, but for the beginning.
    #expect(run.done[1] ?? 0 > 5000)
  }
}

/// Customers that keep many statements waiting, some of them long ones, and one that sends one at a time.
private struct LoadedPool {
  struct Customer {
    var id: Int64
    /// How many statements it keeps waiting or in flight.
    var waiting: Int
    /// Milliseconds that the server takes for one.
    var shortest: Int
    var longest: Int
  }

  private(set) var customers: [Customer]
  private var random: SeededGenerator
  private var state: PoolState
  private var now = MonotonicInstant(nanoseconds: 0)
  /// What is on each connection, with the milliseconds that are left.
  private var servers: [Int: [(call: Call, left: Int)]] = [:]
  private var open: [Int64: Int] = [:]
  private var light: (call: Call, since: MonotonicInstant)?
  private(set) var done: [Int64: Int] = [:]
  private(set) var answers = 0
  private(set) var turnedAway = 0
  /// Of the customer that sends little, in milliseconds.
  private(set) var longestWait: Int64 = 0

  private static let statement = Statement("test", .read, "SELECT 1 FROM device WHERE customer_id = $1::bigint")
  private static let lightCustomer: Int64 = 99
  /// When waits begin to count.
  private static let settled = MonotonicInstant(nanoseconds: 6_000_000_000)

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let slow = (0..<Int.random(in: 1...3, using: &random)).map { number in
      Customer(
        id: Int64(1 + number), waiting: .random(in: 1...60, using: &random), shortest: 300,
        longest: .random(in: 300...1000, using: &random))
    }
    let quick = (0..<Int.random(in: 0...3, using: &random)).map { number in
      Customer(
        id: Int64(10 + number), waiting: .random(in: 1...500, using: &random), shortest: 1,
        longest: .random(in: 1...5, using: &random))
    }
    self.init(customers: slow + quick, random)
  }

  init(customers: [Customer], _ random: SeededGenerator = SeededGenerator(seed: 1)) {
    self.customers = customers
    self.random = random
    var configuration = PoolConfiguration(connectionString: "")
    configuration.sharedConnections = 4
    state = PoolState(configuration)
  }

  /// Connections with statements of this customer.
  func connections(of customer: Int64) -> Int { servers.values.count { $0.contains { $0.call.flow == customer } } }

  mutating func tick() {
    now = now.advanced(by: .milliseconds(1))
    serve()
    send()
    for (id, calls) in servers {
      var load = state.connections[id].load
      if calls.isEmpty { load = ConnectionLoad() }
      load.callsInFlight = calls.count
      state.connections[id].load = load
      if let first = calls.first, load.isLong(at: now) { state.keepsBusy(first.call.flow, at: now) }
    }
    while let action = state.next(at: now) { carryOut(action) }
  }

  private mutating func serve() {
    for id in servers.keys.sorted() {
      guard var first = servers[id]?.first else { continue }
      first.left -= 1
      servers[id]?[0] = first
      guard first.left <= 0 else { continue }
      servers[id]?.removeFirst()
      state.connections[id].load.headSince = now
      answered(first.call)
    }
  }

  private mutating func answered(_ call: Call) {
    state.left(call, at: now)
    call.fail(CancellationError())
    if call === light?.call {
      answers += 1
      let wait = (now.nanoseconds - (light?.since.nanoseconds ?? 0)) / 1_000_000
      if now > Self.settled { longestWait = max(longestWait, wait) }
      light = nil
    } else {
      open[call.flow, default: 0] -= 1
      done[call.flow, default: 0] += 1
    }
  }

  private mutating func send() {
    for customer in customers {
      while open[customer.id, default: 0] < customer.waiting {
        open[customer.id, default: 0] += 1
        _ = enqueue(customer.id)
      }
    }
    if light == nil, Int.random(in: 0..<20, using: &random) == 0 { light = (enqueue(Self.lightCustomer), now) }
  }

  private mutating func enqueue(_ customer: Int64) -> Call {
    let call = Call(Self.statement, ParameterBuffer(customer), role: .read)
    _ = state.enqueue(call, at: now)
    return call
  }

  private mutating func carryOut(_ action: PoolState.Action) {
    switch action {
    case .open(let id, _):
      state.opened(id)
      servers[id] = []
    case .send(let call, let id):
      call.sentAt = now
      let customer = customers.first { $0.id == call.flow }
      let time = customer.map { Int.random(in: $0.shortest...$0.longest, using: &random) } ?? 1
      servers[id, default: []].append((call, time))
    case .turnAway(let call, _):
      if call === light?.call {
        turnedAway += 1
        light = nil
      } else {
        open[call.flow, default: 0] -= 1
      }
      call.fail(CancellationError())
    case .lease, .refuse, .passDeadlines, .close: break
    }
  }
}
