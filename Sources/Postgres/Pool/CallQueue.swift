import DequeModule

/// Calls that wait for a shared connection. Those that were sent and never ran come first, as they have waited longest; within
/// both kinds the order is that of their coming, and so of their expiring.
struct CallQueue {
  private var again: Deque<Call> = []
  private var fresh: Deque<Call> = []

  var isEmpty: Bool { again.isEmpty && fresh.isEmpty }
  var count: Int { again.count + fresh.count }
  var first: Call? { again.first ?? fresh.first }

  /// When somebody will have waited too long.
  var expires: MonotonicInstant { min(again.first?.expires ?? .distantFuture, fresh.first?.expires ?? .distantFuture) }

  mutating func append(_ call: Call) { fresh.append(call) }
  mutating func appendAgain(_ call: Call) { again.append(call) }

  mutating func removeFirst() {
    if again.popFirst() == nil { fresh.removeFirst() }
  }

  /// The last to come.
  mutating func popLast() -> Call? { fresh.popLast() ?? again.popLast() }

  /// Takes out those that the closure, which sees each of them once, says are over.
  mutating func removeAll(where isOver: (Call) -> Bool) {
    again.removeAll(where: isOver)
    fresh.removeAll(where: isOver)
  }

  /// Takes out one that is finished, or has waited too long.
  mutating func popExpired(at now: MonotonicInstant) -> Call? {
    if let call = again.first, call.isFinished || call.expires <= now { return again.popFirst() }
    if let call = fresh.first, call.isFinished || call.expires <= now { return fresh.popFirst() }
    return nil
  }
}
