import Locking
import Postgres
import Support
import Testing

@Suite struct SharedCacheTests {
  @Test(arguments: 1...20) func `What was used last is always there, and at most twice as much is kept`(
    _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let kept = Total()
    let capacity = 40
    let cache = SharedCache<Int, Answer>(capacity: capacity, lifetime: nil, size: \.size)
    // Keys in the order of their last uses, the latest first.
    var uses: [(key: Int, size: Int)] = []
    for _ in 0..<2_000 {
      let key = Int.random(in: 0..<60, using: &random)
      let found = cache.cached(key)
      let place = uses.firstIndex { $0.key == key }
      if let place, uses[...place].reduce(0, { $0 + $1.size }) <= capacity { #expect(found?.key == key) }
      if let found { #expect(found.key == key) }
      let size = found?.size ?? Int.random(in: 1...10, using: &random)
      if let place { uses.remove(at: place) }
      uses.insert((key, size), at: 0)
      if found == nil { cache.keep(key, Answer(key, size, kept)) }
      #expect(kept.value <= 2 * capacity)
    }
    cache.keep(1000, Answer(1000, capacity + 1, kept))
    #expect(cache.cached(1000) == nil)
    cache.flush()
    #expect(kept.value == 0)
  }

  @Test func `An answer is believed for as long as it was said, and that there is nothing not at all`() async throws {
    let clock = SteerableClock()
    let cache = SharedCache<String, Int>(capacity: 10, lifetime: .seconds(5), now: { clock.now })
    #expect(try await cache.find("a") { nil } == nil)
    #expect(try await cache.find("a") { 1 } == 1)
    clock.advance(by: .seconds(4))
    #expect(try await cache.find("a") { 2 } == 1)
    clock.advance(by: .seconds(1))
    #expect(cache.cached("a") == nil)
    #expect(try await cache.find("a") { 2 } == 2)
  }

  @Test func `Who waits for another's look that finds nothing looks by itself`() async throws {
    let cache = SharedCache<String, Int>(capacity: 10, lifetime: nil)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let nothing = Task {
      try await cache.find("a") {
        ask.yield()
        for await _ in gate { break }
        return nil
      }
    }
    for await _ in asked { break }
    let value = Task { try await cache.value("a") { 1 } }
    open.finish()
    #expect(try await nothing.value == nil)
    #expect(try await value.value == 1)
  }

  @Test func `An answer that was asked for before a flush reaches those who wait, and is not kept`() async throws {
    let cache = SharedCache<String, Int>(capacity: 10, lifetime: nil)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let early = Task {
      try await cache.value("a") {
        ask.yield()
        for await _ in gate { break }
        return 1
      }
    }
    for await _ in asked { break }
    cache.flush()
    #expect(try await cache.value("a") { 2 } == 2)
    open.yield()
    #expect(try await early.value == 1)
    #expect(cache.cached("a") == 2)
  }
}

/// Counts those that somebody holds.
private final class Answer: Sendable {
  let key: Int
  let size: Int
  private let kept: Total

  init(_ key: Int, _ size: Int, _ kept: Total) {
    self.key = key
    self.size = size
    self.kept = kept
    kept.add(size)
  }

  deinit { kept.add(-size) }
}

private final class Total: Sendable {
  private let sum = Mutex(0)

  var value: Int { sum.withLock(\.self) }
  func add(_ size: Int) { sum.withLock { $0 += size } }
}
