import Foundation
import Postgres
import Support
import Testing

@testable import Pushcart

/// Text of tenants on its way to a terminal.
@Suite struct HostileTextTests {
  /// Clears the screen, sets the title, forges a line, turns the text around, and the same in C1.
  private static let hostile =
    "a\u{1B}[2J\u{1B}]0;owned\u{7}\r\nforged \u{202E}txet\u{2066} \u{9B}31m\u{85}\u{7F}\u{2028}\u{200F}\t."

  @Test func `No character that steers a terminal leaves a command for people`() async throws {
    try await withPushcart { pushcart, database in
      try await fill(database)
      let customer = ["--customer", "1"]
      let commands = [
        ["customer", "list"], ["customer", "add", "--name", "b\u{9B}31m\u{202E}"], ["key", "list"] + customer,
        ["key", "revoke", "1"] + customer, ["app", "list"] + customer,
        ["app", "update", "1", "--name", "b\u{9B}31m"] + customer, ["list", "list"] + customer,
        ["list", "add", "--name", "b\u{9B}31m\u{202E}"] + customer, ["sendout", "list"] + customer,
        ["sendout", "show", "1"] + customer, ["sendout", "show", "1", "--pushes"] + customer,
        ["why", "--sendout", "1", "--to", "x"] + customer,
        ["sendout", "cancel", "1"] + customer, ["report", "sendouts"] + customer, ["report", "failures"] + customer,
        ["report", "funnel"] + customer, ["report", "timeline", "--contact", "x"] + customer,
        ["send", "--app", "a\u{9B}b", "--all", "--alert", "{{#a\u{1B}[2J\u{9B}}}"] + customer,
        ["template", "show", "\u{9B}\u{202E}"] + customer,
      ]
      for command in commands {
        let outcome = try await pushcart.run(command)
        let text = outcome.output + outcome.errors
        let found = text.unicodeScalars.filter { $0.steersTerminal && $0 != "\n" }
        #expect(found.isEmpty, "\(command): \(text)")
        #expect(!text.contains("\nforged"), "\(command): \(text)")
        #expect(!text.isEmpty)
      }
      let list = try await pushcart.run("customer", "list")
      #expect(list.output.contains(#"a\u001b[2J\u001b]0;owned\u0007\u000d\u000aforged \u202etxet\u2066"#))
    }
  }

  @Test func `Strings that break programs break no table`() async throws {
    try await withPushcart { pushcart, database in
      let names = try await Self.naughtyStrings().filter { !$0.isEmpty && !$0.unicodeScalars.contains("\u{0}") }
      try await database.query("INSERT INTO customer (name) SELECT * FROM unnest($1::text[])", names)
      let list = try await pushcart.run("customer", "list")
      #expect(list.status == 0)
      #expect(list.output.unicodeScalars.allSatisfy { !$0.steersTerminal || $0 == "\n" })
      #expect(list.output.unicodeScalars.count { $0 == "\n" } == names.count + 2)
    }
  }

  @Test func `A template is exact in a file, and cannot steer a terminal`() async throws {
    try await withPushcart { pushcart, database in
      try await fill(database)
      try await database.query(
        "INSERT INTO template (customer_id, name, version, content_type, body) VALUES (1, 't', 1, 'text/plain', $1)",
        Self.hostile)
      #expect(try await pushcart.run("template", "show", "t", "--customer", "1").output == Self.hostile)
      let variables = "DATABASE_URL='\(database.connectionString.replacing("'", with: "'\\''"))'"
      for flag in ["", " --json"] {
        let command = "\(Pushcart.executable.path) template show t --customer 1\(flag)"
        let shown = try await Shell.run("\(variables) script -qec '\(command)' /dev/null")
        #expect(shown.output.contains(#"\u001b[2J"#), "\(shown.output)")
        #expect(shown.output.unicodeScalars.allSatisfy { !$0.steersTerminal || "\r\n\t".unicodeScalars.contains($0) })
      }
    }
  }

  /// A customer whose every text is hostile.
  private func fill(_ database: TestDatabase) async throws {
    for statement in [
      "INSERT INTO customer (customer_id, name) VALUES (1, $1::text)",
      """
      INSERT INTO access_key (customer_id, access_key_id, name, scope, token_hash)
      VALUES (1, 1, $1::text, 'admin', sha256('x'))
      """,
      "INSERT INTO list (customer_id, name) VALUES (1, $1::text)",
      """
      INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name, alarm, alarm_at)
      VALUES (1, 1, $1::text, 2, $1::text, $1::text, now())
      """,
      """
      INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, halt_reason, audience, message)
      VALUES (1, 1, '{1}', $1::text, 'paused', $1::text, '{"all":true}', '{"alert":"x"}')
      """,
      """
      INSERT INTO push (customer_id, sendout_id, push_no, device_id, contact_id, batch_no, state, reason, sent_at)
      VALUES (1, 1, 1, 1, 1, 0, 'failed', $1::text, now())
      """,
      """
      WITH c AS (INSERT INTO contact (customer_id, contact_id, original_id, first_name) VALUES (1, 1, 'x', $1::text))
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason) VALUES (1, 1, 1, 'invalidated', $1::text)
      """,
    ] {
      try await database.query(statement, Self.hostile)
    }
    try await database.query("SELECT setval('customer_customer_id_seq', 10), setval('list_list_id_seq', 10)")
  }

  /// The public list of naughty strings where it lies beside the project, else a few of their kinds.
  private static func naughtyStrings() async throws -> [String] {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    let list = root.appending(path: "../shared/corpora/naughty_strings.json.gz").standardized.path
    guard FileManager.default.fileExists(atPath: list) else {
      return [
        hostile, "Ω≈ç√∫˜µ≤≥÷", "\u{FEFF}", "الكل في المجمو عة", "👩🏽‍👧", "\u{202A}test\u{202A}", "'; DROP TABLE customer",
      ]
    }
    let text = try await Shell.run("gunzip -c '\(list)'").output
    return try JSONDecoder().decode([String].self, from: Data(text.utf8))
  }
}
