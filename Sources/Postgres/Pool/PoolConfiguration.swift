package import Metrics

/// How a pool connects and how long its callers wait.
public struct PoolConfiguration: Sendable {
  /// A libpq connection string or URI; what it leaves out comes from libpq's own `PG…` variables.
  public var connectionString: String
  /// Connections shared by statements outside transactions. The first is opened at once, the others when they are needed.
  public var sharedConnections = 4
  /// Connections lent for transactions and COPY, opened when first needed.
  public var lentConnections = 4
  /// How long opening one connection may take, once the host's name is resolved: the system's resolver has time limits of its
  /// own. A connection that fails is tried again, ever later, for as long as the pool lives.
  public var connectTimeout: Duration = .seconds(5)
  /// How long a statement may wait for a connection before it is `unavailable`.
  public var queueTimeout: Duration = .seconds(5)
  /// How many statements, and how many transactions and COPYs, may wait for a connection; one more is `unavailable` at once.
  public var queueLimit = 50_000
  /// How long a statement may run before it is `timedOut`: `statement_timeout` on the server, in place of any in the connection
  /// string, and a second later the client's own cancellation. COPY and scripts have no limit.
  public var statementTimeout: Duration = .seconds(30)
  /// What `pg_stat_activity` calls the connections.
  public var applicationName = "pushcart"
  /// How long the server may be at one statement of a shared connection before no more are sent behind it: what is sent cannot be
  /// taken back, and what waits in the queue is `unavailable` in time.
  package var hungAfter: Duration = .seconds(1)
  /// Where figures go, if not to the program's metrics.
  package var metrics: (any MetricsFactory)?
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

  /// What the connection string says of a keyword of libpq, such as `sslmode`; nil if it says nothing or cannot be read.
  public func value(of keyword: String) -> String? {
    try? ConnectionSettings(self, ambientOptions: nil).values.first { $0.keyword == keyword }?.value
  }

  /// Whether the connection string holds a password, of the user or of the key of a client certificate.
  public var holdsPassword: Bool { value(of: "password") != nil || value(of: "sslpassword") != nil }
}
