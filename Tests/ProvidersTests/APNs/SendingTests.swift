import FoundationEssentials
import Providers
import Simulator
import Support
import Testing

@Suite struct SendingTests {
  @Test func `A push is received completely and accepted`() async throws {
    try await withAPNs { simulator, apns in
      var push = APNsPush.sample(alert: "Grüße")
      push.collapseID = "s17"
      push.expiration = Date(timeIntervalSince1970: 1_900_000_000.9)
      push.priority = .considerate
      #expect(await apns.verdicts([push]) == [.accepted])

      let received = try #require(await simulator.apns.received(count: 1).first)
      #expect(received.token == push.token)
      #expect(received.payload == push.payload)
      #expect(received.environment == .production)
      #expect(received.header(":method") == "POST")
      #expect(received.header(":scheme") == "https")
      #expect(received.header("apns-topic") == "com.acme.app")
      #expect(received.header("apns-push-type") == "alert")
      #expect(received.header("apns-priority") == "5")
      #expect(received.header("apns-expiration") == "1900000000")
      #expect(received.header("apns-collapse-id") == "s17")
      #expect(received.header("apns-id") == push.id.uuidString.lowercased())
    }
  }

  @Test func `Thousands of pushes through one connection are each answered once`() async throws {
    let count = sampleSize(of: 20_000)
    try await withAPNs(simulator: { $0.requestsKept = count }, provider: { $0.connectionsPerPool = 1 }) {
      simulator, apns in
      let verdicts = await apns.verdicts(APNsPush.samples(count))
      #expect(verdicts.count { $0 == .accepted } == count)
      #expect(Set(simulator.apns.requests.map(\.token)).count == count)
      #expect(simulator.apns.count == count)
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }
}
