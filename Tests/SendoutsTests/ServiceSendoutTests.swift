import Content
import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts that go to the push services which take access tokens.
@Suite struct ServiceSendoutTests {
  @Test func `Every push service that apps are added for is among those of these tests`() {
    #expect(Set(SendoutService.allCases.map(\.type.service.name)) == Set(PushServiceName.allCases).subtracting([.sms]))
  }

  @Test(arguments: SendoutService.withAccessTokens)
  func `A sendout arrives on the devices of its contacts, each with its own text`(service: SendoutService) async throws
  {
    try await withSendingBench { bench in
      let app = try await service.addApp(bench, contacts: 20)
      try await bench.withHubs {
        let key = try await bench.send("Hi {{firstName}}", fields: ["table": 7])
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 20, sent: 20, accepted: 20))
        #expect(finished.apps.contains { $0.appType == service.type })
      }
      let arrived = try service.arrived(bench.simulator)
      #expect(arrived.count == 20 && service.signIns(bench.simulator) == 1)
      let push = try #require(arrived[service.token(7, app, bench.simulator)])
      #expect(push.shown == "Hi N7")
      // FCM's fields are texts.
      #expect(push.fields["table"] == 7 || push.fields["table"] == "7")
      #expect(push.fields["alert"] == "Hi N7" && push.fields["source"] == "carma")
      #expect(push.fields.string("pushreadurl")?.hasPrefix("https://push.example.com/r/") == true)
    }
  }

  @Test(arguments: SendoutService.withAccessTokens)
  func `Answers retire tokens, put pushes off and fail them as the service's table says`(
    service: SendoutService
  ) async throws {
    try await withSendingBench { bench in
      _ = try await service.addApp(bench, contacts: 4)
      let reasons = service.answer(bench.simulator)
      try await bench.withHubs {
        let key = try await bench.send()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        let pushes = try await bench.pushes(key)
        #expect(pushes.filter { $0.state == .accepted }.count == 2)
        let gone = try #require(pushes.first { $0.reason == reasons.gone })
        #expect(gone.state == .failed && gone.attempts == 1)
        #expect(try await bench.invalidation(gone.deviceId).reason == reasons.gone)
        let refused = try #require(pushes.first { $0.reason == reasons.refused })
        #expect(refused.state == .failed)
        #expect(try await bench.invalidation(refused.deviceId).at == nil)
        let again = try #require(pushes.first { $0.attempts == 2 })
        #expect(again.state == .accepted && again.resentBecause == reasons.putOff)
      }
    }
  }

  @Test(arguments: SendoutService.withAccessTokens)
  func `An account that its service does not know pauses the sendout and raises the app's alarm`(
    service: SendoutService
  ) async throws {
    try await withSendingBench { bench in
      let app = try await service.addApp(bench, contacts: 3)
      let reason = bench.simulator.forgetAccount(of: service.type)
      try await bench.withHubs {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.counts?.queued == 3 && paused.counts?.sent == 0)
        #expect(paused.haltReason?.contains("com.acme.app (app type \(service.type.rawValue)): ") == true)
        let alarm = try #require(try await PushApps(bench.pool).find(bench.customer, app.id)?.alarm?.reason)
        #expect(alarm.contains(reason) && paused.haltReason?.hasSuffix(alarm) == true)
      }
    }
  }
}
