import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct ContactLookupTests {
  @Test func `A thousand lookups at once get each its own contact, in few statements`() async throws {
    try await withDatabase { database in
      let shop = try await Shop(database)
      let other = try await Shop(database)
      for number in 0..<50 {
        try await shop.register("user\(number)", token: "t\(number)")
        try await other.register("user\(number)", token: "other\(number)")
      }
      let counting = CountingStatements(database.pool, "contact.find_many")
      let lookup = ContactLookup(counting)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1000 {
          let shop = number.isMultiple(of: 3) ? other : shop
          group.addTask {
            let id = "user\(number % 60)"
            let contact = try await lookup.find(shop.customer, originalID: id, apps: shop.app.map(\.id))
            #expect(contact?.originalID == (number % 60 < 50 ? id : nil))
            let prefix = number.isMultiple(of: 3) ? "other" : "t"
            #expect(contact?.devices.map(\.token) == (number % 60 < 50 ? ["\(prefix)\(number % 60)"] : nil))
          }
        }
        try await group.waitForAll()
      }
      #expect(counting.count < 500)
    }
  }

  @Test func `It finds what the store finds`() async throws {
    try await withDatabase { database in
      let shop = try await Shop(database)
      try await shop.register(
        #"{"originalId":"a","city":"Lund","properties":{"x":1},"deviceInfo":[{"devicetoken":"t1","appType":1},{"devicetoken":"t2","appType":2}]}"#,
        shop.both)
      try await shop.register("a", token: "t3")
      let lookup = ContactLookup(database.pool)
      for apps in [shop.app, shop.both, []] {
        let found = try await lookup.find(shop.customer, originalID: "a", apps: apps.map(\.id))
        #expect(try await shop.contact("a", apps) == found)
        #expect(found?.devices.count == apps.count)
      }
      #expect(try await lookup.find(shop.customer, originalID: "a\0", apps: []) == nil)
    }
  }

  @Test func `While the database is away nobody is left waiting`() async throws {
    let lookup = ContactLookup(PromptDatabase(SilentDatabase(), limit: .zero))
    let outages = await withTaskGroup(of: Outage?.self) { group in
      for number in 0..<100 {
        group.addTask {
          do {
            _ = try await lookup.find(CustomerID(1), originalID: "user\(number)", apps: [])
            return nil
          } catch {
            return Outage(error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outages.count { $0 == .nothingDone } == 100)
  }
}
