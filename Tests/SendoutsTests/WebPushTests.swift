import Crypto
import Content
import Delivery
import Foundation
import Providers
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

  /// - Parameter silent: where browsers may be, besides the Simulator's.
  private func register(
    _ subscription: String, of number: Int, _ app: PushApp, _ bench: SendingBench, silent: [SilentPort] = []
  ) async throws {
    var endpoints = EndpointRules(bench.simulator)
    if !silent.isEmpty { endpoints.webPush.listed = try Self.listed(bench.simulator, silent) }
    let registrations = RegistrationBatcher(bench.pool, limits: .patient, endpoints: endpoints)
    let body = PushDevicesBody(
      "user\(number)@example.com", firstName: "N\(number)", token: subscription, type: .web)
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

  private static func listed(_ simulator: PushSimulator, _ silent: [SilentPort]) throws -> HostList {
    try #require(
      HostList(([simulator.webPushHost] + silent.map { "localhost:\($0.number)" }).joined(separator: ", ")))
  }

  @Test(arguments: [1, 3])
  func `Origins that never answer hold up no other browser of the app`(origins: Int) async throws {
    let silent = (0..<origins).map { _ in SilentPort() }
    try await withSendingBench { bench in
      let app = try await addApp(bench, browsers: [])
      let browsers = 130
      for number in 1...browsers {
        let subscription = bench.simulator.webPush.subscription(named: "b\(number)", vapidKey: app.vapidPublicKey ?? "")
        // The last ten are at the Simulator.
        let json =
          number > browsers - 10
          ? subscription.json
          : subscription.json.replacing(
            bench.simulator.webPushHost, with: "localhost:\(silent[number % origins].number)")
        try await register(json, of: number, app, bench, silent: silent)
      }
      var settings = PushServiceSettings(bench.simulator)
      settings.endpoints.webPush.listed = try Self.listed(bench.simulator, silent)
      try await withProvider(settings) { services in
        try await bench.withHubs(services: services, { $0.dispatch.verdictTimeout = DispatchSettings().verdictTimeout })
        {
          let key = try await bench.send()
          try await bench.until(key) { $0.counts?.accepted == 10 }
          #expect(bench.simulator.webPush.requests.count == 10)
        }
      }
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
