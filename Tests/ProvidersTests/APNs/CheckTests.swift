import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// The check whether APNs accepts a key.
@Suite struct CheckTests {
  @Test func `A valid key is accepted, and no phone gets anything`() async throws {
    try await withAPNs { simulator, apns in
      let check = await apns.check(topic: "com.acme.app", environment: .production, credentials: .sample)
      #expect(check == .accepted)
      #expect(simulator.apns.requests.count == 1)
      #expect(simulator.apns.requests.allSatisfy { !$0.isAccepted && $0.payload.isEmpty })
    }
  }

  @Test func `A key that the team does not have is refused`() async throws {
    try await withAPNs { _, apns in
      let check = await apns.check(topic: "com.acme.app", environment: .sandbox, credentials: .fresh(keyID: "UNKNOWN"))
      #expect(check == .refused(reason: "InvalidProviderToken"))
    }
  }

  @Test func `A key of the other environment is refused`() async throws {
    try await withAPNs { simulator, apns in
      let key = APNsCredentials.sample
      try simulator.apns.trust(
        teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey, environments: [.sandbox])
      #expect(
        await apns.check(topic: "com.acme.app", environment: .production, credentials: key)
          == .refused(reason: "BadEnvironmentKeyIdInToken"))
      #expect(await apns.check(topic: "com.acme.app", environment: .sandbox, credentials: key) == .accepted)
    }
  }

  @Test func `A topic that the key does not cover is refused`() async throws {
    try await withAPNs { simulator, apns in
      let key = APNsCredentials.sample
      try simulator.apns.trust(
        teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey, topics: ["com.acme.other"])
      #expect(
        await apns.check(topic: "com.acme.app", environment: .production, credentials: key)
          == .refused(reason: "TopicDisallowed"))
      #expect(
        await apns.check(topic: "", environment: .production, credentials: key) == .refused(reason: "MissingTopic"))
    }
  }

  @Test func `A text that is no key is refused without a request`() async throws {
    try await withAPNs { simulator, apns in
      let broken = APNsCredentials(teamID: "T", keyID: "K", signingKey: "")
      #expect(
        await apns.check(topic: "com.acme.app", environment: .production, credentials: broken)
          == .refused(reason: "SigningKeyUnusable"))
      #expect(simulator.apns.connectionsOpened == 0)
    }
  }

  @Test(arguments: APNsReason.allCases) func `Whoever has refused credentials is told what to do`(reason: APNsReason) {
    guard case .credentialsRefused = ResponseClassification(reason).verdict, reason != .missingProviderToken else {
      return #expect(reason.advice == nil)
    }
    #expect(reason.advice?.hasSuffix(".") == true)
  }

  @Test func `When APNs cannot be reached, nothing is known about the key`() async throws {
    try await withSimulator { simulator in
      let deaf = ClosedPort()
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[.apnsProductionURL] = "https://127.0.0.1:\(deaf.number)"
      try await withProvider(settings) { apns in
        #expect(
          await apns.check(topic: "com.acme.app", environment: .production, credentials: .sample)
            == .unreachable(reason: "ConnectionRefused"))
      }
    }
  }

  @Test(arguments: [
    (Verdict.accepted, CredentialVerdict.accepted),
    (.tokenInvalid(.wrongEnvironment, since: nil, reason: "BadDeviceToken"), .accepted),
    (.payloadRefused(reason: "PayloadEmpty"), .accepted),
    (.payloadRefused(reason: "BadPath"), .unreachable(reason: "BadPath")),
    (.credentialsRefused(reason: "Forbidden"), .refused(reason: "Forbidden")),
    (.retry(after: nil, reason: "Shutdown"), .unreachable(reason: "Shutdown")),
    (.uncertain(reason: "RequestTimeout"), .unreachable(reason: "RequestTimeout")),
    (.unsent(reason: "ConnectTimeout"), .unreachable(reason: "ConnectTimeout")),
  ])
  func `Only a response that depends on the key accepts it`(_ verdict: Verdict, _ check: CredentialVerdict) {
    #expect(CredentialVerdict(apns: verdict) == check)
  }
}
