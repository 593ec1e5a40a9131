import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ContactLookupTests {
  @Test func `A thousand lookups at once get each its own contact, in few statements`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let other = try await RegistryFixture(database)
      for number in 0..<50 {
        try await fixture.register("user\(number)", token: "t\(number)")
        try await other.register("user\(number)", token: "other\(number)")
      }
      let counting = CountingDatabase(database.pool)
      let lookup = ContactLookup(counting)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1000 {
          let fixture = number.isMultiple(of: 3) ? other : fixture
          group.addTask {
            let id = "user\(number % 60)"
            let contact = try await lookup.find(fixture.customer, originalID: id, apps: fixture.app.map(\.id))
            #expect(contact?.originalID == (number % 60 < 50 ? id : nil))
            let prefix = number.isMultiple(of: 3) ? "other" : "t"
            #expect(contact?.devices.map(\.token) == (number % 60 < 50 ? ["\(prefix)\(number % 60)"] : nil))
          }
        }
        try await group.waitForAll()
      }
      #expect(counting.count(of: "contact.find_many") < 500)
    }
  }

  @Test func `It finds what the store finds`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register(
        #"{"originalId":"a","city":"Lund","properties":{"x":1},"deviceInfo":[{"devicetoken":"t1","appType":1},{"devicetoken":"t2","appType":2}]}"#,
        fixture.both)
      try await fixture.register("a", token: "t3")
      let lookup = ContactLookup(database.pool)
      for apps in [fixture.app, fixture.both, []] {
        let found = try await lookup.find(fixture.customer, originalID: "a", apps: apps.map(\.id))
        #expect(try await fixture.contact("a", apps) == found)
        #expect(found?.devices.count == apps.count)
      }
      #expect(try await lookup.find(fixture.customer, originalID: "a\0", apps: []) == nil)
    }
  }

  @Test func `Who gives up takes nobody along, and one more than may wait is refused`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      let lookup = ContactLookup(database.pool, limit: 8)
      @Sendable func find() async throws -> Contact? {
        try await lookup.find(fixture.customer, originalID: "a", apps: fixture.app.map(\.id))
      }
      try await database.withPool { pool in
        let (first, others) = try await pool.transaction { transaction in
          try await transaction.query(sql: "LOCK TABLE contact IN ACCESS EXCLUSIVE MODE")
          let first = Task { try await find() }
          try await database.someoneWaits(as: pool)
          let (refusals, refused) = AsyncStream.makeStream(of: DatabaseUnavailable?.self)
          let others = (0..<4).map { _ in
            Task { () -> Contact? in
              do {
                return try await find()
              } catch {
                refused.yield(DatabaseUnavailable(error))
                return nil
              }
            }
          }
          // Three wait behind the first by now, or there would have been room for the fourth.
          var refusal = refusals.makeAsyncIterator()
          #expect(await refusal.next() == .tooSlow)
          first.cancel()
          return (first, others)
        }
        _ = await first.result
        var found = 0
        for other in others { found += await other.value == nil ? 0 : 1 }
        #expect(found == 3)
      }
      #expect(try await find()?.devices.count == 1)
    }
  }

  @Test func `Devices of other apps do not count against the most that are told`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "mine")
      // More than are told, in another app, and before it in every index by being older.
      try await database.query(
        """
        INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
        OVERRIDING SYSTEM VALUE
        SELECT customer_id, -n, $1, contact_id, 'x' || n, decode(lpad(to_hex(n), 8, '0'), 'hex')
        FROM device, generate_series(1, $2::bigint) AS n
        """, fixture.both[0].id.rawValue, Int64(Device.maximumOfContact) + 100)
      let lookup = ContactLookup(database.pool)
      let mine = fixture.app.map(\.id)
      #expect(try await lookup.find(fixture.customer, originalID: "a", apps: mine)?.devices.map(\.token) == ["mine"])
      #expect(try await fixture.register("a", token: "new").devices.map(\.token) == ["mine", "new"])
      let theirs = try #require(try await fixture.contact("a", [fixture.both[0]]))
      #expect(theirs.devices.count == Device.maximumOfContact)
      #expect(theirs.devices.first?.id.rawValue == -Int64(Device.maximumOfContact) - 100)
    }
  }

  @Test func `While the database is away nobody is left waiting`() async throws {
    let pool = Pool(PoolConfiguration(connectionString: "host=/nowhere"), logger: TestServer.logger)
    let lookup = ContactLookup(pool.limited(to: .milliseconds(50)))
    let outages = await withTaskGroup(of: DatabaseUnavailable?.self) { group in
      for number in 0..<100 {
        group.addTask {
          do {
            _ = try await lookup.find(CustomerID(1), originalID: "user\(number)", apps: [])
            return nil
          } catch {
            return DatabaseUnavailable(error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outages.count { $0 == .nothingDone } == 100)
    await pool.close()
  }
}
