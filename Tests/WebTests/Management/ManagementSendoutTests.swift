import Delivery
import Operations
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ManagementSendoutTests {
  private let draft = """
    {"name":"Friday","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"Hi {{firstName}}","badge":1,
    "fields":{"campaign":"friday","nested":{"a":[1,2.5,null,true]}}}}
    """

  @Test func `Command line and console have the same words of an audience`() throws {
    let filter = try Filter(text: "country = 'SE'")
    let cases: [(Audience, String)] = [
      (.all, "every contact"), (.list(ListID(7)), "list 7"),
      (.lists([ListID(7), ListID(8), ListID(9)]), "lists 7, 8 and 9, each contact once"),
      (.originalIds(["a@example.com"]), "original id a@example.com"),
      (.originalIds(["a", "b", "c"]), "original ids a, b and c"),
      (.originalIds(["a", "b", "c", "d"]), "<4> original ids"), (.segment(SegmentID(3)), "segment 3"),
      (.filter(filter), "contacts who meet country = 'SE'"),
      (.excluding(.list(ListID(7)), filter), "list 7, without those who meet country = 'SE'"),
    ]
    for (audience, words) in cases { #expect(audience.words { "<\($0)>" } == words) }
    #expect(Audience.originalIds(["a", "b", "c", "d"]).words() == "4 original ids")
  }

  @Test func `A sendout is a draft until it is started, and shows what was requested`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let made = try await managed.send("POST", "/api/v1/sendouts", json: draft)
      #expect(made.status == 201)
      #expect(try made.json.string("state") == "draft")
      #expect(
        try made.json["message"]?["fields"] == ["campaign": "friday", "nested": ["a": [1, .number(2.5), nil, true]]])
      #expect(try made.json["counts"]?.integer("queued") == 0)
      let id = try #require(try made.json.integer("sendoutId"))
      #expect(try await managed.send("GET", "/api/v1/sendouts/\(id)").text == made.text)
      let list = try await managed.send("GET", "/api/v1/sendouts").json
      #expect(list.array("items")?.map { $0.integer("sendoutId") } == [id])
      #expect(try await managed.send("GET", "/api/v1/sendouts/\(id)/pushes").json.array("items") == [])
    }
  }

  @Test func `Start, pause, resume and cancel change the state, and repeating one changes nothing`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await managed.send("POST", "/api/v1/sendouts", json: draft).json.integer("sendoutId") ?? 0
      let steps = [("start", "freezing"), ("pause", "paused"), ("resume", "freezing"), ("cancel", "cancelled")]
      for (verb, state) in steps {
        for _ in 1...2 {
          let reply = try await managed.send("POST", "/api/v1/sendouts/\(id)/\(verb)")
          #expect(reply.status == 200)
          #expect(try reply.json.string("state") == state)
        }
      }
      let reply = try await managed.send("POST", "/api/v1/sendouts/\(id)/start")
      #expect(reply.status == 409)
      #expect(reply.error == "Sendout \(id) is cancelled, and start needs one that is draft or scheduled.")
    }
  }

  @Test func `Verbs on a sendout that somebody has locked are to be repeated, and hold up nobody else`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await managed.send("POST", "/api/v1/sendouts", json: draft).json.integer("sendoutId") ?? 0
      let lock = Statement(
        "test.lock", .write,
        "SELECT 1 FROM sendout WHERE customer_id = $1::bigint AND sendout_id = $2::bigint FOR UPDATE")
      let statuses = try await managed.database.withPool { other in
        try await other.transaction { holder in
          #expect(try await holder.query(lock, managed.customer.rawValue, id).count == 1)
          return try await withThrowingTaskGroup(of: TestReply.self) { group in
            for _ in 1...4 { group.addTask { try await managed.send("POST", "/api/v1/sendouts/\(id)/cancel") } }
            try await managed.database.someoneWaits(2, as: other)
            let list = try await managed.send("POST", "/api/v1/lists", key: managed.otherKey, json: #"{"name":"x"}"#)
            #expect(list.status == 200 || list.status == 201)
            var statuses: [Int] = []
            for try await reply in group {
              statuses.append(reply.status)
              if reply.status == 409 { #expect(reply.error?.contains("repeat the request") == true) }
            }
            return statuses
          }
        }
      }
      // Two wait at a time, for two seconds. Others may wait too long for that.
      #expect(statuses.count { $0 == 409 } >= 2 && statuses.allSatisfy { $0 == 409 || $0 == 503 })
      #expect(try await managed.send("POST", "/api/v1/sendouts/\(id)/cancel").status == 200)
    }
  }

  @Test func `A sendout to an app without credentials is refused with the command that adds them`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp(credentials: nil)
      let reply = try await managed.send("POST", "/api/v1/sendouts", json: draft)
      #expect(reply.status == 409)
      let command = "or by pushcart app update \(id) --customer \(managed.customer) "
      #expect(reply.error?.contains(command + "--team-id ID --key-id ID --signing-key FILE, ") == true, "\(reply.text)")
      #expect(reply.error?.contains(command + "--production-certificate FILE ") == true, "\(reply.text)")
    }
  }

  @Test func `An impossible sendout is refused, naming the field`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let bodies = [
        (#"{"appId":"com.none","audience":{"all":true},"message":{"alert":"x"}}"#, 404, "appId"),
        (#"{"appId":"com.acme.app","audience":{},"message":{"alert":"x"}}"#, 400, "audience"),
        (#"{"appId":"com.acme.app","audience":{"all":false},"message":{"alert":"x"}}"#, 400, "audience.all"),
        (#"{"appId":"com.acme.app","audience":{"all":true,"listId":1},"message":{"alert":"x"}}"#, 400, "audience"),
        (#"{"appId":"com.acme.app","audience":{"listId":1},"message":{"alert":"x"}}"#, 400, "audience.listId"),
        (
          #"{"appId":"com.acme.app","audience":{"originalIds":[]},"message":{"alert":"x"}}"#, 400,
          "audience.originalIds"
        ),
        (#"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"{{#x"}}"#, 400, "message.alert"),
        (
          #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"},"template":"none"}"#, 400,
          "template"
        ),
      ]
      for (body, status, field) in bodies {
        let reply = try await managed.send("POST", "/api/v1/sendouts", json: body)
        #expect(reply.status == status, "\(body): \(reply.text)")
        #expect(reply.error?.hasPrefix("\(field) ") == true, "\(body): \(reply.text)")
      }
    }
  }

  /// A cancellation is slow when it is large; here it is, since somebody holds its batch for longer than a statement may take. Locks
  /// are waited for up to two seconds, so the server itself lets the batch go, whatever else this program does.
  @Test func `Start, pause, resume and cancel may take longer than other requests`() async throws {
    try await withManagementServer(database: { $0.statementTimeout = .seconds(1) }) { managed in
      let app = PushAppID(try await managed.addApp())
      try await managed.database.query(
        """
        WITH c AS (INSERT INTO contact (customer_id, original_id) VALUES ($1::int8, 'a') RETURNING contact_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1::int8, $2::int8, contact_id, 'aa', '\\xaa' FROM c
        """, managed.customer.rawValue, app.rawValue)
      let id = SendoutID(try await managed.send("POST", "/api/v1/sendouts", json: draft).json.integer("sendoutId") ?? 0)
      try await managed.database.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(SendoutKey(managed.customer, id), apps: [app], audience: .all)
      }
      try await managed.database.query("UPDATE sendout SET state = 'running', frozen_at = now(), started_at = now()")
      try await managed.database.withPool { other in
        async let held = other.query(
          sql: """
            DO $$ BEGIN
              PERFORM 1 FROM push_batch FOR UPDATE;
              LOOP
                PERFORM pg_stat_clear_snapshot();
                EXIT WHEN EXISTS (
                  SELECT 1 FROM pg_stat_activity
                  WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
                    AND clock_timestamp() - query_start > '1.1 s');
                PERFORM pg_sleep(0.01);
              END LOOP;
            END $$
            """)
        try await waitUntil {
          try await !managed.database.query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
          ).isEmpty
        }
        let reply = try await managed.send("POST", "/api/v1/sendouts/\(id)/cancel")
        #expect(reply.status == 200, "\(reply.text)")
        #expect(try reply.json.string("state") == "cancelled")
        _ = try await held
      }
    }
  }

  @Test func `Ten thousand original ids fit in a request`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let ids = (1...10_000).map { "\"somebody.with.a.long.name.\($0)@mail.example.com\"" }.joined(separator: ",")
      let body = #"{"appId":"com.acme.app","audience":{"originalIds":[\#(ids)]},"message":{"alert":"x"}}"#
      let reply = try await managed.send("POST", "/api/v1/sendouts", json: body)
      #expect(reply.status == 201)
      #expect(try reply.json.integer("unknownOriginalIds") == 10_000)
    }
  }
}
