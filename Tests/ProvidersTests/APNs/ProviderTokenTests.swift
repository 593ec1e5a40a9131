import FoundationEssentials
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Providers

/// Provider tokens over HTTP/2: shared, renewed, and recovery from their refusal.
@Suite struct ProviderTokenTests {
  /// A clock that the test sets.
  private final class Clock: Sendable {
    private let time: Mutex<Date>
    init() { time = Mutex(Date(timeIntervalSince1970: 1_800_000_000)) }
    var now: @Sendable () -> Date { { self.time.withLock { $0 } } }
    func pass(minutes: Double) { time.withLock { $0 += minutes * 60 } }
  }

  private func tokens(_ simulator: PushSimulator) -> [String] {
    simulator.apns.requests.compactMap { $0.header("authorization") }
  }

  @Test func `All connections of a key share one token`() async throws {
    try await withAPNs(simulator: { $0.requestsKept = 3000 }) { simulator, apns in
      _ = await apns.verdicts(APNsPush.samples(2000))
      _ = await apns.verdicts(APNsPush.samples(10), to: .sandbox)
      #expect(simulator.apns.connectionsOpened == 3)
      #expect(Set(tokens(simulator)).count == 1)
      #expect(tokens(simulator).first?.hasPrefix("bearer ") == true)
    }
  }

  @Test func `A key's connections are closed when nothing was sent with it for an hour`()
    async throws
  {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      let fresh = APNsCredentials.fresh(keyID: "KEY7654321")
      try simulator.apns.trust(teamID: fresh.teamID, keyID: fresh.keyID, signingKey: fresh.signingKey)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      clock.pass(minutes: 59)
      #expect(await apns.verdicts([.sample()], as: fresh) == [.accepted])
      apns.closeIdle()
      #expect(simulator.apns.openConnections == 2)
      clock.pass(minutes: 2)
      apns.closeIdle()
      try await waitUntil { simulator.apns.openConnections <= 1 }
      #expect(await apns.verdicts([.sample()], as: fresh) == [.accepted])
      #expect(simulator.apns.connectionsOpened == 2)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      #expect(simulator.apns.connectionsOpened == 3)
    }
  }

  @Test func `Pushes are dated by the injected clock`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { _, apns in
      var dates: [Date?] = []
      let pushes = [APNsPush.sample(), .sample(token: "not hex")]
      for await outcomes in apns.send(pushes, to: .production, as: .sample) {
        for outcome in outcomes.sorted(by: { $0.index < $1.index }) { dates.append(outcome.sentAt) }
      }
      // What is no token has not left.
      #expect(Set(dates) == [clock.now(), nil])
    }
  }

  @Test func `The token is renewed after fifty minutes, on the same connection`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      clock.pass(minutes: 49.9)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      #expect(Set(tokens(simulator)).count == 1)
      clock.pass(minutes: 0.1)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      #expect(Set(tokens(simulator)).count == 2)
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `An expired token of twenty minutes is replaced, and the push is sent on a new connection`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      clock.pass(minutes: 20)
      simulator.apns.rule(.nth(1), .refuse(status: 403, reason: "ExpiredProviderToken"))
      #expect(Set(await apns.verdicts(APNsPush.samples(5))) == [.accepted])
      let received = Array(simulator.apns.requests.dropFirst())
      #expect(received.map(\.connection) == [1, 1, 1, 1, 1, 2])
      #expect(received[0].token == received[5].token)
      #expect(Set(tokens(simulator)).count == 2)
      #expect(tokens(simulator)[0] == tokens(simulator)[1])
      #expect(tokens(simulator)[5] != tokens(simulator)[6])
    }
  }

  @Test func `However often APNs takes a token for expired, there is one new token in twenty minutes`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      clock.pass(minutes: 20)
      simulator.apns.rule(.any, .refuse(status: 403, reason: "ExpiredProviderToken"))
      let refused = Verdict.credentialsRefused(reason: "ExpiredProviderToken")
      #expect(Set(await apns.verdicts(APNsPush.samples(100))) == [refused])
      #expect(simulator.apns.connectionsOpened == 2)
      #expect(Set(tokens(simulator)).count == 2)
      // Nor does every call make another.
      clock.pass(minutes: 19)
      #expect(await apns.verdicts([.sample()]) == [refused])
      #expect(Set(tokens(simulator)).count == 2)
      clock.pass(minutes: 1)
      for _ in 1...3 { #expect(await apns.verdicts([.sample()]) == [refused]) }
      #expect(Set(tokens(simulator)).count == 3)
    }
  }

  @Test func `A hub whose clock is an hour slow gets refused credentials`() async throws {
    let now = Date()
    try await withSimulator(now: { now }) { simulator in
      try await withProvider(PushServiceSettings(simulator), now: { now.addingTimeInterval(-3700) }) { apns in
        #expect(await apns.verdicts([.sample()]) == [.credentialsRefused(reason: "ExpiredProviderToken")])
      }
    }
  }

  @Test(arguments: [(400, "TopicDisallowed"), (403, "UnrelatedKeyIdInToken"), (403, "Forbidden")])
  func `What a fresh connection may cure is tried there once`(_ status: Int, _ reason: String) async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.nth(1), .refuse(status: status, reason: reason))
      #expect(Set(await apns.verdicts(APNsPush.samples(3))) == [.accepted])
      #expect(simulator.apns.connectionsOpened == 2)
      #expect(Set(tokens(simulator)).count == 1)
    }
  }

  @Test(arguments: [(400, "TopicDisallowed"), (403, "UnrelatedKeyIdInToken"), (403, "Forbidden")])
  func `What it does not cure stops the app`(_ status: Int, _ reason: String) async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.any, .refuse(status: status, reason: reason))
      #expect(Set(await apns.verdicts(APNsPush.samples(100))) == [.credentialsRefused(reason: reason)])
      #expect(simulator.apns.connectionsOpened == 2)
      // Once on each connection.
      #expect(simulator.apns.count == 2)
    }
  }

  @Test func `Where all pushes are refused, one of each call leaves on a fresh connection`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.any, .refuse(status: 403, reason: "InvalidProviderToken"))
      #expect(
        Set(await apns.verdicts(APNsPush.samples(400))) == [.credentialsRefused(reason: "InvalidProviderToken")])
      #expect(simulator.apns.count <= 2)
      simulator.apns.removeRules()
      #expect(Set(await apns.verdicts(APNsPush.samples(400))) == [.accepted])
    }
  }

  @Test func `A bundle id added to the team is accepted on a new connection`() async throws {
    try await withAPNs { simulator, apns in
      let key = APNsCredentials.sample
      try simulator.apns.trust(
        teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey, topics: ["com.acme.other"])
      #expect(await apns.verdicts([.sample()]) == [.credentialsRefused(reason: "TopicDisallowed")])
      try simulator.apns.trust(
        teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey, topics: ["com.acme.other", "com.acme.app"])
      #expect(await apns.verdicts([.sample()]) == [.accepted])
    }
  }

  @Test func `After too many tokens, the previous one is used on another connection`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      clock.pass(minutes: 50)
      simulator.apns.rule(.nth(1), .refuse(status: 429, reason: "TooManyProviderTokenUpdates"))
      #expect(await apns.verdicts([.sample()]) == [.accepted])
      let used = tokens(simulator)
      #expect(used[1] != used[0])
      #expect(used[2] == used[0])
      #expect(simulator.apns.requests.map(\.connection) == [1, 1, 2])
    }
  }

  @Test func `After too many tokens without a previous one, nothing is sent for twenty minutes`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, apns in
      simulator.apns.rule(.nth(1), .refuse(status: 429, reason: "TooManyProviderTokenUpdates"))
      let reason = "TooManyProviderTokenUpdates"
      #expect(await apns.verdicts([.sample()]) == [.retry(after: .seconds(1200), reason: reason)])
      clock.pass(minutes: 5)
      #expect(await apns.verdicts([.sample()]) == [.retry(after: .seconds(900), reason: reason)])
      #expect(simulator.apns.count == 1)
      clock.pass(minutes: 15)
      #expect(await apns.verdicts([.sample()]) == [.accepted])
    }
  }

  @Test func `Shutdown closes the connection, and the push is to be retried soon`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.nth(1), .refuse(status: 503, reason: "Shutdown"))
      #expect(
        await apns.verdicts(APNsPush.samples(3))
          == [.retry(after: .seconds(1), reason: "Shutdown"), .accepted, .accepted])
      #expect(simulator.apns.requests.map(\.connection) == [1, 2, 2])
    }
  }

  @Test func `A forged key is refused`() async throws {
    try await withAPNs { simulator, apns in
      // The right names, another key.
      #expect(
        await apns.verdicts([.sample()], as: .fresh()) == [.credentialsRefused(reason: "InvalidProviderToken")])
      #expect(await apns.verdicts([.sample()]) == [.accepted])
    }
  }

  /// A store that is away when the test says so.
  private final class Store: ProviderTokenStore {
    private let tokens = UnsharedTokens(now: { Date() })
    private let isAway = Mutex(false)
    func goAway() { isAway.withLock { $0 = true } }

    func find(_ key: ProviderTokenKey) async throws -> (token: ProviderToken?, now: Date) {
      if isAway.withLock({ $0 }) { throw CancellationError() }
      return await tokens.find(key)
    }

    func replace(_ seen: Date?, with token: ProviderToken, for key: ProviderTokenKey) async throws -> Bool {
      await tokens.replace(seen, with: token, for: key)
    }
  }

  @Test func `While the store is away, the token at hand is used until it is fifty minutes old`() async throws {
    let clock = Clock()
    try await withSimulator { simulator in
      let store = Store()
      try await withProvider(PushServiceSettings(simulator), tokens: store, now: clock.now) { apns in
        #expect(await apns.verdicts([.sample()]) == [.accepted])
        store.goAway()
        clock.pass(minutes: 49)
        #expect(await apns.verdicts([.sample()]) == [.accepted])
        clock.pass(minutes: 1)
        #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "ProviderTokenUnknown")])
        #expect(Set(tokens(simulator)).count == 1)
      }
    }
  }

  @Test func `Customers with the same key share neither token nor connection`() async throws {
    try await withAPNs { simulator, apns in
      for customer in [1, 2, 1] {
        let account = apns.account(
          appID: "com.acme.app", of: CustomerID(Int64(customer)), credentials: APNsCredentials.sample.shared)
        #expect(await account.check(.production) == .accepted)
      }
      #expect(Set(tokens(simulator)).count == 2)
      // A check has a connection of its own.
      #expect(simulator.apns.connectionsOpened == 3)
    }
  }

  @Test func `A key that cannot sign sends nothing`() async throws {
    try await withAPNs { simulator, apns in
      let broken = APNsCredentials(teamID: "T", keyID: "K", signingKey: "nonsense")
      #expect(
        await apns.verdicts([.sample()], as: broken) == [.credentialsRefused(reason: "SigningKeyUnusable")])
      #expect(simulator.apns.connectionsOpened == 0)
    }
  }
}
