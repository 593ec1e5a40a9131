import Operations
import Registry
import Support
import Testing
import Wire

/// Routes of what is done with a sendout before it goes, and after.
@Suite struct CampaignOperationTests {
  private let varied = """
    {"name":"Offer","appId":"com.acme.app","audience":{"originalIds":["lars@example.com"]},"message":{"alert":"x"},
     "variants":[{"name":"A","share":10,"message":{}},{"name":"B","share":10,"message":{"alert":"y"}}],
     "winner":{"afterMinutes":60}}
    """

  private func withSendout(_ body: @escaping @Sendable (ManagementServer) async throws -> Void) async throws {
    try await withManagementServer { managed in
      try await managed.addApp(credentials: .sample)
      let made = try await managed.send("POST", "/api/v1/sendouts", json: varied)
      let number = try made.json.integer("sendoutId")
      #expect(made.status == 201 && number == 1, "\(made.text)")
      try await body(managed)
    }
  }

  @Test func `To choose a winner may take as long as to cancel, since it looks at as many pushes`() {
    #expect(SendoutOperations.cancel.statementLimit != nil)
    #expect(CampaignOperations.winner.statementLimit == SendoutOperations.cancel.statementLimit)
  }

  @Test func `A chosen winner has a line in the audit log, with what was known of it before`() async throws {
    try await withSendout { managed in
      let early = try await managed.send("POST", "/api/v1/sendouts/1/winner", json: #"{"variant":"B"}"#)
      #expect(early.status == 409, "\(early.text)")
      try await managed.database.query("UPDATE sendout SET state = 'running', frozen_at = now(), started_at = now()")
      let unknown = try await managed.send("POST", "/api/v1/sendouts/1/winner", json: #"{"variant":"C"}"#)
      #expect(unknown.status == 400 && unknown.text.contains("variant names no variant of this sendout"))
      let chosen = try await managed.send("POST", "/api/v1/sendouts/1/winner", json: #"{"variant":"B"}"#)
      #expect(chosen.status == 200, "\(chosen.text)")
      let line = try #require(try await managed.send("GET", "/api/v1/audit").json.array("items")?.first)
      #expect(line.string("action") == "sendout.winner" && line.string("target") == "sendout 1")
      #expect(line["after"]?.string("variant") == "B" && line["before"] != nil && line["before"] != line["after"])
      let other = try await managed.send("POST", "/api/v1/sendouts/1/winner", json: #"{"variant":"A"}"#)
      #expect(other.status == 409, "\(other.text)")
    }
  }

  @Test
  func `A method that a path does not have is refused with those of that path, and not of one with a number there`()
    async throws
  {
    try await withManagementServer { managed in
      for method in ["GET", "PATCH", "DELETE"] {
        let refused = try await managed.server.send(method, "/api/v1/sendouts/preflight", key: managed.key)
        #expect(refused.status == 405 && refused.header("Allow") == "POST", "\(method): \(refused.text)")
        #expect(try refused.json.string("error") == "This path answers POST.")
      }
      let numbered = try await managed.server.send("DELETE", "/api/v1/sendouts/7", key: managed.key)
      #expect(numbered.status == 405 && numbered.header("Allow") == "GET, HEAD, PATCH, PUT", "\(numbered.text)")
    }
  }

  @Test func `A preflight stores nothing, and its digest starts the sendout`() async throws {
    try await withSendout { managed in
      let rows = try await managed.rows()
      let told = try await managed.send("POST", "/api/v1/sendouts/1/preflight")
      #expect(told.status == 200, "\(told.text)")
      let unsaved = try await managed.send("POST", "/api/v1/sendouts/preflight", json: varied)
      #expect(try unsaved.json.string("digest") == told.json.string("digest"), "\(unsaved.text)")
      #expect(try await managed.rows() == rows)
      let started = try await managed.send(
        "POST", "/api/v1/sendouts/1/start", json: #"{"digest":"\#(try told.json.string("digest") ?? "")"}"#)
      #expect(started.status == 200, "\(started.text)")
    }
  }

  @Test func `A copy of what has no pushes names the way out`() async throws {
    try await withSendout { managed in
      let refused = try await managed.send("POST", "/api/v1/sendouts/1/copy", json: #"{"audience":"failed"}"#)
      #expect(refused.status == 409 && refused.text.contains("Leave out audience"), "\(refused.text)")
      let made = try await managed.send("POST", "/api/v1/sendouts/1/copy")
      let number = try made.json.integer("sendoutId")
      #expect(made.status == 201 && number == 2, "\(made.text)")
      let line = try #require(try await managed.send("GET", "/api/v1/audit").json.array("items")?.first)
      #expect(line.string("action") == "sendout.copy" && line.string("target") == "sendout 2")
      #expect(line["after"]?["audience"] == nil && line["after"]?["message"] == nil)
    }
  }

  @Test func `A variant's number that PostgreSQL cannot compute with keeps no sendout from being listed and copied`()
    async throws
  {
    try await withManagementServer { managed in
      try await managed.addApp(credentials: .sample)
      let page = try await managed.send(
        "PUT", "/api/v1/templates/page", json: #"{"contentType":"text/html","body":"<p>Hi</p>"}"#)
      #expect((200...201).contains(page.status), "\(page.text)")
      let variant = #"{"name":"B","share":10,"message":{"fields":{"n":1e200000}},"template":"page"}"#
      let made = try await managed.send(
        "POST", "/api/v1/sendouts",
        json: varied.replacing(#"{"name":"B","share":10,"message":{"alert":"y"}}"#, with: variant))
      #expect(made.status == 201 && made.text.contains("1e200000"), "\(made.text)")
      let listed = try await managed.send("GET", "/api/v1/sendouts")
      #expect(try listed.status == 200 && listed.json.array("items")?.count == 1, "\(listed.text)")
      let copied = try await managed.send("POST", "/api/v1/sendouts/1/copy")
      #expect(copied.status == 201 && copied.text.contains("1e200000"), "\(copied.text)")
      let uses = try await managed.send("GET", "/api/v1/templates/page/uses")
      #expect(try uses.status == 200 && uses.json.array("sendouts")?.count == 2, "\(uses.text)")
    }
  }

  @Test func `A test that somebody gets has a line in the audit log, with its messages and without names`() async throws
  {
    try await withSendout { managed in
      try await managed.database.query(
        """
        WITH made AS (INSERT INTO contact (customer_id, original_id) VALUES ($1::bigint, 'lars@example.com') RETURNING contact_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1::bigint, push_app_id, contact_id, 'x', 'x' FROM made, push_app WHERE push_app.customer_id = $1::bigint
        """, managed.customer.rawValue)
      let nobody = try await managed.send("POST", "/api/v1/sendouts/1/test", json: #"{"originalIds":["nobody"]}"#)
      #expect(nobody.status == 200, "\(nobody.text)")
      let before = try await managed.send("GET", "/api/v1/audit").json.array("items")?.first
      #expect(before?.string("action") != "sendout.test")
      let sent = try await managed.send(
        "POST", "/api/v1/sendouts/1/test", json: #"{"originalIds":["lars@example.com","nobody"]}"#)
      let messages = try #require(try sent.json.array("messageIds"))
      #expect(sent.status == 200 && messages.count == 1, "\(sent.text)")
      let line = try #require(try await managed.send("GET", "/api/v1/audit").json.array("items")?.first)
      #expect(line.string("action") == "sendout.test" && line.string("target") == "sendout 1")
      #expect(line["keyId"] != nil && line["after"] == .object(["messageIds": .array(messages)]))
    }
  }

  @Test func `A test names twenty contacts at most`() async throws {
    try await withSendout { managed in
      let ids = (1...21).map { #""user\#($0)""# }.joined(separator: ",")
      for json in [#"{"originalIds":[\#(ids)]}"#, #"{"originalIds":[]}"#, "{}"] {
        let refused = try await managed.send("POST", "/api/v1/sendouts/1/test", json: json)
        #expect(refused.status == 400 && refused.text.contains("originalIds"), "\(refused.text)")
      }
      let reply = try await managed.send("POST", "/api/v1/sendouts/1/test", json: #"{"originalIds":["nobody"]}"#)
      let unknown = try reply.json.array("unknownOriginalIds")
      #expect(reply.status == 200 && unknown == ["nobody"], "\(reply.text)")
    }
  }
}
