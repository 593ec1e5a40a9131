import Delivery
import Testing
import Wire

@testable import Sendouts

@Suite struct SendoutTaskTests {
  private let key = SendoutKey(CustomerID(1), SendoutID(1))

  @Test func `A task that sleeps goes on once, whether it is woken or cancelled, and whichever comes first`() async {
    for round in 1...2000 {
      let task = SendoutTask(key)
      let sleeper = Task { await task.sleepUntilWoken() }
      if round.isMultiple(of: 3) { await Task.yield() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { sleeper.cancel() }
        if round.isMultiple(of: 2) { group.addTask { task.wake() } }
      }
      await sleeper.value
    }
  }

  @Test func `A task that was woken before it sleeps does not sleep`() async {
    let task = SendoutTask(key)
    task.wake()
    await task.sleepUntilWoken()
    #expect(task.takeWake())
    #expect(!task.takeWake())
  }
}
