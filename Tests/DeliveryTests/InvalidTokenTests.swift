import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct InvalidTokenTests {
  private func invalidated(_ bench: SendingBench) async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM device WHERE invalidated_at IS NOT NULL")[0].decode(Int.self)
  }

  @Test func `Too many invalid tokens at once retire no device and raise the app's alarm`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60, prefix: "bb")
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 60, sent: 60, failed: 60))
      }
      #expect(try await invalidated(bench) == 0)
      #expect(try await bench.currentApp()?.alarm?.reason.hasPrefix("60 of 60 pushes to APNs (production)") == true)
    }
  }

  @Test func `A few invalid tokens among many are retired`() async throws {
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

  @Test func `Invalid tokens reported with a date are retired however many they are`() async throws {
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

  @Test func `Invalid tokens of one environment do not count for the other`() async throws {
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

  @Test func `When most tokens belong to other apps, the sendout is paused and its pushes stay queued`() async throws {
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

@Suite struct FuseTests {
  @Test func `It opens above a fifth of invalid tokens`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.record(answered: 100, invalid: 20)
    let second = circuitBreaker.record(answered: 100, invalid: 21)
    #expect(first && !second)
  }

  @Test func `Fewer answers than the evidence count together only`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.record(answered: 49, invalid: 49)
    let second = circuitBreaker.record(answered: 1, invalid: 0)
    #expect(first && !second)
  }

  @Test func `One bad batch opens it, however good the run was`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let good = circuitBreaker.record(answered: 100_000, invalid: 10)
    let bad = circuitBreaker.record(answered: 50, invalid: 50)
    #expect(good && !bad)
  }

  @Test func `Once open it stays open`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    _ = circuitBreaker.record(answered: 50, invalid: 50)
    let later = circuitBreaker.record(answered: 100_000, invalid: 0)
    #expect(!later && circuitBreaker.isOpen)
  }
}
