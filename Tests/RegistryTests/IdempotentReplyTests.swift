import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct IdempotentReplyTests {
  let fingerprint = [UInt8](repeating: 1, count: 32)
  let actor = ChangeAuthor.commandLine(user: "root")

  /// Adds a list and says its number.
  func addList(_ customer: CustomerID, _ name: String = "x") -> @Sendable (ManagementChange) async throws -> StoredReply
  {
    { change in
      let list = try await ContactLists(change.transaction).add(customer, name: name)
      return StoredReply(status: 201, body: Array("{\"listId\":\(list.listId)}".utf8))
    }
  }

  @Test func `A request is done once, and its repetition gets the same reply`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      let first = try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint, addList(customer))
      let second = try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint, addList(customer))
      #expect(first == second && first.status == 201)
      #expect(try await ContactLists(database.pool).all(customer).count == 1)
    }
  }

  @Test func `Twins in flight have one effect and one reply`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      let runs = Tally()
      let answers = try await withThrowingTaskGroup { group in
        for _ in 0..<16 {
          group.addTask {
            try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint) { change in
              try await addList(customer, "list \(runs.next())")(change)
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.count == 16 && answers.allSatisfy { $0 == answers[0] })
      #expect(runs.count == 1)
      #expect(try await ContactLists(database.pool).all(customer).count == 1)
    }
  }

  @Test func `A request that failed is done anew, and left nothing behind`() async throws {
    struct Failure: Error {}
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      await #expect(throws: Failure.self) {
        try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint) { change in
          _ = try await addList(customer)(change)
          throw Failure()
        }
      }
      #expect(try await ContactLists(database.pool).all(customer).isEmpty)
      let reply = try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint, addList(customer))
      #expect(reply.status == 201)
    }
  }

  @Test func `A key used for another request is refused; another customer's key is another key`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      _ = try await replies.once(acme, by: actor, key: "k", fingerprint: fingerprint, addList(acme))
      await #expect(throws: RegistryError.idempotencyKeyReused) {
        try await replies.once(acme, by: actor, key: "k", fingerprint: fingerprint.map { $0 + 1 }, addList(acme))
      }
      _ = try await replies.once(other, by: actor, key: "k", fingerprint: fingerprint.map { $0 + 1 }, addList(other))
      #expect(try await ContactLists(database.pool).all(other).count == 1)
    }
  }

  @Test func `Without a key every request is done`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      for name in ["a", "b"] {
        _ = try await replies.once(customer, by: actor, key: nil, fingerprint: fingerprint, addList(customer, name))
      }
      #expect(try await ContactLists(database.pool).all(customer).count == 2)
    }
  }

  @Test func `After 24 hours a key is free again, and a note that nobody asks for is removed`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      _ = try await replies.once(customer, by: actor, key: "k", fingerprint: fingerprint, addList(customer, "a"))
      _ = try await replies.once(customer, by: actor, key: "l", fingerprint: fingerprint, addList(customer, "b"))
      #expect(try await replies.forgetExpired(customer) == 0)
      try await database.query("UPDATE idempotent_reply SET created_at = now() - interval '24 hours 1 second'")
      _ = try await replies.once(
        customer, by: actor, key: "k", fingerprint: fingerprint.map { $0 + 1 }, addList(customer, "c"))
      #expect(try await ContactLists(database.pool).all(customer).count == 3)
      #expect(try await replies.forgetExpired(customer) == 1)
    }
  }

  @Test func `A reply is not to be read in the database, and is lost with its master key`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let canary = "pck_canary"
      let reply = StoredReply(status: 201, body: Array(canary.utf8))
      _ = try await IdempotentReplies(database.pool, vault: try .fresh())
        .once(customer, by: actor, key: "k", fingerprint: fingerprint) { _ in reply }
      let dump = try await database.dump()
      #expect(!dump.contains(canary) && !dump.contains(Array(canary.utf8).map { String($0, radix: 16) }.joined()))
      await #expect(throws: RegistryError.idempotentReplyLost) {
        try await IdempotentReplies(database.pool, vault: try .fresh())
          .once(customer, by: actor, key: "k", fingerprint: fingerprint) { _ in reply }
      }
    }
  }

  @Test func `An empty, overlong or broken key, and an unknown customer, are refused`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let replies = IdempotentReplies(database.pool, vault: try .fresh())
      for key in ["", String(repeating: "k", count: 256), "a\u{7F}", "a\0"] {
        await #expect(throws: RegistryError.self) {
          try await replies.once(customer, by: actor, key: key, fingerprint: fingerprint, addList(customer))
        }
      }
      let nobody = CustomerID(4711)
      await #expect(throws: RegistryError.customerUnknown(nobody)) {
        try await replies.once(nobody, by: actor, key: "k", fingerprint: fingerprint, addList(nobody))
      }
    }
  }
}
