import Foundation
import Postgres
import Support
import Testing

@Suite struct PrivateClusterTests {
  private func withDirectory(_ body: (ClusterConfiguration) async throws -> Void) async throws {
    let directory = try TemporaryDirectory(named: "private")
    defer { directory.remove() }
    var configuration = ClusterConfiguration(directory: directory.path)
    configuration.isDurable = false
    try await body(configuration)
  }

  private func withPool<Answer>(_ cluster: PrivateCluster, _ body: (Pool) async throws -> Answer) async throws -> Answer
  {
    var settings = PoolConfiguration(connectionString: cluster.connectionString(database: "pushcart"))
    settings.queueTimeout = .seconds(120)
    let pool = Pool(settings, logger: TestServer.logger)
    let answer = try await body(pool)
    await pool.close()
    return answer
  }

  private let create = Statement("test.create", .write, "CREATE TABLE kept AS SELECT 42 AS answer")
  private let read = Statement("test.read", .read, "SELECT answer FROM kept")

  @Test func `A cluster is made once, and its data is there at the next start`() async throws {
    try await withDirectory { configuration in
      let first = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      try await first.createDatabase("pushcart")
      try await first.createDatabase("pushcart")
      _ = try await withPool(first) { try await $0.query(create) }
      await first.stop()
      #expect(first.processID == nil)
      let second = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      let answer = try await withPool(second) { try await $0.query(read)[0].decode(Int.self) }
      #expect(answer == 42)
      await second.stop()
    }
  }

  @Test func `A server that is killed is started again, and what was committed is there`() async throws {
    try await withDirectory { configuration in
      var configuration = configuration
      configuration.isDurable = true
      let cluster = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      try await cluster.createDatabase("pushcart")
      _ = try await withPool(cluster) { try await $0.query(create) }
      let killed = try #require(cluster.processID)
      kill(killed, SIGKILL)
      try await waitUntil { cluster.processID != killed }
      let answer = try await withPool(cluster) { try await $0.query(read)[0].decode(Int.self) }
      #expect(answer == 42)
      await cluster.stop()
    }
  }

  @Test func `The server holds none of our files open`() async throws {
    try await withDirectory { configuration in
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      defer { close(ends[0]) }
      let cluster = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      close(ends[1])
      var ours = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      #expect(poll(&ours, 1, 30_000) == 1, "somebody else could still write")
      await cluster.stop()
    }
  }

  @Test func `Two hubs on one directory get a clear error`() async throws {
    try await withDirectory { configuration in
      let first = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      await #expect(throws: ClusterError.inUse(directory: configuration.directory, processID: getpid())) {
        try await PrivateCluster.start(configuration, logger: TestServer.logger)
      }
      await first.stop()
    }
  }

  @Test func `There is no TCP, and the socket is the owner's`() async throws {
    let server = try await TestServer.shared
    guard let cluster = server.cluster else { return }
    let show = Statement(
      "test.show", .read,
      "SELECT current_setting('listen_addresses'), current_setting('unix_socket_permissions'), current_setting('data_directory')"
    )
    let (addresses, permissions, data) = try await server.withPool(to: "postgres") { pool in
      try await pool.query(show)[0].decode(String.self, String.self, String.self)
    }
    #expect(addresses == "")
    #expect(permissions == "0700")
    let attributes = try FileManager.default.attributesOfItem(atPath: cluster.socketDirectory)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    if getuid() == 0 {
      let owner = try FileManager.default.attributesOfItem(atPath: data)[.ownerAccountName] as? String
      #expect(owner == "postgres")
    }
  }

  @Test func `A directory with a long name still has a socket`() async throws {
    let directory = try TemporaryDirectory(named: "long")
    defer { directory.remove() }
    var configuration = ClusterConfiguration(
      directory: directory.path + "/" + String(repeating: "long-name/", count: 10) + "it's")
    configuration.isDurable = false
    let cluster = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    try await cluster.createDatabase("pushcart")
    try? FileManager.default.removeItem(atPath: cluster.socketDirectory)
    await cluster.stop()
  }

  @Test func `A server that cannot start says why`() async throws {
    try await withDirectory { configuration in
      var configuration = configuration
      configuration.settings["no_such_setting"] = "on"
      // Earlier log lines are about another server.
      try FileManager.default.createDirectory(atPath: configuration.directory, withIntermediateDirectories: true)
      try "FATAL: pre-existing shared memory block is still in use\n".write(
        toFile: "\(configuration.directory)/postgres.log", atomically: true, encoding: .utf8)
      let error = await #expect(throws: ClusterError.self) {
        try await PrivateCluster.start(configuration, logger: TestServer.logger)
      }
      #expect(error?.description.contains("no_such_setting") == true)
      #expect(error?.description.contains("shared memory block") == false)
    }
  }
}
