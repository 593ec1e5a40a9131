import Metrics

/// What operators see of a pool. Several pools in one process add up, but for the gauges.
struct PoolFigures {
  let turnedAway: Counter
  let lost: Counter
  private let sharedConnections: Meter
  private let lentConnections: Meter
  private let waiting: Meter
  private let factory: any MetricsFactory
  private var shown = (shared: -1, lent: -1, waiting: -1)
  private var meters: [String: StatementMeter] = [:]

  init(_ factory: any MetricsFactory) {
    self.factory = factory
    turnedAway = Counter(label: "pushcart_database_turned_away_total", factory: factory)
    lost = Counter(label: "pushcart_database_connections_lost_total", factory: factory)
    func connections(_ use: String) -> Meter {
      Meter(label: "pushcart_database_connections", dimensions: [("use", use)], factory: factory)
    }
    sharedConnections = connections("shared")
    lentConnections = connections("lent")
    waiting = Meter(label: "pushcart_database_statements_waiting", factory: factory)
  }

  /// Sets those gauges that moved.
  mutating func show(_ core: PoolCore) {
    let lent = core.dedicated.idle.count + core.dedicated.lent.count
    let now = (shared: core.shared.count, lent: lent, waiting: core.waiting.count)
    if now.shared != shown.shared { sharedConnections.set(now.shared) }
    if now.lent != shown.lent { lentConnections.set(now.lent) }
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

/// How often a statement was answered, how long it took from being sent, and what it failed of.
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

  /// An SQLSTATE, or a word for what only this side knows.
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
