import Postgres
import Locking
import Testing

@Suite struct AsyncSemaphoreTests {
  private final class Count: Sendable {
    let inside = Mutex((now: 0, most: 0))

    func enter() { inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func leave() { inside.withLock { $0.now -= 1 } }
  }

  @Test func `It limits how many run at a time, and all run in the end`() async throws {
    let semaphore = AsyncSemaphore(3)
    let count = Count()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await semaphore.withPermit {
            count.enter()
            await Task.yield()
            count.leave()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect((1...3).contains(count.inside.withLock(\.most)))
  }

  @Test func `A waiting task that is cancelled leaves the queue`() async throws {
    let semaphore = AsyncSemaphore(1)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      try await semaphore.withPermit {
        enter.yield()
        for await _ in gate { break }
      }
    }
    for await _ in entered { break }
    let second = Task { try await semaphore.withPermit {} }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    let third = Task { try await semaphore.withPermit { 3 } }
    open.yield()
    try await first.value
    #expect(try await third.value == 3)
  }

  @Test func `No more wait for a key's permit than may, and other keys are open`() async throws {
    let semaphore = KeyedSemaphore<Int>(1, mostWaiting: 1)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let tasks = (1...2).map { _ in
      Task {
        try await semaphore.withPermit(1) {
          enter.yield()
          for await _ in gate { break }
        }
      }
    }
    for await _ in entered { break }
    // The other one may not have come yet: then this one waits in its place, or it is refused.
    let third = Task { try await semaphore.withPermit(1) {} }
    #expect(try await semaphore.withPermit(2) { 2 } == 2)
    open.yield()
    open.yield()
    let refused = [await tasks[0].result, await tasks[1].result, await third.result].count { result in
      guard case .failure(PostgresError.busy) = result else { return false }
      return true
    }
    #expect(refused <= 1)
    #expect(try await semaphore.withPermit(1) { 1 } == 1)
  }
}
