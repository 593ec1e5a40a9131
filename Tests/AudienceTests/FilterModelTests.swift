import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

/// The SQL of filters beside the model.
@Suite struct FilterModelTests {
  @Test func `Random filters find, count and explain the contacts of the model`() async throws {
    try await withContacts(200) { fixture, generator in
      let counts = SegmentCounts(fixture.pool)
      var hits = 0
      for number in 1...sampleSize(of: 2000) {
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

  @Test func `The bucket of SQL is that of the model`() async throws {
    try await withDatabase { database in
      for id in [1, 2, 99, 1 << 31, 1 << 40, Int64.max] {
        let found = try await database.query("SELECT filter_bucket($1)", id)[0].decode(Int.self)
        #expect(found == FilterModel.bucket(of: id), "\(id)")
      }
    }
  }
}
