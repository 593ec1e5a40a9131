import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct ContactSearchTests {
  /// Adds a contact without devices.
  private func add(_ fixture: RegistryFixture, _ originalID: String, _ fields: [ContactField: String] = [:])
    async throws
  {
    let columns = fields.map { (field: $0.key, text: $0.value) }
    let names = columns.map { ", \($0.field.column)" }.joined()
    let values = columns.indices.map { ", ($3::text[])[\($0 + 1)]" }.joined()
    try await fixture.database.query(
      """
      INSERT INTO contact (customer_id, original_id\(names))
      SELECT $1::bigint, $2::text\(values) WHERE $3::text[] IS NOT NULL
      """, fixture.customer.rawValue, originalID, columns.map(\.text))
  }

  /// The original ids that a search finds, on pages of two.
  private func found(
    _ fixture: RegistryFixture, _ query: String, in field: ContactSearchField? = nil
  ) async throws -> [String] {
    var found: [String] = []
    var page = PageRequest<String>(limit: 2)
    repeat {
      let answer = try await ContactSearch(fixture.database.pool).contacts(
        fixture.customer, beginningWith: query, in: field, page)
      found += answer.items.map(\.originalId)
      page.after = answer.next
    } while page.after != nil
    return found
  }

  @Test func `The longest names of any characters are stored, and found by their beginning`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      var generator = SeededGenerator(seed: 7)
      var names: [String] = []
      for _ in 0..<3 {
        let scalars = (0..<255).compactMap { _ in
          Unicode.Scalar(UInt32.random(in: 0x20000...0x2A6D0, using: &generator))
        }
        names.append(String(String.UnicodeScalarView(scalars)))
      }
      try await add(fixture, "long", [.firstName: names[0], .middleName: names[1], .lastName: names[2]])
      #expect(try await found(fixture, String(names[0].prefix(20)), in: .name) == ["long"])
      #expect(try await found(fixture, names[0], in: .name) == ["long"])
    }
  }

  @Test func `Ids come first, then addresses, numbers and names, and each contact once`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await add(fixture, "lars@example.com", [.emailAddress: "lars@example.com", .firstName: "Lars"])
      try await add(fixture, "u1", [.emailAddress: "Lars.B@example.com"])
      try await add(fixture, "u2", [.firstName: "LARS", .lastName: "Öberg"])
      try await add(fixture, "u3", [.firstName: "Mia", .lastName: "Larsson"])
      try await add(fixture, "u4", [.firstName: "Karl"])
      let other = try await RegistryFixture(database)
      try await add(other, "lars@example.com")
      #expect(try await found(fixture, "lars") == ["lars@example.com", "u1", "u2", "u3"])
      #expect(try await found(fixture, " LARS ") == ["lars@example.com", "u1", "u2", "u3"])
      #expect(try await found(fixture, "lars", in: .emailAddress) == ["u1", "lars@example.com"])
      #expect(try await found(fixture, "lars", in: .name) == ["lars@example.com", "u2", "u3"])
      #expect(try await found(fixture, "lars ö") == ["u2"])
      #expect(try await found(fixture, "Mia Lars") == ["u3"])
      #expect(try await found(fixture, "nobody") == [])
      #expect(try await found(fixture, "") == ["u4", "u3", "u2", "u1", "lars@example.com"])
    }
  }

  @Test(arguments: [
    ("100% sure", "100%", "100 percent"), ("a_b", "a_", "axb"), (#"back\slash"#, #"back\"#, "backslash"),
    ("👩🏽‍🚀 crew", "👩🏽", "👩 crew"), ("e\u{301}clair", "e\u{301}", "éclair"), ("'; DROP TABLE contact", "';", "x"),
    ("محمد", "مح", "احمد"), ("\u{202E}abc", "\u{202E}a", "abc"),
  ])
  func `Texts are compared as bytes, whatever is in them`(text: String, query: String, other: String) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await add(fixture, text)
      try await add(fixture, other)
      try await add(fixture, "named", [.lastName: text])
      #expect(try await found(fixture, query) == [text, "named"])
      #expect(try await found(fixture, query, in: .originalId) == [text])
    }
  }

  @Test func `Capital letters of all alphabets do not matter at the beginning of a name`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for (number, name) in ["Åse", "åse", "ÅSE", "Élodie", "Юлия"].enumerated() {
        try await add(fixture, "u\(number)", [.firstName: name])
      }
      #expect(Set(try await found(fixture, "åse")) == ["u0", "u1", "u2"])
      #expect(try await found(fixture, "élo") == ["u3"])
      #expect(try await found(fixture, "юл") == ["u4"])
    }
  }

  @Test(arguments: ["+31 6 1234", "0031612", "(316)12", "31-612", "316"])
  func `Of a number only the digits count`(query: String) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await add(fixture, "a", [.mobileNumber: "+31 612 345 678"])
      try await add(fixture, "b", [.mobileNumber: "0031612345679"])
      try await add(fixture, "c", [.mobileNumber: "+4631612"])
      #expect(try await found(fixture, query) == ["a", "b"])
      #expect(try await found(fixture, "31") == [])
    }
  }

  @Test func `Names of 200 characters, and keys that are equal, are paged without a gap`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let name = String(repeating: "ж", count: 200)
      for number in 0..<9 { try await add(fixture, "u\(number)", [.lastName: name, .firstName: "Same"]) }
      #expect(try await found(fixture, String(name.prefix(150))).sorted() == (0..<9).map { "u\($0)" })
      #expect(try await found(fixture, "same").sorted() == (0..<9).map { "u\($0)" })
    }
  }

  @Test func `Ids that begin with a combining mark are paged without a gap`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let ids = (0..<5).map { "\u{301}u\($0)" }
      for id in ids { try await add(fixture, id, [:]) }
      #expect(try await found(fixture, "\u{301}u").sorted() == ids)
    }
  }

  @Test(arguments: ["x", "9:1:a", "0:x:a", "0:1", "0:1:a\0", "-1:1:a"])
  func `A place that is none of the search is refused`(after: String) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let refusal = RegistryError.invalid(field: "after", problem: "is no next of a page of this search")
      await #expect(throws: refusal) {
        try await ContactSearch(database.pool).contacts(
          fixture.customer, beginningWith: "a", PageRequest(after: after, limit: 1))
      }
    }
  }

  @Test func `A query that no text can have is refused`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for query in ["a\0b", String(repeating: "x", count: 256)] {
        await #expect(throws: RegistryError.self) { try await found(fixture, query) }
      }
    }
  }

  @Test func `Each search reads its own index, also beside many contacts and before they are analysed`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for isAnalysed in [false, true] {
        if isAnalysed {
          try await database.query(
            """
            INSERT INTO contact (customer_id, original_id, email_address, first_name, last_name, mobile_number)
            SELECT $1, 'u' || n, 'e' || n, 'f' || n, 'l' || n, '+316' || n FROM generate_series(1, 20000) AS n
            """, fixture.customer.rawValue)
          try await database.query("ANALYZE contact")
        }
        for key in SearchKey.allCases {
          let plan = try await database.pool.transaction { transaction in
            try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
            // A connection keeps what it has prepared.
            let name = "search_\(key)_\(isAnalysed)"
            try await transaction.query(sql: "PREPARE \(name) AS \(ContactSearchQueries.statement(key).sql)")
            let lines = try await transaction.query(
              sql: "EXPLAIN (COSTS OFF) EXECUTE \(name)(1, 'b', 'a', 0, 10)")
            return try lines.map { try $0.decode(String.self) }.joined(separator: "\n")
          }
          #expect(!plan.contains("Seq Scan") && plan.contains(Self.index(key)), "\(plan)")
        }
      }
    }
  }

  private static func index(_ key: SearchKey) -> String {
    switch key {
    case .originalID: "contact_original_id_key"
    case .emailAddress: "contact_email"
    case .mobileNumber: "contact_number"
    case .name: "contact_name"
    case .lastName: "contact_last_name"
    }
  }
}
