import FoundationEssentials
import Support
import Testing
import Wire

@testable import Simulator

/// Replies selected by test tokens and by rules.
@Suite struct ReplyTests {
  private static let services = ServiceClients.services

  /// The prefixes of the test tokens that refuse, and their meanings.
  private func meanings<Service: SteerableService>(_ service: Service.Type) -> [String: String] {
    let table = Service.testTokens.table
    #expect(table.allSatisfy { $0.prefix.utf8.count == TestTokens<Service.Refusal>.length })
    for token in ["", "fade", "fade9999", "00fade0410"] {
      #expect(Service.testTokens.reply(to: token, now: Date()) == nil)
    }
    let refusing = table.filter { if case .refuse = $0.reply(Date()) { true } else { false } }
    return Dictionary(uniqueKeysWithValues: refusing.map { ($0.prefix, $0.meaning) })
  }

  @Test(arguments: services)
  func `A test token selects its refusal, as the phone page says, and others select none`(
    service: PushServiceName
  ) async throws {
    let kind = try #require(PushSimulator.kinds.first { $0.service == service })
    let (meanings, refusals) = (meanings(kind), try #require(ServiceClients.refusals[service]))
    #expect(Set(meanings.keys) == Set(refusals.keys))
    try await withServices { _, clients, _ in
      for (prefix, answer) in refusals {
        let given = try await clients.send(service, prefix + "00ff")
        #expect(given == answer, "\(prefix)")
        let meaning = meanings[prefix] ?? ""
        #expect(["\(answer.status)", answer.reason ?? "none"].contains { meaning.hasPrefix($0) }, "\(prefix)")
      }
      #expect(try await clients.send(service, "fade0001").isAccepted)
      // APNs alone compares tokens without regard to case.
      #expect(try await clients.send(service, "FADE0400").isAccepted == (service != .apns))
    }
  }

  @Test func `A device token that is invalid says since when`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withRequests(now: { now }) { _, requests in
      let authorization = TestToken(issuedAt: now).authorization
      for (token, since) in [
        ("fade0410", 1_800_000_000_000), ("fade1410", 1_768_464_000_000), ("fade0400", nil),
      ] as [(String, Double?)] {
        let answer = try await requests.answer(request(token).with("authorization", authorization))
        #expect(answer.timestamp == since, "\(token)")
      }
    }
  }

  private func request(_ token: String) -> TestRequest {
    var request = TestRequest()
    request.path = "/3/device/" + token
    return request
  }

  @Test func `The first matching rule decides, as often as it applies`() {
    let rules = ReplyRules<APNsRefusal>(ignoresCase: true)
    #expect(rules.add(.prefix("AB"), .cut, times: 1) == 1)
    #expect(rules.add(.nth(2), .ignore, times: nil) == 2)
    #expect(rules.add(RequestMatch(environment: .sandbox), .refuseStream, times: nil) == 3)
    #expect(rules.reply(to: "cd", environment: .production) == nil)
    #expect(rules.reply(to: "abcd", environment: .production) == .cut)
    // The second request matched the first rule, and was counted by the second rule too.
    #expect(rules.reply(to: "abcd", environment: .production) == nil)
    #expect(rules.reply(to: "abcd", environment: .sandbox) == .refuseStream)
  }

  @Test func `A rule for the n-th request counts matching requests only`() {
    let rules = ReplyRules<APNsRefusal>()
    _ = rules.add(RequestMatch(prefix: "ab", nth: 2), .cut, times: nil)
    #expect(["ab", "cd", "ab", "ab"].map { rules.reply(to: $0) } == [nil, nil, .cut, nil])
  }

  @Test(arguments: services)
  func `The last requests are kept, with all their details`(service: PushServiceName) async throws {
    try await withServices(configure: { $0.requestsKept = 2 }) { simulator, clients, _ in
      func expectKept(_ simulated: some SimulatedService) async throws {
        async let waiting = simulated.received(count: 3)
        for number in 1...3 { #expect(try await clients.send(service, "ab0\(number)").isAccepted) }
        let received = await waiting
        #expect(received.map(\.number) == [2, 3])
        // The access token was asked for on the first stream.
        let first = service.takesAccessTokens ? 3 : 1
        #expect(received.map(\.stream) == [first + 2, first + 4])
        #expect(Set(received.map(\.connection)) == [1])
        #expect(received.allSatisfy { $0.isAccepted && $0.reply == .accept && !$0.payload.isEmpty })
        #expect(received.allSatisfy { $0.header(":method") == "POST" })
        #expect(simulated.count == 3 && simulated.openConnections == 1)
      }
      try await expectKept(simulator.simulated(service))
      for other in Self.services where other != service { #expect(simulator.simulated(other).count == 0) }
      #expect(clients.tokens(service) == ["ab02", "ab03"])
    }
  }

  @Test func `The file of requests has a line for each, with its id and its reply`() async throws {
    let folder = try TemporaryDirectory(named: "requests")
    defer { folder.remove() }
    let file = "\(folder.path)/requests"
    let id = "123e4567-e89b-42d3-a456-426614174000"
    for _ in 0..<2 {
      try await withRequests(configure: { $0.apnsRequestsFile = file }) { simulator, requests in
        simulator.apns.rule(.nth(1), .after(.milliseconds(1), .accept))
        _ = try await requests.answer(request("01"))
        _ = try await requests.answer(request("FADE0410"))
        _ = try await requests.answer(request("x%09").with("apns-id", nil))
      }
    }
    let run = "1\t1\t01\t\(id)\t200\n1\t3\tfade0410\t\(id)\t410 Unregistered\n1\t5\tx09\t\t400 BadDeviceToken\n"
    #expect(try String(contentsOf: URL(filePath: file), encoding: .utf8) == run + run)
  }

  @Test func `A file of requests that cannot be written is an error at once`() async throws {
    await #expect(throws: (any Error).self) {
      try await withSimulator(configure: { $0.apnsRequestsFile = "/nowhere/requests" }) { _ in }
    }
  }
}
