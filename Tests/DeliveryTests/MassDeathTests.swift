import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct MassDeathTests {
  private func invalidated(_ bench: SendingBench) async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM device WHERE invalidated_at IS NOT NULL")[0].decode(Int.self)
  }

  @Test func `Too many bad tokens at once retire nobody and raise the app's alarm`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60, prefix: "bb")
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 60, sent: 60, failed: 60))
      }
      #expect(try await invalidated(bench) == 0)
      #expect(try await bench.currentApp()?.alarm?.reason.hasPrefix("60 of 60 pushes to APNs' production") == true)
    }
  }

  @Test func `A few bad tokens among many are retired`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      try await bench.addDevices(10, from: 61, prefix: "bb")
      bench.simulator.apns.rule(.token("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        #expect(try await bench.until(key, .finished).counts?.failed == 10)
      }
      #expect(try await invalidated(bench) == 10)
      #expect(try await bench.currentApp()?.alarm == nil)
    }
  }

  @Test func `Tokens that the push service itself dates are retired however many they are`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60, prefix: "bb")
      bench.simulator.apns.rule(
        .any, .refuse(status: 410, reason: "Unregistered", since: Date(timeIntervalSinceNow: -60)))
      try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
      }
      #expect(try await invalidated(bench) == 60)
      #expect(try await bench.currentApp()?.alarm == nil)
    }
  }

  @Test func `One environment's dead say nothing about the other`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(5, from: 101, prefix: "bb")
      try await bench.addDevices(60, from: 106, prefix: "bb", sandbox: true)
      bench.simulator.apns.rule(.token("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        try await bench.until(key, .finished)
      }
      let rows = try await bench.database.query("SELECT sandbox FROM device WHERE invalidated_at IS NOT NULL")
      #expect(try rows.map { try $0.decode(Bool.self) } == [false, false, false, false, false])
    }
  }

  @Test func `When most tokens belong to other apps the sendout is paused and burns nothing`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "DeviceTokenNotForTopic"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.haltReason == "DeviceTokenNotForTopic")
        #expect(paused.counts == SendoutCounts(audience: 60, queued: 60))
      }
      #expect(try await invalidated(bench) == 0)
    }
  }
}
