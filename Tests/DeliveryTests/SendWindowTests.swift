import Testing

@testable import Delivery

@Suite struct SendWindowTests {
  @Test func `It has room for a number of pushes, and for as many as are released`() async {
    let window = SendWindow(10)
    #expect(await window.acquire(6))
    #expect(await window.acquire(4))
    async let waits = window.acquire(5)
    window.release(3)
    window.release(2)
    #expect(await waits)
    #expect(window.end == nil)
  }

  @Test func `Closing refuses waiting and later tasks, and keeps the first reason`() async {
    let window = SendWindow(1)
    #expect(await window.acquire(1))
    async let waits = window.acquire(1)
    window.close(.refused(reason: "x"))
    window.close(.stopped)
    #expect(await !waits)
    #expect(await !window.acquire(1))
    #expect(window.end == .refused(reason: "x"))
  }

  @Test func `A task that is cancelled while it waits is refused`() async {
    let window = SendWindow(1)
    #expect(await window.acquire(1))
    let task = Task { await window.acquire(1) }
    task.cancel()
    #expect(await !task.value)
  }
}
