import Content
import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts that go to Windows' push service.
@Suite struct WindowsTests {
  @Test func `Channels stored before their host was forbidden get nothing, and their devices stay`() async throws {
    try await withSendingBench { bench in
      _ = try await SendoutService.wns.addApp(bench, contacts: 2, endpoints: EndpointRules()) {
        "https://db5p.notify.windows.com/?token=windows-\($0)"
      }
      try await bench.withHubs {
        let key = try await bench.send()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts?.failed == 2)
        for push in try await bench.pushes(key) {
          #expect(push.reason == "HostNotAllowed")
          #expect(try await bench.invalidation(push.deviceId).at == nil)
        }
      }
      #expect(bench.simulator.wns.count == 0)
    }
  }
}
