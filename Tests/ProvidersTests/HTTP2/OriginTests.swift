import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Requests to addresses that differ by device.
@Suite struct OriginTests {
  /// Reports what answered: the address and the status.
  private struct Echo: ServiceDescription {
    let origin: ServiceAddress

    var name: String { "Echo" }
    var label: String { "echo" }

    func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
      .available(Authorization(value: "Bearer none"))
    }
    func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
      ResponseClassification(verdict: .payloadRefused(reason: "\(origin.authority): \(response.status)"))
    }
  }

  private static func request(to origin: ServiceAddress) -> PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", "/nowhere")
    return PushRequest(headers: headers, body: [], origin: origin)
  }

  private static let account = PoolKey(
    service: "echo", environment: .production, customer: CustomerID(1), credentials: .hms(.client(id: "1", secret: "s"))
  )

  private static func pools(
    _ simulator: PushSimulator, configure: (inout PushServiceSettings) -> Void = { _ in }
  ) throws -> ConnectionPools {
    var settings = PushServiceSettings(simulator)
    configure(&settings)
    return try ConnectionPools(settings, logger: TestServer.logger, now: { Date() })
  }

  private static func origin(_ port: ClosedPort) throws -> ServiceAddress {
    try #require(ServiceAddress(url: "https://127.0.0.1:\(port.number)"))
  }

  private static func verdicts(_ origins: [ServiceAddress], through pools: ConnectionPools) async -> [Verdict?] {
    await pools.send(origins.map(request), toOriginsOf: account, { Echo(origin: $0) }, while: { true })
      .verdicts(of: origins.count)
  }

  @Test func `Each request goes to its own origin, and all outcomes come in one stream`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator)
      let urls = [simulator.fcmURL, simulator.hmsURL, simulator.fcmURL, simulator.hmsURL]
      let origins = try urls.map { try #require(ServiceAddress(url: $0)) }
      let answered = origins.map { Verdict.payloadRefused(reason: "\($0.authority): 404") }
      #expect(await Self.verdicts(origins, through: pools) == answered)
      #expect(simulator.fcm.connectionsOpened == 1)
      #expect(simulator.hms.connectionsOpened == 1)
      #expect(await Self.verdicts([], through: pools) == [])
      await pools.shutDown()
    }
  }

  @Test func `Origins that cannot be reached keep no other from its pushes`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator) { $0.connectAttempts = 1 }
      let deaf = ClosedPort()
      let origins = [try Self.origin(deaf), try #require(ServiceAddress(url: simulator.fcmURL))]
      #expect(
        await Self.verdicts(origins, through: pools) == [
          .unsent(reason: "ConnectionRefused"), .payloadRefused(reason: "\(origins[1].authority): 404"),
        ])
      await pools.shutDown()
    }
  }

  @Test func `Idle connections make room for further origins`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator) { $0.connectAttempts = 1 }
      let deaf = (0..<pools.quotas.limits.origins).map { _ in ClosedPort() }
      let first = try #require(ServiceAddress(url: simulator.fcmURL))
      let answered = Verdict.payloadRefused(reason: "\(first.authority): 404")
      let refused = await Self.verdicts(try deaf.map(Self.origin), through: pools)
      #expect(Set(refused) == [.unsent(reason: "ConnectionRefused")])
      #expect(await Self.verdicts([first], through: pools) == [answered])
      await pools.shutDown()
    }
  }

  @Test func `While an account's connections to other origins all work, a further one has to wait`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator) { $0.connectAttempts = .max }
      let deaf = (0..<pools.quotas.limits.origins).map { _ in ClosedPort() }
      let further = try #require(ServiceAddress(url: simulator.fcmURL))
      let sending = pools.send(
        try deaf.map { Self.request(to: try Self.origin($0)) }, toOriginsOf: Self.account, { Echo(origin: $0) },
        while: { true })
      let refused = Verdict.unsent(reason: "TooManyOrigins")
      #expect(await Self.verdicts([further], through: pools) == [refused])
      // Another customer is not concerned.
      var other = Self.account
      other.customer = CustomerID(2)
      let others = pools.send(
        [Self.request(to: further)], toOriginsOf: other, { Echo(origin: $0) }, while: { true })
      for await outcomes in others {
        #expect(outcomes.map(\.verdict) == [.payloadRefused(reason: "\(further.authority): 404")])
      }
      await pools.shutDown()
      for await outcomes in sending { #expect(outcomes.allSatisfy { $0.verdict == .unsent(reason: "ShuttingDown") }) }
    }
  }

  @Test func `Of requests to an address that has answered none, few leave, and later ones come back at once`()
    async throws
  {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator) {
        $0.untrustedTimeout = .milliseconds(400)
        $0.placeTimeout = .zero
      }
      let silent = ClosedPort()
      let origin = try Self.origin(silent)
      let most = pools.quotas.limits.unansweredByUntrusted
      func send() async throws -> [Verdict] {
        var verdicts: [Verdict] = []
        let requests = Array(repeating: Self.request(to: origin), count: most + 5)
        for await outcomes in pools.send(
          requests, toOriginsOf: Self.account, places: .origins { _ in false }, { Echo(origin: $0) }, while: { true })
        { verdicts += outcomes.map(\.verdict) }
        #expect(verdicts.allSatisfy { if case .unsent = $0 { true } else { false } } && verdicts.count == most + 5)
        #expect(pools.quotas.places(of: Self.account.holder) == 0)
        return verdicts
      }
      #expect(try await send().count { $0 == .unsent(reason: "NoPlace") } == 5)
      #expect(try await send().count { $0 == .unsent(reason: "NoAnswer") } >= most + 4)
      await pools.shutDown()
    }
  }

  @Test func `What waits for a place gets the first that comes free`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator) { $0.placeTimeout = .seconds(600) }
      let origin = try #require(ServiceAddress(url: simulator.fcmURL))
      let requests = Array(repeating: Self.request(to: origin), count: 500)
      var verdicts: [Verdict] = []
      for await outcomes in pools.send(
        requests, toOriginsOf: Self.account, places: .origins { _ in false }, { Echo(origin: $0) }, while: { true })
      { verdicts += outcomes.map(\.verdict) }
      #expect(verdicts == Array(repeating: .payloadRefused(reason: "\(origin.authority): 404"), count: 500))
      #expect(pools.quotas.places(of: Self.account.holder) == 0)
      await pools.shutDown()
    }
  }

  @Test func `A single question leaves no connection open`() async throws {
    try await withSimulator { simulator in
      let pools = try Self.pools(simulator)
      let origin = try #require(ServiceAddress(url: simulator.fcmURL))
      for _ in 1...3 {
        let verdict = await pools.answer { question in
          var key = Self.account
          key.question = question
          return pools.send([Self.request(to: origin)], toOriginsOf: key, { Echo(origin: $0) }, while: { true })
        }
        #expect(verdict == .payloadRefused(reason: "\(origin.authority): 404"))
      }
      #expect(simulator.fcm.connectionsOpened == 3)
      try await waitUntil { simulator.fcm.openConnections == 0 }
      await pools.shutDown()
    }
  }
}
