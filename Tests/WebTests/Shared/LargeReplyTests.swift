import Foundation
import Registry
import Support
import Locking
import Testing
import Wire

/// Replies that are large: pages of long rows, and what a client takes that is slow.
@Suite struct LargeReplyTests {
  /// Bytes of a page's items, and what one item and the rest take at most.
  private static let longestPage = (2 << 20) + 200_000

  @Test func `A page ends with 2 MiB of long items, and all pages together have each item once`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let secret = try await managed.send("POST", "/api/v1/datasync", json: #"{"app":"com.acme.app"}"#).json
        .string("secret")
      let before = try await managed.database.query("SELECT FROM audit_log WHERE customer_id = 1").count
      try await managed.database.query(
        """
        INSERT INTO trigger (customer_id, name, app_ids, message)
        SELECT 1, 't' || n, '{com.acme.app}', jsonb_build_object('alert', repeat('a', 60000)) FROM generate_series(1, 80) AS n
        """)
      try await managed.database.query(
        """
        INSERT INTO audit_log (customer_id, os_user, action, target, before, after)
        SELECT 1, 'x', 'trigger.change', 'trigger ' || n, jsonb_build_object('name', repeat('a', 60000)), '{}'
          FROM generate_series(1, 80) AS n
        """)
      try await managed.database.query(
        """
        INSERT INTO data_tree_subscription (customer_id, app_id, path_key, path, event, added, changed, removed, service, target,
                                           target_key, expires_at)
        SELECT 1, 'com.acme.app', '', '/', 'value', false, false, false, 'fcm', repeat('a', 4000) || n,
               decode(md5(n::text), 'hex'), 'infinity'
          FROM generate_series(1, 900) AS n
        """)
      for (path, field, key, count) in [
        ("/api/v1/triggers", "triggerId", managed.key, 80), ("/api/v1/audit", "auditId", managed.key, before + 80),
        ("/datasync/v2/com.acme.app/subscriptions", "subscriptionId", secret ?? "", 900),
      ] {
        var (ids, pages): ([String], Int) = ([], 0)
        var after = ""
        repeat {
          let page = try await managed.server.send("GET", "\(path)?limit=1000\(after)", key: key)
          #expect(page.status == 200 && page.body.count <= Self.longestPage, "\(path): \(page.body.count) bytes")
          ids += try page.json.array("items")?.compactMap { $0[field].map { "\($0)" } } ?? []
          let next = try page.json.integer("next").map { "\($0)" } ?? page.json.string("next")
          after = next.map { "&after=\($0)" } ?? ""
          pages += 1
        } while !after.isEmpty && pages < 100
        #expect(ids.count == count && Set(ids).count == count && pages > 1, "\(path): \(ids.count) in \(pages) pages")
        // Fewer are on a page if fewer are asked for.
        let short = try await managed.server.send("GET", "\(path)?limit=2", key: key).json
        #expect(short.array("items")?.count == 2 && short["next"] != nil)
      }
      let carma = try await managed.send(
        "GET", "/rest/1/triggers", headers: [("X-Carma-Authentication-Token", managed.key)])
      guard case .array(let triggers) = try carma.json else {
        Issue.record("\(carma.status)")
        return
      }
      #expect(triggers.count == 80)
    }
  }

  /// A reply that is made by a task, and one that is made on the event loop.
  @Test(arguments: ["/api/v1/sendouts/1", "/rest/1/apps/com.acme.app/pushdevices/user1@example.com"])
  func `While a client takes none of a large reply its customer gets no further one, and then again`(path: String)
    async throws
  {
    try await withManagementServer { managed in
      let app = try await managed.addApp()
      // Seven MiB each: more than the system takes for a client.
      try await managed.database.query(
        """
        INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, audience, message)
        SELECT 1, 1, ARRAY[$1::bigint], 'x', 'draft', jsonb_build_object('originalIds', jsonb_agg(repeat('a', 700) || n)), '{"alert":"x"}'
          FROM generate_series(1, 10000) AS n
        """, app)
      try await managed.database.query(
        """
        WITH made AS (INSERT INTO contact (customer_id, original_id) VALUES (1, 'user1@example.com') RETURNING contact_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT 1, $1::bigint, contact_id, repeat('a', 7000) || n, decode(md5(n::text), 'hex') FROM made, generate_series(1, 1000) AS n
        """, app)
      func get(_ path: String) async throws -> TestReply {
        try await managed.server.send(
          "GET", path,
          headers: [("X-Carma-Authentication-Token", managed.key), ("Authorization", "Bearer \(managed.key)")])
      }
      let whole = try await get(path)
      #expect(whole.status == 200 && whole.body.count > 7_000_000)
      let hasBegun = Mutex(false)
      let isTime = Mutex(false)
      let request = """
        GET \(path) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(managed.key)\r\nAuthorization: Bearer \(managed.key)\r\n\r\n
        """
      let raw = try RawHTTP(managed.server.url)
      async let held = raw.hold(
        request, hasBegun: { hasBegun.withLock { $0 = true } }, until: { isTime.withLock(\.self) })
      try await waitUntil { hasBegun.withLock(\.self) }
      let refused = try await get(path)
      #expect(refused.status == 503 && refused.header("Retry-After") == "2")
      // Small ones are not counted.
      #expect(try await get("/api/v1/apps").status == 200)
      isTime.withLock { $0 = true }
      #expect(try await held)
      try await waitUntil { try await get(path).status == 200 }
    }
  }
}
