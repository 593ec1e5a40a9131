import Content
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Pushcart

@Suite struct LinkRefreshTests {
  @Test func `A hub that serves signs with a rotated key and keeps a new maximum age, without a restart`() async throws
  {
    try await withDatabase { database in
      let vault = try Vault.fresh()
      let customer = try await database.customer()
      let keys = LinkKeys(database.pool, vault: vault)
      let signer = LinkSigner(try await keys.load())
      let link = PushLink(customer: customer, sendout: SendoutID(1), push: PushNumber(1), device: DeviceID(1))
      let old = signer.token(for: link, .page)
      let aged = PushLink(
        customer: customer, sendout: SendoutID(1), push: PushNumber(1), device: DeviceID(1), signedOn: LinkDay(1))
      let ancient = signer.token(for: aged, .page)
      let refresh = CacheRefresh(
        database.pool, [.init(on: [.links]) { signer.replace(try await keys.load()) }], logger: TestServer.logger)
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await refresh.run() }
        let rotated = try await database.withPool { other in
          try await LinkKeys(other, vault: vault).rotate(by: .commandLine(user: "root"))
        }
        #expect(rotated == 2)
        try await waitUntil { signer.token(for: link, .page) != old }
        #expect(signer.verify(old, .page) == link && signer.verify(ancient, .page) == link)

        _ = try await Customers(database.pool).update(customer, CustomerUpdate(linkMaximumAgeDays: 30))
        try await waitUntil { signer.verify(ancient, .page) == nil }
        #expect(signer.verify(old, .page) == link)
      }
      let log = try await AuditLog(database.pool).list(customer).items
      #expect(log.map(\.action) == ["links.rotate"])
    }
  }

  @Test func `Whoever has a leaked link key signs nothing after its rotation, and nothing at all after its retirement`()
    async throws
  {
    try await withDatabase { database in
      let keys = LinkKeys(database.pool, vault: try .fresh())
      let customer = try await database.customer()
      let thief = LinkSigner(try await keys.load())
      let link = PushLink(customer: customer, sendout: SendoutID(1), push: PushNumber(1), device: DeviceID(1))
      let early = PushLink(
        customer: customer, sendout: SendoutID(1), push: PushNumber(1), device: DeviceID(1),
        signedOn: LinkDay(LinkDay.today.number - 20))
      _ = try await keys.rotate(by: .commandLine(user: "root"))
      try await database.query("UPDATE hub_secret SET created_at = created_at - interval '10 days'")
      let rotated = LinkSigner(try await keys.load())
      #expect(rotated.verify(rotated.token(for: link, .page), .page) == link)
      #expect(rotated.verify(thief.token(for: link, .page), .page) == nil)
      #expect(rotated.verify(thief.token(for: early, .page), .page) == link)
      try await keys.retire(1, by: .commandLine(user: "root"))
      let retired = LinkSigner(try await keys.load())
      #expect(retired.verify(thief.token(for: early, .page), .page) == nil)
      #expect(retired.verify(rotated.token(for: link, .page), .page) == link)
    }
  }
}
