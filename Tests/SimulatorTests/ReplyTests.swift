import FoundationEssentials
import Support
import Testing

@testable import Simulator

/// Replies selected by test tokens and by rules.
@Suite struct ReplyTests {
  private func request(_ token: String) -> TestRequest {
    var request = TestRequest()
    request.path = "/3/device/" + token
    return request
  }

  @Test func `A test token selects its reply`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withRequests(now: { now }) { _, requests in
      let authorization = TestToken(issuedAt: now).authorization
      for entry in SimulatedAPNs.testTokens.table {
        guard case .refuse(let refusal) = entry.reply(now) else { continue }
        let (status, reason, since) = (refusal.status, refusal.reason, refusal.since)
        let answer = try await requests.answer(
          request(entry.prefix.uppercased() + "00ff").with("authorization", authorization))
        #expect(answer == TestAnswer(status, reason), "\(entry.prefix)")
        #expect(answer.timestamp == since.map { $0.timeIntervalSince1970 * 1000 })
        #expect(entry.meaning.hasPrefix("\(status) \(reason)"))
      }
      try await requests.expect(request("fade0001").with("authorization", authorization), 200)
    }
  }

  @Test func `Other tokens select no reply`() {
    let now = Date()
    let tokens = SimulatedAPNs.testTokens
    for token in ["", "fade", "fade9999", "00fade0410"] { #expect(tokens.reply(to: token, now: now) == nil) }
    #expect(Set(tokens.table.map(\.prefix)).count == tokens.table.count)
    #expect(tokens.table.allSatisfy { $0.prefix.utf8.count == TestTokens<APNsRefusal>.length })
  }

  @Test func `The first matching rule decides, as often as it applies`() {
    let rules = ReplyRules<APNsRefusal>(ignoresCase: true)
    #expect(rules.add(.token("AB"), .cut, times: 1) == 1)
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

  @Test func `Rules apply after the checks, and can be removed`() async throws {
    try await withRequests { simulator, requests in
      simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"))
      try await requests.expect(TestRequest(), 503, "ServiceUnavailable")
      try await requests.expect(TestRequest().with("apns-topic", nil), 400, "MissingTopic")
      simulator.apns.removeRules()
      try await requests.expect(TestRequest(), 200)
    }
  }

  @Test func `The last requests are kept, with all their details`() async throws {
    try await withRequests(configure: { $0.requestsKept = 3 }) { simulator, requests in
      async let waiting = simulator.apns.received(count: 5)
      for number in 1...5 {
        _ = try await requests.answer(request("0\(number)").with("apns-collapse-id", "c\(number)"))
      }
      let received = await waiting
      #expect(received.map(\.number) == [3, 4, 5])
      #expect(received.map(\.token) == ["03", "04", "05"])
      #expect(received.map { $0.header("apns-collapse-id") } == ["c3", "c4", "c5"])
      #expect(received.map(\.stream) == [5, 7, 9])
      #expect(Set(received.map(\.connection)) == [1])
      #expect(received.allSatisfy { $0.isAccepted && $0.reply == .accept })
      #expect(received.allSatisfy { String(decoding: $0.payload, as: UTF8.self) == TestRequest().payload })
      #expect(simulator.apns.count == 5)
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
