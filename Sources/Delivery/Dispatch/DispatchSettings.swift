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
  public var backOff = BackOff()
  /// Share of dead tokens above which no device is retired any more: see `Fuse`.
  public var fuseShare = 0.2
  /// Pushes that have to be answered before that share says anything.
  public var fuseEvidence = 50

  public init() {}
}
