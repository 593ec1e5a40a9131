import Postgres
import Synchronization
import Testing

@testable import Registry

@Suite struct GathererTests {
  private struct Full: Error {}

  private static func sizes(_ group: Int, worthAnother: Int = 128, limit: Int) -> BatcherLimits {
    BatcherLimits(group: group, worthAnother: worthAnother, limit: limit)
  }

  private final class Calls: Sendable {
    let sizes = Mutex<[Int]>([])
  }

  @Test func `Each gets its own answer, and those that come together travel together`() async throws {
    let calls = Calls()
    let gatherer = Batcher<String, Int, Int>(Self.sizes(100, limit: 1000), full: Full()) { _, items in
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
    let gatherer = Batcher<Int, Int, Int>(Self.sizes(100, limit: 1000), full: Full()) { key, items in
      if key == 1 { throw Refused() }
      return items
    }
    await #expect(throws: Refused.self) { try await gatherer.answer(1, 5) }
    #expect(try await gatherer.answer(2, 5) == 5)
    await #expect(throws: Refused.self) { try await gatherer.answer(1, 6) }
  }

  @Test func `When a call gives too few answers nobody waits for ever`() async throws {
    let gatherer = Batcher<Int, Int, Int>(Self.sizes(100, limit: 1000), full: Full()) { key, items in
      key == 1 ? [] : items
    }
    await #expect(throws: ResultCountMismatch(asked: 1, answered: 0)) { try await gatherer.answer(1, 5) }
    #expect(try await gatherer.answer(2, 5) == 5)
  }

  @Test func `When too many wait, one more is refused at once`() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let gatherer = Batcher<Int, Int, Int>(Self.sizes(1, limit: 1), full: Full()) { _, items in
      enter.yield()
      for await _ in gate { break }
      return items
    }
    async let first = gatherer.answer(1, 1)
    for await _ in entered { break }
    await #expect(throws: Full.self) { try await gatherer.answer(1, 2) }
    open.yield()
    #expect(try await first == 1)
  }

  @Test func `A second call begins when enough wait, and no third`() async throws {
    let (entries, enter) = AsyncStream.makeStream(of: [Int].self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let gatherer = Batcher<Int, Int, Int>(Self.sizes(100, worthAnother: 3, limit: 100), full: Full()) { _, items in
      enter.yield(items)
      for await _ in gate { break }
      return items
    }
    var calls = entries.makeAsyncIterator()
    let answers = AsyncStream.makeStream(of: Int.self)
    for item in 1...10 { gatherer.answer(1, item) { if case .success(let answer) = $0 { answers.1.yield(answer) } } }
    let underWay = [await calls.next() ?? [], await calls.next() ?? []]
    #expect(Set(underWay) == [[1], [2, 3, 4]])
    open.finish()
    #expect(await calls.next() == [5, 6, 7, 8, 9, 10])
    var all: Set<Int> = []
    for await answer in answers.0.prefix(10) { all.insert(answer) }
    #expect(all == Set(1...10))
  }

  @Test(
    arguments: [
      (PostgresError.unavailable("no connection"), .zero, 1), (.unknownOutcome(statement: "a"), .zero, 1),
      (.unknownOutcome(statement: "a"), .seconds(3600), 5), (.misuse("a mistake"), .zero, 5),
    ] as [(PostgresError, Duration, Int)])
  func `An outage that was waited for is told to those who wait as well, and nothing else is`(
    error: PostgresError, timeout: Duration, calls count: Int
  ) async throws {
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let calls = Calls()
    let gatherer = Batcher<Int, Int, Int>(Self.sizes(1, limit: 100), full: Full(), timeout: timeout) { _, items in
      calls.sizes.withLock { $0.append(items.count) }
      enter.yield()
      for await _ in gate { break }
      throw error
    }
    let outcomes = AsyncStream.makeStream(of: Bool.self)
    for item in 1...5 { gatherer.answer(1, item) { outcomes.1.yield((try? $0.get()) == nil) } }
    for await _ in entered { break }
    open.finish()
    for await failed in outcomes.0.prefix(5) { #expect(failed) }
    #expect(calls.sizes.withLock(\.count) == count)
    await #expect(throws: PostgresError.self) { try await gatherer.answer(1, 6) }
  }
}
