public import Logging
public import ServiceLifecycle
import Locking

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A PostgreSQL server of our own: created when it is missing, started and stopped with the hub, reachable by unix socket
/// only.
///
/// A server that crashes is started again. When the hub crashes, the server shuts down on Linux; elsewhere it is found and
/// stopped at the next start. The data is safe in each case.
public final class PrivateCluster: Service {
  /// The configuration it was started with.
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

  /// Where the data is: in the configured directory, unless the server's user cannot reach that.
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

  /// The user that a server started by this process runs as: `postgres` for root, else our own. Nil if root cannot start one.
  public static var serverUserID: UInt32? { try? ServerAccount.find().userID }

  /// Stops the server from a place that cannot suspend, such as an `atexit` handler, without waiting for it.
  public func signalStop() { server.signalStop() }
}

/// Where a private cluster is, and how it runs.
public struct ClusterConfiguration: Sendable {
  /// Absolute path of a directory of the cluster's own; made if it is missing.
  public var directory: String
  /// The only role at first; it owns everything.
  public var superuser = "pushcart"
  /// Whether a commit survives a power cut. Tests turn it off to be faster.
  public var isDurable = true
  /// Further settings, as in postgresql.conf.
  public var settings: [String: String] = [:]
  /// How long the server may take to start, recovery after a crash included.
  public var startTimeout: Duration = .seconds(120)

  public init(directory: String) { self.directory = directory }

  /// Every setting, as PostgreSQL takes them. There is no TCP, and only the owner may open the socket.
  func allSettings(socketDirectory: String) -> [String: String] {
    var all = [
      "listen_addresses": "", "port": "5432", "unix_socket_directories": "\"\(socketDirectory)\"",
      "unix_socket_permissions": "0700", "logging_collector": "off", "cluster_name": "pushcart",
      // The hub reports errors; the server would log the offending values with them.
      "log_min_messages": "log", "log_min_error_statement": "panic", "log_error_verbosity": "terse",
    ]
    if !isDurable { all.merge(["fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"]) { $1 } }
    return all.merging(settings) { $1 }
  }
}

/// Why a private cluster does not run.
public enum ClusterError: Error, Sendable, Equatable {
  /// PostgreSQL's server programs were not found.
  case notInstalled
  /// Another hub runs in this directory.
  case inUse(directory: String, processID: Int32?)
  /// Started as root, and there is no user `postgres` to run the server as.
  case noAccount
  /// Started as root, and there is no `setpriv` to change the user with.
  case noSetpriv
  /// A system call failed.
  case system(String)
  /// A program of PostgreSQL failed; `log` is the end of its output.
  case failed(program: String, log: String)
}

extension ClusterError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notInstalled:
      "PostgreSQL is not installed (initdb and postgres are needed; on Debian: apt install postgresql)"
    case .inUse(let directory, let processID):
      "\(directory) is in use by another pushcart" + (processID.map { " (process \($0))" } ?? "")
    case .noAccount: "started as root, PostgreSQL needs a user named postgres to run as, and there is none"
    case .noSetpriv:
      "started as root, PostgreSQL needs setpriv (of util-linux) to run as the user postgres, and there is none"
    case .system(let what): what
    case .failed(let program, let log): "\(program) failed: \(log)"
    }
  }
}
