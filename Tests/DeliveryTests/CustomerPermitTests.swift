import Postgres
import Registry
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Delivery

@Suite struct CustomerPermitTests {
  let customer = CustomerID(1)

  @Test func `A customer holds half of the permits at most, and the one that holds fewest gets the next`() async {
    let permits = CustomerPermits(4)
    let other = CustomerID(2)
    let first = await permits.acquire(customer, until: StopSignal())
    var second = await permits.acquire(customer, until: StopSignal())
    #expect(first != nil && second != nil)
    let stop = StopSignal()
    async let third = permits.acquire(customer, until: stop)
    // If it waited, too, this would never end.
    let others = [
      await permits.acquire(other, until: StopSignal()), await permits.acquire(other, until: StopSignal()),
    ]
    #expect(others.allSatisfy { $0 != nil })
    second = nil
    #expect(await third != nil)
    #expect(first != nil)
  }

  @Test func `Who waits for a permit and is cancelled or stopped gets none`() async {
    let permits = CustomerPermits(1)
    let held = await permits.acquire(customer, until: StopSignal())
    let cancelled = Task { await permits.acquire(customer, until: StopSignal()) }
    cancelled.cancel()
    #expect(await cancelled.value == nil)
    let stop = StopSignal()
    async let stopped = permits.acquire(customer, until: stop)
    stop.stop()
    #expect(await stopped == nil)
    #expect(held != nil)
  }

  @Test func `Whether a cancellation or a permit comes first, who waits goes on once, and no permit is lost`() async {
    let permits = CustomerPermits(2)
    for _ in 1...500 {
      var held = [await permits.acquire(customer, until: StopSignal())]
      let stop = StopSignal()
      let waiters = (1...3).map { _ in Task { await permits.acquire(customer, until: stop) != nil } }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { waiters[0].cancel() }
        group.addTask { stop.stop() }
        held.removeAll()
      }
      for waiter in waiters { _ = await waiter.value }
    }
    #expect(await permits.acquire(customer, until: StopSignal()) != nil)
  }

  @Test func `A run holds no permit of a batch while it only awaits answers`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(10)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      bench.simulator.apns.rule(.any, .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      var hub = TestHub()
      // One for each customer.
      hub.dispatch.batchesInMemory = 2
      let dispatcher = bench.dispatcher(hub)
      let (plan, app) = (try bench.plan(key, MessageBody(alert: "Hello")), try await bench.appTarget(dispatcher))
      async let result = dispatcher.dispatch(plan, to: app, bench.lane)
      _ = await bench.simulator.apns.received(count: 1)
      let hasPermit = Mutex(false)
      async let asked: Void = {
        let permit = await dispatcher.permits.acquire(bench.customer, until: StopSignal())
        hasPermit.withLock { $0 = permit != nil }
      }()
      try await waitUntil { hasPermit.withLock(\.self) }
      await asked
      #expect(try await bench.show(key).counts?.sending == 10)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      #expect(await result.end == .drained)
    }
  }
}
