import DataInOut
import Foundation
import Operations
import Postgres
import Registry
import Retrying
import Support
import Testing
import Wire

@Suite struct ErasureTests {
  /// What the person is called everywhere. None of it may be left.
  private static let canaries = ["canary@example.com", "Canaria", "00316990001", "c0ffee01", "feather", "Kanarien"]
  private static let path = "/api/v1/contacts/canary%40example.com"

  private func finish(_ managed: ManagementServer) async throws {
    let work = ErasureWork(managed.database.pool, PersonalTables.all)
    for (customer, number) in try await work.due() { while try await work.step(customer, number) {} }
  }

  private func importFile(
    _ file: String, _ managed: ManagementServer, json: String = "{}"
  ) async throws -> Int64 {
    let number = try await managed.send("POST", "/api/v1/imports", json: json).json.integer("importId") ?? -1
    let sent = try await managed.server.send(
      "PUT", "/api/v1/imports/\(number)/file", key: managed.key, headers: [("Content-Type", "text/csv")], body: file)
    #expect(sent.status == 202, "\(sent.text)")
    return number
  }

  private func merge(_ number: Int64, _ managed: ManagementServer) async throws {
    let work = ImportWork(managed.database.pool, suppressions: .ofTests, endpoints: EndpointRules())
    while try await work.step(managed.customer, ImportID(number)) {}
  }

  /// Writes the person's texts wherever the API takes some.
  private func write(_ managed: ManagementServer) async throws {
    try await managed.addApp()
    let list = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).json.integer("listId") ?? 0
    let put = try await managed.send(
      "PUT", "/rest/\(managed.customer)/apps/com.acme.app/pushdevices",
      headers: [("X-Carma-Authentication-Token", managed.key)],
      json: """
        {"originalId":"canary@example.com","firstName":"Canaria","emailAddress":"canary@example.com","mobileNumber":"00316990001",\
        "properties":{"food":"feather"},"listId":\(list),"deviceInfo":[{"devicetoken":"c0ffee01","model":"Kanarien"}]}
        """)
    #expect(put.status == 200, "\(put.text)")
    let segment =
      try await managed.send("POST", "/api/v1/segments", json: #"{"name":"VIP","static":true}"#).json.integer(
        "segmentId") ?? 0
    #expect(
      try await managed.send(
        "PUT", "/api/v1/segments/\(segment)/contacts", json: #"{"add":["canary@example.com"]}"#
      ).status == 200)
    #expect(
      try await managed.send(
        "POST", "/api/v1/messages",
        json: """
          {"appId":"com.acme.app","to":{"originalId":"canary@example.com"},"properties":{"x":"feather"},\
          "message":{"alert":"Hi Canaria"},"deliverAt":"\(Wire.Timestamp(Date().addingTimeInterval(3600)))"}
          """
      ).status < 300)
    #expect(
      try await managed.send(
        "POST", "/api/v1/sendouts", headers: [("Idempotency-Key", "one")],
        json:
          #"{"name":"Friday","appId":"com.acme.app","audience":{"originalIds":["canary@example.com","b"]},"message":{"alert":"x"}}"#
      ).status == 201)
    #expect(
      try await managed.send("POST", "/api/v1/suppressions", json: #"{"originalId":"canary@example.com"}"#).status < 300
    )
    // A reject and a sample of an import that is over, and rows of one that is not.
    let rejected = "originalId,firstName,language\ncanary@example.com,Canaria,no language at all\nb,Bo,sv\n"
    try await merge(try await importFile(rejected, managed), managed)
    _ = try await importFile("originalId,firstName\nc,Cleo\ncanary@example.com,Canaria\n", managed)
    _ = try await importFile(
      "Kundnr,Namn\n1,Bo\nCanary@Example.com,Canaria\n", managed, json: #"{"review":true}"#)
    _ = try await importFile("Kundnr,Namn\n2,Eve\n", managed, json: #"{"review":true}"#)
    // As the line of an opt-out that was undone.
    try await managed.database.query(
      """
      INSERT INTO audit_log (customer_id, os_user, action, target, before, after)
      VALUES ($1, 'root', 'sms.allow', 'number 00316990001', '{"number":"316990001","reason":"STOP"}', '{"to":["canary@example.com"]}')
      """, managed.customer.rawValue)
    try await managed.database.query(
      """
      INSERT INTO hybrid_app (customer_id, app_id, app_key, pin_text, voice_text, moved_text, secret)
      VALUES ($1, 'com.acme.app', gen_random_uuid(), 'x', 'x', 'x', '\\x00')
      """, managed.customer.rawValue)
    try await managed.database.query(
      """
      INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number)
      VALUES ($1, sha256('x'), 'com.acme.app', 'iOS', 'Kanarien', '316990001')
      """, managed.customer.rawValue)
    try await managed.database.query(
      "INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_no, kind) VALUES ($1, '316990001', 'com.acme.app', 1, 'sent')",
      managed.customer.rawValue)
  }

  /// Every row of every table, partitions included, as text.
  private func dump(_ managed: ManagementServer) async throws -> [String] {
    let tables = try await managed.database.query(
      """
      SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('public', 'partitions') ORDER BY 1
      """
    ).map { try $0.decode(String.self) }
    var rows: [String] = []
    for table in tables {
      rows += try await managed.database.query("SELECT '\(table) ' || t::text FROM \(table) AS t").map {
        try $0.decode(String.self)
      }
    }
    return rows
  }

  private func found(_ rows: [String]) -> [String] {
    rows.filter { row in (Self.canaries + ["316990001", "Canary@Example.com"]).contains { row.contains($0) } }
  }

  @Test func `Nothing in the whole database has a text of somebody who was erased`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      let before = found(try await dump(managed))
      for table in [
        "contact", "device", "message", "sendout", "audit_log", "import", "import_row", "import_reject",
        "hybrid_registration",
        "hybrid_pin_event",
      ] {
        #expect(
          before.contains { $0.hasPrefix("public.\(table) ") },
          "\(table) has no canary, so the test proves nothing of it")
      }
      let reply = try await managed.send("DELETE", Self.path)
      #expect(reply.status == 200, "\(reply.text)")
      #expect(try reply.json["state"] == "erasing")
      #expect(try await managed.send("GET", Self.path).status == 404)
      #expect(try await managed.send("DELETE", Self.path).json["state"] == "erasing")
      #expect(before.contains { $0.hasPrefix("public.import_row ") && $0.contains("Canary@Example.com") })
      try await finish(managed)
      #expect(found(try await dump(managed)) == [])
      #expect(try await managed.send("DELETE", Self.path).status == 404)
      // The suppression goes on, and the import under way brings nobody back.
      let kept = try await managed.database.query("SELECT count(*) FROM suppression")[0].decode(Int64.self)
      #expect(kept == 1)
      try await merge(2, managed)
      #expect(found(try await dump(managed)) == [])
      let imported = try await managed.send("GET", "/api/v1/imports/2").json
      #expect(imported.integer("added") == 1 && imported.integer("rejected") == 1 && imported.integer("rows") == 2)
      // A file in review that names the person is cancelled, and says why. Another one waits on.
      let reviewed = try await managed.send("GET", "/api/v1/imports/3").json
      #expect(reviewed.string("state") == "cancelled" && reviewed["sample"] == nil && reviewed["headings"] == nil)
      #expect(reviewed.string("error")?.contains("was erased") == true)
      #expect(try await managed.send("GET", "/api/v1/imports/4").json.string("state") == "review")
      try await merge(3, managed)
      let left = try await managed.database.query("SELECT count(*) FROM import_row WHERE import_id = 3")
      #expect(try left[0].decode(Int.self) == 0)
      let sendout = try await managed.send("GET", "/api/v1/sendouts/\(1)")
      #expect(!sendout.text.contains("canary"))
    }
  }

  /// Ids that are words of everybody's: of the hub, of people's fields, and numbers of other things.
  @Test(arguments: ["sendout", "Stockholm", "1"])
  func `Erasing somebody whose id is a common word changes nothing of others`(word: String) async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let database = managed.database
      for (id, city) in [("sendout", "Ownville"), ("Stockholm", "Ownville"), ("1", "Ownville"), ("b", "Stockholm")] {
        try await database.query(
          "INSERT INTO contact (customer_id, original_id, city) VALUES ($1, $2, $3)", managed.customer.rawValue, id,
          city)
      }
      // Things that are called so, with lines in the audit log.
      for (path, json) in [
        ("lists", #"{"name":"Stockholm"}"#), ("lists", #"{"name":"sendout"}"#), ("lists", #"{"name":"1"}"#),
        ("segments", #"{"name":"Stockholm","static":true}"#),
        ("segments", #"{"name":"S","filter":"city = 'Stockholm'"}"#),
        (
          "sendouts",
          #"{"name":"Stockholm","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"sendout"}}"#
        ),
        ("sendouts", #"{"name":"1","appId":"com.acme.app","audience":{"originalIds":["b"]},"message":{"alert":"1"}}"#),
      ] {
        let reply = try await managed.send("POST", "/api/v1/\(path)", json: json)
        #expect(reply.status == 201, "\(reply.text)")
      }
      try await database.query(
        """
        INSERT INTO audit_log (customer_id, os_user, action, target, before, after)
        VALUES ($1, 'root', 'x', 'sendout 1', '{"sendout":"1","Stockholm":["sendout"],"1":1}', '{"name":"Stockholm","city":"Stockholm"}')
        """, managed.customer.rawValue)
      // Of others: rows of an import under way, with tokens of the app 1, those of one in review, and rejects and samples.
      let others = ["b,Stockholm,c0ffee02", "c,1,", "d,sendout,"].joined(separator: "\n")
      let app = #"{"appId":"com.acme.app"}"#
      _ = try await importFile("originalId,city,deviceToken\n\(others)\n", managed, json: app)
      _ = try await importFile("originalId,city\nb,Stockholm\nc,1\nd,sendout\n", managed, json: #"{"review":true}"#)
      let wrong = "originalId,city,language\nb,Stockholm,no language\nc,1,no language\nd,sendout,no language,more\n"
      try await merge(try await importFile(wrong, managed), managed)
      // The person's own.
      let own =
        "originalId,city,language\n\(word),Ownville,sv\n\(word),Ownville,no language\n\(word),Ownville,sv,more\n"
      try await merge(try await importFile(own + "b,Stockholm,no language\n", managed), managed)
      _ = try await importFile(own + "b,Stockholm,sv\n", managed)
      _ = try await importFile("Kundnr,city\n\(word),Ownville\nb,Stockholm\n", managed, json: #"{"review":true}"#)

      let before = try await dump(managed)
      #expect(try await managed.send("DELETE", "/api/v1/contacts/\(word)").status == 200)
      try await finish(managed)
      let after = try await dump(managed)
      let kept = ["access_key", "idempotent_reply"].map { "public.\($0) " }
      let changed = Set(before).subtracting(after).filter { row in !kept.contains { row.hasPrefix($0) } }
      // Of the import in review, others' rows go with it once it is cleared.
      #expect(changed.filter { !$0.contains("Ownville") && !$0.contains("{Kundnr,city}") } == [])
      for table in ["contact", "import", "import_row", "import_reject"] {
        #expect(changed.contains { $0.hasPrefix("public.\(table) ") }, "\(table)")
      }
      // Nothing of the person is left; of the three, the other two are.
      let left = after.filter { $0.contains("Ownville") }
      #expect(left.allSatisfy { $0.hasPrefix("public.contact ") } && left.count == 2, "\(left)")
      let states = try await database.query("SELECT state FROM import ORDER BY import_id").map {
        try $0.decode(String.self)
      }
      #expect(states == ["checking", "review", "finished", "finished", "checking", "cancelled"])
    }
  }

  @Test func `Addresses of others that have the person's within them stay`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      let others = ["mats.canary@example.com", "canary@example.com.au", "xcanary@example.com"]
      for other in others {
        try await managed.database.query(
          """
          INSERT INTO audit_log (customer_id, os_user, action, target, after)
          VALUES ($1, 'root', 'x', 'template ' || $2::text, json_build_object('to', $2::text))
          """, managed.customer.rawValue, other)
      }
      let log = "SELECT audit_log_id, audit_log::text FROM audit_log WHERE action = 'x' ORDER BY 1"
      let before = try await managed.database.query(log).map { try $0.decode(Int64.self, String.self).1 }
      _ = try await importFile("originalId,firstName\n" + others.joined(separator: ",Mats\n") + ",Mats\n", managed)
      _ = try await managed.send("DELETE", Self.path)
      try await finish(managed)
      #expect(try await managed.database.query(log).map { try $0.decode(Int64.self, String.self).1 } == before)
      let rows = try await managed.database.query("SELECT FROM import_row WHERE original_id = ANY ($1::text[])", others)
      #expect(rows.count == others.count)
    }
  }

  @Test func `In the audit log the person's texts are replaced, and what surrounds them stays`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      try await managed.database.query(
        """
        INSERT INTO audit_log (customer_id, os_user, action, target, before, after)
        VALUES ($1, 'root', 'x', 'number 00316990001', '{"number":"316990001","reason":"to canary@example.com"}', '{"number":"31"}')
        """, managed.customer.rawValue)
      _ = try await managed.send("DELETE", Self.path)
      try await finish(managed)
      let row = try await managed.database.query(
        "SELECT target, before ->> 'number', before ->> 'reason', after::text FROM audit_log WHERE action = 'x'")[0]
      let (target, number, reason, after) = try row.decode(String.self, String.self, String.self, String.self)
      #expect(
        target == "number (erased)" && number == "(erased)" && reason == "(erased)" && after == #"{"number":"31"}"#)
    }
  }

  @Test func `A number in the audit log that PostgreSQL cannot compute with holds up no erasure`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      for fields in [#""x":1e200000"#, #""x":1e-200000,"to":"canary@example.com""#] {
        try await managed.database.query(
          """
          INSERT INTO audit_log (customer_id, os_user, action, target, after)
          VALUES ($1, 'root', 'trigger.add', 'trigger 1', '{"message":{"fields":{\(fields)}}}')
          """, managed.customer.rawValue)
      }
      let shown = try await managed.send("GET", Self.path + "/data")
      #expect(shown.status == 200, "\(shown.text)")
      _ = try await managed.send("DELETE", Self.path)
      try await finish(managed)
      #expect(found(try await dump(managed)) == [])
      let kept = try await managed.database.query("SELECT after::text FROM audit_log WHERE action = 'trigger.add'")
      #expect(try kept.filter { try $0.decode(String.self).contains("200000") }.count == 2)
    }
  }

  @Test func `An erasure that is stuck is an alarm`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      let reply = try await managed.send("DELETE", Self.path)
      let contact = try #require(try reply.json.integer("contactId"))
      func fail(_ times: Int) async throws {
        try await managed.database.query(
          "UPDATE erasure SET failures = $1, failing_since = now() - interval '1 hour', failure = 'The database refused it.'",
          Int32(times))
      }
      func alarms(key: String? = nil) async throws -> [JSONValue] {
        let all = try await managed.send("GET", "/api/v1/alarms", key: key).json.array("alarms")
        return try #require(all).filter { $0["kind"] == "erasure" }
      }
      try await fail(RetryPolicy.mostStepFailures - 1)
      #expect(try await alarms() == [])
      try await fail(RetryPolicy.mostStepFailures)
      let alarm = try #require(try await alarms().first)
      #expect(alarm["reason"] == "The database refused it.")
      #expect(alarm.string("title") == "The erasure of contact \(contact) is stuck")
      #expect(try await alarms(key: managed.otherKey) == [])
      try await finish(managed)
      #expect(try await alarms() == [])
    }
  }

  @Test func `An erasure that is interrupted anywhere goes on where it was`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      _ = try await managed.send("DELETE", Self.path)
      // Each step is one of another hub, which knows nothing of the one before.
      var steps = 0
      while let (customer, number) = try await ErasureWork(managed.database.pool, PersonalTables.all).due().first {
        _ = try await ErasureWork(managed.database.pool, PersonalTables.all).step(customer, number)
        steps += 1
        try #require(steps < 1000)
      }
      #expect(found(try await dump(managed)) == [])
    }
  }

  @Test func `A person is shown with everything that is stored, and another customer sees none of it`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      let reply = try await managed.send("GET", Self.path + "/data")
      #expect(reply.status == 200, "\(reply.text)")
      for table in [
        "contact", "device", "device_event", "list_member", "segment_member", "message", "push", "audit_log", "sendout",
        "import_reject", "hybrid_registration", "hybrid_pin_event",
      ] {
        #expect(try reply.json["data"]?[table] != nil, "\(table)")
      }
      #expect(try reply.json["cut"] == [])
      #expect(try await managed.send("GET", Self.path + "/data", key: managed.otherKey).status == 404)
      #expect(try await managed.send("DELETE", Self.path, key: managed.otherKey).status == 404)
    }
  }

  @Test func `Filters that name the person are told, and stay`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      let segment = try await managed.send(
        "POST", "/api/v1/segments", json: #"{"name":"One","filter":"originalId = 'canary@example.com'"}"#)
      let number = try segment.json.integer("segmentId") ?? 0
      let reply = try await managed.send("DELETE", Self.path)
      #expect(try reply.json["filters"] == [.string("segment \(number)")])
      try await finish(managed)
      #expect(try await managed.send("GET", "/api/v1/segments/\(number)").text == segment.text)
    }
  }

  @Test func `A request whose reply was emptied is refused, and not run again`() async throws {
    try await withManagementServer { managed in
      try await write(managed)
      _ = try await managed.send("DELETE", Self.path)
      try await finish(managed)
      let again = try await managed.server.send(
        "POST", "/api/v1/sendouts", key: managed.key, headers: [("Idempotency-Key", "one")],
        json:
          #"{"name":"Friday","appId":"com.acme.app","audience":{"originalIds":["canary@example.com","b"]},"message":{"alert":"x"}}"#
      )
      #expect(again.status >= 400)
      #expect(
        try await managed.database.query("SELECT count(*) FROM sendout WHERE kind = 'broadcast'")[0].decode(Int64.self)
          == 1)
    }
  }

  @Test func `Every table that could hold something of a person says what becomes of it`() async throws {
    try await withDatabase { database in
      let tables = try await database.query(
        """
        SELECT DISTINCT c.table_name::text FROM information_schema.columns AS c
          JOIN information_schema.tables AS t USING (table_schema, table_name)
         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name <> 'schema_migration'
           AND (c.data_type IN ('text', 'json', 'jsonb', 'bytea', 'character varying', 'ARRAY', 'date', 'inet'))
        """
      ).map { try $0.decode(String.self) }
      let counts: Set<String> = ["device_day", "day_count"]
      let named = PersonalTables.all.map(\.name)
      #expect(Set(tables).subtracting(counts).subtracting(named).sorted() == [])
      #expect(Set(named).count == named.count)
      let known = Set(
        try await database.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'").map {
          try $0.decode(String.self)
        })
      #expect(Set(named).subtracting(known).sorted() == [])
      for table in PersonalTables.all {
        if case .with(let other) = table.erasure { #expect(named.contains(other)) }
      }
      #expect(named.last(where: { $0 == "contact" }) != nil)
    }
  }
}
