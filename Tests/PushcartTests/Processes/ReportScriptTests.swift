import Foundation
import Postgres
import Support
import Testing
import Wire

/// `sql/reports` and the views behind them, in psql.
@Suite struct ReportScriptTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized.path

  /// Values that a spreadsheet would run, and some that only look similar.
  private static let formulas = [
    "=HYPERLINK(\"http://evil.example\",\"x\")", "+1+cmd|' /C calc'!A0", "-20 % today", "@SUM(1)", "\t=1", "\r=1",
    "'=1", "''",
    "a=1", "'quoted'", "",
  ]

  @Test(arguments: ["campaign", "contact", "devices", "sendout", "sendouts"])
  func `A report takes a customer's number and nothing else`(report: String) async throws {
    try await withDatabase { database in
      try await addSendouts(database, ["Secretive"])
      for customer in ["2 OR true", "2; DROP TABLE push", "customer_id"] {
        let outcome = try await psql(
          database, ["-v", "customer=\(customer)", "-v", "sendout=1", "-v", "contact=x"],
          "-f '\(Self.root)/sql/reports/\(report).sql'")
        #expect(outcome.contains("invalid input syntax for type bigint"), "\(outcome)")
        #expect(!outcome.contains("Secretive"))
      }
      #expect(try await database.query("SELECT 1 FROM push").isEmpty)
    }
  }

  @Test func `Free text of the views is no formula in a spreadsheet, and report.exact restores it`() async throws {
    try await withPushcart { pushcart, database in
      try await addSendouts(database, Self.formulas)
      let cells = try await database.query("SELECT name FROM report.sendout_totals ORDER BY sendout_id")
        .map { try $0.decode(String.self) }
      #expect(cells.allSatisfy { !"=+-@\t\r".unicodeScalars.contains($0.unicodeScalars.first ?? "a") }, "\(cells)")
      #expect(cells[2] == "'-20 % today" && cells[6] == "''=1" && cells[8] == "a=1" && cells[9] == "'quoted'")
      let exact = try await database.query("SELECT report.exact(name) FROM report.sendout_totals ORDER BY sendout_id")
      #expect(try exact.map { try $0.decode(String.self) } == Self.formulas)
      let reply = try await pushcart.run("report", "sendouts", "--customer", "1", "--json")
      #expect(
        try reply.json.array("rows")?.map { $0.string("name") } == Self.formulas.reversed().map { Optional($0) },
        "\(reply.errors)")
      let exported = try await psql(database, [], "--csv -c 'SELECT name FROM report.funnel'")
      let lines = exported.split(separator: "\n")
      #expect(
        lines.allSatisfy { $0.prefixMatch(of: #/"?[=+@-]/#) == nil } && lines.count > Self.formulas.count, "\(exported)"
      )
    }
  }

  @Test func `Reasons of pushes and devices are no formulas either`() async throws {
    try await withDatabase { database in
      try await addSendouts(database, ["x"])
      for statement in [
        """
        INSERT INTO push (customer_id, sendout_id, push_no, device_id, contact_id, batch_no, state, reason, sent_at)
        VALUES (1, 1, 1, 1, 1, 0, 'failed', '=1', now())
        """,
        "INSERT INTO contact (customer_id, contact_id, original_id) VALUES (1, 1, '=original')",
        "INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key) VALUES (1, 1, 1, 1, 'a', 'a')",
        "INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason) VALUES (1, 1, 1, 'invalidated', '@1')",
      ] { try await database.query(statement) }
      for (column, cell) in [
        ("reason FROM report.failures", "'=1"), ("reason FROM report.invalidations_by_day", "'@1"),
        (
          "string_agg(detail, ' ' ORDER BY detail) FROM report.contact_timeline WHERE original_id = '=original'",
          "'=1 '@1"
        ),
      ] {
        #expect(try await database.query("SELECT \(column)")[0].decode(String.self) == cell)
      }
    }
  }

  private func addSendouts(_ database: TestDatabase, _ names: [String]) async throws {
    try await database.query("INSERT INTO customer (customer_id, name) VALUES (1, 'ACME')")
    try await database.query(
      "INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name) VALUES (1, 1, 'a.b', 1, 'Acme')")
    try await database.query(
      """
      INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message)
      SELECT 1, '{1}'::bigint[], name, 'draft', '{"all":true}', '{"alert":"x"}' FROM unnest($1::text[]) WITH ORDINALITY AS n (name, no)
      ORDER BY no
      """, names)
  }

  private func psql(_ database: TestDatabase, _ variables: [String], _ rest: String) async throws -> String {
    let words = ([database.connectionString] + variables).map { "'\($0.replacing("'", with: "'\\''"))'" }
    return try await Shell.run("psql -X \(words.joined(separator: " ")) \(rest) 2>&1").output
  }
}
