/// Where a private cluster lives and how it is to run.
public struct ClusterConfiguration: Sendable {
  /// Absolute path of a directory of the cluster's own; made if it is missing.
  public var directory: String
  /// The only role there is at first; it owns everything.
  public var superuser = "pushcart"
  /// Whether a commit survives a power cut. Tests can do without, and are quicker for it.
  public var isDurable = true
  /// Further settings, as in postgresql.conf.
  public var settings: [String: String] = [:]
  /// How long the server may take to start, recovery after a crash included.
  public var startTimeout: Duration = .seconds(120)

  public init(directory: String) { self.directory = directory }

  /// Every setting as PostgreSQL takes them. There is no TCP: whoever may open the socket is the owner.
  func allSettings(socketDirectory: String) -> [String: String] {
    var all = [
      "listen_addresses": "", "port": "5432", "unix_socket_directories": "\"\(socketDirectory)\"",
      "unix_socket_permissions": "0700", "logging_collector": "off", "cluster_name": "pushcart",
      // Errors are the hub's to report; the server would write the offending values beside them.
      "log_min_messages": "log", "log_min_error_statement": "panic", "log_error_verbosity": "terse",
    ]
    if !isDurable { all.merge(["fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"]) { $1 } }
    return all.merging(settings) { $1 }
  }
}

/// Why a private cluster does not run.
public enum ClusterError: Error, Sendable, Equatable {
  /// PostgreSQL's server programs are nowhere to be found.
  case notInstalled
  /// Another hub runs in this directory.
  case inUse(directory: String, processID: Int32?)
  /// Started as root, and there is no user `postgres` to run the server as.
  case noAccount
  /// Started as root, and there is no `setpriv` to hand the server to that user.
  case noSetpriv
  /// The system refused something.
  case system(String)
  /// A program of PostgreSQL failed; `log` is the end of what it said.
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
