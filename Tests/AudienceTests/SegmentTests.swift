import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

@Suite struct SegmentTests {
  private func withSegments(_ body: (TestDatabase, Segments, CustomerID) async throws -> Void) async throws {
    try await withDatabase { database in
      try await body(database, Segments(database.pool), try await database.customer())
    }
  }

  private func add(
    _ name: String, _ line: String, to segments: Segments, of customer: CustomerID
  ) async throws -> SegmentReply {
    try await segments.add(customer, SegmentRequest(name: name, filter: try Filter(text: line)))
  }

  @Test func `A segment keeps its filter with the numbers of what it names`() async throws {
    try await withSegments { database, segments, customer in
      let list = try await ContactLists(database.pool).add(customer, name: "it's").listId
      let first = try await add("A", "in list 'it''s'", to: segments, of: customer)
      #expect(first.filter == .list(.number(list.rawValue)) && first.text == "in list \(list)")
      let second = try await add("B", "in segment 'A' and country = 'SE'", to: segments, of: customer)
      #expect(second.text == "in segment \(first.segmentId) and country = 'SE'")
      #expect(try await segments.find(customer, second.segmentId) == second)
      #expect(try await segments.list(customer, PageRequest()).items == [first, second])
      let (before, after) = try await database.pool.transaction {
        try await Segments($0).rewrite(customer, first.segmentId, SegmentRequest(name: "C"))
      }
      #expect(before == first && after.name == "C" && after.filter == first.filter && after.text == first.text)
    }
  }

  @Test func `What a filter names must exist, and an error says where it is named`() async throws {
    try await withSegments { database, segments, customer in
      let stranger = try await database.customer("Other")
      try await database.addSendouts(7...7, of: stranger)
      for (filter, problem) in [
        ("in list 7", "at 9: there is no list 7"), ("in list 'x'", "at 9: no list is called 'x'"),
        ("in segment 7", "at 12: there is no segment 7"),
        ("country = 'SE' and ( not in segment 'x')", "at 37: no segment is called 'x'"),
        ("received sendout 7 within 30 days", "at 18: there is no sendout 7"),
        ("everyone or opened  sendout 7 < 2", "at 29: there is no sendout 7"),
        ("outcome of sendout 7 = 'failed'", "at 20: there is no sendout 7"),
        (#"{"list":7}"#, "at list: there is no list 7"),
        (#"{"and":[{"everyone":true},{"list":"x"}]}"#, "at and[1].list: no list is called 'x'"),
        (#"{"or":[{"not":{"segment":7}}]}"#, "at or[0].not.segment: there is no segment 7"),
        (#"{"received":{"sendout":7}}"#, "at received.sendout: there is no sendout 7"),
        (#"{"not":{"outcome":{"sendout":7,"is":"any"}}}"#, "at not.outcome.sendout: there is no sendout 7"),
      ] {
        await #expect(throws: RegistryError.invalid(field: "filter", problem: problem), "\(filter)") {
          let filter = try Filter(textOrTree: filter)
          _ = try await segments.add(customer, SegmentRequest(name: "A", filter: filter))
        }
      }
      // What was not read has no place.
      for (filter, problem) in [
        (Filter.list(.number(7)), "names list 7, and there is none of this number"),
        (.segment(.name("x")), "names segment 'x', and there is none of this name"),
        (.outcome(FilterOutcome(.any, of: 7)), "names sendout 7, and there is none of this number"),
      ] {
        await #expect(throws: RegistryError.invalid(field: "filter", problem: problem)) {
          _ = try await segments.resolve(customer, filter)
        }
      }
    }
  }

  @Test func `A segment has either a filter or contacts that were put into it`() async throws {
    try await withSegments { _, segments, customer in
      await #expect(
        throws: RegistryError.invalid(field: "filter", problem: "is missing: give one, or \"static\": true")
      ) { try await segments.add(customer, SegmentRequest(name: "A")) }
      await #expect(throws: RegistryError.self) {
        try await segments.add(customer, SegmentRequest(name: "A", filter: .everyone, static: true))
      }
      let hand = try await segments.add(customer, SegmentRequest(name: "A", static: true))
      #expect(hand.static && hand.filter == nil && hand.text == nil)
      await #expect(throws: RegistryError.self) {
        try await segments.rewrite(customer, hand.segmentId, SegmentRequest(filter: .everyone))
      }
      await #expect(throws: RegistryError.nameTaken("segment")) {
        try await segments.add(customer, SegmentRequest(name: "A", filter: .everyone))
      }
    }
  }

  @Test func `A filter that leads back to its own segment is refused`() async throws {
    try await withSegments { database, segments, customer in
      let first = try await add("A", "everyone", to: segments, of: customer)
      let second = try await add("B", "in segment 'A'", to: segments, of: customer)
      let third = try await add("C", "not in segment 'B'", to: segments, of: customer)
      let other = try await add("D", "everyone", to: segments, of: customer).segmentId
      for (line, place) in [
        ("in segment 'A'", 12), ("in segment 'B'", 12), ("in segment \(other) or in segment \(third.segmentId)", 28),
      ] {
        let problem = "at \(place): this leads back to segment \(first.segmentId) itself"
        await #expect(throws: RegistryError.invalid(field: "filter", problem: problem)) {
          try await database.pool.transaction {
            try await Segments($0).rewrite(customer, first.segmentId, SegmentRequest(filter: try Filter(text: line)))
          }
        }
      }
      // A circle that stands in the database nonetheless ends somewhere.
      try await database.query(
        "UPDATE segment SET filter = $2 WHERE segment_id = $1", first.segmentId.rawValue,
        JSONDocument(#"{"segment":\#(second.segmentId)}"#))
      let resolved = try await segments.resolve(customer, .segment(.number(first.segmentId.rawValue)))
      #expect(try await segments.contacts(customer, resolved, PageRequest()).items.isEmpty)
    }
  }

  @Test func `Segments in segments have limits, and an error says which one is too much`() async throws {
    try await withSegments { database, segments, customer in
      try await database.addSendouts(1...Int64(Segments.mostOfSendouts), of: customer)
      var last = try await add("level 1", "everyone", to: segments, of: customer).segmentId
      for level in 2...Segments.mostLevels {
        last = try await add("level \(level)", "in segment \(last)", to: segments, of: customer).segmentId
      }
      _ = try await add("other", "everyone", to: segments, of: customer)
      func refuse(_ filter: String, _ problem: String) async throws {
        await #expect(throws: RegistryError.invalid(field: "filter", problem: problem), "\(filter)") {
          let filter = try Filter(textOrTree: filter)
          _ = try await segments.add(customer, SegmentRequest(name: "too much", filter: filter))
        }
      }
      let deep = "more than \(Segments.mostLevels - 1) segments in one another"
      let deepest = "in segment 'level \(Segments.mostLevels)'"
      try await refuse("country = 'SE' and \(deepest)", "at 31: this leads to \(deep)")
      try await refuse("in segment 'other' or \(deepest)", "at 34: this leads to \(deep)")
      try await refuse(
        #"{"or":[{"everyone":true},{"not":{"segment":"level \#(Segments.mostLevels)"}}]}"#,
        "at or[1].not.segment: this leads to \(deep)")
      let many = (1...60).map { "country = '\($0)'" }.joined(separator: " or ")
      let wide = try await add("wide", many, to: segments, of: customer).segmentId
      // 16 times 61 are fewer than 1,000, with the one condition behind them.
      let wider = (1...17).map { _ in #"{"segment":\#(wide)}"# }.joined(separator: ",")
      let large = "the filter has more than \(Segments.mostConditions) conditions with those of the segments in it"
      try await refuse(#"{"or":[\#(wider),{"bucket":[0,1]}]}"#, "at or[16].segment: with this, \(large)")
      // Each that names a sendout takes memory by the sendout's size.
      let sendouts = (1...Segments.mostOfSendouts).map { "received sendout \($0) >= 2" }.joined(separator: " or ")
      _ = try await add("of sendouts", sendouts, to: segments, of: customer)
      let problem = """
        the filter has more than \(Segments.mostOfSendouts) conditions that name a sendout with those of the segments in it
        """
      try await refuse("in segment 'of sendouts' or opened sendout 1", "at 29: with this, \(problem)")
      try await refuse("opened sendout 1 or in segment 'of sendouts'", "at 32: with this, \(problem)")
      // What was not read has no place.
      await #expect(throws: RegistryError.invalid(field: "filter", problem: "has \(deep)")) {
        _ = try await segments.add(
          customer, SegmentRequest(name: "too deep", filter: .segment(.number(last.rawValue))))
      }
    }
  }

  @Test func `Which contacts have notes is asked once, however many conditions read the roll-up`() async throws {
    try await withSegments { database, segments, customer in
      try await database.addSendouts(7...7, of: customer)
      _ = try await add("active", "country = 'NO' and received >= 2 within 7 days", to: segments, of: customer)
      for line in [
        "received", "received >= 3 or opened < 2 within 7 days or opened >= 1 of last 50",
        "country = 'SE' and received >= 3 and not opened", "in segment 'active' and not in segment 'active'",
        "has device or (in segment 'active' and opened)",
      ] {
        let sql = try await segments.resolve(customer, try Filter(text: line)).sql
        #expect(sql.template.ranges(of: "FROM activity_change").count == 1 && !sql.join.isEmpty, "\(line)")
      }
      let others = try await segments.resolve(customer, try Filter(text: "country = 'SE' or received sendout 7")).sql
      #expect(!others.template.contains("activity_change") && others.join.isEmpty)
    }
  }

  @Test func `A segment that another one uses is not removed`() async throws {
    try await withSegments { database, segments, customer in
      let first = try await add("A", "everyone", to: segments, of: customer)
      let second = try await add("B", "not (country = 'SE' or in segment 'A')", to: segments, of: customer)
      func remove(_ segment: SegmentID, unless: String? = nil) async throws -> SegmentReply {
        try await database.pool.transaction {
          try await Segments($0).removeUnused(customer, segment) { unless }
        }
      }
      await #expect(throws: RegistryError.inUse("segment", by: "segment B")) { try await remove(first.segmentId) }
      await #expect(throws: RegistryError.inUse("segment", by: "sendout 7")) {
        try await remove(second.segmentId, unless: "sendout 7")
      }
      #expect(try await remove(second.segmentId) == second)
      #expect(try await remove(first.segmentId) == first)
      await #expect(throws: RegistryError.numberUnknown("segment")) { try await remove(first.segmentId) }
    }
  }

  @Test func `A list that a segment uses is told`() async throws {
    try await withSegments { database, segments, customer in
      let list = try await ContactLists(database.pool).add(customer, name: "x").listId
      #expect(try await segments.user(customer, list: list) == nil)
      _ = try await add("A", "not in list 'x'", to: segments, of: customer)
      #expect(try await segments.user(customer, list: list) == "A")
      #expect(try await segments.user(try await database.customer("Other"), list: list) == nil)
    }
  }

  @Test func `Contacts join and leave a static segment by their original ids`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a", "b", "c"])
      let hand = try await segments.add(customer, SegmentRequest(name: "A", static: true))
      let first = try await segments.changeContacts(
        customer, hand.segmentId, MembersRequest(add: ["a", "b", "nobody", "a"]))
      #expect(first.reply == MembersReply(added: 2, removed: 0, unknownOriginalIds: ["nobody"]))
      #expect(first.joined.count == 2)
      let second = try await segments.changeContacts(
        customer, hand.segmentId, MembersRequest(add: ["b", "c"], remove: ["a", "strange"]))
      #expect(second.reply == MembersReply(added: 1, removed: 1, unknownOriginalIds: ["strange"]))
      #expect(second.left.count == 1)
      let filter = try await segments.resolve(customer, .segment(.name("A")))
      #expect(try await segments.contacts(customer, filter, PageRequest()).items.map(\.originalId) == ["b", "c"])
      let filtered = try await add("B", "everyone", to: segments, of: customer)
      await #expect(throws: RegistryError.self) {
        try await segments.changeContacts(customer, filtered.segmentId, MembersRequest(add: ["a"]))
      }
      await #expect(throws: RegistryError.invalid(field: "add[0]", problem: "is in remove, too")) {
        try await segments.changeContacts(customer, hand.segmentId, MembersRequest(add: ["a"], remove: ["a"]))
      }
      let many = RegistryError.invalid(
        field: "remove", problem: "holds 1001 original ids, and 1000 are allowed: import more")
      await #expect(throws: many) {
        let ids = (0...MembersRequest.maximumCount).map { "user\($0)" }
        _ = try await segments.changeContacts(customer, hand.segmentId, MembersRequest(remove: ids))
      }
    }
  }

  @Test func `A condition that looks back further than pushes are kept is refused`() async throws {
    try await withSegments { database, _, customer in
      let segments = Segments(database.pool, retentionDays: 30)
      let further = "looks back further than the 30 days that pushes are kept"
      let needed = "needs within 30 days, or fewer, as pushes are kept for 30 days"
      for (line, problem) in [
        ("received", "at 1: `received >= 1` \(needed)"),
        ("everyone or opened >= 1 within 31 days", "at 13: `opened >= 1 within 31 days` \(further)"),
        ("opened < 1 of last 5", "at 1: `opened < 1 of last 5` \(needed)"),
        ("not received within 721 hours", "at 5: `received >= 1 within 721 hours` \(further)"),
      ] {
        await #expect(throws: RegistryError.invalid(field: "filter", problem: problem)) {
          try await segments.resolve(customer, try Filter(text: line))
        }
      }
      // That of a segment has no place in the filter that names the segment.
      _ = try await add("A", "opened", to: Segments(database.pool), of: customer)
      let problem = "has `opened >= 1`, which \(needed)"
      await #expect(throws: RegistryError.invalid(field: "filter", problem: problem)) {
        try await segments.resolve(customer, try Filter(text: "in segment 'A' and received within 1 days"))
      }
      _ = try await segments.resolve(customer, try Filter(text: "received within 30 days and opened within 720 hours"))
      _ = try await Segments(database.pool).resolve(customer, try Filter(text: "received"))
      try await database.query("UPDATE customer SET retention_days = 7")
      await #expect(throws: RegistryError.self) {
        try await segments.resolve(customer, try Filter(text: "received within 8 days"))
      }
      await #expect(throws: RegistryError.self) {
        try await Segments(database.pool).resolve(customer, try Filter(text: "received within 8 days"))
      }
    }
  }

  @Test func `A search has pages by number`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: (1...5).map { "a\($0)" })
      let everyone = try await segments.resolve(customer, .everyone)
      var page = PageRequest<ContactID>(limit: 2)
      var found: [String] = []
      repeat {
        let next = try await segments.contacts(customer, everyone, page)
        found += next.items.map(\.originalId)
        page.after = next.next
      } while page.after != nil
      #expect(found == ["a1", "a2", "a3", "a4", "a5"])
    }
  }

  @Test func `An explanation shows what the contact has`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      try await database.query(
        "UPDATE contact SET country = 'DE', date_of_birth = '1980-02-29', properties = '{\"visits\":2}'")
      let inside = try await add("A", "properties.visits >= 3", to: segments, of: customer)
      let filter = try await segments.resolve(
        customer, try Filter(text: "country = 'SE' or in segment 'A' or not birthday(dateOfBirth) within next 365 days")
      )
      let explained = try await segments.explain(customer, filter, originalID: "a")
      #expect(!explained.result)
      #expect(
        explained.nodes.dropFirst() == [
          .init(text: "country = 'SE'", result: false, value: "DE"),
          .init(text: "in segment \(inside.segmentId)", result: false),
          .init(text: "properties.visits >= 3", result: false, value: "2"),
          .init(text: "not birthday(dateOfBirth) within next 365 days", result: false),
          .init(text: "birthday(dateOfBirth) within next 365 days", result: true, value: "1980-02-29"),
        ])
      await #expect(throws: RegistryError.contactUnknown(originalID: "b")) {
        try await segments.explain(customer, filter, originalID: "b")
      }
    }
  }

  @Test func `The segments of a contact are those that it meets or was put into`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a", "b"])
      let hand = try await segments.add(customer, SegmentRequest(name: "A", static: true))
      _ = try await add("B", "originalId = 'b'", to: segments, of: customer)
      let both = try await add("C", "in segment 'A' or in segment 'B'", to: segments, of: customer)
      _ = try await segments.changeContacts(customer, hand.segmentId, MembersRequest(add: ["a"]))
      let found = try await segments.containing(customer, originalID: "a")
      #expect(found.map(\.segmentId) == [hand.segmentId, both.segmentId])
      await #expect(throws: RegistryError.contactUnknown(originalID: "c")) {
        try await segments.containing(customer, originalID: "c")
      }
    }
  }

  @Test func `Segments that look back further than pushes are kept are left out of a contact's`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      _ = try await add("A", "not received", to: segments, of: customer)
      let kept = try await add("B", "not received within 7 days", to: segments, of: customer)
      #expect(try await segments.containing(customer, originalID: "a").map(\.name) == ["A", "B"])
      let forgetful = Segments(database.pool, retentionDays: 30)
      #expect(try await forgetful.containing(customer, originalID: "a") == [kept])
    }
  }

  @Test func `A contact's segments are asked in portions, and only the first hundred`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      try await database.query("UPDATE contact SET country = '17'")
      // A statement has a thousand conditions, so it takes sixteen of these segments.
      let line = (1...60).map { "country = '\($0)'" }.joined(separator: " or ")
      var wanted: [SegmentID] = []
      for number in 1...ContactDetails.mostSegments + 1 {
        let isMet = number % 3 == 0
        let filter = isMet ? line : "not (\(line))"
        let segment = try await add("\(number)", filter, to: segments, of: customer)
        if isMet, number <= ContactDetails.mostSegments { wanted.append(segment.segmentId) }
      }
      #expect(try await segments.containing(customer, originalID: "a").map(\.segmentId) == wanted)
    }
  }

  @Test func `psql lists who is in a segment, with what segments inside are by now`() async throws {
    try await withSegments { database, segments, customer in
      try await Contacts(database.pool).add(customer, originalIDs: ["a", "b", "it's"])
      let hand = try await segments.add(customer, SegmentRequest(name: "A", static: true))
      let line =
        "not in segment 'A' and (originalId = 'it''s' or originalId contains '{now}' or originalId starts with 'A')"
      let filtered = try await add("B", line, to: segments, of: customer)
      func listed(_ segment: SegmentID, of customer: CustomerID) async throws -> [String] {
        try await database.query(
          "SELECT original_id FROM report.segment_contacts($1, $2) ORDER BY 1", customer.rawValue, segment.rawValue
        ).map { try $0.decode(String.self) }
      }
      #expect(try await listed(filtered.segmentId, of: customer) == ["a", "it's"])
      _ = try await segments.changeContacts(customer, hand.segmentId, MembersRequest(add: ["a"]))
      #expect(try await listed(filtered.segmentId, of: customer) == ["it's"])
      #expect(try await listed(hand.segmentId, of: customer) == ["a"])
      #expect(try await listed(filtered.segmentId, of: try await database.customer("Other")) == [])
      let shown = try await database.query("SELECT name, filter FROM report.segments ORDER BY segment_id")[1]
      #expect(try shown.column(0, as: String.self) == "B")
      #expect(try shown.column(1, as: String.self) == filtered.text)
    }
  }

  @Test func `What psql runs of a segment cannot write`() async throws {
    try await withSegments { database, segments, customer in
      let segment = try await add("A", "everyone", to: segments, of: customer)
      try await database.query(
        "UPDATE segment SET condition = 'set_config(''transaction_read_only'', ''off'', true) IS NOT NULL' WHERE segment_id = $1",
        segment.segmentId.rawValue)
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      await #expect(throws: PostgresError.self) {
        try await database.query(
          "SELECT * FROM report.segment_contacts($1, $2)", customer.rawValue, segment.segmentId.rawValue)
      }
    }
  }
}
