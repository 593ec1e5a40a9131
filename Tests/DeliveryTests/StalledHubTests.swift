import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

/// A hub that was suspended for longer than its leases.
@Suite struct StalledHubTests {
  @Test func `Waiting pushes do not leave once their lease may have expired`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(40)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      // The first push has its connection for itself until it is answered; the others wait behind it.
      bench.simulator.apns.rule(.any, .ignore)
      let database = CountingDatabase(bench.pool)
      var settings = DispatchSettings.unhurried
      settings.lease = .seconds(3600)
      settings.extendEvery = .milliseconds(20)
      let dispatcher = Dispatcher(
        database, services: bench.services, links: bench.links, suppressions: .ofTests,
        settings: settings, logger: TestServer.logger)
      let plan = try bench.plan(key, MessageBody(alert: "Hello"))
      let app = try await bench.appTarget(dispatcher)
      async let result = dispatcher.dispatch(plan, to: app, bench.lane)
      _ = await bench.simulator.apns.received(count: 1)
      // As if it had stood still: its lease is over, and another hub has the batch.
      try await bench.endLeases()
      try await waitUntil { try await bench.ledger.requeueLost(key, .resend).batches != 0 }
      try await bench.database.query(
        "UPDATE push_batch SET state = 'claimed', hub_id = gen_random_uuid(), claims = 2, lease_until = 'infinity'")
      let extensions = database.counts["batch.extend", default: 0]
      try await waitUntil { database.counts["batch.extend", default: 0] >= extensions + 2 }
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      #expect(await result.end == .drained)
      #expect(bench.simulator.apns.count == 1)
      #expect(try await bench.show(key).counts?.sending == 39)
    }
  }

  @Test func `After an outage of the database, hubs have time to write outcomes before their batches are requeued`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      let ledger = BatchLedger(
        database: bench.pool, key: key, lane: bench.lane, run: RunID(), lease: .seconds(3600))
      _ = try #require(try await ledger.claim())
      try await bench.endLeases()
      var hub = TestHub()
      hub.dispatch.graceAfterOutage = .seconds(3600)
      let dispatcher = bench.dispatcher(hub)
      dispatcher.noteOutage()
      #expect(try await dispatcher.requeueLost(key, .resend).batches == 0)
      #expect(try await bench.dispatcher(hub).requeueLost(key, .resend).batches == 1)
    }
  }

  @Test func `A lease is valid until its end, unless it was extended or is another claim's`() {
    let leases = Leases()
    let claim = Claim(batch: 1, ordinal: 1), again = Claim(batch: 1, ordinal: 2)
    leases.add(claim, until: .now + .seconds(3600))
    #expect(leases.holds(claim) && !leases.holds(again))
    leases.extend([claim], kept: [claim], until: .now)
    #expect(!leases.holds(claim))
    leases.extend([claim], kept: [], until: .now + .seconds(3600))
    #expect(leases.held.isEmpty && leases.batches == [1])
    leases.add(again, until: .now + .seconds(3600))
    #expect(leases.holds(again) && !leases.holds(claim))
    leases.remove(again)
    #expect(leases.batches.isEmpty)
  }
}
