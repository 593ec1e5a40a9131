/// What a pool is doing at one moment.
public struct PoolStatus: Sendable, Equatable {
  /// Connections shared by statements outside transactions.
  public var sharedConnections: Int
  /// Connections lent to transactions and COPYs, and those ready to be.
  public var lentConnections: Int
  /// Statements on shared connections, sent and not answered.
  public var statementsInFlight: Int
  /// Statements that wait for a shared connection.
  public var statementsWaiting: Int
  /// Transactions and COPYs that wait for a connection.
  public var connectionWaitersCount: Int
  /// Connections that could not be opened, or were lost before the server answered a statement, since it last did.
  public var failedAttempts: Int

  static let closed = PoolStatus(
    sharedConnections: 0, lentConnections: 0, statementsInFlight: 0, statementsWaiting: 0, connectionWaitersCount: 0,
    failedAttempts: 0)
}
