import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Sendouts that stop by themselves: where too much fails, where they would reach too many, and at their end.
@Suite struct HaltTests {
  @Test func `A sendout pauses where too many of its last pushes fail, and a person decides`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(600)
      // These are never answered, so the sendout cannot end by itself.
      try await bench.addDevices(5, from: 601, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      let key = try await bench.send()
      try await bench.withHubs {
        let paused = try await bench.until(key) { $0.state == .paused }
        let reason = try #require(paused.haltReason)
        #expect(reason.hasPrefix("too_many_failures 100 % of the last "))
        bench.simulator.apns.removeRules()
        bench.simulator.apns.answerIgnored()
        // What failed before does not count any more.
        try await bench.sendouts.resume(bench.customer, key.sendout)
        try await bench.until(key, .finished)
      }
      let counts = try #require(try await bench.show(key).counts)
      #expect(counts.failed >= 500 && counts.accepted + counts.failed == 605)
    }
  }

  @Test func `A sendout with a limit of 1 goes on whatever fails`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(600)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      let key = try await bench.make(CampaignFields(pauseAtFailed: 1), start: true)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.show(key).counts?.failed == 600)
    }
  }

  @Test func `Fewer failures than the limit, or fewer than 500 outcomes, pause nothing`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(450, prefix: "aa")
      try await bench.addDevices(150, from: 451, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 400, reason: "PayloadEmpty"))
      let mild = try await bench.make(CampaignFields(pauseAtFailed: 0.9), start: true)
      try await bench.withHubs { try await bench.until(mild, .finished) }
      #expect(try await bench.show(mild).counts?.failed == 150)
      let (all, failed) = try await bench.ledger.recentOutcomes(mild, since: .distantPast)
      #expect(all == 600 && failed == 150)
      // A look at the same outcomes by the usual limit finds 25 %.
      let sendout = try #require(try await find(bench, mild))
      let watch = FailureWatch(sendout, CampaignFields(), pool: bench.pool) {}
      try await bench.database.query("UPDATE sendout SET state = 'running'")
      try await watch.add(499, failed: 150)
      #expect(try await bench.show(mild).state == .running)
      try await watch.add(1, failed: 0)
      #expect(try await bench.show(mild).state == .paused)
      #expect(try await bench.show(mild).haltReason == "too_many_failures 25 % of the last 600")
      // Outcomes from before a resume are not looked at.
      try await bench.sendouts.resume(bench.customer, mild.sendout)
      let resumed = try #require(try await find(bench, mild))
      try await FailureWatch(resumed, CampaignFields(), pool: bench.pool) {}.look()
      #expect(try await bench.show(mild).state == .running)
    }
  }

  @Test func `A sendout of few pushes at a time pauses where too many fail`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(800)
      // These are never answered, so the sendout cannot end by itself.
      try await bench.addDevices(5, from: 801, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      // Each batch waits for its turn, and so has a step of its own.
      let key = try await bench.make(CampaignFields(ratePerSecond: 200), start: true)
      try await bench.withHubs(1, { $0.runner.batchSize = 200 }) {
        let paused = try await bench.until(key) { $0.state == .paused }
        #expect(paused.haltReason?.hasPrefix("too_many_failures 100 % of the last ") == true)
      }
    }
  }

  @Test func `A sendout pauses where too many fail before a push service is away`() async throws {
    try await withSendingBench({
      $0[.apnsSandboxURL] = "https://localhost:1"
      $0.connectAttempts = 1
    }) { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(10, from: 101, sandbox: true)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      let key = try await bench.make(CampaignFields(), start: true)
      try await bench.step(key)
      // Other hubs have written so many that these few are enough.
      try await bench.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, state, first_push, last_push, queued, failed,
                                claims, claimed_at)
        VALUES ($1, $2, 99, $3, false, 'settled', 1001, 1450, 0, 450, 1, now())
        """, key.customer.rawValue, key.sendout.rawValue, bench.app.id.rawValue)
      try await bench.step(key)
      let paused = try await bench.show(key)
      #expect(paused.state == .paused && paused.haltReason == "too_many_failures 100 % of the last 550")
    }
  }

  @Test func `A hub asks the ledger only where many of its own outcomes are failures`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(600)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      let key = try await bench.make(CampaignFields(pauseAtFailed: 1), start: true)
      try await bench.withHubs { try await bench.until(key, .finished) }
      try await bench.database.query("UPDATE sendout SET state = 'running'")
      // The ledger has 600 failures by now, and this hub has written few of them.
      let sendout = try #require(try await find(bench, key))
      let watch = FailureWatch(sendout, CampaignFields(), pool: bench.pool) {}
      try await watch.add(500, failed: 49)
      try await watch.lookIfNeeded()
      #expect(try await bench.show(key).state == .running)
      try await watch.add(100, failed: 10)
      #expect(try await bench.show(key).state == .running)
      try await watch.lookIfNeeded()
      #expect(try await bench.show(key).state == .paused)
    }
  }

  @Test func `A look does not wait for whoever has the sendout locked, and the next one pauses it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(600)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "PayloadEmpty"))
      let key = try await bench.make(CampaignFields(pauseAtFailed: 1), start: true)
      try await bench.withHubs { try await bench.until(key, .finished) }
      try await bench.database.query("UPDATE sendout SET state = 'running'")
      let sendout = try #require(try await find(bench, key))
      let watch = FailureWatch(sendout, CampaignFields(), pool: bench.pool) {}
      try await bench.pool.transaction { transaction in
        try await transaction.query(sql: "SELECT FROM sendout FOR UPDATE")
        await #expect(throws: (any Error).self) { try await watch.look() }
      }
      #expect(try await bench.show(key).state == .running)
      try await watch.look()
      #expect(try await bench.show(key).state == .paused)
    }
  }

  @Test func `A sendout with more contacts than somebody allowed waits for a person`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.make(CampaignFields())
      _ = try await bench.sendouts.apply(
        .start, to: key.sendout, of: bench.customer, maximumContacts: 2)
      try await bench.withHubs {
        let paused = try await bench.until(key) { $0.state == .paused }
        #expect(paused.haltReason == "too_many_contacts 3 > 2" && paused.people == 3 && paused.frozenAt != nil)
        #expect(paused.pausedAt == paused.frozenAt)
        #expect(bench.simulator.apns.count == 0)
        try await bench.sendouts.resume(bench.customer, key.sendout)
        #expect(try await bench.until(key, .finished).pausedAt == nil)
      }
      #expect(bench.simulator.apns.count == 3)
    }
  }

  @Test func `Contacts who are suppressed are none that a sendout reaches`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      _ = try await Suppressions(bench.pool, key: .ofTests).add(
        bench.customer, .contact(originalID: "user2@example.com"), .marketing)
      let key = try await bench.make(CampaignFields())
      _ = try await bench.sendouts.apply(.start, to: key.sendout, of: bench.customer, maximumContacts: 2)
      try await bench.withHubs { try await bench.until(key, .finished) }
      let finished = try await bench.show(key)
      #expect(finished.everyone == 3 && finished.people == 2)
      #expect(finished.counts == SendoutCounts(audience: 3, sent: 2, accepted: 2, skipped: 1))
    }
  }

  @Test func `As many contacts as somebody allowed are not too many`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600)), draft: true)
      _ = try await bench.sendouts.apply(.schedule, to: key.sendout, of: bench.customer, maximumContacts: 3)
      try await bench.pass("61 minutes", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(bench.simulator.apns.count == 3)
    }
  }

  // MARK: The end

  @Test func `What has not left at a sendout's end is skipped, and the sendout finishes`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await frozen(bench)
      let before = try await bench.show(key)
      #expect(before.state == .running && before.nextAt == before.campaign.endAt && before.counts?.queued == 5)
      try await bench.pass("2 hours", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      let ended = try await bench.show(key)
      #expect(ended.counts == SendoutCounts(audience: 5, skipped: 5) && ended.nextAt == nil)
      #expect(Set(try await bench.pushes(key).map(\.reason)) == ["expired"])
      #expect(bench.simulator.apns.count == 0)
    }
  }

  @Test func `A sendout's end may take as long as it needs`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await frozen(bench)
      let (skipped, limit) = try await bench.pool.transaction { transaction in
        let skipped = try await Ledger(transaction).expire(key)
        let limit = try await transaction.query(sql: "SELECT current_setting('statement_timeout')")[0]
        return (skipped, try limit.decode(String.self))
      }
      #expect(skipped == 5 && limit == "0")
    }
  }

  @Test func `A sendout's end comes while it is paused, too`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await frozen(bench)
      try await bench.sendouts.pause(bench.customer, key.sendout)
      #expect(try await bench.step(key) == .done)
      #expect(try await bench.show(key).state == .paused)
      try await bench.pass("2 hours", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 5, skipped: 5))
    }
  }

  @Test func `What a hub had in hand at the end is skipped when it is claimed again`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await frozen(bench)
      // A hub that was killed, in a sendout that was paused after its claim.
      try await bench.database.query(
        """
        UPDATE push_batch
           SET state = 'claimed', release_to = 'held', claims = 1, hub_id = gen_random_uuid(), claimed_at = now(),
               lease_until = now() - interval '1 second'
        """)
      try await bench.sendouts.pause(bench.customer, key.sendout)
      try await bench.pass("2 hours", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 5, skipped: 5))
      #expect(bench.simulator.apns.count == 0)
    }
  }

  @Test func `A sendout that is resumed keeps its end`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await frozen(bench)
      try await bench.sendouts.pause(bench.customer, key.sendout)
      let resumed = try await bench.sendouts.resume(bench.customer, key.sendout)
      #expect(resumed.state == .running && resumed.nextAt == resumed.campaign.endAt && resumed.nextAt != nil)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(bench.simulator.apns.count == 5)
      // Nothing is left to be done then.
      #expect(try await bench.show(key).nextAt == nil)
    }
  }

  /// A sendout that ends in an hour, with its audience in the ledger.
  private func frozen(_ bench: SendingBench) async throws -> SendoutKey {
    let key = try await bench.make(CampaignFields(endAt: .fromNow(3600)), start: true)
    try await bench.step(key)
    return key
  }

  private func find(_ bench: SendingBench, _ key: SendoutKey) async throws -> Sendout? {
    try await bench.pool.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue).first
      .map(Sendout.init)
  }
}
