import FoundationEssentials
import Providers
import Simulator
import Support
import Testing

@Suite struct SendingTests {
  @Test func `A push arrives whole and is accepted`() async throws {
    try await withAPNs { simulator, apns in
      var push = APNsPush.sample(alert: "Grüße")
      push.collapseID = "s17"
      push.expiration = Date(timeIntervalSince1970: 1_900_000_000.9)
      push.priority = .considerate
      #expect(await apns.verdicts([push]) == [.accepted])

      let arrival = try #require(await simulator.apns.received(count: 1).first)
      #expect(arrival.token == push.token)
      #expect(arrival.payload == push.payload)
      #expect(arrival.environment == .production)
      #expect(arrival.header(":method") == "POST")
      #expect(arrival.header(":scheme") == "https")
      #expect(arrival.header("apns-topic") == "com.acme.app")
      #expect(arrival.header("apns-push-type") == "alert")
      #expect(arrival.header("apns-priority") == "5")
      #expect(arrival.header("apns-expiration") == "1900000000")
      #expect(arrival.header("apns-collapse-id") == "s17")
      #expect(arrival.header("apns-id") == push.id.uuidString.lowercased())
    }
  }

  @Test func `Twenty thousand pushes through one connection are each answered once`() async throws {
    try await withAPNs(simulator: { $0.arrivalsKept = 20_000 }, provider: { $0.connectionsPerPool = 1 }) {
      simulator, apns in
      let verdicts = await apns.verdicts(APNsPush.samples(20_000))
      #expect(verdicts.count { $0 == .accepted } == 20_000)
      #expect(Set(simulator.apns.arrivals.map(\.token)).count == 20_000)
      #expect(simulator.apns.count == 20_000)
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }
}
