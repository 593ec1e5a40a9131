import Crypto
import Content
import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts that go to browsers.
@Suite struct WebPushTests {
  /// An app of the web, and a browser of each of these contacts.
  private func addApp(_ bench: SendingBench, browsers: [String]) async throws -> PushApp {
    let app = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer, NewPushApp(appID: SendingBench.appID, type: .web, name: "Acme"))
    for (number, name) in browsers.enumerated() {
      let subscription = bench.simulator.webPush.subscription(named: name, vapidKey: app.vapidPublicKey ?? "")
      try await register(subscription.json, of: number + 1, app, bench)
    }
    return app
  }

  private func register(_ subscription: String, of number: Int, _ app: PushApp, _ bench: SendingBench) async throws {
    let registrations = RegistrationBatcher(bench.pool, endpoints: EndpointRules(bench.simulator))
    var body = PushDevicesBody()
    body.originalId = "user\(number)@example.com"
    body.firstName = "N\(number)"
    var device = PushDevicesBody.DeviceInfo()
    device.deviceToken = subscription
    device.appType = .web
    body.deviceInfo = [device]
    try await registrations.register(bench.customer, try Registration(body, apps: [app]), returnsContact: false)
  }

  @Test func `A sendout arrives in the browsers of its contacts, each with its own text`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, browsers: (1...12).map { "browser\($0)" })
      try await bench.withHubs {
        let key = try await bench.send("Hi {{firstName}}", fields: ["table": 7])
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 12, sent: 12, accepted: 12))
      }
      let texts = try bench.simulator.webPush.requests.map { try JSONValue(parsing: try #require($0.text)) }
      #expect(Set(texts.compactMap { $0.string("alert") }) == Set((1...12).map { "Hi N\($0)" }))
      #expect(texts.allSatisfy { $0["fields"]?["table"] == 7 })
      #expect(texts.allSatisfy { $0.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true })
    }
  }

  @Test func `Gone subscriptions are retired, put off pushes are tried again, and refused ones fail`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, browsers: ["fade0410", "busy", "fade0400", "good", "fine"])
      bench.simulator.webPush.rule(.prefix("busy"), .refuse(.tooMany()), times: 1)
      try await bench.withHubs {
        let key = try await bench.send()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        let pushes = try await bench.pushes(key)
        #expect(pushes.filter { $0.state == .accepted }.count == 3)
        let gone = try #require(pushes.first { $0.reason == "errno106" })
        #expect(gone.state == .failed && gone.attempts == 1)
        #expect(try await bench.invalidation(gone.deviceId).reason == "errno106")
        let refused = try #require(pushes.first { $0.reason == "errno110" })
        #expect(try await bench.invalidation(refused.deviceId).at == nil)
        let again = try #require(pushes.first { $0.attempts == 2 })
        #expect(again.state == .accepted && again.resentBecause == "HTTP429")
      }
    }
  }
}
