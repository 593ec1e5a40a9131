import Crypto
import HTTPTypes
import Operations
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct AuditTests {
  /// A change by the API, and the lines that it adds to the audit log.
  private struct Case {
    var method: String
    var path: String
    var json: String?
    var lines: [String]
  }

  /// Those of other operations are made from their examples. The app and the sendouts get the numbers 1, 2, …; key 1 makes the changes.
  private let cases: [(operation: String, Case)] = [
    (
      "POST /api/v1/apps",
      Case(
        method: "POST", path: "/api/v1/apps", json: ManagementServer.app("com.acme.app", .sample),
        lines: ["app.add app 1"])
    ),
    (
      "POST /api/v1/apps",
      Case(
        method: "POST", path: "/api/v1/apps", json: ManagementServer.app("com.acme.old", nil),
        lines: ["app.add app 2"])
    ),
    (
      "DELETE /api/v1/apps/{id}",
      Case(method: "DELETE", path: "/api/v1/apps/2", lines: ["app.remove app 2"])
    ),
    (
      "POST /api/v1/sendouts",
      Case(method: "POST", path: "/api/v1/sendouts", json: sendout(start: false), lines: ["sendout.add sendout 1"])
    ),
    (
      "PUT /api/v1/sendouts/{id}",
      Case(
        method: "PUT", path: "/api/v1/sendouts/1", json: sendout(start: false, info: "new"),
        lines: ["sendout.change sendout 1"])
    ),
    (
      "PUT /api/v1/sendouts/{id}",
      Case(method: "PUT", path: "/api/v1/sendouts/1", json: sendout(start: false, info: "new"), lines: [])
    ),
    (
      "PATCH /api/v1/sendouts/{id}",
      Case(
        method: "PATCH", path: "/api/v1/sendouts/1", json: #"{"startAt":"2090-01-02T10:00:00Z"}"#,
        lines: ["sendout.change sendout 1"])
    ),
    (
      "PATCH /api/v1/sendouts/{id}",
      Case(
        method: "PATCH", path: "/api/v1/sendouts/1", json: #"{"startAt":"2090-01-02T11:00:00+01:00"}"#, lines: [])
    ),
    (
      "POST /api/v1/sendouts/{id}/schedule",
      Case(method: "POST", path: "/api/v1/sendouts/1/schedule", lines: ["sendout.schedule sendout 1"])
    ),
    ("POST /api/v1/sendouts/{id}/schedule", Case(method: "POST", path: "/api/v1/sendouts/1/schedule", lines: [])),
    (
      "POST /api/v1/sendouts/{id}/schedule",
      Case(
        method: "POST", path: "/api/v1/sendouts/1/schedule", json: #"{"maximumContacts":5}"#,
        lines: ["sendout.schedule sendout 1"])
    ),
    (
      "POST /api/v1/sendouts/{id}/unschedule",
      Case(method: "POST", path: "/api/v1/sendouts/1/unschedule", lines: ["sendout.unschedule sendout 1"])
    ),
    (
      "POST /api/v1/sendouts/{id}/start",
      Case(method: "POST", path: "/api/v1/sendouts/1/start", lines: ["sendout.start sendout 1"])
    ),
    ("POST /api/v1/sendouts/{id}/start", Case(method: "POST", path: "/api/v1/sendouts/1/start", lines: [])),
    (
      "POST /api/v1/sendouts/{id}/pause",
      Case(method: "POST", path: "/api/v1/sendouts/1/pause", lines: ["sendout.pause sendout 1"])
    ),
    (
      "POST /api/v1/sendouts/{id}/resume",
      Case(method: "POST", path: "/api/v1/sendouts/1/resume", lines: ["sendout.resume sendout 1"])
    ),
    (
      "POST /api/v1/sendouts/{id}/cancel",
      Case(method: "POST", path: "/api/v1/sendouts/1/cancel", lines: ["sendout.cancel sendout 1"])
    ),
    (
      "POST /api/v1/sendouts",
      Case(
        method: "POST", path: "/api/v1/sendouts", json: sendout(start: true),
        lines: ["sendout.add sendout 2", "sendout.start sendout 2"])
    ),
    (
      "POST /api/v1/sendouts/{id}/copy",
      Case(method: "POST", path: "/api/v1/sendouts/2/copy", lines: ["sendout.copy sendout 3"])
    ),
    (
      "POST /api/v1/sendouts",
      Case(
        method: "POST", path: "/api/v1/sendouts",
        json: #"""
          {"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"},"startAt":"2090-01-02T10:00:00Z",
           "repeat":{"every":"day"},"quietHours":null}
          """#, lines: ["sendout.add sendout 4", "sendout.schedule sendout 4"])
    ),
    (
      "POST /api/v1/sendouts/series/{id}/end",
      Case(
        method: "POST", path: "/api/v1/sendouts/series/1/end",
        lines: ["series.end series 1", "sendout.cancel sendout 4"])
    ),
    (
      "POST /api/v1/hybrid",
      Case(
        method: "POST", path: "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#,
        lines: ["hybrid.enable hybrid com.acme.app"])
    ),
    (
      "PATCH /api/v1/hybrid/{appId}",
      Case(
        method: "PATCH", path: "/api/v1/hybrid/com.acme.app", json: #"{"sender":"ACME"}"#,
        lines: ["hybrid.change hybrid com.acme.app"])
    ),
    (
      "POST /api/v1/hybrid/{appId}/secret",
      Case(
        method: "POST", path: "/api/v1/hybrid/com.acme.app/secret", lines: ["hybrid.rotate hybrid com.acme.app"])
    ),
    (
      "POST /api/v1/datasync",
      Case(
        method: "POST", path: "/api/v1/datasync", json: #"{"app":"com.acme.app"}"#,
        lines: ["key.add key 3", "datasync.enable datasync com.acme.app"])
    ),
    (
      "POST /api/v1/suppressions",
      Case(
        method: "POST", path: "/api/v1/suppressions", json: #"{"originalId":"lars@example.com"}"#,
        lines: ["suppression.add suppression 1"])
    ),
    (
      "DELETE /api/v1/suppressions",
      Case(
        method: "DELETE", path: "/api/v1/suppressions", json: #"{"originalId":"lars@example.com"}"#,
        lines: ["suppression.lift suppressions"])
    ),
    (
      "DELETE /api/v1/suppressions",
      Case(
        method: "DELETE", path: "/api/v1/suppressions", json: #"{"originalId":"lars@example.com"}"#, lines: [])
    ),
    (
      "POST /api/v1/suppressions",
      Case(
        method: "POST", path: "/api/v1/suppressions",
        json: #"{"number":"0031612345678","scope":"all","reason":"lars@example.com asked"}"#,
        lines: ["suppression.add suppression 2"])
    ),
    (
      "DELETE /api/v1/suppressions/{id}",
      Case(method: "DELETE", path: "/api/v1/suppressions/2", lines: ["suppression.remove suppression 2"])
    ),
    (
      "POST /api/v1/segments",
      Case(
        method: "POST", path: "/api/v1/segments", json: #"{"name":"VIP","static":true}"#,
        lines: ["segment.add segment 1"])
    ),
    (
      "PUT /api/v1/segments/{id}/contacts",
      Case(
        method: "PUT", path: "/api/v1/segments/1/contacts", json: #"{"add":["lars@example.com"]}"#,
        lines: ["segment.change_contacts segment 1"])
    ),
    (
      "PATCH /api/v1/segments/{id}",
      Case(
        method: "PATCH", path: "/api/v1/segments/1", json: #"{"description":"Guests"}"#,
        lines: ["segment.change segment 1"])
    ),
    (
      "PATCH /api/v1/segments/{id}",
      Case(method: "PATCH", path: "/api/v1/segments/1", json: #"{"description":"Guests"}"#, lines: [])
    ),
    (
      "DELETE /api/v1/segments/{id}",
      Case(method: "DELETE", path: "/api/v1/segments/1", lines: ["segment.remove segment 1"])
    ),
    (
      "POST /api/v1/imports/{id}/start",
      Case(
        method: "POST", path: "/api/v1/imports/1/start", json: #"{"dryRun":true}"#,
        lines: ["import.start import 1"])
    ),
    (
      "PUT /api/v1/datasync/{appId}/webhooks/{name}",
      Case(
        method: "PUT", path: "/api/v1/datasync/com.acme.app/webhooks/orders",
        json: #"{"uris":["https://hooks.example.com/changes?a=Secret%20offer"],"token":"Secret offer"}"#,
        lines: ["webhook.save datasync com.acme.app"])
    ),
    (
      "DELETE /api/v1/datasync/{appId}/webhooks/{name}",
      Case(
        method: "DELETE", path: "/api/v1/datasync/com.acme.app/webhooks/orders",
        lines: ["webhook.remove datasync com.acme.app"])
    ),
  ]

  private static func sendout(start: Bool, info: String? = nil) -> String {
    let message = #"{"alert":"Secret offer"\#(info.map { #","info":"\#($0)""# } ?? "")}"#
    let body =
      #""name":"Offer","appId":"com.acme.app","audience":{"originalIds":["lars@example.com"]},"message":\#(message)"#
    return "{\(body)\(start ? #","start":true"# : "")}"
  }

  @Test func `Every change by the API adds its lines to the audit log, with key, address, before and after`()
    async throws
  {
    try await withManagementServer { managed in
      let operations = managed.contract.operations.filter { operation in
        operation.path.hasPrefix("/api/v1/") && !["GET", "HEAD"].contains(operation.method)
      }
      let unchanging: Set = [
        "POST /api/v1/messages", "POST /api/v1/messages/preview",
        // SMSTests has its line.
        "DELETE /api/v1/sms/optouts/{number}",
        // CampaignOperationTests has its line.
        "POST /api/v1/sendouts/{id}/winner",
        // ManagementImportTests has its line.
        "PUT /api/v1/imports/{id}/file",
      ]
      let known = Set(cases.map(\.operation))
      let changes = ManagementOperations.all.filter { operation in
        operation.audit != nil && !known.union(unchanging).contains(operation.description.name)
      }
      let checks = ManagementOperations.all.filter { $0.audit == nil }.map(\.description.name)
      #expect(
        Set(operations.map { "\($0.method) \($0.path)" }).subtracting(unchanging.union(checks))
          == known.union(changes.map(\.description.name)))

      var last: Int64 = 0
      func lines(_ method: String, _ path: String, _ json: String?) async throws -> (TestReply, [JSONValue]) {
        let reply = try await managed.send(method, path, json: json)
        #expect(reply.status < 300, "\(method) \(path): \(reply.text)")
        let page = try await managed.send("GET", "/api/v1/audit").json
        let new = (page.array("items") ?? []).filter { $0.integer("auditId") ?? 0 > last }.reversed()
        for line in new {
          #expect(line.integer("keyId") == 1 && line.string("address") == "127.0.0.1" && line["osUser"] == nil)
          let action = line.string("action") ?? ""
          #expect((line["after"] != nil) == !Self.removes(action) && (line["before"] != nil) == !Self.adds(action))
        }
        last = new.last?.integer("auditId") ?? last
        return (reply, Array(new))
      }
      try await addContact(managed)
      try await managed.addImportInReview()
      last = try await managed.send("GET", "/api/v1/audit").json.array("items")?.first?.integer("auditId") ?? 0
      for (operation, change) in cases {
        let (_, new) = try await lines(change.method, change.path, change.json)
        #expect(new.map { "\($0.string("action") ?? "") \($0.string("target") ?? "")" } == change.lines, "\(operation)")
      }
      try await addDevice(managed)
      var examples = ExampleRequests()
      // Whoever is erased is there for nothing else.
      for change in changes.filter({ $0.audit != "contact.erase" }) + changes.filter({ $0.audit == "contact.erase" }) {
        let (path, json) = examples.request(for: change.description)
        let (reply, new) = try await lines(change.description.method.rawValue, path, json)
        #expect(new.map { $0.string("action") } == [change.audit?.rawValue], "\(change.description.name)")
        try examples.note(reply, to: change.description)
        // Whatever is done to an app changes its moment, and what is removed is not there a second time.
        guard [.patch, .delete].contains(change.description.method), change.description.tag != .apps,
          !Self.removes(change.audit?.rawValue ?? "")
        else { continue }
        let (_, again) = try await lines(change.description.method.rawValue, path, json)
        #expect(again == [], "\(change.description.name)")
      }
      let log = try await managed.send("GET", "/api/v1/audit")
      #expect(!log.text.contains("lars@example.com") && !log.text.contains("Secret offer"))
      let view = try await managed.database.query("SELECT count(*) FROM report.audit_log WHERE customer_id = 1")
      let lines = try log.json.array("items")
      let count = try view[0].decode(Int.self)
      #expect(lines?.count == count && count > 10)
    }
  }

  /// The contact of the examples.
  private func addContact(_ managed: ManagementServer) async throws {
    try await managed.database.query(
      "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1, 1, 'lars@example.com')",
      managed.customer.rawValue)
  }

  /// The device of the examples.
  private func addDevice(_ managed: ManagementServer) async throws {
    try await managed.database.query(
      """
      INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
      VALUES ($1, 12, 1, 1, 'aa', '\\xaa')
      """, managed.customer.rawValue)
  }

  private static func adds(_ action: String) -> Bool {
    // Of somebody who is erased, the line has the erasure.
    action.hasSuffix(".add")
      || [
        "template.save", "datasync.enable", "hybrid.enable", "webhook.save", "contact.erase", "sendout.copy",
        "sendout.test", "series.end", "webhook.test", "webhook.redeliver",
      ].contains(action)
  }

  private static func removes(_ action: String) -> Bool { action.hasSuffix(".remove") || action == "webhook.delete" }

  @Test func `No two operations have one name in the audit log`() {
    let actions = ManagementOperations.all.compactMap(\.audit)
    let shared = Dictionary(grouping: actions) { $0 }.filter { $0.value.count > 1 }.keys
    // The provider of SMS is an app, and PUT and PATCH change the same.
    #expect(Set(shared) == [.addApp, "sendout.change"])
    #expect(Set(actions).isDisjoint(with: AuditAction.Other.allCases.map(AuditAction.other)))
  }

  @Test func `The audit log has what is done as a noun and a verb, and the description of the operation says so`() {
    for operation in ManagementOperations.all {
      guard let action = operation.audit else { continue }
      #expect(action.rawValue.wholeMatch(of: #/[a-z]+\.[a-z_]+/#) != nil, "\(action.rawValue)")
      #expect(operation.description.description.hasSuffix("`\(action.rawValue)`."), "\(operation.description.id)")
    }
  }

  @Test func `A change that fails, and one that is repeated, adds nothing`() async throws {
    try await withManagementServer { managed in
      let header = [("Idempotency-Key", "once")]
      for _ in 0..<3 {
        _ = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":"news"}"#)
      }
      #expect(try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).status == 409)
      #expect(try await managed.send("PATCH", "/api/v1/apps/99", json: #"{"name":"x"}"#).status == 404)
      let log = try await managed.send("GET", "/api/v1/audit").json
      #expect(log.array("items")?.map { $0.string("action") } == ["list.add"])
    }
  }

  @Test func `When the line cannot be written, the change is not made`() async throws {
    try await withManagementServer { managed in
      try await managed.database.query("ALTER TABLE audit_log RENAME TO gone")
      let reply = try await managed.server.send("POST", "/api/v1/lists", key: managed.key, json: #"{"name":"news"}"#)
      #expect(reply.status == 500)
      #expect(try await managed.send("GET", "/api/v1/lists").json.array("items") == [])
    }
  }

  @Test func `No token and no credential gets into the audit log`() async throws {
    try await withManagementServer { managed in
      let pem = P256.Signing.PrivateKey().pemRepresentation
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"k","scope":"admin"}"#)
      let app =
        #"{"name":"A","appId":"a.b","appType":1,"teamId":"A1B2C3D4E5","keyId":"F6G7H8J9K0","signingKey":\#(quoted(pem))}"#
      #expect(try await managed.send("POST", "/api/v1/apps", json: app).status == 201)
      let fresh = quoted(P256.Signing.PrivateKey().pemRepresentation)
      #expect(try await managed.send("PATCH", "/api/v1/apps/1", json: #"{"signingKey":\#(fresh)}"#).status == 200)
      let log = try await managed.send("GET", "/api/v1/audit")
      let token = try #require(try made.json.string("token"))
      #expect(!log.text.contains(token))
      #expect(!log.text.contains("PRIVATE KEY") && !log.text.contains(pem.split(separator: "\n")[1]))
      // What a credential was changed from and to is told by its fingerprint.
      let change = try #require(try log.json.array("items")?.first)
      let prints = ["before", "after"].map { change[$0]?.array("credentials")?.first?.string("fingerprint") }
      #expect(prints[0] != nil && prints[1] != nil && prints[0] != prints[1])
    }
  }

  @Test func `The audit log comes in pages, the newest first, to keys of scope admin alone`() async throws {
    try await withManagementServer { managed in
      for number in 1...3 {
        _ = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"\#(number)","listId":\#(number)}"#)
      }
      let first = try await managed.send("GET", "/api/v1/audit?limit=2").json
      #expect(first.array("items")?.map { $0.string("target") } == ["list 3", "list 2"])
      let next = try #require(first.integer("next"))
      let rest = try await managed.send("GET", "/api/v1/audit?limit=2&after=\(next)").json
      #expect(rest.array("items")?.map { $0.string("target") } == ["list 1"] && rest["next"] == nil)
      #expect(try await managed.send("GET", "/api/v1/audit", key: managed.otherKey).json.array("items") == [])
      let low = try await AccessKeys(managed.database.pool).make(managed.customer, name: "low", scope: .backend).token
      #expect(try await managed.send("GET", "/api/v1/audit", key: low).status == 403)
    }
  }

  @Test func `Revoking a key tells how many it had created, and revokes these too when asked to`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"leaked","scope":"admin"}"#).json
      let (id, token) = (try #require(made.integer("keyId")), try #require(made.string("token")))
      let child = try await managed.send("POST", "/api/v1/keys", key: token, json: #"{"name":"c","scope":"admin"}"#)
        .json
      let list = try await managed.send("GET", "/api/v1/keys").json.array("items")
      #expect(list?.last?.integer("createdBy") == id)

      let alone = try await managed.send("DELETE", "/api/v1/keys/\(id)").json
      #expect(alone.integer("validKeysCreated") == 1 && alone.array("alsoRevoked") == [])
      #expect(try await managed.send("GET", "/api/v1/keys", key: child.string("token")).status == 200)
      let all = try await managed.send("DELETE", "/api/v1/keys/\(id)?withCreated=true").json
      #expect(all.integer("validKeysCreated") == 0 && all.array("alsoRevoked") == [child["keyId"] ?? nil])
      #expect(try await managed.send("GET", "/api/v1/keys", key: child.string("token")).status == 401)
    }
  }
}
