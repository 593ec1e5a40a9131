import Audience
import Delivery
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

/// Audiences by segments and filters, and what they exclude.
@Suite struct FilteredAudienceTests {
  private func withUsers(_ body: (SendingBench, [DeviceID]) async throws -> Void) async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(6)
      try await bench.database.query(
        """
        UPDATE contact SET country = CASE WHEN original_id < 'user4' THEN 'SE' ELSE 'NO' END
        """)
      try await body(bench, devices)
    }
  }

  private func reached(_ bench: SendingBench, _ audience: Audience) async throws -> [DeviceID] {
    let key = try await bench.withHubs {
      let key = try await bench.send(audience: audience)
      try await bench.until(key, .finished)
      return key
    }
    return try await bench.pushes(key).map(\.deviceId)
  }

  @Test func `A sendout reaches those who meet its filter, or are in its segment, when it is frozen`() async throws {
    try await withUsers { bench, devices in
      let swedish = try Filter(text: "country = 'SE'")
      #expect(try await reached(bench, .filter(swedish)) == Array(devices[..<3]))
      let segment = try await Segments(bench.pool).add(bench.customer, SegmentRequest(name: "A", filter: swedish))
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          appId: SendingBench.appID, audience: .segment(segment.segmentId), message: MessageBody(alert: "Hello")))
      // What the segment is at the freeze counts.
      _ = try await bench.pool.transaction {
        try await Segments($0).rewrite(
          bench.customer, segment.segmentId, SegmentRequest(filter: try Filter(text: "country = 'NO'")))
      }
      let key = SendoutKey(bench.customer, draft.sendoutId)
      try await bench.sendouts.start(bench.customer, key.sendout)
      try await bench.withHubs { _ = try await bench.until(key, .finished) }
      #expect(try await bench.pushes(key).map(\.deviceId) == Array(devices[3...]))
    }
  }

  @Test func `Each audience can leave out those who meet a filter`() async throws {
    try await withUsers { bench, devices in
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      try await bench.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, $1::bigint, contact_id FROM contact WHERE original_id < 'user5'
        """, list.rawValue)
      let segment = try await Segments(bench.pool).add(bench.customer, SegmentRequest(name: "A", filter: .everyone))
      let swedish = try Filter(text: "country = 'SE'")
      #expect(try await reached(bench, .excluding(.all, swedish)) == Array(devices[3...]))
      #expect(try await reached(bench, .excluding(.list(list), swedish)) == [devices[3]])
      #expect(
        try await reached(
          bench, .excluding(.originalIds(["user1@example.com", "user6@example.com", "nobody"]), swedish))
          == [devices[5]])
      #expect(try await reached(bench, .excluding(.segment(segment.segmentId), swedish)) == Array(devices[3...]))
      #expect(
        try await reached(bench, .excluding(.filter(try Filter(text: "in list 'news'")), swedish)) == [devices[3]])
    }
  }

  @Test func `What an audience excludes can be told apart from the audience`() async throws {
    try await withUsers { bench, _ in
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      let swedish = try Filter(text: "country = 'SE'")
      let segments = Segments(bench.pool)
      let resolved = try await segments.resolve(bench.customer, .excluding(.list(list), swedish))
      guard case .list(list) = resolved.included else {
        Issue.record("\(resolved.included)")
        return
      }
      #expect(resolved.excluded == (try await segments.resolve(bench.customer, swedish).sql))
      #expect(try await segments.resolve(bench.customer, .all).excluded == nil)
    }
  }

  @Test func `An audience by a filter is counted, and stored with the numbers of what it names`() async throws {
    try await withUsers { bench, _ in
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      let audience = Audience.excluding(
        .filter(try Filter(text: "not in list 'news'")), try Filter(text: "country = 'SE'"))
      let count = try await bench.sendouts.count(
        bench.customer, AudienceRequest(appId: SendingBench.appID, audience: audience))
      #expect(count.devices == 3)
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(appId: SendingBench.appID, audience: audience, message: MessageBody(alert: "Hello")))
      #expect(
        draft.audience
          == .excluding(.filter(.not(.list(.number(list.rawValue)))), try Filter(text: "country = 'SE'")))
      #expect(try await bench.sendouts.find(bench.customer, draft.sendoutId).audience == draft.audience)
    }
  }

  @Test func `An audience names what exists`() async throws {
    try await withUsers { bench, _ in
      let line = try Filter(text: "everyone and received sendout 7")
      let tree = try Filter(tree: ["and": [["everyone": true], ["segment": "VIP"]]])
      for (audience, field, problem) in [
        (Audience.segment(SegmentID(7)), "audience.segmentId", "names segment 7, and there is none of this number"),
        (.filter(line), "audience.filter", "at 31: there is no sendout 7"),
        (.excluding(.all, tree), "audience.exclude", "at and[1].segment: no segment is called 'VIP'"),
      ] {
        await #expect(throws: RegistryError.invalid(field: field, problem: problem)) {
          try await bench.send(audience: audience)
        }
      }
    }
  }

  @Test func `A segment that a sendout uses stays until that is frozen`() async throws {
    try await withUsers { bench, _ in
      let segment = try await Segments(bench.pool).add(bench.customer, SegmentRequest(name: "A", filter: .everyone))
      for audience in [
        Audience.segment(segment.segmentId), .filter(.not(.segment(.name("A")))),
        .excluding(.all, .segment(.name("A"))),
      ] {
        let draft = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(appId: SendingBench.appID, audience: audience, message: MessageBody(alert: "Hello")))
        #expect(
          try await SendoutStore(bench.pool).first(naming: segment.segmentId, of: bench.customer) == draft.sendoutId)
        #expect(try await SendoutStore(bench.pool).first(naming: SegmentID(999), of: bench.customer) == nil)
        let key = SendoutKey(bench.customer, draft.sendoutId)
        try await bench.sendouts.start(bench.customer, key.sendout)
        try await bench.withHubs { _ = try await bench.until(key, .finished) }
        #expect(try await SendoutStore(bench.pool).first(naming: segment.segmentId, of: bench.customer) == nil)
      }
    }
  }

  @Test func `Of somebody who does not meet the audience's filter it tells which condition`() async throws {
    try await withUsers { bench, _ in
      let segment = try await Segments(bench.pool).add(
        bench.customer, SegmentRequest(name: "A", filter: try Filter(text: "country = 'SE' and firstName is set")))
      let audience = Audience.excluding(.segment(segment.segmentId), try Filter(text: "originalId starts with 'user2'"))
      let key = try await bench.withHubs {
        let key = try await bench.send(audience: audience)
        try await bench.until(key, .finished)
        return key
      }
      func reasons(_ originalID: String) async throws -> [String] {
        try await bench.sendouts.why(bench.customer, key.sendout, originalID: originalID).lines.map(\.text)
      }
      let outside = "The contact is not in the audience, as things are now."
      #expect(
        try await reasons("user4@example.com").prefix(3)
          == [
            "The audience was written into the ledger.", outside,
            "The contact does not meet `country = 'SE'`: it has NO there.",
          ])
      #expect(
        try await reasons("user2@example.com").prefix(3).last
          == "The contact meets `originalId starts with 'user2'`, which leaves it out: it has user2@example.com there.")
    }
  }
}
