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
  private static let sid = "ms-app://s-1-15-2-7"

  /// A Windows app, and a device of each of these contacts.
  private func addApp(_ bench: SendingBench, contacts: Int, endpoints: EndpointRules? = nil) async throws -> PushApp {
    bench.simulator.wns.register(packageSID: Self.sid, secret: "acme-secret")
    let app = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: SendingBench.appID, type: .windows, name: "Acme",
        service: PushServiceFields([.clientSecret: Secret("acme-secret"), .packageSID: Secret(Self.sid)])))
    let registrations = RegistrationBatcher(bench.pool, endpoints: endpoints ?? EndpointRules(bench.simulator))
    for number in 1...contacts {
      var body = PushDevicesBody()
      body.originalId = "user\(number)@example.com"
      body.texts[.firstName] = "N\(number)"
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken =
        endpoints == nil
        ? bench.simulator.channel("windows-\(number)") : "https://db5p.notify.windows.com/?token=windows-\(number)"
      device.appType = .windows
      body.deviceInfo = [device]
      try await registrations.register(
        bench.customer, try Registration(body, apps: [app]), returnsContact: false)
    }
    return app
  }

  @Test func `A sendout arrives on the Windows devices of its contacts, each with its own text`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 30)
      try await bench.withHubs {
        let key = try await bench.send("Hi {{firstName}}", fields: ["table": 7])
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 30, sent: 30, accepted: 30))
      }
      let received = bench.simulator.wns.requests
      #expect(Set(received.map(\.channel)).count == 30)
      #expect(bench.simulator.wns.tokenRequestCount == 1)
      let toast = try #require(received.first { $0.channel == bench.simulator.channel("windows-7") })
      #expect(toast.texts == ["Hi N7"])
      let launch = try JSONValue(parsing: Array(try #require(toast.attribute("launch")).utf8))
      #expect(launch["alert"] == "Hi N7" && launch["table"] == 7 && launch["source"] == "carma")
      #expect(launch.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
    }
  }

  @Test func `WNS' answers retire channels, put pushes off and fail them as its table says`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 4)
      let wns = bench.simulator.wns
      wns.expire(channel: "windows-1")
      wns.rule(.prefix("windows-2"), .refuse(.taken("channelthrottled")), times: 1)
      wns.rule(.prefix("windows-3"), .refuse(.taken("dropped")))
      try await bench.withHubs {
        let key = try await bench.send()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        let pushes = try await bench.pushes(key)
        #expect(pushes.filter { $0.state == .accepted }.count == 2)
        let gone = try #require(pushes.first { $0.reason == "HTTP410" })
        #expect(gone.state == .failed && gone.attempts == 1)
        #expect(try await bench.invalidation(gone.deviceId).reason == "HTTP410")
        let dropped = try #require(pushes.first { $0.reason == "dropped" })
        #expect(dropped.state == .failed)
        #expect(try await bench.invalidation(dropped.deviceId).at == nil)
        let again = try #require(pushes.first { $0.attempts == 2 })
        #expect(again.state == .accepted && again.resentBecause == "channelthrottled")
      }
    }
  }

  @Test func `A package that Microsoft does not know pauses the sendout and raises the app's alarm`() async throws {
    try await withSendingBench { bench in
      let app = try await addApp(bench, contacts: 3)
      bench.simulator.wns.remove(Self.sid)
      try await bench.withHubs {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.counts?.queued == 3 && paused.counts?.sent == 0)
        let alarm = try await PushApps(bench.pool).find(bench.customer, app.id)?.alarm
        #expect(alarm?.reason.contains("invalid_client") == true)
      }
    }
  }

  @Test func `Channels stored before their host was forbidden get nothing, and their devices stay`() async throws {
    try await withSendingBench { bench in
      _ = try await addApp(bench, contacts: 2, endpoints: EndpointRules())
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
