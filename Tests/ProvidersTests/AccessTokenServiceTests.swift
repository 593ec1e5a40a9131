import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Signing in to the push services that take access tokens, over TLS and HTTP/2.
@Suite struct AccessTokenServiceTests {
  enum Service: CaseIterable, Sendable {
    case fcm, hms, wns

    func account(_ services: PushServices, _ simulator: PushSimulator) throws -> any PushAccount {
      switch self {
      case .fcm: try services.firebase(simulator)
      case .hms: services.huawei(simulator)
      case .wns: services.windows(simulator)
      }
    }

    func devices(_ count: Int, _ simulator: PushSimulator) -> [String] {
      (0..<count).map { self == .wns ? simulator.channel("device-\($0)") : "device-\($0):x" }
    }

    func simulated(_ simulator: PushSimulator) -> any TokenIssuingService {
      guard let service = simulator.simulated(type.service.name) as? any TokenIssuingService else {
        preconditionFailure("\(self) has no token endpoint")
      }
      return service
    }

    func expireAccessTokens(_ simulator: PushSimulator) {
      if self == .fcm { simulator.fcm.revokeAccessTokens() } else { simulated(simulator).expireAccessTokens() }
    }

    /// Refuses every access token.
    /// - Returns: the reason.
    func refuseAccessTokens(_ simulator: PushSimulator) -> String {
      switch self {
      case .fcm:
        simulator.fcm.rule(.any, .refuse(.unauthenticated))
        return "UNAUTHENTICATED"
      case .hms:
        simulator.hms.rule(.any, .refuse(.code("80200001")))
        return "80200001"
      case .wns:
        simulator.wns.rule(.any, .refuse(.status(401)))
        return "HTTP401"
      }
    }

    var type: AppType {
      switch self {
      case .fcm: .firebase
      case .hms: .huawei
      case .wns: .windows
      }
    }

    /// Answers requests for access tokens with 503 without a word, and a wait of 90 seconds.
    func breakSignIn(_ simulator: PushSimulator) {
      switch self {
      case .fcm: simulator.fcm.tokenRule(.any, .refuse(.init(status: 503, body: "<html>", retryAfter: "90")))
      case .hms: simulator.hms.tokenRule(.any, .refuse(.init(status: 503, body: "<html>", retryAfter: "90")))
      case .wns:
        simulator.wns.tokenRule(.any, .refuse(.init(status: 503, body: "<html>", headers: ["retry-after": "90"])))
      }
    }

    /// The setting of its token endpoint, and what follows the host there.
    var signIn: (setting: ServiceSetting, path: String) {
      switch self {
      case .fcm: (.googleTokenURL, "/token")
      case .hms: (.hmsTokenURL, "/token")
      case .wns: (.wnsTokenURL, "")
      }
    }
  }

  @Test func `Every service that takes access tokens is among those of these tests`() {
    let services = PushServiceName.allCases.filter(\.takesAccessTokens)
    #expect(Set(Service.allCases.map(\.type.service.name)) == Set(services))
  }

  private func ignoreOneSignIn(_ service: some TokenIssuingService) { service.tokenRule(.any, .ignore, times: 1) }

  private func awaitSignIn(_ service: some TokenIssuingService) async {
    _ = await service.receivedTokenRequests(count: 1)
  }

  @Test(arguments: Service.allCases) func `Whoever waits for the access token shares one request for it`(
    service: Service
  ) async throws {
    try await withAPNs { simulator, services in
      let simulated = service.simulated(simulator)
      ignoreOneSignIn(simulated)
      let account = try service.account(services, simulator)
      async let first = account.verdicts(service.devices(1, simulator))
      await awaitSignIn(simulated)
      async let second = account.verdicts(service.devices(2, simulator), to: .sandbox)
      simulated.answerIgnored()
      #expect(await first + second == [.accepted, .accepted, .accepted])
      #expect(simulated.tokenRequestCount == 1)
    }
  }

  @Test(arguments: Service.allCases)
  func `An access token that is good no more is replaced, and its pushes are sent again`(
    service: Service
  ) async throws {
    try await withAPNs { simulator, services in
      let account = try service.account(services, simulator)
      #expect(await account.verdicts(service.devices(1, simulator)) == [.accepted])
      service.expireAccessTokens(simulator)
      #expect(Set(await account.verdicts(service.devices(50, simulator))) == [.accepted])
      #expect(service.simulated(simulator).tokenRequestCount == 2)
    }
  }

  @Test(arguments: Service.allCases) func `A new access token that is refused too refuses the credentials`(
    service: Service
  ) async throws {
    try await withAPNs { simulator, services in
      let refused = Verdict.credentialsRefused(reason: service.refuseAccessTokens(simulator))
      let account = try service.account(services, simulator)
      #expect(Set(await account.verdicts(service.devices(50, simulator))) == [refused])
      #expect(service.simulated(simulator).tokenRequestCount == 2)
      #expect(await account.verdicts(service.devices(1, simulator)) == [refused])
      #expect(service.simulated(simulator).tokenRequestCount == 2)
    }
  }

  @Test(arguments: Service.allCases) func `An account that is unknown refuses the credentials, and nothing is sent`(
    service: Service
  ) async throws {
    try await withAPNs { simulator, services in
      let account = try service.account(services, simulator)
      let reason = simulator.forgetAccount(of: service.type)
      #expect(await account.verdicts(service.devices(1, simulator)) == [.credentialsRefused(reason: reason)])
      #expect(await account.check(.production) == .refused(reason: reason))
      #expect(service.simulated(simulator).count == 0)
    }
  }

  @Test(arguments: Service.allCases) func `A token endpoint that is out of order puts pushes off`(
    service: Service
  ) async throws {
    try await withAPNs { simulator, services in
      service.breakSignIn(simulator)
      let account = try service.account(services, simulator)
      let later = Verdict.retry(after: .seconds(90), reason: "HTTP503", appliesToService: true)
      #expect(await account.verdicts(service.devices(2, simulator)) == [later, later])
      #expect(service.simulated(simulator).tokenRequestCount == 1)
      #expect(await account.check(.production) == .unreachable(reason: "HTTP503"))
    }
  }

  @Test(arguments: Service.allCases) func `Without a token endpoint pushes come back unsent`(
    service: Service
  ) async throws {
    try await withSimulator { simulator in
      let deaf = ClosedPort()
      var settings = PushServiceSettings(simulator, isPatient: false)
      settings[service.signIn.setting] = "https://127.0.0.1:\(deaf.number)\(service.signIn.path)"
      try await withProvider(settings) { services in
        let account = try service.account(services, simulator)
        #expect(await account.verdicts(service.devices(1, simulator)) == [.unsent(reason: "ConnectionRefused")])
        #expect(await account.check(.production) == .unreachable(reason: "ConnectionRefused"))
        #expect(service.simulated(simulator).count == 0)
      }
    }
  }

  @Test(arguments: Service.allCases) func `Shutdown does not wait for the access token`(service: Service) async throws {
    try await withAPNs { simulator, services in
      let simulated = service.simulated(simulator)
      ignoreOneSignIn(simulated)
      let account = try service.account(services, simulator)
      async let verdicts = account.verdicts(service.devices(1, simulator))
      await awaitSignIn(simulated)
      async let down: Void = services.shutDown()
      #expect(await verdicts == [.unsent(reason: "ShuttingDown")])
      simulated.answerIgnored()
      await down
    }
  }
}
