import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

/// Provider tokens that hubs share by the database: each `hub` has its own services, connections and clock.
@Suite struct SharedTokenTests {
  /// Sends a push as a hub whose clock is so many hours fast.
  private func hub(
    _ bench: SendingBench, fastBy hours: Double = 0, vault: Vault? = nil
  ) async throws -> Verdict? {
    let store = ProviderTokenVault(bench.pool, vault: vault ?? bench.vault)
    let now = { @Sendable in Date(timeIntervalSinceNow: hours * 3600) }
    return try await withProvider(PushServiceSettings(bench.simulator), tokens: store, now: now) { services in
      let account = services.account(
        appID: SendingBench.appID, of: bench.customer, credentials: APNsCredentials.sample.shared)
      let push = OutgoingPush(token: bench.token(1), id: UUID(), message: RenderedMessage())
      guard case .request(let request) = account.prepare(push) else { return nil }
      for await outcomes in account.send([request], to: .production, while: { true }) {
        for outcome in outcomes { return outcome.verdict }
      }
      return nil
    }
  }

  private func tokens(_ bench: SendingBench) -> [String] {
    bench.simulator.apns.requests.compactMap { $0.header("authorization") }
  }

  /// Lets the shared token get older; what signs it stays as it was.
  private func age(_ bench: SendingBench, minutes: Int) async throws {
    try await bench.database.query(
      "UPDATE provider_token SET issued_at = issued_at - make_interval(mins => $1::int4)", Int32(minutes))
  }

  @Test func `Hubs whose clocks are hours off use one token, which APNs accepts`() async throws {
    try await withSendingBench { bench in
      for hours in [-2.0, 0, 2] {
        let verdict = try await hub(bench, fastBy: hours)
        #expect(verdict == .accepted)
      }
      #expect(tokens(bench).count == 3)
      #expect(Set(tokens(bench)).count == 1)
    }
  }

  @Test func `Of hubs that need a token together, one makes it`() async throws {
    try await withSendingBench { bench in
      for round in 1...2 {
        try await withThrowingTaskGroup(of: Verdict?.self) { group in
          for _ in 1...6 { group.addTask { try await hub(bench) } }
          for try await verdict in group { #expect(verdict == .accepted) }
        }
        #expect(Set(tokens(bench)).count == round)
        try await age(bench, minutes: 50)
      }
    }
  }

  @Test func `A token that APNs takes for expired is replaced by all hubs once in twenty minutes`() async throws {
    try await withSendingBench { bench in
      #expect(try await hub(bench) == .accepted)
      try await age(bench, minutes: 20)
      bench.simulator.apns.rule(.any, .refuse(status: 403, reason: "ExpiredProviderToken"))
      for _ in 1...3 {
        let verdict = try await hub(bench)
        #expect(verdict == .credentialsRefused(reason: "ExpiredProviderToken"))
      }
      #expect(Set(tokens(bench)).count == 2)
      try await age(bench, minutes: 20)
      #expect(try await hub(bench) == .credentialsRefused(reason: "ExpiredProviderToken"))
      #expect(Set(tokens(bench)).count == 3)
    }
  }

  @Test func `The token is sealed, and opens for no other customer`() async throws {
    try await withSendingBench { bench in
      #expect(try await hub(bench) == .accepted)
      let (key, sealed) = try await bench.database.query("SELECT signing_key, sealed FROM provider_token")[0].decode(
        String.self, Bytes.self)
      let sent = String(try #require(tokens(bench).first).dropFirst("bearer ".count))
      #expect(!sealed.bytes.contains(sequence: Array(sent.utf8)))
      let vault = ProviderTokenVault(bench.pool, vault: bench.vault)
      #expect(try await vault.find(ProviderTokenKey(customer: bench.customer, signingKey: key)).token?.text == sent)
      let other = try await bench.database.customer("Other")
      #expect(try await vault.find(ProviderTokenKey(customer: other, signingKey: key)).token == nil)
      try await bench.database.query("UPDATE provider_token SET customer_id = $1", other.rawValue)
      await #expect(throws: RegistryError.self) {
        try await vault.find(ProviderTokenKey(customer: other, signingKey: key))
      }
    }
  }

  @Test func `After a rotation of the master key, the token is the same`() async throws {
    try await withSendingBench { bench in
      #expect(try await hub(bench) == .accepted)
      let new = MasterKeys.generate()
      let both = Vault(try MasterKeys(current: new, older: [bench.masterKey]))
      let done = try await Rekey(bench.pool, vault: both, by: "root", columns: SealedColumn.registry).run()
      #expect(done.resealed == 2 && done.unreadable.isEmpty)
      #expect(try await hub(bench, vault: Vault(try MasterKeys(current: new))) == .accepted)
      #expect(tokens(bench).count == 2)
      #expect(Set(tokens(bench)).count == 1)
    }
  }
}

extension [UInt8] {
  fileprivate func contains(sequence: [UInt8]) -> Bool {
    count >= sequence.count
      && (0...(count - sequence.count)).contains { Array(self[$0..<($0 + sequence.count)]) == sequence }
  }
}
