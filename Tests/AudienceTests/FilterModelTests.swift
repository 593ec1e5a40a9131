import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

/// The SQL of filters beside the model.
@Suite struct FilterModelTests {
  @Test func `Random filters find, count and explain the contacts of the model`() async throws {
    try await withContacts(200) { given, generator in
      var fixture = given
      let counts = SegmentCounts(fixture.pool)
      var hits = 0
      // All contacts' activity is noted at first. Then half of it is counted, then all. Then a third of the contacts have more, half of which
      // is counted.
      let changes = (1...3).map { sampleSize(of: 2000) * $0 / 4 }
      for number in 1...sampleSize(of: 2000) {
        if number == changes[0] { try await fixture.countActivity(of: 100) }
        if number == changes[1] { try await fixture.countActivity() }
        if number == changes[2] {
          for place in stride(from: 0, to: 200, by: 3) {
            try await fixture.add(generator.push(of: fixture.contacts[place]), toContactAt: place)
          }
          try await fixture.countActivity(of: 33)
        }
        let filter = generator.filter()
        let resolved = try await fixture.resolved(filter)
        let expected = fixture.expected(filter)
        let found = try await fixture.found(resolved)
        #expect(found == expected, "filter \(number): \(filter.text)")
        if !expected.isEmpty && expected.count < fixture.contacts.count { hits += 1 }
        let count = try await counts.estimate(fixture.customer, resolved)
        let devices = fixture.contacts.filter { expected.contains($0.id) }
          .reduce(0) { $0 + $1.devices.count(where: \.isValid) }
        #expect(count.contacts == expected.count && count.devices == devices, "\(filter.text)")
        #expect(count.exact && count.low == expected.count && count.high == expected.count)
        for contact in [fixture.contacts[number % 200], fixture.contacts[number * 7 % 200]] {
          let explained = try await fixture.segments.explain(
            fixture.customer, resolved, originalID: contact.originalId)
          #expect(explained.result == expected.contains(contact.id), "\(filter.text)")
          let nodes = resolved.explained
          #expect(explained.nodes.map(\.text) == nodes.map(\.text))
          for (reply, node) in zip(explained.nodes, nodes) {
            #expect(reply.result == fixture.model.matches(node, contact), "\(reply.text) of \(contact.originalId)")
          }
        }
      }
      // Filters that take everybody, or nobody, would prove little.
      #expect(hits > sampleSize(of: 2000) / 3)
    }
  }

  @Test func `A filter and its negation divide the contacts`() async throws {
    try await withContacts(60, seed: 2) { fixture, generator in
      for _ in 1...sampleSize(of: 300) {
        let filter = generator.filter()
        let found = try await fixture.found(fixture.resolved(filter))
        let others = try await fixture.found(fixture.resolved(.not(filter)))
        #expect((found + others).sorted() == fixture.contacts.map(\.id), "\(filter.text)")
      }
    }
  }

  @Test func `A filter counts the same by ranges of numbers as by all contacts`() async throws {
    try await withContacts(100, seed: 3) { fixture, generator in
      let counts = SegmentCounts(fixture.pool)
      try await fixture.countActivity(of: 50)
      for _ in 1...sampleSize(of: 50) {
        let filter = generator.filter()
        let resolved = try await fixture.resolved(filter)
        var reply = try await counts.exact(fixture.customer, resolved)
        while reply.isUnfinished { reply = try await counts.exact(fixture.customer, resolved) }
        let estimate = try await counts.estimate(fixture.customer, resolved)
        #expect(reply.contacts == estimate.contacts && reply.apps == estimate.apps, "\(filter.text)")
        #expect(reply.exact)
      }
    }
  }

  @Test func `Counts of ranges of numbers, and of contacts one by one, are those of the model`() async throws {
    try await withContacts(100, seed: 5) { fixture, generator in
      try await fixture.countActivity(of: 50)
      func count(
        _ filter: FilterSQL, _ scope: SegmentCountQueries.Scope, _ bounds: (Int64, Int64)? = nil
      ) async throws -> [Int] {
        let (customer, statement) = (fixture.customer.rawValue, SegmentCountQueries.count(filter, scope))
        let rows =
          if let (from, to) = bounds {
            try await fixture.pool.query(statement, customer, filter.literals, from, to)
          } else {
            try await fixture.pool.query(statement, customer, filter.literals)
          }
        return try rows.reduce(into: [0, 0]) { counts, row in
          let isOfApp = try row.column(0, as: Int64?.self) != nil
          counts[isOfApp ? 1 : 0] += try row.column(1, as: Int.self)
        }
      }
      for filter in [.everyone, .device(.everyone)] + (1...sampleSize(of: 200)).map({ _ in generator.filter() }) {
        let resolved = try await fixture.resolved(filter)
        let expected = fixture.contacts.filter { fixture.model.matches(filter, $0) }
        let wanted = [expected.count, expected.reduce(0) { $0 + $1.devices.count(where: \.isValid) }]
        let sql = resolved.sql(for: SegmentCountQueries.Scope.numbers.reach)
        var found = [0, 0]
        for bounds: (Int64, Int64) in [(0, 30), (31, 31), (32, 70), (71, .max)] {
          found = try await zip(found, count(sql, .numbers, bounds)).map(+)
        }
        #expect(found == wanted, "\(filter.text)")
        #expect(try await count(resolved.sql(for: .few), .all) == wanted, "\(filter.text)")
      }
    }
  }

  @Test func `Pages have the contacts of the model, however many of the first ones fill them`() async throws {
    try await withContacts(60, seed: 6) { fixture, generator in
      try await fixture.countActivity(of: 30)
      let search = ContactSearch(fixture.pool)
      for number in 1...sampleSize(of: 60) {
        let filter = generator.filter()
        let resolved = try await fixture.resolved(filter)
        let expected = fixture.expected(filter)
        let few = number % 2 == 0 ? resolved.sqlOfFew : resolved.sql
        for first in [1, 9] {
          let page = PageFilter(resolved.sql(for: .all, namingIndexes: true), first: (few, first))
          for (query, limit) in [(nil, 3), (nil, 100), ("a", 7)] as [(String?, Int)] {
            var (found, after): ([Int64], String?) = ([], nil)
            repeat {
              let items = try await search.contacts(
                fixture.customer, beginningWith: query, in: query == nil ? nil : .originalId, meeting: page,
                PageRequest(after: after, limit: limit))
              found += items.items.map(\.contactId.rawValue)
              after = items.next
            } while after != nil
            #expect(found.sorted() == expected, "\(filter.text), \(query ?? "all") by \(limit) after \(first)")
          }
        }
      }
    }
  }

  @Test func `A page of a name has exactly the contacts that have it`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let long = String(repeating: "é", count: 255)
      let names = [
        "Anna", "anna", "ANNA", "Anna ", "Anna!", "Anna Maria", "Annan", "", " ", "Å", "å", "İ", "ß", "100%", "\\_",
        "a\u{10FFFF}", long, String(repeating: "A", count: 255), "+46 70-1", "004670 1", "46701", "0",
      ]
      for (number, name) in names.enumerated() {
        for (other, middle) in [nil, "", "Maria"].enumerated() {
          try await database.query(
            """
            INSERT INTO contact (customer_id, original_id, first_name, middle_name, last_name, email_address, mobile_number)
            VALUES ($1, $2, $3, $4::text, $3, $3, $3)
            """, customer.rawValue, "\(number) \(other)", name, middle)
        }
      }
      let segments = Segments(database.pool)
      for field in [ContactField.firstName, .lastName, .emailAddress, .mobileNumber] {
        for (number, name) in names.enumerated() {
          let filter = Filter.compare(.contact(field), .compare(.equal, .text(UTF8String(name))))
          let resolved = try await segments.resolve(customer, filter)
          let found = try await segments.contacts(customer, resolved, PageRequest(limit: 100))
          #expect(found.items.map(\.originalId) == (0...2).map { "\(number) \($0)" }, "\(field) \(name)")
        }
      }
    }
  }

  @Test func `A contact is counted right at every number that the roll-up ends with`() async throws {
    try await withDatabase { database in
      var fixture = try await FilterFixture(database)
      let (now, hour) = (fixture.model.now, Int64(3_600_000))
      for (index, pushes) in [0, 1, 31, 32, 33, 40].enumerated() {
        let id = Int64(index + 1)
        var contact = FilterModel.Contact(id: id, originalId: "a\(id)", createdAt: now, updatedAt: now)
        for place in 0..<pushes {
          let (number, at) = (Int32(100 * (index + 1) + place), now - Int64(place) * hour)
          contact.pushes.append(
            FilterModel.Push(sendout: 1, number: number, acceptedAt: at, openedAt: place % 2 == 0 ? at : nil))
        }
        try await fixture.add(contact)
      }
      try await fixture.countActivity()
      for kind in FilterActivity.Kind.allCases {
        for op in FilterOperator.allCases {
          for count in [0, 1, 15, 16, 17, 31, 32, 33, 39, 40, 41] {
            var activities = [FilterActivity(kind, op: op, count: count)]
            for span in [1, 30, 31, 32, 39, 1000] {
              activities.append(FilterActivity(kind, op: op, count: count, within: FilterSpan(span, .hours)))
            }
            for last in [1, 31, 32, 33, 40, 100] {
              activities.append(FilterActivity(kind, op: op, count: count, ofLast: last))
            }
            for activity in activities {
              let filter = Filter.activity(activity)
              #expect(try await fixture.found(fixture.resolved(filter)) == fixture.expected(filter), "\(filter.text)")
            }
          }
        }
      }
    }
  }

  @Test func `The bucket of SQL is that of the model`() async throws {
    try await withDatabase { database in
      for id in [1, 2, 99, 1 << 31, 1 << 40, Int64.max] {
        let found = try await database.query("SELECT filter_bucket($1)", id)[0].decode(Int.self)
        #expect(found == FilterModel.bucket(of: id), "\(id)")
      }
    }
  }
}
