import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Hybrid

@Suite struct HybridAppCacheTests {
  @Test func `What one hub changes of an app is known to another as soon as the word arrives`() async throws {
    try await withDatabase { database in
      let vault = try Vault.fresh()
      let customer = try await database.customer()
      let pushApp = try await PushApps(database.pool, vault: vault).add(
        customer, NewPushApp(appID: "com.acme.app", type: .ios, name: "Acme"))
      let issued = try await HybridApps(database.pool).enable(
        customer, HybridAppRequest(appId: "com.acme.app"), vault: vault
      ).issued
      let key = try #require(UUID(uuidString: issued.appKey))
      let here = HybridAppCache(database.pool, vault: vault, timeToLive: .seconds(3600))
      let (refreshed, refreshes) = AsyncStream.makeStream(of: Void.self)
      let refresh = CacheRefresh(
        database.pool,
        [
          .init(on: HybridAppCache.channels) {
            here.flush()
            refreshes.yield()
          }
        ], logger: TestServer.logger)
      let listening = Task { try await refresh.run() }
      defer { listening.cancel() }
      // It is refreshed once it listens.
      for await _ in refreshed.prefix(1) {}

      func secrets() async throws -> Int { try await here.entry(key)?.secrets.get().count ?? 0 }
      #expect(try await here.app(key, of: customer)?.messageType == .standard)
      #expect(try await here.reportApp(customer) == nil)
      #expect(try await secrets() == 1)
      try await database.withPool { other in
        let apps = HybridApps(other)
        _ = try await other.transaction { transaction in
          try await HybridApps(transaction).change(
            customer, appID: "com.acme.app",
            HybridAppRequest(messageType: .critical, statusUrl: "https://acme.example.com/status"))
        }
        try await waitUntil { try await here.app(key, of: customer)?.messageType == .critical }
        try await waitUntil { try await here.reportApp(customer) == "com.acme.app" }
        _ = try await apps.rotate(customer, appID: "com.acme.app", vault: vault)
        try await waitUntil { try await secrets() == 2 }
        _ = try await PushApps(other, vault: vault).update(customer, pushApp.id, PushAppUpdate(name: "Renamed"))
        try await waitUntil { try await here.app(key, of: customer)?.name == "Renamed" }
        // The first app that gets status reports, by its appId.
        _ = try await PushApps(other, vault: vault).add(
          customer, NewPushApp(appID: "com.acme.aaa", type: .ios, name: "First"))
        _ = try await apps.enable(
          customer, HybridAppRequest(appId: "com.acme.aaa", statusUrl: "https://acme.example.com/status"), vault: vault)
        try await waitUntil { try await here.reportApp(customer) == "com.acme.aaa" }
      }
    }
  }
}
