import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Pushes to APNs that sign in with a certificate instead of a token.
@Suite struct CertificateTests {
  private func account(
    _ services: PushServices, _ appID: String = "com.acme.app", development: PushCertificate? = nil,
    production: PushCertificate? = nil
  ) -> any PushAccount {
    services.account(
      appID: appID, of: CustomerID(1),
      credentials: .apnsCertificates(development: development, production: production))
  }

  private func prepared(_ account: any PushAccount, _ type: PushType? = nil) -> PreparedPush {
    account.prepare(
      OutgoingPush(
        token: "ab01", id: UUID(), message: RenderedMessage(alert: Array(#""Hello""#.utf8), pushType: type)))
  }

  private func verdicts(
    _ account: any PushAccount, _ environment: PushEnvironment = .production, count: Int = 1, _ type: PushType? = nil
  ) async -> [Verdict] {
    guard case .request(let request) = prepared(account, type) else { return [] }
    var verdicts: [Verdict] = []
    for await outcomes in account.send(
      Array(repeating: request, count: count), to: environment, while: { true })
    { verdicts += outcomes.map(\.verdict) }
    return verdicts
  }

  @Test func `Pushes are accepted without a token, on connections of the certificate`() async throws {
    try await withAPNs { simulator, services in
      let one = try PushCertificate(p12: simulator.issuePushCertificate(environments: [.production, .sandbox]))
      let other = try PushCertificate(p12: simulator.issuePushCertificate())
      let first = account(services, development: one, production: one)
      #expect(await verdicts(first, count: 50) == Array(repeating: .accepted, count: 50))
      #expect(await verdicts(first, .sandbox) == [.accepted])
      #expect(await verdicts(account(services, production: other)) == [.accepted])
      #expect(simulator.apns.requests.allSatisfy { $0.header("authorization") == nil })
      #expect(Set(simulator.apns.requests.map(\.connection)).count == 3)
      // A team's key has its own.
      #expect(await services.verdicts([.sample()]) == [.accepted])
      #expect(Set(simulator.apns.requests.map(\.connection)).count == 4)
    }
  }

  @Test func `APNs refuses a certificate of another app or environment, or that it does not know`() async throws {
    try await withAPNs { simulator, services in
      let certificate = try PushCertificate(p12: simulator.issuePushCertificate())
      let expired = try PushCertificate(
        p12: simulator.issuePushCertificate(until: Date().addingTimeInterval(-60)))
      func refused(_ reason: String) -> [Verdict] { [.credentialsRefused(reason: reason)] }
      #expect(
        await verdicts(account(services, development: certificate), .sandbox) == refused("BadCertificateEnvironment"))
      #expect(await verdicts(account(services, production: expired)) == refused("BadCertificate"))
      var lying = certificate
      lying.topics = ["com.acme.other"]
      #expect(await verdicts(account(services, "com.acme.other", production: lying)) == refused("TopicDisallowed"))
      try await withSimulator { stranger in
        let theirs = try PushCertificate(p12: stranger.issuePushCertificate())
        #expect(await verdicts(account(services, production: theirs)) == refused("BadCertificate"))
      }
      #expect(
        await verdicts(account(services, production: certificate), .sandbox) == refused("NoCertificateForEnvironment"))
    }
  }

  @Test func `A check tells of the environments that there are certificates for`() async throws {
    try await withAPNs { simulator, services in
      let certificate = try PushCertificate(p12: simulator.issuePushCertificate())
      #expect(account(services, production: certificate).environments == [.production])
      #expect(account(services, development: certificate).environments == [.sandbox])
      #expect(await account(services, production: certificate).check(.production) == .accepted)
      #expect(
        await account(services, development: certificate).check(.sandbox)
          == .refused(reason: "BadCertificateEnvironment"))
      #expect(simulator.apns.requests.allSatisfy { !$0.isAccepted })
    }
  }

  @Test func `A push whose type or topic the certificate cannot send is refused by itself`() async throws {
    try await withAPNs { simulator, services in
      let certificate = try PushCertificate(
        p12: simulator.issuePushCertificate(topics: ["com.acme.app", "com.acme.app.voip"]),
        topics: ["com.acme.app", "com.acme.app.voip"])
      let account = account(services, production: certificate)
      #expect(await verdicts(account, .production, .voip) == [.accepted])
      for (type, reason) in [
        (PushType.location, "PushTypeNeedsSigningKey"), (.liveactivity, "PushTypeNeedsSigningKey"),
        (.complication, "TopicNotInCertificate"),
      ] {
        guard case .refused(let verdict) = prepared(account, type) else {
          Issue.record("\(type) is not refused")
          continue
        }
        #expect(verdict == .payloadRefused(reason: reason))
      }
    }
  }

  @Test func `A certificate that TLS cannot use is reported by APNs`() async throws {
    try await withAPNs { simulator, services in
      var broken = try PushCertificate(p12: simulator.issuePushCertificate())
      broken.privateKey = Data([1, 2, 3])
      #expect(
        await verdicts(account(services, production: broken)) == [.credentialsRefused(reason: "MissingProviderToken")])
    }
  }

  @Test func `No private key is printed`() throws {
    let certificate = PushCertificate(
      name: "Apple Push Services: a.b", topics: ["a.b"], isForDevelopment: true, isForProduction: true, chain: [],
      privateKey: Data("secret key".utf8))
    let credentials = PushServiceCredentials.apnsCertificates(development: certificate, production: nil)
    var shown = "\(credentials) \(certificate)"
    dump(credentials, to: &shown)
    #expect(shown.contains("Apple Push Services: a.b") && !shown.contains("10 bytes"))
  }
}
