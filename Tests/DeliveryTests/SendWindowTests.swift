import Testing

@testable import Delivery

@Suite struct SendWindowTests {
  @Test func `There is room for so many, and then for as many as leave`() async {
    let window = SendWindow(10)
    #expect(await window.enter(6))
    #expect(await window.enter(4))
    async let waits = window.enter(5)
    window.leave(3)
    window.leave(2)
    #expect(await waits)
    #expect(window.end == nil)
  }

  @Test func `Once closed nobody enters, whoever waits is told, and the first reason stays`() async {
    let window = SendWindow(1)
    #expect(await window.enter(1))
    async let waits = window.enter(1)
    window.close(.halted(reason: "x"))
    window.close(.stopped)
    #expect(await !waits)
    #expect(await !window.enter(1))
    #expect(window.end == .halted(reason: "x"))
  }

  @Test func `A task that is cancelled while it waits does not enter`() async {
    let window = SendWindow(1)
    #expect(await window.enter(1))
    let task = Task { await window.enter(1) }
    task.cancel()
    #expect(await !task.value)
  }
}
