import Delivery
import Operations
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ManagementTenantTests {
  /// What another customer has is to a key as if it were not there: the reply is the same as for what nobody has. Whatever is
  /// described and wants a key must have a crossing, so that a new operation is not forgotten.
  @Test func `Another customer's ids look unknown in every operation`() async throws {
    try await withManagementServer { managed in
      try await settle(managed)
      let secret = try await otherSecret(managed)
      let crossings = TenantCrossing.all(from: "\(managed.other)", into: "\(managed.customer)")
      #expect(Set(crossings.map(\.operation)) == managed.contract.guarded)
      let before = try await managed.rows()
      // Two replies of 404 would be the same, too: the owner has what others must not see.
      let reads = Set(ManagementOperations.all.map(\.description.name))
      for crossing in crossings where crossing.method == "GET" && reads.contains(crossing.operation) {
        guard crossing.absent != nil else { continue }
        let own = try await managed.send("GET", crossing.foreign.path)
        #expect(own.status == 200, "\(crossing.foreign.path): \(own.text)")
      }
      for crossing in crossings {
        let foreign = try await send(managed, crossing, crossing.foreign, secret)
        #expect(!foreign.text.contains("ecretive"), "\(crossing.foreign): \(foreign.text)")
        guard let absent = crossing.absent else { continue }
        let nobody = try await send(managed, crossing, absent, secret)
        #expect(foreign.status == nobody.status, "\(crossing.foreign): \(foreign.text)")
        #expect(foreign.text == nobody.text, "\(crossing.foreign)")
      }
      #expect(try await managed.rows() == before)
    }
  }

  /// Audiences name contacts, not rows: those of another customer are as unknown as anybody's.
  @Test func `Another customer's original ids look unknown in an audience`() async throws {
    try await withManagementServer { managed in
      try await settle(managed)
      let made = try await managed.send(
        "POST", "/api/v1/sendouts", key: managed.otherKey,
        json:
          #"{"appId":"com.other","audience":{"originalIds":["secretive@example.com"]},"message":{"alert":"x"}}"#)
      #expect(try made.json.integer("unknownOriginalIds") == 1)
      let key = SendoutKey(managed.other, SendoutID(try made.json.integer("sendoutId") ?? 0))
      for audience in [SelectedAudience.all, .originalIds(["secretive@example.com"]), .list(ListID(1))] {
        let count = try await managed.database.pool.transaction { transaction in
          try await Ledger(transaction).freeze(key, apps: [PushAppID(2)], audience: audience).devices
        }
        #expect(count == 0)
      }
    }
  }

  private func send(
    _ managed: ManagementServer, _ crossing: TenantCrossing, _ request: (path: String, json: String?), _ secret: String
  ) async throws -> TestReply {
    let carma = request.path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", managed.otherKey)] : []
    return try await managed.send(
      crossing.method, request.path, key: request.path.hasPrefix("/datasync/") ? secret : managed.otherKey,
      headers: carma, json: request.json)
  }

  /// The secret of the second customer's data tree, beside a tree of the first one.
  private func otherSecret(_ managed: ManagementServer) async throws -> String {
    func enable(_ app: String, _ key: String) async throws -> String {
      let reply = try await managed.send("POST", "/api/v1/datasync", key: key, json: #"{"app":"\#(app)"}"#)
      return try #require(try reply.json.string("secret"))
    }
    let first = try await enable("com.secretive.app", managed.key)
    let written = try await managed.send(
      "PUT", "/datasync/v2/com.secretive.app/data/users", key: first, json: #"{"a":"secretive"}"#)
    #expect(written.status == 200)
    return try await enable("com.other", managed.otherKey)
  }

  /// What the first customer has, all of it called secretive, and the second's app.
  private func settle(_ managed: ManagementServer) async throws {
    try await managed.addApp("com.secretive.app", credentials: .sample)
    try await ExampleRequests.addEach(
      to: managed.server, key: managed.key,
      with: ["name": "secretive", "appId": "com.secretive.app", "listId": 1, "message": ["alert": "secretive"]])
    for (method, path, json) in [
      ("PUT", "/api/v1/templates/secretive", #"{"body":"secretive"}"#),
      ("PUT", "/api/v1/templates/secretive", #"{"body":"secretive too"}"#),
      (
        "POST", "/api/v1/sendouts",
        #"{"name":"secretive","appId":"com.secretive.app","audience":{"all":true},"message":{"alert":"x"}}"#
      ),
      ("POST", "/api/v1/hybrid", #"{"appId":"com.secretive.app","sender":"secretive"}"#),
      (
        "PUT", "/rest/\(managed.customer)/apps/com.secretive.app/pushdevices",
        #"{"originalId":"secretive@example.com","listId":1,"firstName":"Secretive","deviceInfo":[{"devicetoken":"aa"}]}"#
      ),
    ] {
      let reply = try await managed.send(
        method, path, headers: [("X-Carma-Authentication-Token", managed.key)], json: json)
      #expect(reply.status < 300, "\(path): \(reply.text)")
    }
    #expect(try await managed.send("POST", "/api/v1/webhooks/1/test").status == 201)
    try await managed.database.pool.transaction { transaction in
      let key = SendoutKey(managed.customer, SendoutID(1))
      _ = try await Ledger(transaction).freeze(key, apps: [PushAppID(1)], audience: .all)
    }
    try await managed.database.query(
      """
      INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body)
      SELECT customer_id, 1, 1, contact_id, '{1}', '{"alert":"secretive"}' FROM contact
      """)
    try await managed.database.query(
      "UPDATE push SET state = 'failed', reason = 'secretive', attempts = 1, sent_at = now(), settled_at = now(), opened_at = now()"
    )
    try await managed.database.recountBatches()
    let other = try await managed.send(
      "POST", "/api/v1/apps", key: managed.otherKey, json: ManagementServer.app("com.other", .sample))
    #expect(try other.json.integer("pushAppId") == 2)
  }
}

extension APIContract {
  /// The operations that want a key, as in `GET /api/v1/keys`.
  fileprivate var guarded: Set<String> {
    let guarded = operations.filter { operation in
      document["paths"]?[operation.path]?[operation.method.lowercased()]?.array("security") != []
    }
    return Set(guarded.map { "\($0.method) \($0.path)" })
  }
}
