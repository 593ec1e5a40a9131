import FoundationEssentials
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Providers

/// Pushes to FCM over TLS and HTTP/2, with sign-in.
@Suite struct FCMSendingTests {
  /// A clock that the test sets.
  private final class Clock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    var now: @Sendable () -> Date { { self.time.withLock { $0 } } }
    func pass(minutes: Double) { time.withLock { $0 += minutes * 60 } }
  }

  @Test func `A push is received completely, with one access token for all`() async throws {
    try await withAPNs { simulator, services in
      let account = try services.firebase(simulator)
      #expect(await account.verdicts(["phone-1:x", "phone-2:x"]) == [.accepted, .accepted])
      let received = simulator.fcm.requests
      #expect(Set(received.map(\.token)) == ["phone-1:x", "phone-2:x"])
      #expect(received.allSatisfy { $0.project == "acme-shop" && !$0.validateOnly })
      #expect(received.allSatisfy { $0.message["data"]?["alert"] == "Hello" })
      #expect(received.allSatisfy { $0.message["android"]?["collapse_key"] == nil })
      #expect(received.allSatisfy { $0.message["android"]?["notification"]?["tag"] == "s17" })
      #expect(simulator.fcm.tokenRequestCount == 1)
    }
  }

  @Test(arguments: [
    ("fade0400", Verdict.tokenInvalid(.unregistered, since: nil, reason: "INVALID_ARGUMENT")),
    ("fade0401", .waitsForCorrection(reason: "THIRD_PARTY_AUTH_ERROR")),
    ("fade0403", .tokenInvalid(.wrongApp, since: nil, reason: "SENDER_ID_MISMATCH")),
    ("fade0404", .tokenInvalid(.unregistered, since: nil, reason: "UNREGISTERED")),
    ("fade1429", .retry(after: .seconds(60), reason: "QUOTA_EXCEEDED")),
    ("fade0500", .retry(after: nil, reason: "INTERNAL")),
    ("fade1503", .retry(after: .seconds(1), reason: "UNAVAILABLE", appliesToService: true)),
  ])
  func `A refusal is reported as its verdict`(_ token: String, _ verdict: Verdict) async throws {
    try await withAPNs { simulator, services in
      let account = try services.firebase(simulator)
      #expect(await account.verdicts([token]) == [verdict])
      #expect(simulator.fcm.tokenRequestCount == 1)
    }
  }

  @Test func `A new connection sends as many pushes as the server allows`() async throws {
    try await withAPNs(provider: { $0.connectionsPerPool = 1 }) { simulator, services in
      simulator.fcm.rule(.any, .ignore, times: 50)
      let account = try services.firebase(simulator)
      async let verdicts = account.verdicts((0..<50).map { "phone-\($0):x" })
      _ = await simulator.fcm.received(count: 50)
      simulator.fcm.answerIgnored()
      #expect(Set(await verdicts) == [.accepted])
    }
  }

  @Test func `An access token is renewed before its end, while the old one serves`() async throws {
    let clock = Clock()
    try await withAPNs(now: clock.now) { simulator, services in
      let account = try services.firebase(simulator)
      #expect(await account.verdicts(["phone-1:x"]) == [.accepted])
      clock.pass(minutes: 56)
      simulator.fcm.tokenRule(.any, .ignore, times: 1)
      #expect(await account.verdicts(["phone-1:x"]) == [.accepted])
      _ = await simulator.fcm.receivedTokenRequests(count: 2)
      #expect(await account.verdicts(["phone-1:x"]) == [.accepted])
      #expect(simulator.fcm.tokenRequestCount == 2)
      simulator.fcm.answerIgnored()
      clock.pass(minutes: 5)
      #expect(await account.verdicts(["phone-1:x"]) == [.accepted])
    }
  }

  @Test func `What is no private key refuses the credentials without a request`() async throws {
    try await withAPNs { simulator, services in
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1),
        credentials: .fcm(.init(projectID: "p", clientEmail: "e", privateKeyID: "k", privateKey: "nonsense")))
      #expect(await account.verdicts(["phone-1:x"]) == [.credentialsRefused(reason: "PrivateKeyUnusable")])
      #expect(simulator.fcm.count + simulator.fcm.tokenRequestCount == 0)
    }
  }

  @Test func `An account of another project is refused`() async throws {
    try await withAPNs { simulator, services in
      let stranger = try services.firebase(simulator, sendingFor: "other-project")
      #expect(await stranger.verdicts(["phone-1:x"]) == [.credentialsRefused(reason: "PERMISSION_DENIED")])
      #expect(await stranger.check(.production) == .refused(reason: "PERMISSION_DENIED"))
    }
  }

  @Test func `A check is a dry run, and a word about its token accepts the account`() async throws {
    try await withAPNs { simulator, services in
      let account = try services.firebase(simulator)
      #expect(await account.check(.production) == .accepted)
      for refusal: SimulatedFCM.Refusal in [.unregistered, .invalidToken, .senderIDMismatch] {
        simulator.fcm.rule(.any, .refuse(refusal), times: 1)
        #expect(await account.check(.production) == .accepted)
      }
      simulator.fcm.rule(.any, .refuse(.unavailable()), times: 1)
      #expect(await account.check(.production) == .unreachable(reason: "UNAVAILABLE"))
      #expect(simulator.fcm.requests.allSatisfy { $0.validateOnly })
    }
  }
}

extension PushServices {
  /// An app's account whose service account the Simulator knows.
  /// - Parameters:
  ///   - project: to send for another project than the account's own.
  ///   - clientEmail: nil for the name that all tests share.
  func firebase(
    _ simulator: PushSimulator, sendingFor project: String? = nil, clientEmail: String? = nil
  ) throws -> any PushAccount {
    let account = try SimulatedFCM.ServiceAccount(clientEmail: clientEmail, tokenURL: simulator.googleTokenURL)
    try simulator.fcm.register(account)
    return self.account(
      appID: "com.acme.app", of: CustomerID(1),
      credentials: .fcm(
        GoogleServiceAccount(
          projectID: project ?? account.projectID, clientEmail: account.clientEmail, privateKeyID: account.keyID,
          privateKey: account.privateKey)))
  }
}

extension PushAccount {
  /// Sends a message to these tokens, and returns the verdicts in their order.
  func verdicts(_ tokens: [String], to environment: PushEnvironment = .production) async -> [Verdict?] {
    let requests = tokens.compactMap { token -> PushRequest? in
      let message = RenderedMessage(alert: Array(#""Hello""#.utf8))
      let push = OutgoingPush(token: token, id: UUID(), collapseKey: "s17", message: message)
      if case .request(let request) = prepare(push) { return request }
      return nil
    }
    return await send(requests, to: environment, while: { true }).verdicts(of: requests.count)
  }
}
