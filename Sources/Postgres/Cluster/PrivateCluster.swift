public import Logging
public import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A PostgreSQL server of our own: made when it is missing, started and stopped with the hub, reachable by unix socket only.
///
/// A server that dies is started again. When the hub dies, the server shuts down on Linux, and is found and stopped at the
/// next start elsewhere; the data is good in each case.
public final class PrivateCluster: Service {
  /// What it was started with.
  public let configuration: ClusterConfiguration
  private let server: ServerProcess
  private let logger: Logger

  /// Starts the server, making the cluster first if there is none, and returns when it takes connections.
  /// - Throws: `ClusterError`.
  public static func start(_ configuration: ClusterConfiguration, logger: Logger) async throws -> PrivateCluster {
    let server = try await DedicatedThread.value {
      Result { try ServerProcess(configuration, logger: logger) }
    }.get()
    try await server.start()
    return PrivateCluster(configuration, server, logger)
  }

  private init(_ configuration: ClusterConfiguration, _ server: ServerProcess, _ logger: Logger) {
    self.configuration = configuration
    self.server = server
    self.logger = logger
  }

  /// For libpq. The database must exist: see `createDatabase`.
  public func connectionString(database: String) -> String {
    let words = [("host", server.socketDirectory), ("user", configuration.superuser), ("dbname", database)].map {
      "\($0)='\($1.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }
    return words.joined(separator: " ") + " port=5432 sslmode=disable gssencmode=disable"
  }

  /// Where the server's socket is.
  public var socketDirectory: String { server.socketDirectory }

  /// Process of the server, while it runs.
  public var processID: Int32? { server.processID }

  /// Where the data is: in the directory it was started with, unless that is closed to the user the server runs as.
  public var home: String { server.home }

  /// Where the server's log is.
  public var logFile: String { server.logFile }

  /// Makes a database unless it exists.
  public func createDatabase(_ name: String) async throws {
    let pool = Pool(PoolConfiguration(connectionString: connectionString(database: "postgres")), logger: logger)
    let exists = Statement("database.exists", .read, "SELECT 1 FROM pg_database WHERE datname = $1")
    if try await pool.query(exists, name).isEmpty {
      let quoted = name.replacing("\"", with: "\"\"")
      try await pool.query(Statement("database.create", .write, "CREATE DATABASE \"\(quoted)\""))
    }
    await pool.close()
  }

  /// Stops the server: clients are disconnected, what they committed stays.
  public func stop() async { await server.stop() }

  /// Keeps the server until the service group, or the task, ends, and then stops it. List it before whatever needs it: a
  /// group stops its services in reverse.
  public func run() async throws {
    try? await gracefulShutdown()
    await stop()
  }

  /// Stops the server from a place that cannot suspend, such as an `atexit` handler, without waiting for it.
  public func signalStop() { server.signalStop() }
}
