import Registry
import Locking
import Testing
import Wire

@testable import Delivery

/// The window as runs use it. `WindowStateTests` are about who gets which places.
@Suite struct SendWindowTests {
  let key = LaneKey(customer: CustomerID(1), lane: Lane(app: PushAppID(1), isSandbox: false))

  private func hub(_ size: Int) -> HubWindow { HubWindow(size, verdictTimeout: .seconds(3600)) }

  private func window(_ hub: HubWindow, customer: Int64 = 1) -> SendWindow {
    SendWindow(hub, LaneKey(customer: CustomerID(customer), lane: key.lane), isBulk: true)
  }

  @Test func `It has capacity for a number of pushes, and for as many as are released`() async throws {
    let window = window(hub(10))
    let first = try #require(await window.acquire(2))
    async let waits = window.acquire(2)
    window.release([Capacity(places: first.places, count: 1)])
    window.release([Capacity(places: first.places, count: 1)])
    #expect(await waits?.count == 2)
    #expect(window.end == nil)
  }

  @Test func `Closing refuses waiting and later tasks, and keeps the first reason`() async {
    let window = window(hub(1))
    #expect(await window.acquire(1) != nil)
    async let waits = window.acquire(1)
    window.close(.refused(reason: "x"))
    window.close(.stopped)
    #expect(await waits == nil)
    #expect(await window.acquire(1) == nil)
    #expect(window.end == .refused(reason: "x"))
  }

  @Test func `A slice takes capacity for each push up to a limit, and gives it back with its last answers`() {
    var small = SliceCapacity(of: 30, limit: 100)
    #expect(small.held.count == 30)
    #expect(small.answered(10).count == 10 && small.answered(20).count == 20 && small.held.count == 0)
    var shared = SliceCapacity(of: 1000, limit: 100)
    #expect(shared.held.count == 100)
    #expect(shared.answered(900).count == 0 && shared.answered(60).count == 60 && shared.answered(40).count == 40)
    var marked = SliceCapacity(of: 30, limit: 0)
    #expect(marked.held.count == 0 && marked.answered(30).count == 0)
  }

  @Test func `A task that is cancelled while it waits is refused`() async {
    let window = window(hub(1))
    #expect(await window.acquire(1) != nil)
    let task = Task { await window.acquire(1) }
    task.cancel()
    #expect(await task.value == nil)
  }

  @Test func `Whether a cancellation or capacity comes first, who waits goes on once, and no capacity is lost`()
    async throws
  {
    let hub = hub(1)
    for _ in 1...500 {
      let window = window(hub)
      let held = try #require(await window.acquire(1))
      let waiter = Task { await window.acquire(1) }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { waiter.cancel() }
        group.addTask { window.release([held]) }
      }
      if let capacity = await waiter.value { window.release([capacity]) }
      window.leave()
    }
    #expect(await window(hub).acquire(1)?.count == 1)
  }

  @Test func `However many runs there are, they hold no more than the hub's window, and each has its turn`() async {
    let hub = hub(50)
    let most = Peak()
    await withTaskGroup(of: Void.self) { group in
      for customer in 1...8 {
        group.addTask {
          let window = window(hub, customer: Int64(customer))
          for _ in 1...50 {
            guard let capacity = await window.acquire(hub.share) else {
              Issue.record("closed")
              return
            }
            most.add(hub.share)
            await Task.yield()
            most.add(-hub.share)
            window.release([capacity])
          }
          window.leave()
        }
      }
    }
    #expect(most.peak <= 50)
  }

  @Test
  func `A run that waits alone is promised the capacity of outcomes while they are written, and no more than that`()
    async throws
  {
    let window = window(hub(10))
    try await warm(window, 10)
    let claim = Claim(batch: 3, ordinal: 1)
    let needs = (1...4).map { SliceNeed(capacity: 2, last: PushNumber(Int64(10 * $0))) }
    let all = try #require(await window.acquire(needs, of: claim))
    #expect(all.count == 4 && all.capacity.count == 8 && all.isMarked == nil, "a fifth of the window stays free")
    func part(_ count: Int) -> Capacity { Capacity(places: all.capacity.places, count: count) }
    async let waits = window.acquire(needs, of: claim)
    let successors = await promised(part(5), to: window)
    #expect(successors.mark.claim == claim && successors.mark.push == PushNumber(20))
    window.putBack(successors)
    let again = try #require(window.successors(of: [part(3)]))
    #expect(again.mark.push == PushNumber(10))
    #expect(window.successors(of: [part(3)]) == nil, "they are promised room already")
    window.release([part(3)], to: again, isMarked: true)
    let grant = try #require(await waits)
    #expect(grant.count == 1 && grant.capacity.count == 2 && grant.isMarked == true)
    // It holds 7, and one more than the fifth is free.
    window.release([part(1)])
    #expect(await window.acquire(needs, of: claim)?.count == 1)
  }

  @Test
  func `A run that is stopped while it is promised capacity waits no longer once its outcomes could not be written`()
    async throws
  {
    let window = window(hub(10))
    try await warm(window, 10)
    let needs = [SliceNeed(capacity: 8, last: PushNumber(1))]
    let held = try #require(await window.acquire(needs, of: Claim(batch: 1, ordinal: 1)))
    async let waits = window.acquire(needs, of: Claim(batch: 1, ordinal: 1))
    let successors = await promised(held.capacity, to: window)
    window.close(.stopped)
    window.putBack(successors)
    #expect(await waits == nil)
  }

  @Test func `Who waits in a lane that does not answer is turned away, and the lane is silent until it answers`()
    async throws
  {
    let hub = HubWindow(10, verdictTimeout: .milliseconds(1))
    let window = window(hub)
    let held = try #require(await window.acquire(2))
    #expect(await window.acquire(2) == nil)
    guard case .unavailable? = window.end else {
      Issue.record("\(String(describing: window.end))")
      return
    }
    #expect(hub.isSilent(key))
    window.release([held])
    #expect(!hub.isSilent(key))
  }

  /// Lets the window's lane have as many places as the hub has, as after so many answers.
  private func warm(_ window: SendWindow, _ size: Int) async throws {
    for _ in 1...size {
      guard let capacity = await window.acquire(1) else { throw CancellationError() }
      window.release([capacity])
    }
  }

  /// Waits until the window's run waits, and is promised so much capacity.
  private func promised(_ capacity: Capacity, to window: SendWindow) async -> Successors {
    while true {
      if let successors = window.successors(of: [capacity]) { return successors }
      await Task.yield()
    }
  }
}

/// The most that was there at a time.
private final class Peak: Sendable {
  private let state = Mutex((now: 0, peak: 0))
  var peak: Int { state.withLock { $0.peak } }
  func add(_ count: Int) {
    state.withLock { state in
      state.now += count
      state.peak = max(state.peak, state.now)
    }
  }
}
