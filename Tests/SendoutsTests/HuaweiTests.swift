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
  /// A Huawei app, and a phone of each of these contacts.
  private func addApp(_ bench: SendingBench, contacts: Int) async throws -> PushApp {
    bench.simulator.hms.register(clientID: "104567891", secret: "acme-secret")
    let app = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: SendingBench.appID, type: .huawei, name: "Acme",
        service: PushServiceFields([.clientID: Secret("104567891"), .clientSecret: Secret("acme-secret")])))
    let registrations = RegistrationBatcher(bench.pool)
    for number in 1...contacts {
      var body = PushDevicesBody()
      body.originalId = "user\(number)@example.com"
      body.texts[.firstName] = "N\(number)"
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken = "huawei-\(number)"
      device.appType = .huawei
      body.deviceInfo = [device]
      try await registrations.register(
        bench.customer, try Registration(body, apps: [app]), returnsContact: false)
    }
    return app
  }

  @Test func `A sendout arrives on the Huawei phones of its contacts, each with its own text`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 12)
      try await bench.withHubs {
        let key = try await bench.send("Hi {{firstName}}", fields: ["table": 7])
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 12, sent: 12, accepted: 12))
        #expect(finished.apps.contains { $0.appType == .huawei })
      }
      let received = bench.simulator.hms.requests
      #expect(Set(received.flatMap(\.tokens)).count == 12)
      #expect(bench.simulator.hms.tokenRequestCount == 1)
      let message = try #require(received.first { $0.tokens == ["huawei-7"] }?.message)
      #expect(message["android"]?["notification"]?["body"] == "Hi N7")
      let data = try JSONValue(parsing: Array(try #require(message.string("data")).utf8))
      #expect(data["alert"] == "Hi N7" && data["table"] == 7 && data["source"] == "carma")
      #expect(data.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
    }
  }

  @Test func `A text for all goes to more phones with one request than a slice has pushes`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 130)
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

  @Test func `Push Kit's answers retire tokens, put pushes off and fail them as its table says`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 4)
      let hms = bench.simulator.hms
      hms.unregister(token: "huawei-1")
      hms.rule(.prefix("huawei-2"), .refuse(.code("81000001")), times: 1)
      hms.rule(.prefix("huawei-3"), .refuse(.code("80100016")))
      try await bench.withHubs {
        let key = try await bench.send()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        let pushes = try await bench.pushes(key)
        #expect(pushes.filter { $0.state == .accepted }.count == 2)
        let gone = try #require(pushes.first { $0.reason == "80300007" })
        #expect(gone.state == .failed && gone.attempts == 1)
        #expect(try await bench.invalidation(gone.deviceId).reason == "80300007")
        let refused = try #require(pushes.first { $0.reason == "80100016" })
        #expect(refused.state == .failed)
        #expect(try await bench.invalidation(refused.deviceId).at == nil)
        let again = try #require(pushes.first { $0.attempts == 2 })
        #expect(again.state == .accepted && again.resentBecause == "81000001")
      }
    }
  }

  @Test(arguments: ["80300011", "80300013"])
  func `A push that asks for what Huawei does not allow the app fails, and the app's alarm says what to do`(
    code: String
  ) async throws {
    try await withSendingBench { bench in
      let app = try await addApp(bench, contacts: 4)
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

  @Test func `A client that Huawei does not know pauses the sendout and raises the app's alarm`() async throws {
    try await withSendingBench { bench in
      let app = try await addApp(bench, contacts: 3)
      bench.simulator.hms.remove(clientID: "104567891")
      try await bench.withHubs {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.counts?.queued == 3 && paused.counts?.sent == 0)
        #expect(try await PushApps(bench.pool).find(bench.customer, app.id)?.alarm?.reason.contains("1101") == true)
      }
    }
  }
}
