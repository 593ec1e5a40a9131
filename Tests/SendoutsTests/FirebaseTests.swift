import Content
import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts that go to APNs and to FCM.
@Suite struct FirebaseTests {
  @Test func `A sendout to one appId arrives on the iPhones and Android phones of its contacts`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(30)
      _ = try await SendoutService.fcm.addApp(bench, contacts: 20)
      try await bench.withHubs {
        let key = try await bench.send("Hi {{firstName}}", fields: ["table": 7, "note": "{{device.model}}!"])
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 50, sent: 50, accepted: 50))
        #expect(finished.apps.map(\.appType) == [.ios, .firebase])
      }
      #expect(bench.simulator.apns.requests.count == 30)
      let received = bench.simulator.fcm.requests
      #expect(Set(received.map(\.token)).count == 20 && received.count == 20)
      #expect(bench.simulator.fcm.tokenRequestCount == 1)
      let push = try JSONValue(parsing: try #require(received.first { $0.token == "android-7:APA91b" }).payload)
      let message = try #require(push["message"])
      #expect(message["notification"] == ["body": "Hi N7"])
      let data = try #require(message["data"])
      #expect(data["alert"] == "Hi N7" && data["table"] == "7" && data["note"] == "!" && data["source"] == "carma")
      #expect(data.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
    }
  }

  @Test func `Where Firebase cannot sign in to APNs, Apple's phones alone wait, and the app's alarm says what to do`()
    async throws
  {
    try await withSendingBench { bench in
      let app = try await SendoutService.fcm.addApp(bench, contacts: 60) {
        $0 <= 40 ? "apple-\($0):APA91b" : "android-\($0):APA91b"
      }
      func alarm() async throws -> String? {
        try await PushApps(bench.pool).find(bench.customer, app.id)?.alarm?.reason
      }
      bench.simulator.fcm.rule(.prefix("apple-"), .refuse(.thirdPartyAuth))
      try await bench.withHubs(1, { $0.dispatch.slice = 10 }) {
        let key = try await bench.send()
        try await bench.until(key) { $0.counts?.accepted == 20 && $0.counts?.waiting == 40 }
        let waiting = try await bench.pushes(key).filter { $0.state == .waiting }
        #expect(Set(waiting.map(\.reason)) == ["THIRD_PARTY_AUTH_ERROR"])
        #expect(try await bench.invalidation(waiting[0].deviceId).at == nil)
        // It is raised beside the writing of the outcomes.
        try await waitUntil { try await alarm() != nil }
        #expect(try await alarm()?.hasPrefix("THIRD_PARTY_AUTH_ERROR: Firebase's own key for Apple") == true)
        bench.simulator.fcm.removeRules()
        try await bench.makeDue(key)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 60, sent: 60, accepted: 60))
        #expect(try await alarm() == nil)
      }
    }
  }

  @Test func `A push beyond Google's quota waits a minute where no time is named`() async throws {
    try await withSendingBench { bench in
      _ = try await SendoutService.fcm.addApp(bench, contacts: 4)
      bench.simulator.fcm.rule(.prefix("android-2:"), .refuse(.quotaExceeded()), times: 1)
      try await bench.withHubs {
        let key = try await bench.send()
        let waiting = """
          SELECT extract(epoch FROM not_before - sent_at)::float8 FROM push
           WHERE sendout_id = $1::bigint AND state = 'waiting' AND reason = 'QUOTA_EXCEEDED'
          """
        var rows = try await bench.database.query(waiting, key.sendout.rawValue)
        try await waitUntil {
          rows = try await bench.database.query(waiting, key.sendout.rawValue)
          return !rows.isEmpty
        }
        #expect(try rows[0].decode(Double.self) >= 60)
      }
    }
  }

  @Test func `Google's sign-in that is away closes the lane, and the backlog stays as it is until it is back`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(10)
      _ = try await SendoutService.fcm.addApp(bench, contacts: 60)
      let fcm = bench.simulator.fcm
      fcm.tokenRule(.any, .refuse(.unavailable()))
      try await bench.withHubs {
        let key = try await bench.send()
        let sent = try await bench.until(key) { $0.counts?.accepted == 10 && $0.counts?.sending == 0 }
        #expect(sent.state == .running)
        fcm.removeRules()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        #expect(try await bench.show(key).counts?.accepted == 70)
        #expect(try await bench.pushes(key).allSatisfy { $0.attempts == 1 })
      }
    }
  }
}
