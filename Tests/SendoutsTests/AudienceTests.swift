import Delivery
import Foundation
import Registry
import Simulator
import Support
import Testing
import Wire

@Suite struct AudienceTests {
  @Test func `A sendout to all reaches every valid device of the app, each once and by name`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(150)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        let shown = try await bench.until(key, .finished)
        #expect(shown.counts == SendoutCounts(audience: 150, sent: 150, accepted: 150))
        #expect(shown.finishedAt != nil)
        return key
      }
      let arrivals = bench.simulator.apns.arrivals
      #expect(Set(arrivals.map(\.token)) == Set((1...150).map { bench.token($0) }))
      #expect(arrivals.count == 150)
      let first = try #require(arrivals.first { $0.token == bench.token(7) })
      let payload = try JSONValue(parsing: first.payload)
      #expect(payload["aps"]?["alert"] == "Hello N7")
      #expect(payload["source"] == "carma")
      #expect(payload["url"] == nil)
      #expect(payload.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
      #expect(first.header("apns-collapse-id") == "s\(key.sendout)")
      #expect(first.header("apns-topic") == SendingBench.appID)
    }
  }
}
