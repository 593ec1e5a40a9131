import Registry
import Support
import Testing
import Wire

@Suite struct ManagementDraftTests {
  private let draft =
    #"{"name":"Friday","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"Hi {{firstName}}"}}"#

  @Test func `A draft is replaced by PUT, and what has started is not`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let id = try await managed.send("POST", "/api/v1/sendouts", json: draft).json.integer("sendoutId") ?? 0
      let path = "/api/v1/sendouts/\(id)"
      let changed = try await managed.send("PUT", path, json: draft.replacing("Hi ", with: "Hello "))
      #expect(changed.status == 200)
      #expect(try changed.json["message"]?.string("alert") == "Hello {{firstName}}")
      #expect(try await managed.send("GET", path).json["message"]?.string("alert") == "Hello {{firstName}}")
      let log = try await managed.send("GET", "/api/v1/audit?limit=1").json.array("items")?.first
      #expect(log?.string("action") == "sendout.change" && log?["after"]?["changed"] == ["message"])
      let refused = try await managed.send("PUT", path, json: draft.replacing(#"{"all":true}"#, with: #"{"listId":7}"#))
      #expect(refused.status == 400 && refused.error?.hasPrefix("audience.listId ") == true)
      let unknown = try await managed.send("PUT", path, json: draft.dropLast() + #","start":true}"#)
      #expect(unknown.status == 400 && unknown.error?.hasPrefix("start ") == true)
      _ = try await managed.send("POST", "\(path)/start")
      let late = try await managed.send("PUT", path, json: draft)
      #expect(late.status == 409)
      #expect(late.error == "Sendout \(id) is freezing. Only what has not started can be changed: make a new sendout.")
    }
  }

  @Test func `A start that names a digest is refused once the draft says something else`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let made = try await managed.send("POST", "/api/v1/sendouts", json: draft).json
      let (id, seen) = (made.integer("sendoutId") ?? 0, made.string("digest") ?? "")
      let path = "/api/v1/sendouts/\(id)"
      _ = try await managed.send("PUT", path, json: draft.replacing("Hi ", with: "Hello "))
      let refused = try await managed.send("POST", "\(path)/start", json: #"{"digest":"\#(seen)"}"#)
      #expect(refused.status == 409)
      #expect(
        refused.error == "Sendout \(id) has changed since you looked at it. It is not started: look at it again.")
      #expect(try refused.json.string("code") == "changed")
      let now = try await managed.send("GET", path).json.string("digest") ?? ""
      #expect(now != seen)
      let unknown = try await managed.send("POST", "\(path)/start", json: #"{"digests":"x"}"#)
      #expect(unknown.status == 400)
      let plain = try await managed.server.send(
        "POST", "\(path)/start", key: managed.key, headers: [("Content-Type", "text/plain")],
        body: #"{"digest":"\#(now)"}"#)
      #expect(plain.status == 415)
      let started = try await managed.send("POST", "\(path)/start", json: #"{"digest":"\#(now)"}"#)
      #expect(started.status == 200)
      #expect(try started.json.string("state") == "freezing" && started.json.string("digest") == nil)
    }
  }

  @Test func `Times stand among a sendout's fields, and a change names those that are to be others`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let timed = draft.dropLast() + #","startAt":"2090-01-02T10:00:00Z","quietHours":null,"lateMinutes":30}"#
      let made = try await managed.send("POST", "/api/v1/sendouts", json: String(timed))
      #expect(made.status == 201, "\(made.text)")
      let path = "/api/v1/sendouts/\(try made.json.integer("sendoutId") ?? 0)"
      #expect(try made.json.string("state") == "scheduled" && made.json["quietHours"] == .null)
      #expect(try made.json.string("nextAt") == "2090-01-02T10:00:00.000Z" && made.json.integer("lateMinutes") == 30)
      let changed = try await managed.send(
        "PATCH", path, json: #"{"localTime":"2090-01-03T08:00","quietHours":{"start":"21:00","end":"08:00"}}"#)
      #expect(changed.status == 200, "\(changed.text)")
      #expect(try changed.json.string("localTime") == "2090-01-03T08:00" && changed.json["startAt"] == nil)
      #expect(try changed.json["quietHours"]?.string("policy") == "hold" && changed.json.integer("lateMinutes") == 30)
      #expect(try changed.json.string("nextAt") == "2090-01-02T18:00:00.000Z")
      func refused(_ json: String, _ field: String) async throws {
        let reply = try await managed.send("PATCH", path, json: json)
        #expect(reply.status == 400 && reply.error?.hasPrefix(field + " ") == true, "\(reply.text)")
      }
      try await refused(#"{"start":true}"#, "start")
      try await refused(#"{"localTime":"2090-01-03T08:00Z"}"#, "localTime")
      try await refused(#"{"localTime":"2090-01-03T08:00","startAt":"2090-01-02T10:00:00Z"}"#, "localTime")
      try await refused(#"{"repeat":{"every":"week","on":[1]}}"#, "repeat.on")
      try await refused(#"{"audience":{"listId":7}}"#, "audience.listId")
      try await refused(#"{"winner":{"afterMinutes":5}}"#, "winner")
      #expect(try await managed.send("GET", path).json.string("digest") == changed.json.string("digest"))
      let back = try await managed.send("POST", "\(path)/unschedule")
      #expect(try back.json.string("state") == "draft" && back.json["nextAt"] == nil)
    }
  }

  @Test func `An audience is counted before it is sent to, and nothing is stored`() async throws {
    try await withManagementServer { managed in
      let app = try await managed.addApp()
      try await managed.database.query(
        """
        WITH c AS (INSERT INTO contact (customer_id, original_id) SELECT $1::int8, 'user' || n FROM generate_series(1, 3) AS n
                   RETURNING contact_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1::int8, $2::int8, contact_id, lpad(contact_id::text, 4, '0'), decode(lpad(contact_id::text, 4, '0'), 'hex') FROM c
        """, managed.customer.rawValue, app)
      let before = try await managed.rows()
      func count(_ json: String) async throws -> TestReply {
        try await managed.send("POST", "/api/v1/sendouts/audience", json: json)
      }
      let all = try await count(#"{"appId":"com.acme.app","audience":{"all":true}}"#)
      #expect(all.status == 200)
      #expect(
        try all.json.array("apps") == [
          ["pushAppId": .integer(app), "appId": "com.acme.app", "appType": 1, "devices": 3, "isMore": false]
        ])
      let few = try await count(#"{"appId":"com.acme.app","audience":{"all":true},"limit":2}"#).json
      #expect(few.array("apps")?.first?.integer("devices") == 2 && few.array("apps")?.first?["isMore"] == true)
      let ids = try await count(#"{"appId":"com.acme.app","audience":{"originalIds":["user1","nobody"]}}"#).json
      #expect(ids.array("apps")?.first?.integer("devices") == 1 && ids.integer("unknownOriginalIds") == 1)
      #expect(try await count(#"{"appId":"com.none","audience":{"all":true}}"#).status == 404)
      let large = try await count(#"{"appId":"com.acme.app","audience":{"all":true},"limit":1000001}"#)
      #expect(large.status == 400 && large.error?.hasPrefix("limit ") == true)
      #expect(try await managed.rows() == before)
    }
  }

  @Test func `A preview tells what the device's owner sees, also after an override`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      func shown(_ message: String) async throws -> JSONValue? {
        let reply = try await managed.send("POST", "/api/v1/messages/preview", json: #"{"message":\#(message)}"#)
        return try reply.json.array("requests")?.first?["shown"]
      }
      #expect(try await shown(#"{"alert":"Hi"}"#) == ["text": "Hi"])
      #expect(
        try await shown(#"{"alert":"Hi","info":"20 %","image":"https://acme.example/a.png","badge":3}"#)
          == ["title": "Hi", "text": "20 %", "image": "https://acme.example/a.png", "badge": "3"])
      #expect(
        try await shown(#"{"alert":"Hi","overrides":{"apns":{"payload":{"aps":{"alert":{"title":"T","body":"B"}}}}}}"#)
          == ["title": "T", "text": "B"])
      #expect(try await shown(#"{"alert":"Hi","silent":true}"#) == nil)
    }
  }
}
