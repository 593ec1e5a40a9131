import Operations
import Registry
import Sendouts
import Support
import Testing
import Wire

@Suite struct ContactTests {
  /// Registers a contact by Carma's API; gives its id as a path has it.
  @discardableResult
  private func register(_ managed: ManagementServer, _ json: String) async throws -> String {
    let put = try await managed.send(
      "PUT", "/rest/\(managed.customer)/apps/com.acme.app/pushdevices",
      headers: [("X-Carma-Authentication-Token", managed.key)], json: json)
    #expect(put.status == 200, "\(put.text)")
    return PercentEncoding.encode(try #require(try put.json.string("originalId")))
  }

  private static let lars =
    #"{"originalId":"lars@example.com","firstName":"Lars","emailAddress":"lars@example.com","dateOfBirth":"1980-02-29","properties":{"food":"fish","visits":3},"deviceInfo":[{"devicetoken":"aa","model":"iPhone"}]}"#

  @Test func `A contact is found and shown with its properties and devices`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await register(managed, Self.lars)
      for json in [#"{"name":"Fish","filter":"properties.food = 'fish'"}"#, #"{"name":"VIP","static":true}"#] {
        #expect(try await managed.send("POST", "/api/v1/segments", json: json).status == 201)
      }
      let listed = try await managed.send("GET", "/api/v1/contacts?query=lars").json.array("items")
      #expect(listed?.count == 1 && listed?.first?["properties"] == nil && listed?.first?["devices"] == nil)
      let contact = try await managed.send("GET", "/api/v1/contacts/\(id)").json
      #expect(contact.string("firstName") == "Lars" && contact.string("dateOfBirth") == "1980-02-29")
      #expect(contact["properties"] == ["food": "fish", "visits": 3] && contact["listIds"] == [])
      #expect(contact["segments"] == [["segmentId": 1, "name": "Fish"]])
      let events = contact.array("timeline")?.map { $0.string("event") }
      #expect(events == ["device registered"])
      let device = try #require(contact.array("devices")?.first)
      #expect(device.string("appId") == "com.acme.app" && device.integer("appType") == 1)
      #expect(device.string("model") == "iPhone" && device["invalidatedAt"] == nil && device["token"] == nil)
      let other = try await managed.send("GET", "/api/v1/contacts/\(id)", key: managed.otherKey)
      #expect(other.status == 404 && other.error == "originalId names no contact of this customer.")
      #expect(try await managed.send("GET", "/api/v1/contacts", key: managed.otherKey).json.array("items") == [])
    }
  }

  @Test func `A change keeps what it does not name, and says in the audit log which fields it changed`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let list = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).json.integer("listId") ?? 0
      let id = try await register(managed, Self.lars)
      let changed = try await managed.send(
        "PATCH", "/api/v1/contacts/\(id)",
        json:
          #"{"city":"Lund","firstName":"","dateOfBirth":"","listIds":[\#(list)],"properties":{"food":null,"size":"<XL>"}}"#
      ).json
      #expect(changed.string("city") == "Lund" && changed["firstName"] == nil && changed["dateOfBirth"] == nil)
      #expect(changed.string("emailAddress") == "lars@example.com" && changed["listIds"] == [.integer(list)])
      #expect(changed["properties"] == ["size": "<XL>", "visits": 3])
      let again = try await managed.send("PATCH", "/api/v1/contacts/\(id)", json: #"{"city":"Lund"}"#).json
      #expect(again == changed)
      let cleared = try await managed.send("PATCH", "/api/v1/contacts/\(id)", json: #"{"listIds":[]}"#).json
      #expect(cleared["listIds"] == [])
      let log = try await managed.send("GET", "/api/v1/audit")
      let lines = try log.json.array("items")?.filter { $0.string("action") == "contact.change" }
      #expect(lines?.count == 2 && lines?.first?["after"] == ["listIds"])
      #expect(!log.text.contains("Lund") && !log.text.contains("XL"))
    }
  }

  @Test func `A contact is added, and replaced as a whole but for its lists and devices`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let list = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).json.integer("listId") ?? 0
      let path = "/api/v1/contacts/a%2Fb%20%C3%A5"
      let added = try await managed.send(
        "PUT", path,
        json:
          #"{"firstName":"Åsa","timeZone":"Europe/Stockholm","language":"SV-se","listIds":[\#(list)],"properties":{"food":"fish"}}"#
      )
      #expect(added.status == 200, "\(added.text)")
      #expect(try added.json.string("originalId") == "a/b å")
      #expect(try added.json.string("language") == "sv-SE" && added.json.array("devices") == [])
      try await register(
        managed, #"{"originalId":"a/b å","dateOfBirth":"1980-02-29","deviceInfo":[{"devicetoken":"aa"}]}"#)
      let replaced = try await managed.send("PUT", path, json: #"{"city":"Lund","properties":{"size":"XL"}}"#).json
      #expect(replaced.string("city") == "Lund" && replaced["properties"] == ["size": "XL"])
      for name in ["firstName", "timeZone", "language", "dateOfBirth"] { #expect(replaced[name] == nil, "\(name)") }
      #expect(replaced["listIds"] == [.integer(list)] && replaced.array("devices")?.count == 1)
      let emptied = try await managed.send("PUT", path, json: #"{"listIds":[]}"#).json
      #expect(emptied["city"] == nil && emptied["listIds"] == [])
      #expect((emptied["properties"] ?? [:]) == [:])
      let again = try await managed.send("PUT", path, json: "{}").json
      #expect(again == emptied)
      let lines = try await managed.send("GET", "/api/v1/audit").json.array("items")?
        .filter { $0.string("action") == "contact.put" }
      #expect(lines?.count == 3 && lines?.last?["before"] == nil)
      #expect(try await managed.send("GET", path, key: managed.otherKey).status == 404)
      for id in ["%00", "%20", String(repeating: "x", count: 256)] {
        #expect(try await managed.send("PUT", "/api/v1/contacts/\(id)", json: "{}").status == 400, "\(id)")
      }
    }
  }

  @Test(arguments: [
    (#"{"timeZone":"CET"}"#, "timeZone must be a name of the IANA database, such as Europe/Berlin or UTC."),
    (#"{"language":"C.UTF-8"}"#, "language must be a language tag of BCP 47, such as sv or pt-BR."),
    (#"{"listIds":[99]}"#, "listIds names a list that this customer does not have."),
    (#"{"dateOfBirth":"1981-02-29"}"#, "dateOfBirth must be a day such as 1980-02-29."),
    (#"{"dateOfBirth":"yesterday"}"#, "dateOfBirth must be a day such as 1980-02-29."),
    (#"{"originalId":"x"}"#, "originalId is not a known field"), (#"{"city":"a\u0000"}"#, "city"),
    (#"{"properties":{"a":{"b":1}}}"#, "properties.a must be"), (#"{"properties":{"":1}}"#, "properties"),
  ])
  func `A change that cannot be is refused, and changes nothing`(json: String, error: String) async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await register(managed, Self.lars)
      let before = try await managed.rows()
      let reply = try await managed.send("PATCH", "/api/v1/contacts/\(id)", json: json)
      #expect(reply.status == 400 && reply.error?.hasPrefix(error) == true, "\(reply.text)")
      #expect(try await managed.rows() == before)
    }
  }

  @Test func `Contacts are those who meet a filter and begin so, by a line or a tree, page by page`() async throws {
    try await withManagementServer { managed in
      for (id, json) in [
        ("lars1", #"{"country":"SE","properties":{"visits":3}}"#), ("lars2", #"{"country":"NO"}"#),
        ("mia", #"{"country":"SE"}"#), ("lars3", #"{"country":"SE","firstName":"lars3"}"#),
      ] {
        #expect(try await managed.send("PUT", "/api/v1/contacts/\(id)", json: json).status == 200)
      }
      #expect(
        try await managed.send("PUT", "/api/v1/contacts/lars9", key: managed.otherKey, json: #"{"country":"SE"}"#)
          .status == 200)
      func list(_ query: [(String, String)]) async throws -> JSONValue {
        let query = query.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let reply = try await managed.send("GET", "/api/v1/contacts?\(query)")
        #expect(reply.status == 200, "\(reply.text)")
        return try reply.json
      }
      func ids(_ page: JSONValue) -> [String] { page.array("items")?.compactMap { $0.string("originalId") } ?? [] }
      let swedes = [("filter", "country = 'SE'")]
      // The newest first, as without a filter.
      #expect(ids(try await list(swedes)) == ["lars3", "mia", "lars1"])
      let tree = [("filter", #"{"field":"country","op":"=","value":"SE"}"#)]
      #expect(ids(try await list(tree)) == ["lars3", "mia", "lars1"])
      #expect(ids(try await list(swedes + [("query", "lars")])) == ["lars1", "lars3"])
      #expect(ids(try await list([("filter", "properties.visits >= 3"), ("query", "lars")])) == ["lars1"])
      #expect(ids(try await list([("filter", "country = 'XX'")])).isEmpty)
      // What contacts received stands in a table of its own.
      #expect(ids(try await list([("filter", "country = 'SE' and received = 0")])) == ["lars3", "mia", "lars1"])
      #expect(ids(try await list([("filter", "opened < 1"), ("query", "lars")])) == ["lars1", "lars2", "lars3"])
      for further in [[], [("query", "lars")]] as [[(String, String)]] {
        var (found, after): ([String], String?) = ([], nil)
        repeat {
          let page = try await list(swedes + further + [("limit", "1")] + (after.map { [("after", $0)] } ?? []))
          found += ids(page)
          after = page.string("next")
        } while after != nil && found.count < 10
        #expect(found == (further.isEmpty ? ["lars3", "mia", "lars1"] : ["lars1", "lars3"]))
      }
      for (filter, error) in [
        ("contry = 'SE'", "filter at 1: no field is called contry; did you mean country?"),
        (#"{"field":"contry","op":"is set"}"#, "filter at field: "), ("{", "filter at the top: "),
        ("in segment 'VIP'", "filter at 12: no segment is called 'VIP'."),
        ("received sendout 77", "filter at 18: there is no sendout 77."),
        (#"{"not":{"list":7}}"#, "filter at not.list: there is no list 7."),
      ] {
        let reply = try await managed.send("GET", "/api/v1/contacts?filter=\(PercentEncoding.encode(filter))")
        #expect(reply.status == 400 && reply.error?.hasPrefix(error) == true, "\(reply.text)")
      }
    }
  }

  @Test func `A plus sign in a query is a blank, and an encoded one a plus sign`() async throws {
    try await withManagementServer { managed in
      for json in [#"{"city":"New York"}"#, #"{"city":"New+York"}"#] {
        let id = json.contains("+") ? "lars%2B1" : "lars%201"
        #expect(try await managed.send("PUT", "/api/v1/contacts/\(id)", json: json).status == 200)
      }
      func ids(_ query: String) async throws -> [String?]? {
        let reply = try await managed.send("GET", "/api/v1/contacts?\(query)")
        #expect(reply.status == 200, "\(reply.text)")
        return try reply.json.array("items")?.map { $0.string("originalId") }
      }
      #expect(try await ids("filter=city+%3D+%27New+York%27") == ["lars 1"])
      #expect(try await ids("filter=city%20=%20'New%2BYork'") == ["lars+1"])
      #expect(try await ids("query=lars+1") == ["lars 1"])
      #expect(try await ids("query=lars%2B1") == ["lars+1"])
      let broken = try await managed.send("GET", "/api/v1/contacts?query=%FF")
      #expect(broken.status == 400 && broken.error == "The query is not percent-encoded UTF-8.")
    }
  }

  @Test func `A device is retired once, and valid again when its app registers it`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await register(managed, Self.lars)
      let contact = try await managed.send("GET", "/api/v1/contacts/\(id)").json
      let device = try #require(contact.array("devices")?.first?.integer("deviceId"))
      #expect(try await managed.send("DELETE", "/api/v1/devices/\(device)", key: managed.otherKey).status == 404)
      let retired = try await managed.send("DELETE", "/api/v1/devices/\(device)").json
      #expect(retired["invalidatedAt"] != nil && retired.string("invalidationReason") == "retired")
      #expect(try await managed.send("DELETE", "/api/v1/devices/\(device)").json == retired)
      let timeline = try await managed.send("GET", "/api/v1/reports/timeline?contact=lars@example.com").json
      let events = timeline.array("rows")?.map { $0.string("event") }
      #expect(events == ["device invalidated", "device registered"])
      try await register(managed, Self.lars)
      let revived = try await managed.send("GET", "/api/v1/contacts/\(id)").json.array("devices")?.first
      #expect(revived?["invalidatedAt"] == nil && revived?.integer("deviceId") == device)
    }
  }

  @Test func `Members join and leave a list, and stay on their other lists`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      var lists: [Int64] = []
      for name in ["news", "offers"] {
        let added = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"\#(name)"}"#).json
        lists.append(added.integer("listId") ?? 0)
      }
      for id in ["a", "b", "c"] {
        try await register(managed, #"{"originalId":"\#(id)","deviceInfo":[{"devicetoken":"a\#(id)"}]}"#)
      }
      func change(_ list: Int64, _ json: String) async throws -> JSONValue {
        let reply = try await managed.send("PATCH", "/api/v1/lists/\(list)/members", json: json)
        #expect(reply.status == 200, "\(reply.text)")
        return try reply.json
      }
      let first = try await change(lists[0], #"{"add":["a","b","b","nobody"]}"#)
      #expect(first.integer("added") == 2)
      #expect(first["unknownOriginalIds"] == ["nobody"])
      let second = try await change(lists[1], #"{"add":["b","c"],"remove":["a"]}"#)
      #expect(second.integer("added") == 2 && second.integer("removed") == 0)
      #expect(try await managed.send("GET", "/api/v1/lists/\(lists[0])").json.integer("members") == 2)
      let page = try await managed.send("GET", "/api/v1/lists/\(lists[1])/members?limit=1").json
      #expect(page.array("items")?.map { $0.string("originalId") } == ["b"])
      let next = try #require(page.integer("next"))
      let rest = try await managed.send("GET", "/api/v1/lists/\(lists[1])/members?after=\(next)").json
      #expect(rest.array("items")?.map { $0.string("originalId") } == ["c"] && rest["next"] == nil)
      #expect(try await managed.send("GET", "/api/v1/lists/\(lists[1])").json.integer("members") == 2)
      #expect(try await change(lists[1], #"{"remove":["b"]}"#).integer("removed") == 1)
      #expect(try await change(lists[1], #"{"remove":["b"]}"#).integer("removed") == 0)
      let kept = try await managed.send("GET", "/api/v1/contacts?query=b&field=originalId").json.array("items")?.first
      #expect(kept?["listIds"] == [.integer(lists[0])])
      #expect(try await change(lists[0], #"{"add":[""]}"#).array("unknownOriginalIds")?.count == 1)
      for json in ["{}", #"{"add":["a"],"remove":["a"]}"#, #"{"add":[]}"#] {
        let path = "/api/v1/lists/\(lists[0])/members"
        #expect(try await managed.send("PATCH", path, json: json).status == 400, "\(json)")
      }
      let path = "/api/v1/lists/\(lists[0])/members"
      let other = try await managed.send("PATCH", path, key: managed.otherKey, json: #"{"add":["a"]}"#)
      #expect(other.status == 404)
    }
  }

  @Test func `Without the right to personal fields nothing shows them, and no search finds by them`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO contact (customer_id, contact_id, original_id, first_name, email_address, mobile_number, date_of_birth, properties)
        VALUES ($1, 1, 'u1', 'Secretive', 'secretive@example.com', '+31612345678', '1980-01-01', '{"a":"secretive"}')
        """, customer.rawValue)
      let parts = OperationParts(
        database: database.pool, slowReads: database.pool, vault: nil, smsRule: .wns, webhookRule: .wns,
        statusAddresses: { _ in throw CancellationError() }, suppressionKey: { _ in .ofTests },
        checkCredentials: { _ in nil },
        messages: { throw CancellationError() })
      let call = OperationCall(reading: parts, of: customer, seesPersonal: false)
      let shown = try await ContactOperations.show.run(call, "u1", ())
      #expect(shown.originalId == "u1" && shown.texts.isEmpty && shown.dateOfBirth == nil && shown.properties == nil)
      #expect(shown.timeline == nil)
      for query in ["secretive", "Secretive", "31612"] {
        for field in [nil, ContactSearchField.name, .emailAddress, .mobileNumber] {
          let page = try await ContactOperations.list.run(call, (((query, field), nil), PageRequest()), ())
          #expect(page.items.isEmpty, "\(query)")
        }
      }
      let all = try await ContactOperations.list.run(call, ((("u", nil), nil), PageRequest()), ())
      #expect(all.items.count == 1 && all.items[0].texts.isEmpty)
    }
  }
}

@Suite struct MessageHistoryTests {
  /// Writes messages with a push each, without sending.
  private func settle(_ managed: ManagementServer) async throws {
    try await managed.addApp()
    let sendout = #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#
    _ = try await managed.send("POST", "/api/v1/sendouts", json: sendout)
    try await managed.database.query("SELECT require_sendout_range(1)")
    try await managed.database.query(
      "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1, 1, 'lars@example.com')",
      managed.customer.rawValue)
    try await managed.database.query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted, failed)
      VALUES ($1, 1, 0, 1, false, 1, 3, 'settled', 1, 1, 1)
      """, managed.customer.rawValue)
    for (number, state) in ["accepted", "failed", "queued"].enumerated() {
      try await managed.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, reason, attempts, sent_at, settled_at)
        VALUES ($1, 1, $2::int4, 0, 1, 1, $2::int4, $3::text, 'Unregistered', 1, now(), now())
        """, managed.customer.rawValue, Int32(number + 1), state)
      try await managed.database.query(
        """
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body, reference, created_at)
        VALUES ($1, 1, $2::int4, 1, ARRAY[$2::int4], '{"alert":"Hi"}', 'parcel', now() - interval '1 minute')
        """, managed.customer.rawValue, Int32(number + 1))
    }
    try await managed.database.query(
      """
      INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body)
      VALUES ($1, 1, 4, 1, '{}', '{"alert":"Hi"}')
      """, managed.customer.rawValue)
  }

  @Test func `Messages are listed from the highest down, and by their state`() async throws {
    try await withManagementServer { managed in
      try await settle(managed)
      let first = try await managed.send("GET", "/api/v1/messages?limit=3").json
      #expect(first.array("items")?.map { $0.string("messageId") } == ["1-4", "1-3", "1-2"])
      #expect(first.array("items")?.map { $0.string("state") } == ["noDevice", "sending", "failed"])
      #expect(first.array("items")?[1].string("originalId") == "lars@example.com")
      let next = try #require(first.string("next"))
      let rest = try await managed.send("GET", "/api/v1/messages?limit=3&after=\(next)").json
      #expect(rest.array("items")?.map { $0.string("state") } == ["accepted"] && rest["next"] == nil)
      let failed = try await managed.send("GET", "/api/v1/messages?state=failed&limit=1").json
      #expect(failed.array("items")?.map { $0.string("messageId") } == ["1-2"])
      #expect(try await managed.send("GET", "/api/v1/messages?after=x").status == 400)
      #expect(try await managed.send("GET", "/api/v1/messages", key: managed.otherKey).json.array("items") == [])
    }
  }

  @Test func `A message tells what became of it, line by line`() async throws {
    try await withManagementServer { managed in
      try await settle(managed)
      let why = try await managed.send("GET", "/api/v1/messages/1-2/why").json
      #expect(why.string("state") == "failed" && why["message"] == ["alert": "Hi"])
      let lines = why.array("lines")?.compactMap { $0.string("text") } ?? []
      #expect(lines.first == "The hub accepted the message.")
      #expect(lines.last == "Failed: Unregistered. It is not sent again.")
      let none = try await managed.send("GET", "/api/v1/messages/1-4/why").json.array("lines")
      #expect(none?.last?.string("text") == "The contact had no valid device in the apps.")
      for id in ["1-9", "x", "9-1"] {
        #expect(try await managed.send("GET", "/api/v1/messages/\(id)/why").status == 404, "\(id)")
      }
      #expect(try await managed.send("GET", "/api/v1/messages/1-2/why", key: managed.otherKey).status == 404)
    }
  }

  @Test func `A trigger that is removed takes no messages, and its name is free`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let json = #"{"name":"Shipped","appId":"com.acme.app","message":{"alert":"x"}}"#
      let id = try await managed.send("POST", "/api/v1/triggers", json: json).json.integer("triggerId") ?? 0
      #expect(try await managed.send("DELETE", "/api/v1/triggers/\(id)", key: managed.otherKey).status == 404)
      let removed = try await managed.send("DELETE", "/api/v1/triggers/\(id)")
      #expect(try removed.json.string("name") == "Shipped")
      #expect(try await managed.send("GET", "/api/v1/triggers/\(id)").status == 404)
      #expect(try await managed.send("DELETE", "/api/v1/triggers/\(id)").status == 404)
      #expect(try await managed.send("POST", "/api/v1/triggers", json: json).status == 201)
    }
  }
}
