import Foundation
public import Logging
public import Postgres
import Locking

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The PostgreSQL server of this test process: one private cluster, started when a test first asks for it and gone with
/// the process. `PUSHCART_TEST_DATABASE_URL`, where it is set, names another server to use instead; its role must be a
/// superuser.
public struct TestServer: Sendable {
  /// Connects to a database of this server, by name.
  public let connectionString: @Sendable (_ database: String) -> String
  /// The private cluster; `nil` when the environment names the server.
  public let cluster: PrivateCluster?
  /// A template that has every migration applied.
  let template: String
  /// Makes and drops databases, for all tests of the process.
  let administration: Pool

  /// The options of copies of the template. From PostgreSQL 15 on the default writes it to the log block by block, which takes twice as
  /// long as copying its files.
  var copyOptions: String {
    get async throws {
      try await administration.query(
        Statement(
          "template.options", .read,
          "SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 THEN 'STRATEGY FILE_COPY' ELSE '' END")
      )[0].decode(String.self)
    }
  }

  private static let starting = Task { try await start() }

  /// The server, started by the first caller.
  public static var shared: TestServer { get async throws { try await starting.value } }

  /// Quiet: what tests provoke on purpose is no news.
  public static let logger: Logger = {
    var logger = Logger(label: "tests")
    logger.logLevel = .critical
    return logger
  }()

  private static func start() async throws -> TestServer {
    let connectionString: @Sendable (String) -> String
    var cluster: PrivateCluster?
    if let url = ProcessInfo.processInfo.environment["PUSHCART_TEST_DATABASE_URL"], !url.isEmpty {
      connectionString = { "\(withoutDatabase(url)) dbname='\($0)'" }
    } else {
      let started = try await startCluster()
      connectionString = { started.connectionString(database: $0) }
      cluster = started
    }
    let server = TestServer(
      connectionString: connectionString, cluster: cluster, template: "template_\(UInt64.random(in: 0 ... .max))",
      administration: Pool(configuration(connectionString("postgres")), logger: logger))
    try await server.makeTemplate()
    return server
  }

  /// Long time limits, since a machine that runs all tests at once may be slow; a test of time limits sets its own.
  private static func configuration(_ connectionString: String) -> PoolConfiguration {
    var configuration = PoolConfiguration(connectionString: connectionString)
    configuration.connectTimeout = .seconds(60)
    configuration.queueTimeout = .seconds(60)
    configuration.statementTimeout = .seconds(120)
    configuration.hungAfter = .seconds(60)
    return configuration
  }

  /// A URI's settings as keywords, the database left out.
  private static func withoutDatabase(_ url: String) -> String {
    guard let parts = URLComponents(string: url), parts.scheme?.hasPrefix("postgres") == true else { return url }
    let settings = [
      ("host", parts.host), ("port", parts.port.map(String.init)), ("user", parts.user), ("password", parts.password),
    ]
    let query = (parts.queryItems ?? []).map { ($0.name, $0.value) }
    return (settings + query).compactMap { keyword, value in value.map { "\(keyword)='\($0)'" } }.joined(separator: " ")
  }

  private static func startCluster() async throws -> PrivateCluster {
    let directory = try TemporaryDirectory(named: "cluster", inMemory: true)
    var configuration = ClusterConfiguration(directory: directory.path)
    configuration.isDurable = false
    configuration.settings = [
      "max_connections": "400", "shared_buffers": "128MB", "autovacuum": "off", "wal_level": "minimal",
      "max_wal_senders": "0", "checkpoint_timeout": "1h", "max_wal_size": "1GB",
    ]
    let cluster = try await PrivateCluster.start(configuration, logger: logger)
    AtExit.stop(cluster, removing: directory)
    return cluster
  }

  private func makeTemplate() async throws {
    try await administration.query(Statement("template.create", .write, "CREATE DATABASE \(template)"))
    try await withPool(to: template) { pool in try await Migrator(pool, Migration.all).apply() }
  }

  /// A pool for as long as `body` runs.
  @discardableResult
  public func withPool<Answer: Sendable>(
    to database: String, _ configure: (inout PoolConfiguration) -> Void = { _ in },
    _ body: (Pool) async throws -> Answer
  ) async throws -> Answer {
    var configuration = Self.configuration(connectionString(database))
    configure(&configuration)
    let pool = Pool(configuration, logger: Self.logger)
    do {
      let answer = try await body(pool)
      await pool.close()
      return answer
    } catch {
      await pool.close()
      throw error
    }
  }
}

extension Migration {
  /// The files of `sql/migrations`, read from the package's directory.
  public static var all: [Migration] {
    get throws {
      let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let directory = package.appending(path: "sql/migrations")
      return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "sql" }
        .map {
          Migration(
            name: $0.deletingPathExtension().lastPathComponent, sql: try String(contentsOf: $0, encoding: .utf8))
        }
        .sorted { $0.name < $1.name }
    }
  }
}

/// Stops clusters when the test process exits.
enum AtExit {
  private static let clusters = Mutex<[(cluster: PrivateCluster, directory: TemporaryDirectory)]>([])

  static func stop(_ cluster: PrivateCluster, removing directory: TemporaryDirectory) {
    let isFirst = clusters.withLock { clusters in
      clusters.append((cluster, directory))
      return clusters.count == 1
    }
    if isFirst { atexit { AtExit.run() } }
  }

  /// The data is not needed any more, so the servers get no orderly shutdown. Each must have ended before its directory is
  /// removed.
  private static func run() {
    for (cluster, directory) in clusters.withLock({ $0 }) {
      cluster.signalStop()
      for _ in 0..<500 where cluster.processID != nil { usleep(10_000) }
      directory.remove()
    }
  }
}
