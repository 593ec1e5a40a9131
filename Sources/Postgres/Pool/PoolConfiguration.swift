/// How a pool connects and how long its callers wait.
public struct PoolConfiguration: Sendable {
  /// A libpq connection string or URI; what it leaves out comes from libpq's own `PG…` variables.
  public var connectionString: String
  /// Connections shared by statements outside transactions. The first is opened at once, the others when they are needed.
  public var sharedConnections = 4
  /// Connections lent for transactions and COPY, opened when first needed.
  public var lentConnections = 4
  /// How long opening one connection may take. A connection that fails is tried again, ever later, for as long as the pool
  /// lives.
  public var connectTimeout: Duration = .seconds(5)
  /// How long a statement may wait for a connection before it is `unavailable`.
  public var queueTimeout: Duration = .seconds(5)
  /// How many statements may wait for a connection; one more is `unavailable` at once.
  public var queueLimit = 50_000
  /// How long a statement may run: `statement_timeout` on the server, and a second later the client's own cancellation.
  public var statementTimeout: Duration = .seconds(30)
  /// What `pg_stat_activity` calls the connections.
  public var applicationName = "pushcart"
  /// A file to which libpq writes every message of every connection, values included: for tests and for hunting errors.
  package var traceFile: String?

  /// Everything else has a default.
  public init(connectionString: String) { self.connectionString = connectionString }

  /// Why the connection string cannot be used, ending a sentence that begins with its name; nil if it can. Quotes nothing of it.
  public var problem: String? {
    do throws(ConnectionSettings.Unusable) {
      _ = try ConnectionSettings(self)
      return nil
    } catch {
      return error.problem
    }
  }
}
