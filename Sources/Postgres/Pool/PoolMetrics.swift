import Metrics

/// A pool's metrics. Those of several pools in one process add up; the gauges of each have its name as the label `pool`.
struct PoolMetrics {
  let turnedAway: Counter
  let lost: Counter
  private let sharedConnections: Meter
  private let dedicatedConnections: Meter
  private let waiting: Meter
  private let factory: any MetricsFactory
  private var shown = (shared: -1, dedicated: -1, waiting: -1)
  private var meters: [String: StatementMeter] = [:]

  init(_ pool: String, _ factory: any MetricsFactory) {
    self.factory = factory
    turnedAway = Counter(label: "pushcart_database_turned_away_total", factory: factory)
    lost = Counter(label: "pushcart_database_connections_lost_total", factory: factory)
    func connections(_ use: String) -> Meter {
      Meter(label: "pushcart_database_connections", dimensions: [("pool", pool), ("use", use)], factory: factory)
    }
    sharedConnections = connections("shared")
    dedicatedConnections = connections("dedicated")
    waiting = Meter(label: "pushcart_database_statements_waiting", dimensions: [("pool", pool)], factory: factory)
  }

  /// Sets the gauges that changed.
  mutating func update(_ state: PoolState) {
    let dedicated = state.count(.idle) + state.count(.leased)
    let now = (shared: state.count(.shared), dedicated: dedicated, waiting: state.calls.count)
    if now.shared != shown.shared { sharedConnections.set(now.shared) }
    if now.dedicated != shown.dedicated { dedicatedConnections.set(now.dedicated) }
    if now.waiting != shown.waiting { waiting.set(now.waiting) }
    shown = now
  }

  mutating func meter(of statement: String) -> StatementMeter {
    if let meter = meters[statement] { return meter }
    let meter = StatementMeter(statement, factory)
    meters[statement] = meter
    return meter
  }
}

/// How often a statement was answered, how long it took from being sent, and why it failed.
final class StatementMeter {
  private let statement: String
  private let time: Timer
  private let factory: any MetricsFactory
  private var failures: [String: Counter] = [:]

  init(_ statement: String, _ factory: any MetricsFactory) {
    self.statement = statement
    self.factory = factory
    time = Timer(label: "pushcart_database_statement_seconds", dimensions: [("statement", statement)], factory: factory)
  }

  func succeeded(_ call: Call, at now: MonotonicInstant) {
    time.recordNanoseconds(now.nanoseconds - call.sentAt.nanoseconds)
  }

  func failed(_ call: Call, _ error: any Error, at now: MonotonicInstant) {
    time.recordNanoseconds(now.nanoseconds - call.sentAt.nanoseconds)
    let reason = reason(of: error)
    let counter =
      failures[reason]
      ?? Counter(
        label: "pushcart_database_statement_failures_total",
        dimensions: [("statement", statement), ("reason", reason)],
        factory: factory)
    failures[reason] = counter
    counter.increment()
  }

  /// An SQLSTATE, or a name for what only the client knows.
  private func reason(of error: any Error) -> String {
    switch error {
    case PostgresError.server(let error): error.sqlState
    case PostgresError.connectionLost: "connection_lost"
    case PostgresError.unknownOutcome: "unknown_outcome"
    case PostgresError.timedOut: "timed_out"
    case is CancellationError: "cancelled"
    default: "other"
    }
  }
}
