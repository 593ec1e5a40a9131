import Synchronization
import Testing
import Wire

@testable import Delivery

@Suite struct SendWindowTests {
  @Test func `It has room for a number of pushes, and for as many as are released`() async {
    let window = SendWindow(HubWindow(10))
    #expect(await window.acquire(6))
    #expect(await window.acquire(2))
    async let waits = window.acquire(2)
    window.release(1)
    window.release(1)
    #expect(await waits)
    #expect(window.end == nil)
  }

  @Test func `Closing refuses waiting and later tasks, and keeps the first reason`() async {
    let window = SendWindow(HubWindow(1))
    #expect(await window.acquire(1))
    async let waits = window.acquire(1)
    window.close(.refused(reason: "x"))
    window.close(.stopped)
    #expect(await !waits)
    #expect(await !window.acquire(1))
    #expect(window.end == .refused(reason: "x"))
  }

  @Test func `A slice takes room for each push up to a limit, and gives it back with its last answers`() {
    var small = SliceRoom(of: 30, limit: 100)
    #expect(small.held == 30)
    #expect(small.answered(10) == 10 && small.answered(20) == 20 && small.held == 0)
    var shared = SliceRoom(of: 1000, limit: 100)
    #expect(shared.held == 100)
    #expect(shared.answered(900) == 0 && shared.answered(60) == 60 && shared.answered(40) == 40)
    var marked = SliceRoom(of: 30, limit: 0)
    #expect(marked.held == 0 && marked.answered(30) == 0)
  }

  @Test func `A task that is cancelled while it waits is refused`() async {
    let window = SendWindow(HubWindow(1))
    #expect(await window.acquire(1))
    let task = Task { await window.acquire(1) }
    task.cancel()
    #expect(await !task.value)
  }

  @Test func `However many runs there are, they hold no more than the hub's window, and each has its turn`() async {
    let hub = HubWindow(50)
    let most = Peak()
    await withTaskGroup(of: Void.self) { group in
      for _ in 1...8 {
        group.addTask {
          let window = SendWindow(hub)
          for _ in 1...50 {
            #expect(await window.acquire(hub.share))
            most.add(hub.share)
            await Task.yield()
            most.add(-hub.share)
            window.release(hub.share)
          }
          window.leave()
        }
      }
    }
    #expect(most.peak <= 50)
  }

  @Test func `A run that holds all it can leaves a fifth, and another one gets that again and again`() async {
    let hub = HubWindow(50)
    let slow = SendWindow(hub)
    for _ in 1...4 { #expect(await slow.acquire(10)) }
    async let tooMuch = slow.acquire(10)
    let other = SendWindow(hub)
    for _ in 1...3 {
      #expect(await other.acquire(10))
      other.release(10)
    }
    slow.close(.stopped)
    #expect(await !tooMuch)
  }

  @Test
  func `A run that waits alone is promised the room of outcomes while they are written, and no more than that`()
    async throws
  {
    let window = SendWindow(HubWindow(10))
    let claim = Claim(batch: 3, ordinal: 1)
    let needs = (1...4).map { SliceNeed(room: 2, last: PushNumber(Int64(10 * $0))) }
    let all = try #require(await window.acquire(needs, of: claim))
    #expect(all.count == 4 && all.room == 8 && all.isMarked == nil, "a fifth of the window stays free")
    async let waits = window.acquire(needs, of: claim)
    let successors = await promised(5, to: window)
    #expect(successors.mark.claim == claim && successors.mark.push == PushNumber(20))
    window.putBack(successors)
    let again = try #require(window.successors(of: 3))
    #expect(again.mark.push == PushNumber(10))
    #expect(window.successors(of: 3) == nil, "they are promised room already")
    window.release(3, to: again, isMarked: true)
    let grant = try #require(await waits)
    #expect(grant.count == 1 && grant.room == 2 && grant.isMarked == true)
    // It holds 7, and one more than the fifth is free.
    window.release(1)
    #expect(await window.acquire(needs, of: claim)?.count == 1)
  }

  @Test func `Nobody is promised room while others wait, and each then gets one slice at a time`() async throws {
    let hub = HubWindow(10)
    let (one, other) = (SendWindow(hub), SendWindow(hub))
    let needs = [SliceNeed](repeating: SliceNeed(room: 2, last: PushNumber(1)), count: 3)
    #expect(await one.acquire(needs, of: Claim(batch: 1, ordinal: 1))?.count == 3)
    #expect(await other.acquire(2))
    async let first = one.acquire(needs, of: Claim(batch: 1, ordinal: 1))
    one.putBack(await promised(2, to: one))
    async let second = other.acquire(2)
    while let successors = one.successors(of: 2) {
      one.putBack(successors)
      await Task.yield()
    }
    one.release(6)
    #expect(await first?.count == 1)
    #expect(await second)
  }

  @Test func `A run that is stopped while it is promised room waits no longer once its outcomes could not be written`()
    async
  {
    let window = SendWindow(HubWindow(10))
    let needs = [SliceNeed(room: 8, last: PushNumber(1))]
    #expect(await window.acquire(needs, of: Claim(batch: 1, ordinal: 1)) != nil)
    async let waits = window.acquire(needs, of: Claim(batch: 1, ordinal: 1))
    let successors = await promised(8, to: window)
    window.close(.stopped)
    window.putBack(successors)
    #expect(await waits == nil)
  }

  /// Waits until the window's run waits, and is promised so much room.
  private func promised(_ room: Int, to window: SendWindow) async -> Successors {
    while true {
      if let successors = window.successors(of: room) { return successors }
      await Task.yield()
    }
  }

  @Test
  func `Messages get what is free, three fifths of the window at most, and a run that ends gives back what it held`()
    async
  {
    let hub = HubWindow(50)
    #expect(hub.takeForMessages(upTo: 100) == 30)
    #expect(hub.takeForMessages(upTo: 100) == 0)
    let window = SendWindow(hub)
    #expect(await window.acquire(10))
    #expect(await SendWindow(hub).acquire(10))
    hub.giveBack(ofMessages: 20)
    #expect(hub.takeForMessages(upTo: 100) == 20)
    window.leave()
    hub.giveBack(ofMessages: 30)
    #expect(hub.takeForMessages(upTo: 15) == 15)
  }

  @Test
  func `Beside many messages a run has room for a slice and a half, until it has taken a window's room without any`()
    async throws
  {
    let hub = HubWindow(50)
    let window = SendWindow(hub)
    let claim = Claim(batch: 1, ordinal: 1)
    let needs = [SliceNeed](repeating: SliceNeed(room: 10, last: PushNumber(1)), count: 5)
    #expect(await window.acquire(needs, of: claim)?.count == 4)
    #expect(hub.takeForMessages(upTo: 20) == 10)
    async let waits = window.acquire(needs, of: claim)
    // It holds 40, and keeps 5 beside a slice.
    window.putBack(await promised(35, to: window))
    #expect(window.successors(of: 34) == nil)
    window.release(35)
    #expect(await waits?.count == 1)
    hub.giveBack(ofMessages: 10)
    for _ in 1...4 {
      window.release(10)
      #expect(await window.acquire(needs, of: claim)?.count == 1)
    }
    window.release(10)
    #expect(await window.acquire(needs, of: claim)?.count == 3, "a fifth is left")
    // One message alone wants no more than that.
    #expect(hub.takeForMessages(upTo: 1) == 1)
    hub.giveBack(ofMessages: 1)
    window.release(20)
    #expect(await window.acquire(needs, of: claim)?.count == 2)
    window.leave()
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
