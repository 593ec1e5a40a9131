import Foundation
import Postgres
import Support
import Testing
import Wire

/// A hub is killed within a step of an import or an erasure, which a locked row keeps from ending. Another hub goes on where it was.
@Suite struct ImportCrashTests {
  /// A hub waits for a row that this test has locked.
  private static let waits = """
    SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'pushcart hub' AND wait_event_type = 'Lock'
    """

  /// Runs `begin` with a hub that is killed once it waits for rows that `lock` locks; then starts another hub.
  private func killed(
    _ fixture: ProcessFixture, whileLocked lock: String,
    _ begin: @escaping @Sendable (ProcessFixture.Hub) async throws -> Void
  ) async throws -> ProcessFixture.Hub {
    let first = try await fixture.serve(logLevel: "info")
    try await fixture.database.pool.transaction { transaction in
      _ = try await transaction.query(sql: lock)
      try await begin(first)
      try await waitUntil { try await !fixture.database.query(Self.waits).isEmpty }
      await first.process.die()
    }
    return try await fixture.serve(logLevel: "info")
  }

  private func send(
    _ hub: ProcessFixture.Hub, _ fixture: ProcessFixture, _ method: String, _ path: String, json: String? = nil
  ) async throws -> JSONValue {
    let reply = try await hub.server.send(method, "/api/v1/\(path)", key: fixture.key, json: json)
    #expect(reply.status < 300, "\(reply.text)")
    return try reply.json
  }

  @Test func `A hub killed while it merges a file leaves nothing half done, and another one counts exactly`()
    async throws
  {
    try await withProcessFixture { fixture in
      // Their rows are locked one after the other, in the order of their ids.
      try await fixture.database.query(
        """
        INSERT INTO contact (customer_id, original_id, first_name, updated_at)
        SELECT 1, 'user' || lpad(n::text, 5, '0'), 'Old', now() - interval '1 hour' FROM generate_series(1, 5000) AS n
        """)
      let rows = (1...10_000).map { "user\(String(repeating: "0", count: 5 - "\($0)".count))\($0),New\($0)\n" }
      // Each tenth is there twice, and the last ones are wrong.
      let doubled = (1...10_000).filter { $0.isMultiple(of: 10) }.map {
        rows[$0 - 1].replacingOccurrences(of: "New", with: "X")
      }
      let file = (["originalId,firstName\n"] + doubled + rows + ["a,b,c\n", ",x\n"]).joined()
      let second = try await killed(
        fixture, whileLocked: "SELECT FROM contact WHERE original_id = 'user04000' FOR UPDATE"
      ) { hub in
        _ = try await send(hub, fixture, "POST", "imports", json: "{}")
        let sent = try await hub.server.send(
          "PUT", "/api/v1/imports/1/file", key: fixture.key, headers: [("Content-Type", "text/csv")], body: file)
        #expect(sent.status == 202, "\(sent.text)")
      }
      try await waitUntil {
        try await send(second, fixture, "GET", "imports/1").string("state").map { ["finished", "failed"].contains($0) }
          ?? false
      }
      let ended = try await send(second, fixture, "GET", "imports/1")
      await second.process.die()
      #expect(ended["state"] == "finished", "\(ended)")
      let counts = ["rows", "added", "updated", "unchanged", "duplicates", "skipped", "rejected"].map {
        ended.integer($0)
      }
      #expect(counts == [11_002, 5000, 5000, 0, 1000, 0, 2])
      let wrong = try await fixture.database.query(
        "SELECT FROM contact WHERE first_name IS DISTINCT FROM 'New' || substr(original_id, 5)::int")
      #expect(wrong.isEmpty)
      let all = try await fixture.database.query("SELECT count(*) FROM contact")[0].decode(Int.self)
      #expect(all == 10_000)
      #expect(try await fixture.database.query("SELECT FROM import_reject").count == 2)
    }
  }

  @Test func `A hub killed while it erases leaves the rest to another one`() async throws {
    try await withProcessFixture { fixture in
      try await fixture.database.query(
        "INSERT INTO contact (customer_id, original_id, first_name) VALUES (1, 'canary@example.com', 'Canaria')")
      // Several portions.
      try await fixture.database.query(
        """
        INSERT INTO audit_log (customer_id, os_user, action, target, after)
        SELECT 1, 'root', 'x', 'x ' || n, json_build_object('to', CASE WHEN n % 2 = 0 THEN 'canary@example.com' ELSE 'b' END, 'n', n)
          FROM generate_series(1, 6000) AS n
        """)
      let others =
        "SELECT audit_log::text FROM audit_log WHERE action = 'x' AND (after ->> 'n')::int % 2 = 1 ORDER BY audit_log_id"
      let before = try await fixture.database.query(others).map { try $0.decode(String.self) }
      let second = try await killed(
        fixture, whileLocked: "SELECT FROM audit_log WHERE target = 'x 3000' FOR UPDATE"
      ) { hub in
        let reply = try await send(hub, fixture, "DELETE", "contacts/canary%40example.com")
        #expect(reply["state"] == "erasing")
      }
      try await waitUntil {
        try await !fixture.database.query("SELECT FROM erasure WHERE ended_at IS NOT NULL").isEmpty
      }
      await second.process.die()
      let erased = try await fixture.database.query(
        "SELECT FROM audit_log WHERE action = 'x' AND after ->> 'to' = '(erased)'")
      #expect(erased.count == 3000)
      #expect(try await fixture.database.query(others).map { try $0.decode(String.self) } == before)
      let named = try await fixture.database.query("SELECT FROM audit_log WHERE audit_log::text LIKE '%canary%'")
      #expect(named.isEmpty)
    }
  }
}
