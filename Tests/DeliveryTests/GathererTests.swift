import Synchronization
import Testing

@testable import Delivery

@Suite struct GathererTests {
  private final class Calls: Sendable {
    let sizes = Mutex<[Int]>([])
  }

  @Test func `Each gets its own answer, and those that come together travel together`() async throws {
    let calls = Calls()
    let gatherer = Gatherer<String, Int, Int>(group: 100, limit: 1000, full: DeliveryError.opensOverflow) { _, items in
      calls.sizes.withLock { $0.append(items.count) }
      return items.map { $0 * 2 }
    }
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      for item in 0..<500 { group.addTask { (item, try await gatherer.answer("a", item)) } }
      for try await (item, answer) in group { #expect(answer == item * 2) }
    }
    let sizes = calls.sizes.withLock(\.self)
    #expect(sizes.reduce(0, +) == 500)
    #expect(sizes.allSatisfy { $0 <= 100 })
  }

  @Test func `A call that fails fails for all that travelled in it, and for nobody else`() async throws {
    struct Refused: Error {}
    let gatherer = Gatherer<Int, Int, Int>(group: 100, limit: 1000, full: DeliveryError.opensOverflow) { lane, items in
      if lane == 1 { throw Refused() }
      return items
    }
    await #expect(throws: Refused.self) { try await gatherer.answer(1, 5) }
    #expect(try await gatherer.answer(2, 5) == 5)
    await #expect(throws: Refused.self) { try await gatherer.answer(1, 6) }
  }

  @Test func `When a call gives too few answers nobody waits for ever`() async throws {
    let gatherer = Gatherer<Int, Int, Int>(group: 100, limit: 1000, full: DeliveryError.opensOverflow) { lane, items in
      lane == 1 ? [] : items
    }
    await #expect(throws: Miscount(asked: 1, answered: 0)) { try await gatherer.answer(1, 5) }
    #expect(try await gatherer.answer(2, 5) == 5)
  }

  @Test func `When too many wait, one more is refused at once`() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let gatherer = Gatherer<Int, Int, Int>(group: 1, limit: 1, full: DeliveryError.opensOverflow) { _, items in
      enter.yield()
      for await _ in gate { break }
      return items
    }
    async let first = gatherer.answer(1, 1)
    for await _ in entered { break }
    await #expect(throws: DeliveryError.opensOverflow) { try await gatherer.answer(1, 2) }
    open.yield()
    #expect(try await first == 1)
  }
}
