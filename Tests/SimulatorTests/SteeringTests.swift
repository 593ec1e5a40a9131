import FoundationEssentials
import Support
import Testing

@testable import Simulator

/// Answers steered by tokens, by rules, and by hand.
@Suite struct SteeringTests {
  private func request(_ token: String) -> TestRequest {
    var request = TestRequest()
    request.path = "/3/device/" + token
    return request
  }

  @Test func `A token says how it is answered`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withRequests(now: { now }) { _, requests in
      let authorization = TestToken(issuedAt: now).authorization
      for entry in SteeringTokens.table {
        guard case .refuse(let status, let reason, let since) = entry.reply(now) else { continue }
        let answer = try await requests.answer(
          request(entry.prefix.uppercased() + "00ff").with("authorization", authorization))
        #expect(answer == TestAnswer(status, reason), "\(entry.prefix)")
        #expect(answer.timestamp == since.map { $0.timeIntervalSince1970 * 1000 })
        #expect(entry.meaning.hasPrefix("\(status) \(reason)"))
      }
      try await requests.expect(request("fade0001").with("authorization", authorization), 200)
    }
  }

  @Test func `Tokens that say nothing are left alone`() {
    let now = Date()
    for token in ["", "fade", "fade9999", "00fade0410"] { #expect(SteeringTokens.reply(to: token, now: now) == nil) }
    #expect(Set(SteeringTokens.table.map(\.prefix)).count == SteeringTokens.table.count)
    #expect(SteeringTokens.table.allSatisfy { $0.prefix.utf8.count == SteeringTokens.length })
  }

  @Test func `The first rule that matches decides, as often as it may`() {
    var book = RuleBook()
    #expect(book.add(.token("AB"), .cut, times: 1) == 1)
    #expect(book.add(.nth(2), .ignore, times: nil) == 2)
    #expect(book.add(SimulatedAPNs.Match(environment: .sandbox), .refuseStream, times: nil) == 3)
    #expect(book.reply(token: "cd", environment: .production) == nil)
    #expect(book.reply(token: "abcd", environment: .production) == .cut)
    // The second request of any kind went by while the first rule had it.
    #expect(book.reply(token: "abcd", environment: .production) == nil)
    #expect(book.reply(token: "abcd", environment: .sandbox) == .refuseStream)
  }

  @Test func `The n-th of those that match`() {
    var book = RuleBook()
    _ = book.add(SimulatedAPNs.Match(tokenPrefix: "ab", nth: 2), .cut, times: nil)
    let replies = ["ab", "cd", "ab", "ab"].map { book.reply(token: $0, environment: .production) }
    #expect(replies == [nil, nil, .cut, nil])
  }

  @Test func `Rules come after the checks, and can be taken back`() async throws {
    try await withRequests { simulator, requests in
      simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"))
      try await requests.expect(TestRequest(), 503, "ServiceUnavailable")
      try await requests.expect(TestRequest().with("apns-topic", nil), 400, "MissingTopic")
      simulator.apns.removeRules()
      try await requests.expect(TestRequest(), 200)
    }
  }

  @Test func `Arrivals tell all, and only the last are kept`() async throws {
    try await withRequests(configure: { $0.arrivalsKept = 3 }) { simulator, requests in
      async let waiting = simulator.apns.received(count: 5)
      for number in 1...5 {
        _ = try await requests.answer(request("0\(number)").with("apns-collapse-id", "c\(number)"))
      }
      let arrivals = await waiting
      #expect(arrivals.map(\.number) == [3, 4, 5])
      #expect(arrivals.map(\.token) == ["03", "04", "05"])
      #expect(arrivals.map { $0.header("apns-collapse-id") } == ["c3", "c4", "c5"])
      #expect(arrivals.map(\.stream) == [5, 7, 9])
      #expect(Set(arrivals.map(\.connection)) == [1])
      #expect(arrivals.allSatisfy { $0.isAccepted && $0.reply == .accept })
      #expect(arrivals.allSatisfy { String(decoding: $0.payload, as: UTF8.self) == TestRequest().payload })
      #expect(simulator.apns.count == 5)
    }
  }
}
