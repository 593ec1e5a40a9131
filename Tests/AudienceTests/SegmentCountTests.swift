import Delivery
import Locking
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Audience

@Suite struct SegmentCountTests {
  @Test func `An estimate reads about as many contacts whatever their number is`() {
    for contacts in [20_001, 50_000, 100_000, 1_000_000, 5_000_000, 50_000_000] {
      let one = contacts / SegmentCounts.slices
      let taken = SegmentCounts.slicesTaken(contactsInOne: one)
      #expect((1...SegmentCounts.indexedSlices).contains(taken))
      let read = one * taken
      #expect(read <= max(5000, one), "\(contacts)")
      #expect(read >= min(4000, one * SegmentCounts.indexedSlices) || one > 5000, "\(contacts)")
    }
  }

  @Test func `Nineteen of twenty intervals have the number in them`() {
    var random = SeededGenerator(seed: 7)
    for (number, share) in [(20_000, 0.05), (2000, 0.05), (100, 0.05), (50_000, 0.001)] {
      let tries = 400
      let hits = (1...tries).count { _ in
        let found = (1...number).count { _ in Double.random(in: 0..<1, using: &random) < share }
        let (low, high) = SegmentCounts.interval(found: found, share: share)
        return low <= number && number <= high
      }
      #expect(hits >= tries * 92 / 100, "\(number) at \(share): \(hits)")
    }
    #expect(SegmentCounts.interval(found: 0, share: 0.05).low == 0)
  }

  @Test(arguments: [1, 6])
  func `A count by ranges sees one moment, by one connection or by two`(connections: Int) async throws {
    try await withDatabase({ $0.dedicatedConnections = connections }) { database in
      let customer = try await database.customer()
      for place in [1, 2] {
        try await database.query(
          """
          INSERT INTO contact (customer_id, original_id, country)
          SELECT $1, $2 || n, CASE WHEN n % 4 = 0 THEN 'SE' ELSE 'NO' END FROM generate_series(1, 50) AS n
          """, customer.rawValue, "a\(place)-")
      }
      let filter = try await Segments(database.pool).resolve(customer, try Filter(text: "country = 'SE'"))
      let percents = Mutex<[Int32]>([])
      let count = try await RangeCount(pool: database.pool, customer: customer, filter: filter, leastPortion: 5) {
        percent in
        percents.withLock { $0.append(percent) }
        // Whatever is written while it counts is not there yet. Two write at once, so each locks in the same order.
        try await database.query(
          """
          UPDATE contact SET country = 'SE'
           WHERE customer_id = $1 AND contact_id = ANY (ARRAY(
                   SELECT contact_id FROM contact WHERE customer_id = $1 ORDER BY contact_id FOR NO KEY UPDATE))
          """, customer.rawValue)
      }.run()
      #expect(count.contacts == 24)
      let told = percents.withLock { $0 }
      #expect(told.count == 20 && told.max() == 100 && Set(told).count == told.count, "\(told)")
      let rest = try await database.query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'")
      #expect(try rest[0].decode(Int.self) == 0)
    }
  }

  @Test func `The estimate of many contacts is stable and its interval has the exact count`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO contact (customer_id, original_id, country)
        SELECT $1, 'a' || n, CASE WHEN n % 4 = 0 THEN 'SE' ELSE 'NO' END FROM generate_series(1, 30000) AS n
        """, customer.rawValue)
      try await database.query("ANALYZE contact")
      let segments = Segments(database.pool)
      let counts = SegmentCounts(database.pool)
      let filter = try await segments.resolve(customer, try Filter(text: "country = 'SE'"))
      let estimate = try await counts.estimate(customer, filter)
      #expect(!estimate.exact)
      let (low, high) = (try #require(estimate.low), try #require(estimate.high))
      #expect((low...high).contains(7500) && low < high)
      var again = try await counts.estimate(customer, filter)
      again.asOf = estimate.asOf
      #expect(again == estimate)
      var exact = try await counts.exact(customer, filter)
      while exact.isUnfinished { exact = try await counts.exact(customer, filter) }
      #expect(exact.contacts == 7500 && exact.exact && exact.low == 7500 && exact.percent == nil)
      // Buckets are not the slices of the estimate.
      let bucket = try await counts.estimate(
        customer, try await segments.resolve(customer, .bucket(from: 0, to: 10)))
      let (least, most) = (try #require(bucket.low), try #require(bucket.high))
      #expect(least < 3300 && most > 2700)
    }
  }

  @Test(arguments: [
    "received >= 1 within 7 days", "not received", "received sendout 1 = 1", "opened >= 1 of last 40",
    "received sendout 1 and opened sendout 1", "not received sendout 1", "outcome of sendout 1 = 'opened'",
  ])
  func `Counts and estimates are the same before and after noted activity is counted`(line: String) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.addSendouts(1...1, of: customer)
      try await database.query(
        "INSERT INTO contact (customer_id, original_id) SELECT $1, 'a' || n FROM generate_series(1, 30000) AS n",
        customer.rawValue)
      try await database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, settled_at, opened_at)
        SELECT $1, 1, contact_id, 0, 1, contact_id, 'accepted', now(), now() FROM contact
         WHERE customer_id = $1 AND contact_id % 3 = 0
        """, customer.rawValue)
      try await database.query(
        """
        INSERT INTO activity_change (customer_id, contact_ids)
        SELECT $1, array_agg(contact_id) FROM push GROUP BY contact_id / 500
        """, customer.rawValue)
      try await database.query("ANALYZE contact, push, activity_change")
      let filter = try await Segments(database.pool).resolve(customer, try Filter(text: line))
      let activity = ContactActivity(database.pool)
      var estimates: [SegmentCountReply] = []
      for isLast in [false, true] {
        if isLast { while try await activity.step(customer) {} }
        let counts = SegmentCounts(database.pool)
        var estimate = try await counts.estimate(customer, filter)
        #expect(!estimate.exact)
        estimate.asOf = nil
        estimates.append(estimate)
        try await database.query("DELETE FROM segment_count")
        var exact = try await counts.exact(customer, filter)
        while exact.isUnfinished { exact = try await counts.exact(customer, filter) }
        #expect(exact.contacts == (line.hasPrefix("not") ? 20_000 : 10_000))
      }
      #expect(estimates[0] == estimates[1])
    }
  }

  @Test(arguments: [
    "received sendout 1 and not opened sendout 1", "opened sendout 1 < 2", "outcome of sendout 1 = 'opened'",
  ])
  func `An estimate reads of a sendout the pushes of its contacts alone`(line: String) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await addReceived(database, customer)
      let filter = try await Segments(database.pool).resolve(customer, try Filter(text: line))
      func scans(_ reach: FilterCompiler.Reach) async throws -> Bool {
        let sql = filter.sql(for: reach)
        let statement = Statement(
          "test.explain", .read, "EXPLAIN \(SegmentCountQueries.count(sql, .slices).sql)")
        return try await database.pool.query(statement, customer.rawValue, sql.literals, Int32(64)).contains { row in
          try row.decode(String.self).contains("Seq Scan on push")
        }
      }
      #expect(try await scans(.all))
      #expect(try await !scans(.few))
    }
  }

  @Test func `Everyone is compiled to what is counted without a look at each contact's devices`() {
    #expect(ResolvedFilter(.everyone).sql == .everyone)
    #expect(ResolvedFilter(.everyone).sql(for: SegmentCountQueries.Scope.numbers.reach) == .everyone)
  }

  @Test func `The first contacts of a page read of a sendout their own pushes alone`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await addReceived(database, customer)
      let segments = Segments(database.pool)
      let filter = try await segments.resolve(
        customer, try Filter(text: "received sendout 1 and not opened sendout 1"))
      // A plan has no row of a page, so all contacts are asked for as well.
      _ = try await filter.ofPage.rows(1000, database.pool, of: customer) { database, sql, first in
        let statement = Statement(
          "test.plan\(first == nil ? "" : "_first")", .read,
          "EXPLAIN \(SegmentQueries.search(sql, amongFirst: first).sql)")
        let lines = try await database.query(statement, customer.rawValue, sql.literals, Int64(0), Int64(101))
        let plan = try lines.map { try $0.decode(String.self) }.joined(separator: "\n")
        #expect(first == nil || !plan.contains("Seq Scan on push"), "\(plan)")
        #expect(first == nil || plan.contains("Bitmap Index Scan on push"), "\(plan)")
        return lines
      }
      let counting = CountingDatabase(database.pool)
      let page = try await Segments(counting).contacts(customer, filter, PageRequest(limit: 100))
      #expect(page.items.count == 100 && page.next != nil)
      #expect(counting.counts["segment.search_first"] == 1 && counting.counts["segment.search"] == nil)
      let none = try await segments.resolve(customer, try Filter(text: "opened sendout 1"))
      #expect(try await Segments(counting).contacts(customer, none, PageRequest(limit: 100)).items.isEmpty)
      #expect(counting.counts["segment.search_first"] == 2 && counting.counts["segment.search"] == 1)
      // Of contacts' fields the planner may expect too few, of others' tables it knows.
      for (line, firsts) in [("has device", 2), ("country = 'SE'", 3), ("country = 'SE' and has device", 4)] {
        let field = try await segments.resolve(customer, try Filter(text: line))
        #expect(try await Segments(counting).contacts(customer, field, PageRequest(limit: 100)).items.isEmpty)
        #expect(
          counting.counts["segment.search_first"] == firsts && counting.counts["segment.search"] == firsts, "\(line)")
      }
    }
  }

  @Test(arguments: [
    ("firstName = 'Lars'", "contact_name"), ("lastName = 'Lars'", "contact_last_name"),
    ("emailAddress = 'Lars'", "contact_email"), ("mobileNumber = '00461'", "contact_number"),
  ])
  func `A page of a rare name reads the names' index`(line: String, index: String) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO contact (customer_id, original_id, first_name, last_name, email_address, mobile_number)
        SELECT $1, n::text, 'a' || n, 'a' || n, 'a' || n, '0045' || n FROM generate_series(1, 30000) AS n
        """, customer.rawValue)
      try await database.query(
        """
        INSERT INTO contact (customer_id, original_id, first_name, last_name, email_address, mobile_number)
        VALUES ($1, 'lars', 'Lars', 'Lars', 'Lars', '00461')
        """, customer.rawValue)
      try await database.query("ANALYZE contact")
      let segments = Segments(database.pool)
      let filter = try await segments.resolve(customer, try Filter(text: line))
      let found = try await segments.contacts(customer, filter, PageRequest(limit: 100))
      #expect(found.items.map(\.originalId) == ["lars"])
      _ = try await filter.ofPage.rows(1000, database.pool, of: customer) { database, sql, first in
        let statement = Statement(
          "test.plan\(first == nil ? "" : "_first")", .read,
          "EXPLAIN \(SegmentQueries.search(sql, amongFirst: first).sql)")
        let lines = try await database.query(statement, customer.rawValue, sql.literals, Int64(0), Int64(101))
        let plan = try lines.map { try $0.decode(String.self) }.joined(separator: "\n")
        #expect(plan.contains(" \(index) ") == (first == nil), "\(plan)")
        return lines
      }
    }
  }

  @Test(arguments: ["everyone", "has device", "not in list 'x'", "in segment 'y'"])
  func `A count of a range of numbers reads no other contacts' devices and memberships`(line: String) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: (1...400).map { "a\($0)" })
      let list = try await ContactLists(database.pool).add(customer, name: "x").listId
      let segments = Segments(database.pool)
      let segment = try await segments.add(customer, SegmentRequest(name: "y", static: true)).segmentId
      try await database.query(
        "INSERT INTO list_member (customer_id, list_id, contact_id) SELECT $1, $2, contact_id FROM contact",
        customer.rawValue,
        list.rawValue)
      try await database.query(
        "INSERT INTO segment_member (customer_id, segment_id, contact_id) SELECT $1, $2, contact_id FROM contact",
        customer.rawValue, segment.rawValue)
      try await database.query(
        """
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1, 1, contact_id, contact_id::text, contact_id::text::bytea FROM contact
        """, customer.rawValue)
      try await database.query("ANALYZE contact, device, list_member, segment_member")
      let sql = try await segments.resolve(customer, try Filter(text: line)).sql(
        for: SegmentCountQueries.Scope.numbers.reach)
      let plan = Statement("test.plan", .read, "EXPLAIN \(SegmentCountQueries.count(sql, .numbers).sql)")
      let lines = try await database.pool.query(plan, customer.rawValue, sql.literals, Int64(1), Int64(9)).map {
        try $0.decode(String.self)
      }
      // Each table is read once or more, with the range as a condition on it.
      let reads = lines.count { line in
        ["contact", "device", "list_member", "segment_member"].contains { line.contains(" on \($0)") }
      }
      #expect(reads >= 2)
      #expect(lines.count { $0.contains("contact_id >= '1'::bigint") } >= reads, "\(lines)")
    }
  }

  @Test func `An estimate that takes too long says what to do, and not that the database is away`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let filter = try await Segments(database.pool).resolve(customer, .everyone)
      let counts = SegmentCounts(database.pool, estimateLimit: .seconds(2))
      try await database.pool.transaction { transaction in
        try await transaction.query(sql: "LOCK TABLE contact")
        await #expect(throws: RegistryError.filterTooSlow(instead: SegmentCounts.insteadOfEstimate)) {
          try await counts.estimate(customer, filter)
        }
      }
    }
  }

  @Test(arguments: ["received sendout 1", "in list 'x' and lastName = 'Larsson'"])
  func `A page that takes too long says what to do`(line: String) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      _ = try await ContactLists(database.pool).add(customer, name: "x")
      try await database.addSendouts(1...1, of: customer)
      let filter = try await Segments(database.pool).resolve(customer, try Filter(text: line))
      let hurried = database.pool.limited(to: .seconds(2))
      try await database.pool.transaction { transaction in
        try await transaction.query(sql: "LOCK TABLE push, list_member")
        await #expect(throws: RegistryError.filterTooSlow(instead: FilterSQL.insteadOfPage)) {
          try await FilterSQL.read(orElse: FilterSQL.insteadOfPage) {
            try await Segments(hurried).contacts(customer, filter, PageRequest())
          }
        }
      }
    }
  }

  @Test func `A count is told by another hub, for a minute`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: ["a", "b"])
      let filter = try await Segments(database.pool).resolve(customer, .everyone)
      var first = try await SegmentCounts(database.pool).exact(customer, filter)
      while first.isUnfinished { first = try await SegmentCounts(database.pool).exact(customer, filter) }
      try await Contacts(database.pool).add(customer, originalIDs: ["c"])
      let other = SegmentCounts(database.pool)
      #expect(try await other.exact(customer, filter) == first)
      #expect(first.contacts == 2)
      try await database.query("UPDATE segment_count SET as_of = as_of - interval '61 seconds'")
      var anew = try await other.exact(customer, filter)
      while anew.isUnfinished { anew = try await other.exact(customer, filter) }
      #expect(anew.contacts == 3)
    }
  }

  @Test func `The look-ups of a count share its memory`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let list = try await ContactLists(database.pool).add(customer, name: "x").listId
      try await database.addSendouts(7...8, of: customer)
      let segments = Segments(database.pool)
      _ = try await segments.add(
        customer, SegmentRequest(name: "A", filter: try Filter(text: "in list \(list) or device(country = 'SE')")))
      for (line, lookUps) in [
        ("country = 'SE' or bucket(0, 10)", 0), ("in list \(list)", 1), ("received or has device", 1),
        ("received sendout 7 or opened sendout 8", 2), ("outcome of sendout 7 = 'failed'", 1),
        ("in segment 'A' or not in segment 'A'", 6),
      ] {
        #expect(try await segments.resolve(customer, try Filter(text: line)).lookUps == lookUps, "\(line)")
      }
    }
    let memory = [0, 1, 4, 1000, 5000].map { FilterSQL.memory(lookUps: $0) }
    #expect(memory == ["65536kB", "65536kB", "16384kB", "65kB", "64kB"])
  }

  @Test func `Many look-ups of a read share its memory, and few have what PostgreSQL gives each`() async throws {
    try await withDatabase { database in
      let show = Statement("test.memory", .read, "SELECT current_setting('work_mem')")
      let usual = try await database.pool.query(show)[0].decode(String.self)
      for (lookUps, memory) in [(0, usual), (16, usual), (17, "3855kB"), (64, "1MB")] {
        let filter = FilterSQL(template: "true", literals: [], lookUps: lookUps)
        for view in [database.pool, database.pool.limited(to: .seconds(3600))] as [any Querying] {
          let found = try await filter.sharingMemory(view, of: CustomerID(1)) {
            try await $0.query(show)[0].decode(String.self)
          }
          #expect(found == memory, "\(lookUps)")
        }
      }
    }
  }

  @Test func `Every read by a filter limits the memory of its look-ups`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      let list = Filter.list(.number(try await ContactLists(database.pool).add(customer, name: "x").listId.rawValue))
      let many = Filter.or(Array(repeating: list, count: 17))
      let audience = try await Segments(database.pool).resolve(customer, Audience.filter(many))
      let filter = try #require(audience.filter)
      let counting = CountingDatabase(database.pool)
      let reads: [@Sendable () async throws -> Void] = [
        { _ = try await Segments(counting).contacts(customer, filter, PageRequest(limit: 1)) },
        { _ = try await ContactSearch(counting).contacts(customer, beginningWith: nil, meeting: filter.ofPage) },
        {
          _ = try await ContactSearch(counting).contacts(
            customer, beginningWith: "a", in: .originalId, meeting: filter.ofPage)
        },
        { _ = try await SegmentCounts(counting).estimate(customer, filter) },
        {
          _ = try await Audiences(counting).devices(customer, of: PushAppID(1), in: audience.selection, upTo: 1)
        },
        { _ = try await AudienceSamples(counting).sample(customer, audience, apps: [PushAppID(1)], of: 1) },
        {
          _ = try await Ledger(counting).overlap(customer, filter.sql, originalIDs: nil, with: [SendoutID(1)])
        },
      ]
      for (place, read) in reads.enumerated() {
        let before = counting.count(of: "filter.limit_memory")
        try await read()
        #expect(counting.count(of: "filter.limit_memory") > before, "\(place)")
      }
    }
  }

  @Test func `A count keeps its lease however long one of its statements takes`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      let filter = try await Segments(database.pool).resolve(customer, .everyone)
      let counts = SegmentCounts(database.pool, lease: 1)
      @Sendable func leaseEnd() async throws -> Double {
        try await database.query("SELECT extract(epoch FROM lease_until)::float8 FROM segment_count")[0]
          .decode(Double.self)
      }
      try await database.pool.transaction { transaction in
        try await transaction.query(sql: "LOCK TABLE contact")
        #expect(try await counts.exact(customer, filter).isUnfinished)
        let first = try await leaseEnd()
        try await waitUntil { try await leaseEnd() > first }
      }
      var reply = try await counts.exact(customer, filter)
      while reply.isUnfinished { reply = try await counts.exact(customer, filter) }
      #expect(reply.contacts == 1)
    }
  }

  @Test func `A count whose hub was killed is begun by the next one that is asked`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await Contacts(database.pool).add(customer, originalIDs: ["a"])
      let filter = try await Segments(database.pool).resolve(customer, .everyone)
      try await database.query(
        """
        INSERT INTO segment_count (customer_id, fingerprint, percent, lease_until)
        VALUES ($1, sha256(convert_to($2::text, 'UTF8')), 40, now() + interval '1 hour')
        """, customer.rawValue, filter.identity)
      let counts = SegmentCounts(database.pool)
      let waiting = try await counts.exact(customer, filter)
      #expect(waiting.percent == 40 && waiting.contacts == nil && waiting.isUnfinished)
      try await database.query("UPDATE segment_count SET lease_until = now() - interval '1 second'")
      var reply = try await counts.exact(customer, filter)
      while reply.isUnfinished { reply = try await counts.exact(customer, filter) }
      #expect(reply.contacts == 1)
    }
  }

  @Test func `Counts go a day after they were begun`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO segment_count (customer_id, fingerprint, asked_at, lease_until)
        SELECT $1, sha256(convert_to(n::text, 'UTF8')), now() - n * interval '23 hours', now() FROM generate_series(0, 3) AS n
        """, customer.rawValue)
      try await SegmentCounts.forgetOld(customer, in: database.pool)
      #expect(try await database.query("SELECT count(*) FROM segment_count")[0].decode(Int.self) == 2)
    }
  }

  /// 30,000 contacts, and a push of sendout 1 that each has received.
  private func addReceived(_ database: TestDatabase, _ customer: CustomerID) async throws {
    try await database.addSendouts(1...1, of: customer)
    try await database.query(
      "INSERT INTO contact (customer_id, original_id) SELECT $1, 'a' || n FROM generate_series(1, 30000) AS n",
      customer.rawValue)
    try await database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, settled_at)
      SELECT $1, 1, contact_id, 0, 1, contact_id, 'accepted', now() FROM contact WHERE customer_id = $1
      """, customer.rawValue)
    try await database.query("ANALYZE contact, push")
  }
}
