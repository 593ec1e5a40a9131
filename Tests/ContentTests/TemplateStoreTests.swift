@testable import Content

import Postgres
import Support
import Locking
import Testing
import Wire

@Suite struct TemplateStoreTests {
  /// A customer, inserted by SQL, since this room does not know customers.
  func customer(_ database: TestDatabase) async throws -> CustomerID {
    CustomerID(
      try await database.query("INSERT INTO customer (name) VALUES ('ACME') RETURNING customer_id")[0]
        .decode(Int64.self))
  }

  @Test func `Saving adds a version and keeps the old ones`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      let templates = Templates(database.pool)
      let first = try await templates.put(customer, name: "offer", format: .html, body: "<p>{{firstName}}</p>")
      let second = try await templates.put(customer, name: "offer", format: .text, body: "{{firstName}}")
      #expect((first.version, second.version) == (1, 2))
      #expect(try await templates.get(customer, name: "offer") == second)
      #expect(try await templates.get(customer, name: "offer", version: 1) == first)
      #expect(try await templates.versions(customer, name: "offer").map(\.version) == [2, 1])
      let other = try await templates.put(customer, name: "a", format: .json, body: "{}")
      let list = try await templates.list(customer)
      #expect(list.map(\.name) == ["a", "offer"] && list.map(\.version) == [1, 2])
      #expect(list[0].contentType == other.format.contentType && list[0].createdAt == Timestamp(other.createdAt))
    }
  }

  @Test func `A removed template is gone but for pages of what was sent, and no version number is used twice`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await customer(database)
      let templates = Templates(database.pool)
      let unknown = ContentError.templateUnknown(name: "offer", version: nil)
      await #expect(throws: unknown) { try await templates.remove(customer, name: "offer") }
      for body in ["1", "2"] { _ = try await templates.put(customer, name: "offer", format: .text, body: body) }
      let removed = try await templates.remove(customer, name: "offer")
      #expect(removed.name == "offer" && removed.version == 2 && removed.body == nil)
      await #expect(throws: unknown) { try await templates.get(customer, name: "offer") }
      await #expect(throws: unknown) { try await templates.hold(customer, name: "offer") }
      await #expect(throws: unknown) { try await templates.remove(customer, name: "offer") }
      await #expect(throws: ContentError.templateUnknown(name: "offer", version: 1)) {
        try await templates.get(customer, name: "offer", version: 1)
      }
      #expect(try await templates.list(customer).isEmpty)
      #expect(try await templates.versions(customer, name: "offer").isEmpty)
      #expect(try await templates.ofPage(customer, name: "offer", version: 1).body == "1")
      #expect(try await templates.put(customer, name: "offer", format: .text, body: "3").version == 3)
      #expect(try await templates.versions(customer, name: "offer").map(\.version) == [3])
    }
  }

  @Test func `Concurrent saves each get a version of their own`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      let versions = try await withThrowingTaskGroup { group in
        for number in 0..<40 {
          group.addTask {
            let saved = try await Templates(database.pool)
              .put(customer, name: "offer", format: .text, body: "number \(number)")
            let kept = try await Templates(database.pool).get(customer, name: "offer", version: saved.version)
            return kept.body == "number \(number)" ? saved.version : 0
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(versions.sorted() == Array(1...40))
    }
  }

  @Test func `Concurrent saves in transactions wait for each other`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      try await withThrowingTaskGroup { group in
        for number in 0..<12 {
          group.addTask {
            try await database.pool.transaction { transaction in
              _ = try await Templates(transaction).put(customer, name: "a", format: .text, body: "x\(number)")
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await Templates(database.pool).versions(customer, name: "a").count == 12)
    }
  }

  @Test func `A template of another customer is unknown`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await customer(database), try await customer(database))
      let templates = Templates(database.pool)
      _ = try await templates.put(acme, name: "offer", format: .text, body: "x")
      for (customer, name, version) in [
        (other, "offer", nil), (other, "offer", 1), (acme, "offer", 2), (acme, "Offer", nil),
      ] as [(CustomerID, String, Int32?)] {
        await #expect(throws: ContentError.templateUnknown(name: name, version: version)) {
          try await templates.get(customer, name: name, version: version)
        }
      }
      #expect(try await templates.list(other).isEmpty)
      await #expect(throws: ContentError.customerUnknown) {
        try await templates.put(CustomerID(4711), name: "offer", format: .text, body: "x")
      }
    }
  }

  @Test func `An invalid name or text is refused, and nothing is saved`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      let templates = Templates(database.pool)
      for name in ["", "a b", "a/b", "å", "a\0", "a\n", String(repeating: "a", count: 101)] {
        await #expect(
          throws: ContentError.invalid(
            field: "name", problem: "is not of 1 to 100 letters, digits, dots, hyphens and underscores")
        ) { try await templates.put(customer, name: name, format: .text, body: "x") }
        await #expect(throws: ContentError.templateUnknown(name: name, version: nil)) {
          try await templates.get(customer, name: name)
        }
      }
      await #expect(
        throws: ContentError.unparsable(field: "body", line: 2, reason: "the section x is opened and never closed")
      ) { try await templates.put(customer, name: "offer", format: .text, body: "a\n{{#x}}") }
      #expect(try await templates.list(customer).isEmpty)
    }
  }

  @Test func `A version is read and compiled once for concurrent pages`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      _ = try await Templates(database.pool).put(customer, name: "offer", format: .text, body: "Hi {{firstName}}")
      let counting = Counting(database.pool)
      let cache = PageTemplateCache(counting)
      let pages = try await withThrowingTaskGroup { group in
        for _ in 0..<100 {
          group.addTask {
            try await cache.template(customer, name: "offer", version: 1).render(PageRenderingTests.lars)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(pages == Array(repeating: "Hi Lars", count: 100))
      #expect(counting.count == 1)
      await #expect(throws: ContentError.templateUnknown(name: "offer", version: 2)) {
        try await cache.template(customer, name: "offer", version: 2)
      }
    }
  }

  @Test func `The cache keeps to its capacity, and drops the least recently used template first`() async throws {
    try await withDatabase { database in
      let customer = try await customer(database)
      for name in ["a", "b", "c"] {
        _ = try await Templates(database.pool)
          .put(customer, name: name, format: .text, body: String(repeating: name, count: 1000))
      }
      let counting = Counting(database.pool)
      let cache = PageTemplateCache(counting, capacity: 2500)
      for name in ["a", "b", "a", "c", "a"] { _ = try await cache.template(customer, name: name, version: 1) }
      #expect(counting.count == 3)
      _ = try await cache.template(customer, name: "b", version: 1)
      #expect(counting.count == 4)
    }
  }
}

/// Counts statements.
private final class Counting: Querying {
  private let database: any Querying
  private let calls = Mutex(0)

  init(_ database: any Querying) { self.database = database }

  var count: Int { calls.withLock { $0 } }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    calls.withLock { $0 += 1 }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}
