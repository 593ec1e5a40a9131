import Retrying
import NIOCore
import Testing

@testable import Providers

/// A pool's decisions, without a socket.
@Suite struct PoolStateTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private func pool(size: Int = 2, attempts: Int = 4) -> HTTP2PoolState {
    HTTP2PoolState(
      PoolSettings(
        size: size, http1Size: size, queueTimeout: .seconds(30), attempts: attempts,
        reconnect: RetryPolicy(first: .seconds(1), longest: .seconds(60), jitter: .equal)))
  }

  @Test func `No connection is opened while no push waits`() {
    var pool = pool()
    #expect(pool.review(waiting: 0, now: start).isEmpty)
    #expect(pool.nextReview() == .distantFuture)
  }

  @Test(arguments: [true, false])
  func `While no push may leave, one connection is enough for any backlog`(hasStreams: Bool) {
    var pool = pool(size: 3)
    #expect(pool.review(waiting: 10_000, maySend: false, now: start) == [.open(1)])
    #expect(pool.opened(1, hasStreams: hasStreams).isEmpty)
    #expect(pool.review(waiting: 10_000, maySend: false, now: start).isEmpty)
    #expect(pool.review(waiting: 10_000, now: start) == [.open(2)])
  }

  @Test func `One connection is opened at a time, and another for a backlog only`() {
    var pool = pool(size: 3)
    #expect(pool.review(waiting: 10_000, now: start) == [.open(1)])
    #expect(pool.review(waiting: 10_000, now: start).isEmpty)
    #expect(pool.opened(1).isEmpty)
    #expect(pool.ready == [1])
    #expect(pool.review(waiting: 10, now: start).isEmpty)
    #expect(pool.review(waiting: 300, now: start) == [.open(2)])
    #expect(pool.opened(2).isEmpty)
    #expect(pool.review(waiting: 255, now: start).isEmpty)
    #expect(pool.review(waiting: 256, now: start) == [.open(3)])
    #expect(pool.opened(3).isEmpty)
    #expect(pool.review(waiting: 10_000, now: start).isEmpty)
    #expect(pool.ready == [1, 2, 3])
  }

  @Test func `What waits behind receivers that may not answer gets another connection`() {
    var pool = HTTP2PoolState(
      PoolSettings(
        size: 2, opensAnotherWhenFull: true, queueTimeout: .seconds(30), attempts: 4,
        reconnect: RetryPolicy(first: .seconds(1), longest: .seconds(60), jitter: .equal)))
    #expect(pool.review(waiting: 1, now: start) == [.open(1)])
    #expect(pool.opened(1).isEmpty)
    #expect(pool.review(waiting: 0, now: start).isEmpty)
    #expect(pool.review(waiting: 1, now: start) == [.open(2)])
    // The customer may have no more now.
    pool.forget(2)
    #expect(pool.review(waiting: 1, now: start) == [.open(3)])
    #expect(pool.opened(3).isEmpty)
    #expect(pool.review(waiting: 1, now: start).isEmpty)
  }

  @Test func `Each loss doubles the delay, up to the limit, and a response resets it`() {
    var pool = pool(attempts: 100)
    var now = start
    #expect(pool.review(waiting: 1, now: now) == [.open(1)])
    for (index, wait) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
      pool.closed(index + 1, reason: "ConnectionRefused", jitter: 1, now: now)
      _ = pool.review(waiting: 0, now: now)
      now = now + .seconds(Int64(wait))
      #expect(pool.review(waiting: 1, now: now - .nanoseconds(1)).isEmpty)
      #expect(pool.review(waiting: 1, now: now) == [.open(index + 2)])
    }
    _ = pool.opened(9)
    pool.answered(on: 9, now: now)
    pool.closed(9, reason: "ConnectionReset", jitter: 1, now: now)
    #expect(pool.review(waiting: 1, now: now + .seconds(1)) == [.open(10)])
  }

  @Test func `Half of the delay is random`() {
    var pool = pool()
    _ = pool.review(waiting: 1, now: start)
    pool.closed(1, reason: "ConnectionRefused", jitter: 0, now: start)
    #expect(pool.review(waiting: 1, now: start + .milliseconds(499)).isEmpty)
    #expect(pool.review(waiting: 1, now: start + .milliseconds(500)) == [.open(2)])
  }

  @Test func `Pushes that wait too long come back with the last failure`() {
    var pool = pool()
    _ = pool.review(waiting: 5, now: start)
    pool.closed(1, reason: "ConnectionRefused", jitter: 1, now: start + .seconds(1))
    #expect(pool.review(waiting: 5, now: start + .seconds(30)) == [.failWaiting(reason: "ConnectionRefused")])
    #expect(pool.review(waiting: 0, now: start + .seconds(30)).isEmpty)
    // What comes later waits as long again.
    _ = pool.review(waiting: 1, now: start + .seconds(40))
    #expect(pool.review(waiting: 1, now: start + .seconds(69)).isEmpty)
  }

  @Test func `Waiting pushes come back after some failures in a row, and after each further one`() {
    var pool = pool()
    var now = start
    for serial in 1...4 {
      #expect(pool.review(waiting: 5, now: now) == [.open(serial)])
      pool.closed(serial, reason: "ConnectionRefused", jitter: 0, now: now)
      if serial < 4 { #expect(pool.review(waiting: 5, now: now).isEmpty) }
      now = now + .seconds(4)
    }
    #expect(pool.review(waiting: 5, now: now) == [.failWaiting(reason: "ConnectionRefused")])
    #expect(pool.review(waiting: 1, now: now) == [.open(5)])
    pool.closed(5, reason: "ConnectTimeout", jitter: 0, now: now)
    #expect(pool.review(waiting: 1, now: now) == [.failWaiting(reason: "ConnectTimeout")])
  }

  @Test func `Failures while no push waited do not count`() {
    var pool = pool(attempts: 1)
    _ = pool.review(waiting: 1, now: start)
    pool.closed(1, reason: "ConnectionReset", jitter: 0, now: start)
    _ = pool.review(waiting: 0, now: start)
    #expect(pool.review(waiting: 1, now: start + .seconds(1)) == [.open(2)])
  }

  @Test func `As long as pushes are answered, waiting ones stay`() {
    var pool = pool(size: 1)
    _ = pool.review(waiting: 5000, now: start)
    _ = pool.opened(1)
    for second in stride(from: 0, through: 290, by: 29) {
      pool.answered(on: 1, now: start + .seconds(Int64(second)))
      #expect(pool.review(waiting: 5000, now: start + .seconds(Int64(second) + 29)).isEmpty)
    }
  }

  @Test func `A connection that the server ends after some responses is replaced at once`() {
    var pool = pool()
    _ = pool.review(waiting: 1, now: start)
    _ = pool.opened(1)
    for _ in 0..<10 { pool.answered(on: 1, now: start) }
    pool.retiring(1)
    #expect(pool.ready.isEmpty)
    #expect(pool.review(waiting: 1, now: start) == [.open(2)])
    pool.closed(1, reason: "Drained", jitter: 1, now: start)
    #expect(pool.opened(2).isEmpty)
    #expect(pool.ready == [2])
  }

  @Test func `A server that closes every connection is reconnected to with a delay`() {
    var pool = pool()
    _ = pool.review(waiting: 1, now: start)
    _ = pool.opened(1)
    pool.retiring(1)
    pool.closed(1, reason: "Drained", jitter: 1, now: start)
    #expect(pool.review(waiting: 1, now: start).isEmpty)
    #expect(pool.review(waiting: 1, now: start + .seconds(1)) == [.open(2)])
  }

  @Test func `A recovery retires all connections, and opens a new one`() {
    var pool = pool()
    _ = pool.review(waiting: 300, now: start)
    _ = pool.opened(1)
    _ = pool.review(waiting: 300, now: start)
    _ = pool.opened(2)
    let (isWorthwhile, actions) = pool.renew(for: "TopicDisallowed", on: 1, now: start)
    #expect(isWorthwhile)
    #expect(actions == [.retire(1), .retire(2)])
    #expect(pool.ready.isEmpty)
    #expect(pool.review(waiting: 1, now: start) == [.open(3)])
    // The others of the old connections follow without another renewal.
    #expect(pool.renew(for: "TopicDisallowed", on: 2, now: start) == (true, []))
    #expect(pool.opened(3).isEmpty)
    // Let go, not lost: nobody waits.
    pool.closed(1, reason: "Drained", jitter: 1, now: start)
    pool.closed(2, reason: "Drained", jitter: 1, now: start)
    #expect(pool.review(waiting: 300, now: start) == [.open(4)])
  }

  @Test func `The same recovery is not repeated within a minute`() {
    var pool = pool()
    _ = pool.review(waiting: 1, now: start)
    _ = pool.opened(1)
    _ = pool.renew(for: "Forbidden", on: 1, now: start)
    _ = pool.review(waiting: 1, now: start)
    _ = pool.opened(2)
    #expect(!pool.renew(for: "Forbidden", on: 2, now: start + .seconds(59)).isWorthwhile)
    #expect(pool.ready == [2])
    #expect(pool.renew(for: "TopicDisallowed", on: 2, now: start + .seconds(59)) == (true, [.retire(2)]))
  }

  @Test func `A connection that was opening at a recovery is retired as soon as it is open`() {
    var pool = pool()
    _ = pool.review(waiting: 300, now: start)
    _ = pool.opened(1)
    _ = pool.review(waiting: 300, now: start)
    _ = pool.renew(for: "Forbidden", on: 1, now: start)
    #expect(pool.opened(2) == [.retire(2)])
  }

  @Test func `After shutdown no connection opens, and waiting pushes come back`() {
    var pool = pool()
    _ = pool.review(waiting: 1, now: start)
    #expect(pool.shutDown() == [.retire(1)])
    #expect(pool.review(waiting: 1, now: start) == [.failWaiting(reason: "ShuttingDown")])
  }
}
