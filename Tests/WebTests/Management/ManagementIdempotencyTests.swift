import Support
import Testing
import Wire

@Suite struct ManagementIdempotencyTests {
  private let body = #"{"name":"app push user","scope":"backend"}"#

  @Test func `A repeated POST is executed once and gets the same reply, marked as a repetition`() async throws {
    try await withManagementServer { managed in
      let header = [("Idempotency-Key", "one")]
      let first = try await managed.send("POST", "/api/v1/keys", headers: header, json: body)
      let second = try await managed.send("POST", "/api/v1/keys", headers: header, json: body)
      #expect(first.status == 201)
      #expect(second.status == 201)
      #expect(first.body == second.body)
      #expect(first.header("Idempotent-Replayed") == nil)
      #expect(second.header("Idempotent-Replayed") == "true")
      #expect(try await managed.send("GET", "/api/v1/keys").json.array("items")?.count == 2)
    }
  }

  @Test func `Two equal requests at the same time are executed once`() async throws {
    try await withManagementServer { managed in
      let replies = try await withThrowingTaskGroup(of: TestReply.self) { group in
        for _ in 0..<16 {
          group.addTask {
            try await managed.send(
              "POST", "/api/v1/lists", headers: [("Idempotency-Key", "twins")], json: #"{"name":"a"}"#)
          }
        }
        return try await group.reduce(into: [TestReply]()) { $0.append($1) }
      }
      #expect(Set(replies.map(\.text)).count == 1)
      #expect(replies.allSatisfy { $0.status == 201 })
      #expect(replies.count { $0.header("Idempotent-Replayed") == nil } == 1)
      #expect(try await managed.send("GET", "/api/v1/lists").json.array("items")?.count == 1)
    }
  }

  @Test func `Another request with the same key is refused, naming the header`() async throws {
    try await withManagementServer { managed in
      let header = [("Idempotency-Key", "one")]
      _ = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":"a"}"#)
      for (path, other) in [("/api/v1/lists", #"{"name":"b"}"#), ("/api/v1/keys", body)] {
        let reply = try await managed.send("POST", path, headers: header, json: other)
        #expect(reply.status == 422)
        #expect(reply.error?.contains("Idempotency-Key") == true)
      }
    }
  }

  @Test func `Two customers may use the same key for different requests`() async throws {
    try await withManagementServer { managed in
      for key in [managed.key, managed.otherKey] {
        let reply = try await managed.server.send(
          "POST", "/api/v1/lists", key: key, headers: [("Idempotency-Key", "one")], json: #"{"name":"a"}"#)
        #expect(reply.status == 201)
        #expect(reply.header("Idempotent-Replayed") == nil)
      }
    }
  }

  @Test func `A refused request may be corrected with the same key`() async throws {
    try await withManagementServer { managed in
      let header = [("Idempotency-Key", "one")]
      let refused = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":""}"#)
      #expect(refused.status == 400)
      let mended = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":"a"}"#)
      #expect(mended.status == 201)
    }
  }

  @Test func `A key of more than 255 characters is refused, naming the header`() async throws {
    try await withManagementServer { managed in
      let long = [("Idempotency-Key", String(repeating: "k", count: 256))]
      let reply = try await managed.send("POST", "/api/v1/lists", headers: long, json: #"{"name":"a"}"#)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("Idempotency-Key ") == true)
      let fits = [("Idempotency-Key", String(repeating: "k", count: 255))]
      let done = try await managed.send("POST", "/api/v1/lists", headers: fits, json: #"{"name":"a"}"#)
      #expect(done.status == 201)
    }
  }

  @Test func `After 24 hours a key counts as new`() async throws {
    try await withManagementServer { managed in
      let header = [("Idempotency-Key", "one")]
      _ = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":"a"}"#)
      try await managed.database.query("UPDATE idempotent_reply SET created_at = created_at - interval '25 hours'")
      let reply = try await managed.send("POST", "/api/v1/lists", headers: header, json: #"{"name":"b"}"#)
      #expect(reply.status == 201)
    }
  }
}
