/// How the runner looks after sendouts. The values are those it runs with; tests choose smaller ones.
public struct RunnerSettings: Sendable {
  /// Sendouts that this hub sends at the same time; more wait their turn. Each holds a few thousand pushes in memory.
  public var sendoutsAtOnce = 8
  /// How often the tables are looked at for what no notification told of.
  public var scanEvery: Duration = .seconds(15)
  /// Longest time between two looks at a sendout that waits, for retries or for the leases of other hubs.
  public var lookEvery: Duration = .seconds(3)
  /// How long pushes that are on their way are waited for at the end; the ledger takes what is left for uncertain.
  public var grace: Duration = .seconds(25)
  /// Pushes in a batch of the ledger.
  public var batchSize = 1000

  public init() {}
}
