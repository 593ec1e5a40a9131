import Locking
import Testing

@testable import Postgres

@Suite struct BatcherTests {
  private struct Full: Error {}

  private static func limits(
    _ batchWeight: Int, worthAnother: Int = 128, items: Int = 2000, timeout: Duration? = nil
  ) -> BatchLimits {
    BatchLimits(batchWeight: batchWeight, worthAnother: worthAnother, items: items, timeout: timeout)
  }

  private final class Calls: Sendable {
    let sizes = Mutex<[Int]>([])
  }

  @Test func `Each item gets its own answer, and those that come together share a call`() async throws {
    let calls = Calls()
    let batcher = Batcher<Int, Int>(Self.limits(100), full: Full()) { _, items in
      calls.sizes.withLock { $0.append(items.count) }
      return items.map { $0 * 2 }
    }
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      for item in 0..<500 { group.addTask { (item, try await batcher.answer(1, item)) } }
      for try await (item, answer) in group { #expect(answer == item * 2) }
    }
    let sizes = calls.sizes.withLock(\.self)
    #expect(sizes.reduce(0, +) == 500)
    #expect(sizes.allSatisfy { $0 <= 100 })
  }

  @Test func `A failed call fails for every item in it, and for no other`() async throws {
    struct Refused: Error {}
    let batcher = Batcher<Int, Int>(Self.limits(100), full: Full()) { key, items in
      if key == 1 { throw Refused() }
      return items
    }
    await #expect(throws: Refused.self) { try await batcher.answer(1, 5) }
    #expect(try await batcher.answer(2, 5) == 5)
    await #expect(throws: Refused.self) { try await batcher.answer(1, 6) }
  }

  @Test func `A call that gives too few answers fails for every item in it`() async throws {
    let batcher = Batcher<Int, Int>(Self.limits(100), full: Full()) { key, items in
      key == 1 ? [] : items
    }
    await #expect(throws: ResultCountMismatch(asked: 1, answered: 0)) { try await batcher.answer(1, 5) }
    #expect(try await batcher.answer(2, 5) == 5)
  }

  @Test func `An item beyond the limit is refused at once`() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let batcher = Batcher<Int, Int>(Self.limits(1, items: 1), full: Full()) { _, items in
      enter.yield()
      for await _ in gate { break }
      return items
    }
    async let first = batcher.answer(1, 1)
    for await _ in entered { break }
    await #expect(throws: Full.self) { try await batcher.answer(1, 2) }
    open.yield()
    #expect(try await first == 1)
  }

  @Test func `A second call begins when enough items wait, and no third`() async throws {
    let (entries, enter) = AsyncStream.makeStream(of: [Int].self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let batcher = Batcher<Int, Int>(Self.limits(100, worthAnother: 3), full: Full()) { _, items in
      enter.yield(items)
      for await _ in gate { break }
      return items
    }
    var calls = entries.makeAsyncIterator()
    let answers = AsyncStream.makeStream(of: Int.self)
    for item in 1...10 { batcher.answer(1, item) { if case .success(let answer) = $0 { answers.1.yield(answer) } } }
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
  func `An outage that took long also ends the wait of those behind, and no other failure does`(
    error: PostgresError, timeout: Duration, calls count: Int
  ) async throws {
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let calls = Calls()
    var policy = Batcher<Int, Int>.FailurePolicy()
    policy.outageAfter = timeout
    let batcher = Batcher<Int, Int>(Self.limits(1), full: Full(), onFailure: policy) { _, items in
      calls.sizes.withLock { $0.append(items.count) }
      enter.yield()
      for await _ in gate { break }
      throw error
    }
    let outcomes = AsyncStream.makeStream(of: Bool.self)
    for item in 1...5 { batcher.answer(1, item) { outcomes.1.yield((try? $0.get()) == nil) } }
    for await _ in entered { break }
    open.finish()
    for await failed in outcomes.0.prefix(5) { #expect(failed) }
    #expect(calls.sizes.withLock(\.count) == count)
    await #expect(throws: PostgresError.self) { try await batcher.answer(1, 6) }
  }

  @Test func `Halving a batch finds the items at fault, and only they fail`() async throws {
    struct Refused: Error, Equatable {}
    var policy = Batcher<Int, Int>.FailurePolicy()
    policy.concernsSomeItems = { $0 is Refused }
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let calls = Calls()
    let batcher = Batcher<Int, Int>(Self.limits(64), full: Full(), onFailure: policy) { _, items in
      if items == [0] {
        enter.yield()
        for await _ in gate { break }
      }
      calls.sizes.withLock { $0.append(items.count) }
      if items.contains(where: { $0 == 7 || $0 == 50 }) { throw Refused() }
      return items
    }
    let results = AsyncStream.makeStream(of: (Int, Bool).self)
    for item in 0...64 {
      batcher.answer(1, item) { results.1.yield((item, (try? $0.get()) == item)) }
      if item == 0 { for await _ in entered { break } }
    }
    open.finish()
    var failed: Set<Int> = []
    for await (item, isAnswered) in results.0.prefix(65) where !isAnswered { failed.insert(item) }
    #expect(failed == [7, 50])
    // The lone first one, the whole, and two for each of six halvings, of which the first served both.
    #expect(calls.sizes.withLock(\.count) == 24)
  }

  @Test func `What may succeed in a moment is tried again, while somebody waits`() async throws {
    struct Busy: Error {}
    var policy = Batcher<Int, Int>.FailurePolicy()
    policy.isWorthRetrying = { $0 is Busy }
    let calls = Calls()
    let batcher = Batcher<Int, Int>(Self.limits(1), full: Full(), onFailure: policy) { key, items in
      let count = calls.sizes.withLock { sizes in
        sizes.append(items.count)
        return sizes.count
      }
      if key == 2 || count < 4 { throw Busy() }
      return items
    }
    #expect(try await batcher.answer(1, 5) == 5)
    #expect(calls.sizes.withLock(\.count) == 4)
    let hasty = Batcher<Int, Int>(Self.limits(1, timeout: .zero), full: Full(), onFailure: policy) { _, _ in
      throw Busy()
    }
    await #expect(throws: (any Error).self) { try await hasty.answer(2, 5) }
  }

  @Test func `Once its time is up an item is answered, though its call goes on`() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let batcher = Batcher<Int, Int>(Self.limits(1, timeout: .zero), full: Full()) { _, items in
      for await _ in gate { break }
      return items
    }
    for item in 1...3 {
      let error = await #expect(throws: PostgresError.self) { try await batcher.answer(1, item) }
      #expect(error?.isPassing == true)
    }
    open.finish()
  }

  @Test func `A cancelled batcher ends the call under way, and answers all who wait`() async throws {
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let batcher = Batcher<Int, Int>(Self.limits(1), full: Full()) { _, _ in
      enter.yield()
      try await Task.sleep(for: .seconds(1_000_000))
      return []
    }
    let outcomes = AsyncStream.makeStream(of: Bool.self)
    for item in 1...5 { batcher.answer(1, item) { outcomes.1.yield((try? $0.get()) == nil) } }
    for await _ in entered { break }
    batcher.cancel()
    for await failed in outcomes.0.prefix(5) { #expect(failed) }
    await #expect(throws: CancellationError.self) { try await batcher.answer(1, 6) }
  }

  @Test func `A cancelled batcher begins no more calls, though the one under way goes on and others may pass it`()
    async throws
  {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let isCancelled = Mutex(false)
    let begunLate = Mutex<[Int]>([])
    let limits = BatchLimits(
      batchWeight: 1, items: 1000, timeout: .milliseconds(200), stallsAfter: .milliseconds(20))
    let batcher = Batcher<Int, Int>(limits, full: Full()) { _, items in
      // A call begun before is cancelled too.
      if isCancelled.withLock(\.self), !Task.isCancelled { begunLate.withLock { $0 += items } }
      // The end of the call does not depend on the cancelling.
      await Task { for await _ in gate { break } }.value
      return items
    }
    let outcomes = AsyncStream.makeStream(of: Bool.self)
    for item in 1...9 { batcher.answer(1, item) { outcomes.1.yield((try? $0.get()) == nil) } }
    batcher.cancel()
    isCancelled.withLock { $0 = true }
    for await failed in outcomes.0.prefix(9) { #expect(failed) }
    open.finish()
    #expect(begunLate.withLock(\.self) == [])
  }
}
