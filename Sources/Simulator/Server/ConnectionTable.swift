import Locking

/// The open connections of a service, on all its ports, and the way to give them orders.
final class ConnectionTable: Sendable {
  private let live = Mutex<[Int: @Sendable (ConnectionOrder) -> Void]>([:])
  private let last = Atomic(0)
  private let beyondLimit = Atomic(0)

  /// Connections open now.
  var open: Int { live.withLock { $0.count } }
  /// Connections ever opened.
  var opened: Int { last.load(ordering: .relaxed) }

  /// Streams that clients opened beyond the limit which they had acknowledged.
  var streamsBeyondLimit: Int { beyondLimit.load(ordering: .relaxed) }

  func countStreamBeyondLimit() { beyondLimit.add(1, ordering: .relaxed) }

  func nextNumber() -> Int { last.add(1, ordering: .relaxed).newValue }

  /// - Parameter carryOut: may be called from any thread.
  func add(_ number: Int, carryOut: @escaping @Sendable (ConnectionOrder) -> Void) {
    live.withLock { $0[number] = carryOut }
  }

  func remove(_ number: Int) {
    live.withLock { $0[number] = nil }
  }

  /// Gives an order to every open connection.
  func order(_ order: ConnectionOrder) {
    for carryOut in live.withLock({ Array($0.values) }) { carryOut(order) }
  }
}

/// What a test can have a connection do at any moment.
enum ConnectionOrder: Sendable {
  case goAway(lastStream: Int?, reason: String?)
  case cut
  case limitStreams(Int)
  case answerIgnored
}
