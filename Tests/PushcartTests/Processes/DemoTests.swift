import Foundation
import Support
import Testing
import Wire

@testable import Simulator

@Suite struct DemoTests {
  @Test func `The demo's printed lines work, a kill loses nothing, and its end leaves no process behind`() async throws
  {
    let folder = try TemporaryDirectory(named: "demo")
    defer { folder.remove() }
    let ports = RunningDemo.FreePorts()

    let first = try await RunningDemo(in: folder.path, ports)
    #expect(try await Self.psql(first, "SELECT count(*) FROM contact WHERE customer_id = 1") == "51")
    #expect(try await Shell.run("curl -sf '\(first.phoneURL)'").output.contains("<html"))
    let lines = first.curlLines
    try #require(lines.count == 4, "\(first.text)")
    let registered = try await Self.shell(lines[0])
    #expect(registered.string("originalId") == "me@example.com" && registered.string("firstName") == "Robin")
    let sent = try await Self.shell(lines[1])
    #expect(sent.integer("sendoutId") == 1 && sent.string("template") == "offer")
    #expect(try await Self.shell(lines[2]).integer("sendoutId") == 1)
    try await expectEveryPhoneLights(first)
    #expect(try await Self.shell(lines[3]).integer("errorCode") == 0)
    // The push leaves at once, and the SMS once nobody has confirmed it. The Simulator reports that the SMS is delivered.
    let delivered = """
      SELECT count(*) FROM push p JOIN push_batch b USING (customer_id, sendout_id, batch_no) JOIN push_app a USING (customer_id, push_app_id)
      WHERE p.state = 'accepted' AND (a.app_type = 1 AND p.contact_id = (SELECT contact_id FROM contact WHERE original_id = '0031600000042')
        OR a.app_type = 10 AND p.delivery = 'delivered') AND p.message_no IS NOT NULL
      """
    try await waitUntil(every: .milliseconds(200)) { try await Self.psql(first, delivered) == "2" }
    try await expectCommandsFindIt(in: folder)
    try await expectOtherDatabasesKeepTheirSettings(in: folder)
    let settings = try String(contentsOfFile: "\(first.folder)/settings.json", encoding: .utf8)
    for port in ports.all {
      #expect(settings.contains("localhost:\(port)"), "\(port) in \(settings)")
    }
    let key = try first.key
    await first.process.die()

    let second = try await RunningDemo(in: folder.path, ports, opens: 100)
    #expect(try second.key == key)
    let again = try await Self.shell(second.curlLines[1]).integer("sendoutId")
    #expect(try #require(again) > 1)
    #expect(try await Self.shell(second.curlLines[2]).integer("sendoutId") == again)
    // Owners of the phones open its pages, which the hub counts as opens by people.
    let opened = "SELECT count(*) FROM push WHERE sendout_id = \(try #require(again)) AND opened_at IS NOT NULL"
    try await waitUntil(every: .milliseconds(200)) { try await Self.psql(second, opened) != "0" }
    let openedBefore = "SELECT count(*) FROM push WHERE sendout_id = 1 AND opened_at IS NOT NULL"
    #expect(try await Self.psql(second, openedBefore) == "0")
    let contacts = try await Self.shell(
      "curl -s http://localhost:\(ports.hub)/rest/1/apps/com.example.shop/pushdevices/me%40example.com "
        + "-H 'X-Carma-Authentication-Token: \(key)'")
    #expect(contacts.string("firstName") == "Robin")

    let server = try second.server()
    _ = try await Self.psql(second, "UPDATE schema_migration SET checksum = ''")
    second.process.signal(SIGINT)
    #expect(await second.process.exit() == 0, "\(second.text)")
    #expect(kill(server, 0) == -1 && errno == ESRCH, "PostgreSQL is still there")
    for secret in [
      "master.key", "sample.key", "sample-site.key", "sample-gateway.key", "settings.json", "AuthKey_SAMPLEKEY0.p8",
      "service-account.json",
    ] {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/.pushcart/\(secret)")
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(secret)")
    }

    let other = try RunningDemo.launch(in: folder.path, ports)
    #expect(await other.exit() == 1)
    #expect(other.text.contains("Delete \(folder.path)/.pushcart") && other.text.contains("--folder"), "\(other.text)")
  }

  @Test func `A taken port is named with the flag that chooses another`() async throws {
    let folder = try TemporaryDirectory(named: "demo")
    defer { folder.remove() }
    let taken = try Port()
    let demo = try RunningPushcart(
      ["demo", "--phone-port", "\(taken.number)", "--port", "0"], environment: [:], folder: folder.path)
    #expect(await demo.exit() == 1)
    #expect(demo.text.contains("Port \(taken.number) is taken") && demo.text.contains("--phone-port"))
  }

  @Test func `The demo starts again after an interrupted set-up and after a kill of its PostgreSQL`() async throws {
    let folder = try TemporaryDirectory(named: "demo")
    defer { folder.remove() }
    let ports = RunningDemo.FreePorts()
    let postgres = "\(folder.path)/.pushcart/postgres"
    func hasBegun() -> Bool {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: postgres)) ?? []
      return names.contains { FileManager.default.fileExists(atPath: "\(postgres)/\($0)/PG_VERSION") }
    }
    // Where the set-up is over before it is interrupted, it begins anew.
    var interrupted: RunningPushcart
    repeat {
      try? FileManager.default.removeItem(atPath: "\(folder.path)/.pushcart")
      interrupted = try RunningDemo.launch(in: folder.path, ports)
      try await waitUntil { hasBegun() }
      interrupted.signal(SIGINT)
    } while await interrupted.exit() == 0

    let killed = try await RunningDemo(in: folder.path, ports)
    let key = try killed.key
    kill(try killed.server(), SIGKILL)
    await killed.process.die()

    let last = try await RunningDemo(in: folder.path, ports)
    #expect(try last.key == key)
    last.process.signal(SIGINT)
    #expect(await last.process.exit() == 0, "\(last.text)")
  }

  @Test(.enabled("only root has a home that is closed to PostgreSQL") { getuid() == 0 })
  func `The demo keeps data and secrets elsewhere if PostgreSQL cannot enter its folder`() async throws {
    let parent = try TemporaryDirectory(named: "closed")
    defer { parent.remove() }
    chmod(parent.path, 0o700)
    let ports = RunningDemo.FreePorts()
    let first = try await RunningDemo(in: parent.path, ports, umask: "077")
    let home = try first.folder
    defer { try? FileManager.default.removeItem(atPath: home) }
    #expect(home.hasPrefix("/var/lib/pushcart/"))
    let key = try first.key
    let server = try first.server(data: "data")
    first.process.signal(SIGINT)
    #expect(await first.process.exit() == 0, "\(first.text)")
    #expect(kill(server, 0) == -1 && errno == ESRCH)

    try FileManager.default.removeItem(atPath: "\(parent.path)/.pushcart")
    let second = try await RunningDemo(in: parent.path, ports, umask: "077")
    #expect(try second.key == key)
    second.process.signal(SIGINT)
    #expect(await second.process.exit() == 0, "\(second.text)")
  }

  /// The one sendout gets to a phone of each kind, and the phone page shows it there.
  private func expectEveryPhoneLights(_ demo: RunningDemo) async throws {
    let samples = try await withSimulator { simulator in try simulator.samples { _, make in try make() }.map(\.type) }
    let accepted = """
      SELECT string_agg(DISTINCT app_type::text, ' ')
      FROM push JOIN push_batch USING (customer_id, sendout_id, batch_no) JOIN push_app USING (customer_id, push_app_id)
      WHERE sendout_id = 1 AND push.state = 'accepted'
      """
    try await waitUntil(every: .milliseconds(200)) {
      let types = try await Self.psql(demo, accepted).split(separator: " ").compactMap { Int($0) }
      return Set(types) == Set(samples.map { Int($0.rawValue) })
    }
    let page = try await Shell.run("curl -sf '\(demo.phoneURL)'").output
    let phones = page.components(separatedBy: "data-phone=\"").dropFirst()
    let lit = phones.filter { $0.contains("Hello ") }.map { $0.prefix { $0 != "\"" } }
    let services = Set(samples.map(\.service.name))
    let expected = PushSimulator.kinds.filter { services.contains($0.service) }.map { $0.phone.id }
    #expect(Set(lit.map(String.init)) == Set(expected), "\(lit)")
    #expect(samples.count >= 5)
  }

  /// Commands in the same folder need no settings.
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

  /// A command that names another database does not use the demo's master key.
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

  private static func shell(_ line: String) async throws -> JSONValue {
    try JSONValue(parsing: try await Shell.run(line).output.utf8)
  }

  private static func psql(_ demo: RunningDemo, _ query: String) async throws -> String {
    let answer = try await Shell.run("psql -XAt \"\(demo.database)\" -c '\(query.replacing("'", with: #"'\''"#))'")
    try #require(answer.status == 0, "\(answer.output)")
    return answer.output.trimmingCharacters(in: .newlines)
  }
}
