/// How a hub works through the ledger. The values are those it runs with; tests choose smaller ones.
public struct DispatchSettings: Sendable {
  /// Most pushes handed over to a push service whose outcome is not written yet: what may still leave after a pause.
  public var window = 4000
  /// Pushes handed over at a time.
  public var slice = 250
  /// How long a claim holds without being extended. A restarted hub, or another one, goes on with a dead hub's pushes after it.
  public var lease: Duration = .seconds(10)
  /// How often claims are extended.
  public var extendEvery: Duration = .seconds(2)
  public var retrySchedule = RetrySchedule()
  /// Share of dead tokens above which no device is retired any more: see `CircuitBreaker`.
  public var circuitBreakerShare = 0.2
  /// Pushes that have to be answered before that share says anything.
  public var circuitBreakerEvidence = 50

  public init() {}
}
