import Foundation
import Support
import Testing
import Wire

@Suite struct DemoTests {
  @Test func `The demo works as it is printed, survives a kill, and ends without leaving anything behind`() async throws
  {
    let folder = try TemporaryDirectory(named: "demo")
    defer { folder.remove() }
    let ports = try Port.free(4)

    let first = try await start(in: folder, ports)
    let lines = Self.curlLines(in: first.text)
    try #require(lines.count == 3, "\(first.text)")
    let registered = try await Self.shell(lines[0])
    #expect(registered.string("originalId") == "me@example.com" && registered.string("firstName") == "Robin")
    let sent = try await Self.shell(lines[1])
    #expect(sent.integer("sendoutId") == 1 && sent.string("template") == "offer")
    #expect(try await Self.shell(lines[2]).integer("sendoutId") == 1)
    try await expectCommandsFindIt(in: folder)
    try await expectOtherDatabasesKeepTheirSettings(in: folder)
    let key = try Self.key(in: first.text)
    await first.die()

    let second = try await start(in: folder, ports)
    #expect(try Self.key(in: second.text) == key)
    let again = try await Self.shell(Self.curlLines(in: second.text)[1]).integer("sendoutId")
    #expect(try #require(again) > 1)
    #expect(try await Self.shell(Self.curlLines(in: second.text)[2]).integer("sendoutId") == again)
    let contacts = try await Self.shell(
      "curl -s http://localhost:\(ports[0])/rest/1/apps/com.example.shop/pushdevices/me%40example.com "
        + "-H 'X-Carma-Authentication-Token: \(key)'")
    #expect(contacts.string("firstName") == "Robin")

    let postmaster = try String(contentsOfFile: Self.postmasterFile(in: folder.path), encoding: .utf8)
    let server = try #require(Int32(postmaster.split(separator: "\n")[0]))
    second.signal(SIGINT)
    #expect(await second.exit() == 0, "\(second.text)")
    #expect(kill(server, 0) == -1 && errno == ESRCH, "PostgreSQL is still there")
    for secret in ["master.key", "sample.key", "settings.json", "AuthKey_SAMPLEKEY0.p8"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/.pushcart/\(secret)")
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(secret)")
    }
  }

  @Test func `A port that is taken is named, with the flag that chooses another`() async throws {
    let folder = try TemporaryDirectory(named: "demo")
    defer { folder.remove() }
    let taken = try Port()
    let demo = try RunningPushcart(
      ["demo", "--phone-port", "\(taken.number)", "--port", "0"], environment: [:], folder: folder.path)
    #expect(await demo.exit() == 1)
    #expect(demo.text.contains("Port \(taken.number) is taken") && demo.text.contains("--phone-port"))
  }

  private func start(in folder: TemporaryDirectory, _ ports: [Int]) async throws -> RunningPushcart {
    let flags = zip(["--port", "--phone-port", "--apns-port", "--apns-sandbox-port"], ports).flatMap { [$0, "\($1)"] }
    let demo = try RunningPushcart(["demo"] + flags, environment: [:], folder: folder.path)
    try await demo.says("/api/v1/sendouts/")
    return demo
  }

  /// Commands started in the same folder need no settings at all.
  private func expectCommandsFindIt(in folder: TemporaryDirectory) async throws {
    let send = try RunningPushcart(
      [
        "send", "--customer", "1", "--app", "com.example.shop", "--to", "me@example.com", "--alert", "Hi {{firstName}}",
        "--draft", "--json",
      ], environment: [:], folder: folder.path)
    #expect(await send.exit() == 0, "\(send.text)")
    let check = try RunningPushcart(["check"], environment: [:], folder: folder.path)
    #expect(await check.exit() == 0, "\(check.text)")
  }

  /// Who names a database in the demo's folder means that one, under that one's master key.
  private func expectOtherDatabasesKeepTheirSettings(in folder: TemporaryDirectory) async throws {
    try await withPushcart { other, _ in
      let seal = try RunningPushcart(
        ["app", "check", "1", "--customer", "1"], environment: ["DATABASE_URL": other.databaseURL], folder: folder.path)
      #expect(await seal.exit() == 1)
      #expect(seal.text.contains("PUSHCART_MASTER_KEY or PUSHCART_MASTER_KEY_FILE must be set"), "\(seal.text)")
      let list = try RunningPushcart(
        ["customer", "list", "--json"],
        environment: ["DATABASE_URL": other.databaseURL, "PUSHCART_MASTER_KEY": other.masterKey], folder: folder.path)
      #expect(await list.exit() == 0, "\(list.text)")
      #expect(!list.text.contains("Sample customer"))
    }
  }

  /// The lines to try, as a person would copy them.
  private static func curlLines(in text: String) -> [String] {
    text.components(separatedBy: "\n\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
      .filter { $0.hasPrefix("curl ") }
  }

  private static func key(in text: String) throws -> String {
    String(try #require(text.firstMatch(of: #/pck_1_[\w-]+/#)).output)
  }

  private static func shell(_ line: String) async throws -> JSONValue {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", line]
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try JSONValue(parsing: output)
  }

  /// Where the server says which process it is: beside the demo's other files, unless their folder is closed to it.
  private static func postmasterFile(in folder: String) -> String { "\(folder)/.pushcart/postgres/data/postmaster.pid" }
}
