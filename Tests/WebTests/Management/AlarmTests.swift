import Support
import Testing
import Wire

@Suite struct AlarmTests {
  @Test func `An app's alarm says what helps, and only its own customer sees it`() async throws {
    try await withManagementServer { managed in
      let app = try await managed.addApp()
      #expect(try await managed.send("GET", "/api/v1/alarms").json.array("alarms") == [])
      try await managed.database.query(
        "UPDATE push_app SET alarm = 'InvalidProviderToken', alarm_at = now() WHERE push_app_id = $1::bigint", app)
      let alarms = try #require(try await managed.send("GET", "/api/v1/alarms").json.array("alarms"))
      #expect(alarms.count == 1)
      #expect(alarms.first?.string("kind") == "app")
      #expect(alarms.first?.string("reason") == "InvalidProviderToken")
      #expect(alarms.first?.string("fix")?.contains("another Key Id") == true)
      #expect(alarms.first?.string("command") == "pushcart app check \(app) --customer \(managed.customer)")
      #expect(try await managed.send("GET", "/api/v1/alarms", key: managed.otherKey).json.array("alarms") == [])
    }
  }

  @Test func `A sendout that the hub has paused is an alarm, and one that somebody paused is none`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let draft =
        #"{"name":"Friday","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"},"start":true}"#
      for _ in 1...2 { _ = try await managed.send("POST", "/api/v1/sendouts", json: draft) }
      _ = try await managed.send("POST", "/api/v1/sendouts/1/pause")
      _ = try await managed.send("POST", "/api/v1/sendouts/2/pause")
      try await managed.database.query(
        "UPDATE sendout SET halt_reason = 'ExpiredProviderToken', changed_at = '2030-01-02T03:04:05Z' WHERE sendout_id = 2"
      )
      let alarms = try await managed.send("GET", "/api/v1/alarms").json.array("alarms")
      #expect(alarms?.map { $0.integer("sendoutId") } == [2])
      // Since it was paused, and not since it was started or made.
      #expect(alarms?.first?.string("since") == "2030-01-02T03:04:05.000Z")
      #expect(alarms?.first?.string("command") == "pushcart sendout resume 2 --customer \(managed.customer)")
    }
  }

  @Test func `An address that takes no status reports is an alarm after three attempts`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let enabled = try await managed.send(
        "POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.app","statusUrl":"https://example.com/status"}"#)
      #expect(enabled.status == 201, "\(enabled.text)")
      try await managed.database.query(
        """
        INSERT INTO outbox (customer_id, kind, receiver, sendout_id, item_no, event, attempts)
        SELECT $1::bigint, 'message_status', 'com.acme.app', 1, n, 'Accepted', n FROM generate_series(1, 4) AS n
        """, managed.customer.rawValue)
      let alarms = try await managed.send("GET", "/api/v1/alarms").json.array("alarms")
      #expect(alarms?.map { $0.string("kind") } == ["webhook"])
      #expect(alarms?.first?.string("reason") == "2 were not taken in three attempts.")
    }
  }

  @Test func `What contacts received is an alarm once it has not been counted for an hour`() async throws {
    try await withManagementServer { managed in
      try await managed.database.query(
        "INSERT INTO activity_change (customer_id, contact_ids, noted_at) VALUES ($1::bigint, '{1}', now() - interval '59 minutes')",
        managed.customer.rawValue)
      #expect(try await managed.send("GET", "/api/v1/alarms").json.array("alarms") == [])
      try await managed.database.query("UPDATE activity_change SET noted_at = now() - interval '61 minutes'")
      let alarms = try await managed.send("GET", "/api/v1/alarms").json.array("alarms")
      #expect(alarms?.map { $0.string("kind") } == ["activity"])
      #expect(try await managed.send("GET", "/api/v1/alarms", key: managed.otherKey).json.array("alarms") == [])
    }
  }

  @Test func `Days of activity are there from the first one on, and refuse other numbers`() async throws {
    try await withManagementServer { managed in
      let days = try await managed.send("GET", "/api/v1/activity?days=7").json.array("days")
      #expect(days?.count == 7)
      #expect(days?.allSatisfy { $0.integer("sent") == 0 } == true)
      #expect(try await managed.send("GET", "/api/v1/activity").json.array("days")?.count == 30)
      for number in ["0", "401", "x"] {
        #expect(try await managed.send("GET", "/api/v1/activity?days=\(number)").status == 400)
      }
    }
  }

  @Test func `The first push and the first open are shown at once, and the next ones ten seconds later`() async throws {
    try await withManagementServer { managed in
      func opened() async throws -> Int64? {
        try await managed.database.query("UPDATE day_progress SET counted_at = now() - interval '2 seconds'")
        return try await managed.send("GET", "/api/v1/activity?days=1").json.array("days")?.first?.integer("opened")
      }
      #expect(try await opened() == 0)
      try await managed.database.query(
        """
        INSERT INTO day_count (customer_id, day, registered, sent, opened)
        VALUES ($1::bigint, (now() AT TIME ZONE 'UTC')::date, 0, 1, 0)
        """, managed.customer.rawValue)
      try await managed.database.query(
        "INSERT INTO open_hour (customer_id, sendout_id, hour, slot, first_opens) VALUES ($1::bigint, 1, now(), 0, 1)",
        managed.customer.rawValue)
      #expect(try await opened() == 1)
      try await managed.database.query("UPDATE open_hour SET first_opens = 2")
      #expect(try await opened() == 1)
    }
  }
}
