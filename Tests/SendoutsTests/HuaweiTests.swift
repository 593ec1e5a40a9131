import Content
import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts that go to Huawei's Push Kit.
@Suite struct HuaweiTests {
  @Test func `A text for all goes to more phones with one request than a slice has pushes`() async throws {
    try await withSendingBench { bench in
      _ = try await SendoutService.hms.addApp(bench, contacts: 130)
      bench.simulator.hms.unregister(token: "huawei-7")
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send("Only today", trackOpens: false)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 130, sent: 130, accepted: 129, failed: 1))
      }
      let received = bench.simulator.hms.requests
      #expect(received.count == 1 && Set(received.flatMap(\.tokens)).count == 130)
      let message = try #require(received.first?.message)
      #expect(message.string("data").map { !$0.contains("pushreadurl") } == true)
    }
  }

  @Test(arguments: ["80300011", "80300013"])
  func `A push that asks for what Huawei does not allow the app fails, and the app's alarm says what to do`(
    code: String
  ) async throws {
    try await withSendingBench { bench in
      let app = try await SendoutService.hms.addApp(bench, contacts: 4)
      bench.simulator.hms.rule(.prefix("huawei-3"), .refuse(.code(code)))
      try await bench.withHubs {
        let key = try await bench.send()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 4, sent: 4, accepted: 3, failed: 1))
        let alarm = try await PushApps(bench.pool).find(bench.customer, app.id)?.alarm
        #expect(alarm?.reason.hasPrefix("\(code): ") == true)
      }
    }
  }
}
