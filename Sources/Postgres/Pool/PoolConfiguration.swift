package import Metrics

/// How a pool connects and how long its callers wait.
public struct PoolConfiguration: Sendable {
  /// A libpq connection string or URI; what it leaves out comes from libpq's own `PG…` variables.
  public var connectionString: String
  /// Connections shared by statements outside transactions. The first is opened at once, the others when they are needed.
  public var sharedConnections = 4
  /// Connections for transactions and COPY, each leased to one at a time; opened when first needed. A customer has a third of them
  /// for its short transactions, and one for a long one.
  public var dedicatedConnections = 6
  /// How long opening one connection may take, once the host's name is resolved: the system's resolver has time limits of its
  /// own. A failed attempt is repeated, after growing delays, for as long as the pool lives.
  public var connectTimeout: Duration = .seconds(5)
  /// How long a statement may wait for a connection before it is `unavailable`, or `busy` where there are connections.
  public var queueTimeout: Duration = .seconds(5)
  /// How many statements, and how many transactions and COPYs, may wait for a connection; one more is `busy` at once.
  public var queueLimit = 50_000
  /// How long a statement may run before it is `timedOut`. It is the server's `statement_timeout`, in place of any in the
  /// connection string; a second later the client cancels. COPY and scripts have no limit.
  public var statementTimeout: Duration = .seconds(30)
  /// Whether shared connections plan each statement once, whatever its parameters (`plan_cache_mode = force_generic_plan`). The
  /// connection string's `options` can set another mode, which wins. The server would plan many statements anew each time. For short
  /// ones on partitioned tables that costs more than running them. It is for statements that go by keys (`goesByKeys`); what runs in
  /// transactions, such as a freeze, is planned for its parameters.
  public var plansOnce = false
  /// Whether statements mostly look rows up by keys. Pages of indexes are mostly in memory, so a page by an index is planned to cost hardly more
  /// than one in a row (`random_page_cost`). Else a plan made while a table is small reads all of it until the next plan, and the first page of
  /// a list reads and sorts a whole table. Where plans are made once, shared connections do in any case.
  public var goesByKeys = false
  /// The connections' name in `pg_stat_activity`.
  public var applicationName = "pushcart"
  /// The pool's name in metrics: the label `pool` of its gauges.
  public var metricsName = "main"
  /// How long the server may be at one statement of a shared connection before no more are sent behind it. What is sent cannot
  /// be taken back; what waits in the queue is `unavailable` in time.
  package var hungAfter: Duration = .seconds(1)
  /// Receives the metrics, in place of the program's own factory.
  package var metrics: (any MetricsFactory)?
  /// A file to which libpq writes every message of every connection, values included: for tests and debugging.
  package var traceFile: String?

  /// Everything else has a default.
  public init(connectionString: String) { self.connectionString = connectionString }

  /// Why the connection string cannot be used, as the end of a sentence that begins with its name; nil if it can. Quotes
  /// nothing of it.
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

  /// The directory and the path of the Unix socket that the connection string names. Nil if it names a host of the network,
  /// several hosts, or a service, which could name any host.
  public var socket: (directory: String, path: String)? {
    guard value(of: "hostaddr") == nil, value(of: "service") == nil, let directory = value(of: "host"),
      directory.hasPrefix("/"), !directory.contains(","), let port = UInt16(value(of: "port") ?? "5432")
    else { return nil }
    return (directory, "\(directory)/.s.PGSQL.\(port)")
  }

  /// Whether the connection string holds a password, of the user or of the key of a client certificate.
  public var holdsPassword: Bool { value(of: "password") != nil || value(of: "sslpassword") != nil }
}
