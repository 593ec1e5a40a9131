import Postgres
@testable import Registry
import Support
import Testing
import Wire

@Suite struct CacheTests {
  /// For caches in which no time is to pass.
  let start = ContinuousClock.now

  @Test func `A token is asked for once, however many requests carry it at the same time`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let new = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device)
      let counting = CountingDatabase(database.pool)
      let cache = AccessKeyCache(counting, now: { [start] in start })
      let answers = try await withThrowingTaskGroup { group in
        for _ in 0..<200 { group.addTask { try await cache.authenticate(new.token, for: customer)?.key } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.allSatisfy { $0 == new.key.keyId } && answers.count == 200)
      #expect(counting.count() == 1)
      #expect(try await cache.authenticate(new.token, for: CustomerID(customer.rawValue + 1)) == nil)
    }
  }

  @Test func `A valid token is believed for five seconds, an unknown one for a minute`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let keys = AccessKeys(database.pool)
      let new = try await keys.make(customer, name: "x", scope: .device)
      let unknown = AccessToken.make(for: customer).text
      let clock = SteerableClock()
      let counting = CountingDatabase(database.pool)
      let cache = AccessKeyCache(counting, now: { clock.now })
      for _ in 0..<3 {
        #expect(try await cache.authenticate(new.token) != nil)
        #expect(try await cache.authenticate(unknown) == nil)
      }
      #expect(counting.count() == 2)
      _ = try await keys.revoke(customer, new.key.keyId)
      #expect(try await cache.authenticate(new.token) != nil)
      clock.advance(by: .seconds(5))
      #expect(try await cache.authenticate(new.token) == nil)
      #expect(try await cache.authenticate(unknown) == nil)
      #expect(counting.count() == 3)
      clock.advance(by: .seconds(55))
      #expect(try await cache.authenticate(unknown) == nil)
      #expect(counting.count() == 4)
    }
  }

  @Test func `Tokens that are guessed do not push out those that are good`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let new = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device)
      let counting = CountingDatabase(database.pool)
      let cache = AccessKeyCache(counting, now: { [start] in start })
      _ = try await cache.authenticate(new.token)
      for _ in 0..<4_200 { _ = try await cache.authenticate(AccessToken.make(for: customer).text) }
      let before = counting.count()
      #expect(try await cache.authenticate(new.token) != nil)
      #expect(counting.count() == before)
    }
  }

  @Test func `A failure is not remembered`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let new = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device)
      let cache = AccessKeyCache(database.pool)
      try await database.query("ALTER TABLE access_key RENAME TO gone")
      await #expect(throws: (any Error).self) { try await cache.authenticate(new.token) }
      try await database.query("ALTER TABLE gone RENAME TO access_key")
      #expect(try await cache.authenticate(new.token) != nil)
    }
  }

  @Test func `What another hub revokes or changes is forgotten here as soon as the word arrives`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let new = try await AccessKeys(database.pool).make(customer, name: "x", scope: .device)
      let keys = AccessKeyCache(database.pool, timeToLive: .seconds(3600))
      let apps = PushAppCache(database.pool, timeToLive: .seconds(3600))
      let store = PushApps(database.pool, vault: try .fresh())
      let app = try await store.add(customer, .ios())
      let addresses = SMSStatusAddresses(key: Array(0..<32), publicURL: "https://push.example.com")
      let before = addresses.token(of: customer)
      // Each is refreshed once it listens.
      let (refreshed, refreshes) = AsyncStream.makeStream(of: Void.self)
      let refresh = CacheRefresh(
        database.pool,
        [
          .init(on: [.accessKey]) {
            keys.flush(); refreshes.yield()
          },
          .init(on: [.pushApp]) {
            apps.flush(); refreshes.yield()
          },
          .init(on: [.smsStatus]) {
            try await addresses.refresh(from: database.pool); refreshes.yield()
          },
        ], logger: TestServer.logger)
      let listening = Task { try await refresh.run() }
      for await _ in refreshed.prefix(3) {}

      #expect(try await keys.authenticate(new.token) != nil)
      #expect(try await apps.resolve(customer, appID: "com.acme.app") == app)
      try await database.withPool { other in
        _ = try await AccessKeys(other).revoke(customer, new.key.keyId)
        _ = try await PushApps(other, vault: try .fresh()).update(customer, app.id, PushAppUpdate(name: "Renamed"))
        _ = try await addresses.renew(customer, in: other)
      }
      try await waitUntil { try await keys.authenticate(new.token) == nil }
      try await waitUntil { try await apps.resolve(customer, appID: "com.acme.app").name == "Renamed" }
      try await waitUntil { addresses.customer(of: before) == nil }
      #expect(addresses.customer(of: addresses.token(of: customer)) == customer)
      listening.cancel()
    }
  }

  @Test func `An appId is looked up once, and one that nobody has each time`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let app = try await PushApps(database.pool, vault: try .fresh()).add(acme, .ios())
      let counting = CountingDatabase(database.pool)
      let cache = PushAppCache(counting, now: { [start] in start })
      for _ in 0..<3 { #expect(try await cache.resolve(acme, appID: "com.acme.app") == app) }
      #expect(counting.count() == 1)
      for customer in [other, CustomerID(4711)] {
        await #expect(throws: RegistryError.appUnknown(appID: "com.acme.app")) {
          try await cache.resolve(customer, appID: "com.acme.app")
        }
      }
      #expect(counting.count() == 3)
    }
  }
}
