import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

/// What is looked at of an audience before anything is sent to it.
@Suite struct AudienceSampleTests {
  /// Contacts of a generator, and their apps.
  private func withAudiences(
    _ body: (FilterFixture, AudienceSamples, [PushAppID]) async throws -> Void
  ) async throws {
    try await withContacts(60, seed: 5) { fixture, _ in
      let apps = try await fixture.database.query("SELECT push_app_id FROM push_app ORDER BY 1 LIMIT 6").map {
        PushAppID(try $0.decode(Int64.self))
      }
      try await body(fixture, AudienceSamples(fixture.pool), apps)
    }
  }

  /// The contacts that the model finds, with a valid device in some apps.
  private func expected(
    _ fixture: FilterFixture, _ filter: Filter, among ids: [String]? = nil, _ apps: [PushAppID]
  ) async throws -> [Int64] {
    let reached = try await fixture.database.query(
      "SELECT DISTINCT contact_id FROM device WHERE push_app_id = ANY ($1::bigint[]) AND invalidated_at IS NULL",
      apps.map(\.rawValue)
    ).map { try $0.decode(Int64.self) }
    return fixture.contacts.filter { contact in
      fixture.model.matches(filter, contact) && reached.contains(contact.id)
        && ids?.contains(contact.originalId) != false
    }.map(\.id)
  }

  private func audiences(_ fixture: FilterFixture) throws -> [(Audience, Filter, [String]?)] {
    let list = try #require(fixture.model.lists["newsletter"])
    let bucket = Filter.bucket(from: 0, to: 60)
    let received = Filter.activity(FilterActivity(.received))
    let ids = (1...30).map { "a\($0)" }
    return [
      (.all, .everyone, nil), (.filter(bucket), bucket, nil), (.filter(received), received, nil),
      (.originalIds(ids), .everyone, ids),
      (.excluding(.originalIds(ids), bucket), .not(bucket), ids), (.excluding(.all, bucket), .not(bucket), nil),
      (.list(ListID(list)), .list(.number(list)), nil),
    ]
  }

  @Test func `A sample has contacts of the audience alone, all of them if they are few`() async throws {
    try await withAudiences { fixture, samples, apps in
      for (audience, filter, ids) in try audiences(fixture) {
        let resolved = try await fixture.segments.resolve(fixture.customer, audience)
        let expected = try await expected(fixture, filter, among: ids, apps)
        let whole = try await samples.sample(fixture.customer, resolved, apps: apps, of: expected.count)
        #expect(Set(whole.map(\.contact.id.rawValue)).sorted() == expected, "\(audience)")
        #expect(whole.allSatisfy { $0.device.invalidatedAt == nil && apps.contains($0.device.app) })
        // Of a million, few slices are read.
        let some = try await samples.sample(fixture.customer, resolved, apps: apps, of: 1_000_000)
        #expect(Set(some.map(\.contact.id.rawValue)).isSubset(of: expected), "\(audience)")
      }
    }
  }

  @Test func `What a segment means is part of an audience's identity`() async throws {
    try await withAudiences { fixture, _, _ in
      let (customer, segments) = (fixture.customer, fixture.segments)
      func identity(_ audience: Audience) async throws -> String {
        try await segments.resolve(customer, audience).identity
      }
      let nordic = try #require(fixture.model.segmentNumbers["nordic"])
      let before = try await identity(.segment(SegmentID(nordic)))
      #expect(try await identity(.segment(SegmentID(nordic))) == before)
      _ = try await segments.change(
        customer, SegmentID(nordic), SegmentRequest(filter: .compare(.contact(.country), .isSet)))
      #expect(try await identity(.segment(SegmentID(nordic))) != before)
      #expect(try await identity(.excluding(.all, .everyone)) != identity(.all))
    }
  }
}
