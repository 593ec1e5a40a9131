import Foundation
import Support
import Testing
import Wire

@testable import Pushcart

/// The settings that `pushcart demo` leaves in `.pushcart`, and the commands that use them.
@Suite struct LocalHubTests {
  /// A folder with the settings of a private hub on a test's database.
  private struct Place {
    let folder: TemporaryDirectory
    var hub: String { "\(folder.path)/.pushcart" }
    var settings: String { "\(hub)/settings.json" }

    init(_ database: TestDatabase) throws {
      folder = try TemporaryDirectory(named: "local")
      try FileManager.default.createDirectory(atPath: hub, withIntermediateDirectories: false)
      chmod(hub, 0o755)
      let text = try JSONEncoder().encode(["database-url": database.connectionString])
      #expect(FileManager.default.createFile(atPath: settings, contents: text))
      chmod(settings, 0o600)
    }

    func list(_ flags: String...) async throws -> (status: Int32, text: String) {
      let command = try RunningPushcart(["customer", "list"] + flags, environment: [:], folder: folder.path)
      let status = await command.exit()
      return (status, command.text)
    }
  }

  @Test func `A command that uses the settings of its folder names them on standard error`() async throws {
    try await withDatabase { database in
      let place = try Place(database)
      defer { place.folder.remove() }
      let outcome = try await place.list()
      #expect(outcome.status == 0)
      #expect(outcome.text.hasPrefix("Using the private hub of this folder: \(place.settings)\n"), "\(outcome.text)")
      let wrong = try await place.list("--config", "/nowhere.json")
      #expect(wrong.text.hasPrefix("Using the private hub of this folder: \(place.settings)\n"), "\(wrong.text)")
      let other = try await place.list("--database-url", database.connectionString)
      #expect(other.status == 0 && !other.text.contains("private hub"), "\(other.text)")
    }
  }

  @Test(arguments: [0o775, 0o757])
  func `Settings that other users could change are refused with the remedy`(mode: mode_t) async throws {
    try await withDatabase { database in
      let place = try Place(database)
      defer { place.folder.remove() }
      for path in [place.hub, place.settings] {
        chmod(path, mode)
        let outcome = try await place.list()
        #expect(outcome.status == 1)
        #expect(
          outcome.text.contains(
            "\(path) can be changed by other users, so it is not trusted; run chmod go-w '\(path)'"),
          "\(outcome.text)")
        chmod(path, 0o700)
      }
      chmod(place.hub, mode)
      let named = try await place.list("--database-url", database.connectionString)
      #expect(named.status == 0, "\(named.text)")
      let demo = try RunningDemo.launch(in: place.folder.path, RunningDemo.FreePorts())
      #expect(await demo.exit() == 1)
      #expect(demo.text.contains("run chmod go-w"), "\(demo.text)")
    }
  }

  @Test(.enabled("only root can give a file away") { getuid() == 0 })
  func `Settings of another user are refused, behind a link too`() async throws {
    try await withDatabase { database in
      let place = try Place(database)
      defer { place.folder.remove() }
      for path in [place.hub, place.settings] {
        chown(path, 12345, 12345)
        let outcome = try await place.list()
        #expect(outcome.status == 1)
        #expect(outcome.text.contains("\(path) belongs to another user, so it is not trusted"), "\(outcome.text)")
        chown(path, 0, 0)
      }
      try FileManager.default.moveItem(atPath: place.hub, toPath: "\(place.folder.path)/elsewhere")
      try FileManager.default.createSymbolicLink(atPath: place.hub, withDestinationPath: "elsewhere")
      #expect(try await place.list().status == 0)
      lchown(place.hub, 12345, 12345)
      #expect(try await place.list().text.contains("\(place.hub) belongs to another user"))
    }
  }

  @Test(arguments: [
    "", "host=127.0.0.1", "postgres://127.0.0.1:1/x?application_name=host='SOCKET'", "postgres://u@127.0.0.1:1/x",
    "dbname=x",
    "host='SOCKET' hostaddr=127.0.0.1", "host='SOCKET' service=other", "host='SOCKET,127.0.0.1'",
    "host='127.0.0.1,SOCKET'",
    "host=@SOCKET", "host='SOCKET' host=127.0.0.1", "host='SOCKET' port=1,2", "host='SOCKET' =",
  ])
  func `Settings that name another database than a private PostgreSQL are refused`(address: String) async throws {
    let folder = try TemporaryDirectory(named: "forged")
    defer { folder.remove() }
    let socket = try UnixSocket(in: folder.path)
    let local = try Self.settings(address.replacing("SOCKET", with: folder.path), in: folder)
    let problem = try #require(Self.problem(of: local))
    #expect(problem.contains("not a private PostgreSQL of this user") && problem.contains("DATABASE_URL"), "\(problem)")
    let environment = ["PUSHCART_APNS_PRODUCTION_URL": "https://127.0.0.1:1"]
    await #expect(throws: SettingsError.self) {
      try await Settings.read([], needsMasterKey: false, local: local, environment: environment)
    }
    let genuine = try Self.settings("host='\(socket.folder)' user=pushcart dbname=pushcart port=5432", in: folder)
    guard case .running = genuine.state else {
      Issue.record("\(genuine.state)")
      return
    }
  }

  @Test func `The private PostgreSQL's socket has to be a socket in a directory that only its user writes to`() throws {
    let folder = try TemporaryDirectory(named: "forged")
    defer { folder.remove() }
    let local = try Self.settings("host='\(folder.path)'", in: folder)
    let path = "\(folder.path)/.s.PGSQL.5432"
    guard case .stopped = local.state else {
      Issue.record("\(local.state)")
      return
    }
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    #expect(Self.problem(of: local) != nil, "a file passes for a socket")
    unlink(path)
    #expect(mkfifo(path, 0o600) == 0)
    #expect(Self.problem(of: local) != nil, "a pipe passes for a socket")
    unlink(path)
    let elsewhere = try TemporaryDirectory(named: "socket")
    defer { elsewhere.remove() }
    let other = try UnixSocket(in: elsewhere.path)
    #expect(symlink("\(other.folder)/.s.PGSQL.5432", path) == 0)
    #expect(Self.problem(of: local) != nil, "a link passes for a socket")
    unlink(path)
    let socket = try UnixSocket(in: folder.path)
    #expect(Self.problem(of: local) == nil)
    for mode: mode_t in [0o775, 0o757, 0o1777] {
      chmod(socket.folder, mode)
      #expect(Self.problem(of: local) != nil)
    }
    chmod(socket.folder, 0o755)
    if getuid() == 0 {
      chown(socket.folder, 12345, 12345)
      #expect(Self.problem(of: local)?.contains("not a private PostgreSQL") == true)
    }
  }

  /// A private hub whose settings name a database.
  private static func settings(_ address: String, in folder: TemporaryDirectory) throws -> LocalHub {
    let local = LocalHub(folder: "\(folder.path)/.pushcart")
    try local.makeFolder()
    let text = try JSONEncoder().encode(["database-url": address])
    try local.keep(String(decoding: text, as: UTF8.self), in: local.settingsFile)
    return local
  }

  private static func problem(of local: LocalHub) -> String? {
    if case .untrusted(let problem) = local.state { problem } else { nil }
  }

  @Test func `A settings file that is a link is not followed`() async throws {
    try await withDatabase { database in
      let place = try Place(database)
      defer { place.folder.remove() }
      try FileManager.default.moveItem(atPath: place.settings, toPath: "\(place.hub)/elsewhere.json")
      try FileManager.default.createSymbolicLink(atPath: place.settings, withDestinationPath: "elsewhere.json")
      #expect(try await place.list().status == 1)
    }
  }

  @Test(arguments: [("127.0.0.1", false), ("::1", false), ("localhost", false), ("0.0.0.0", true), ("192.0.2.1", true)])
  func `The demo warns when others can reach it`(host: String, isExposed: Bool) {
    let sample = SampleCustomer(id: CustomerID(1), accessKey: "key")
    let text = Welcome(
      sample: sample, hubURL: "http://localhost:1", phoneURL: "http://localhost:2", database: "", folder: "/tmp",
      nextSendout: SendoutID(1), host: host
    ).text
    #expect(text.contains("Warning: it listens on \(host)") == isExposed, "\(text)")
    #expect(text.contains("phone page and read every push") == isExposed)
  }
}
