import Retrying

/// How busy a connection is.
struct ConnectionLoad: Equatable {
  /// Calls sent and not yet answered.
  var callsInFlight = 0
  /// What the parameters of those calls take.
  var bytesInFlight = 0
  /// Since when the server has been at the first of them.
  var headSince = MonotonicInstant.distantFuture

  /// Calls that a shared connection may have in flight. Enough to fill a write and keep the server busy for a while; not so
  /// many that a slow one holds up hundreds.
  static let mostCalls = 128
  /// Bytes of parameters beyond which it gets no further calls, so that libpq's buffer, which never shrinks, stays small.
  static let mostBytes = 1 << 20
  /// What statements take as a rule, at most, in nanoseconds. 20 ms: a slow commit on a spinning disk.
  private static let usualTime: Int64 = 20_000_000
  /// What takes longer, in nanoseconds, shows that its customer sends statements that keep others waiting.
  private static let longTime: Int64 = 250_000_000

  /// Whether it can take another call.
  var hasCapacity: Bool { callsInFlight < Self.mostCalls && bytesInFlight < Self.mostBytes }
  /// For how long the server has been at one statement, in nanoseconds; 0 or less while it has nothing to do.
  func timeAtHead(at now: MonotonicInstant) -> Int64 { now.nanoseconds - headSince.nanoseconds }
  /// Whether the server has been at one statement for longer than usual.
  func isSlow(at now: MonotonicInstant) -> Bool { timeAtHead(at: now) > Self.usualTime }
  /// Whether the server has been at one statement for so long that its customer's others get fewer connections.
  func isLong(at now: MonotonicInstant) -> Bool { timeAtHead(at: now) > Self.longTime }

  mutating func add(_ call: Call, at now: MonotonicInstant) {
    if callsInFlight == 0 { headSince = now }
    callsInFlight += 1
    bytesInFlight += call.parameters.bytes.count
  }
}

/// When to connect again after a failure.
struct ReconnectBackoff {
  private(set) var failures = 0
  private(set) var notBefore = MonotonicInstant(nanoseconds: .min)
  /// libpq's message; nil unless there is an outage.
  private(set) var lastFailure: String?

  /// - Parameter jitter: from 0 to 1, the share that chance takes of the delay.
  mutating func failed(_ why: String, at now: MonotonicInstant, jitter: Double = .random(in: 0...1)) {
    failures += 1
    lastFailure = why
    notBefore = now.advanced(by: RetryPolicy.databaseConnections.delay(after: failures, random: jitter))
  }

  mutating func succeeded() { self = ReconnectBackoff() }
}
