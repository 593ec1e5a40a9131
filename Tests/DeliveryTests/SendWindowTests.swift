import Synchronization
import Testing

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
  func `Messages get what is free, three fifths of the window at most, and a run that ends gives back what it held`()
    async
  {
    let hub = HubWindow(50)
    #expect(hub.takeForMessages(upTo: 100) == 30)
    #expect(hub.takeForMessages(upTo: 100) == 0)
    let window = SendWindow(hub)
    #expect(await window.acquire(10))
    hub.giveBack(ofMessages: 30)
    for _ in 1...3 { #expect(await window.acquire(10)) }
    #expect(hub.takeForMessages(upTo: 100) == 10)
    window.leave()
    #expect(hub.takeForMessages(upTo: 15) == 15)
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
