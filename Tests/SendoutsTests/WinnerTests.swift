import Content
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Delivery
@testable import Sendouts

/// The decision about variants, as hubs and people make it.
@Suite struct WinnerTests {
  /// Variants A and B of a sendout with as many contacts each, and others who wait in batches of their own.
  struct Fixture {
    let bench: SendingBench
    let key: SendoutKey
    /// When the winner is to be decided.
    let moment: Date

    var worker: SendoutWorker {
      SendoutWorker(
        pool: bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault,
        credentials: PushCredentialVault(bench.pool, vault: bench.vault), settings: RunnerSettings(),
        freezes: CustomerPermits(1), logger: TestServer.logger)
    }

    /// Its row.
    func sendout() async throws -> Sendout { try #require(try await worker.find(key)) }

    func awaitsDecision() async throws -> Bool {
      let sendout = try await sendout()
      return try sendout.awaitsDecision(sendout.campaign())
    }

    func decide() async throws { try await worker.decideWinner(of: try await sendout()) }

    func choose(_ variant: String) async throws -> (before: WinnerDecision?, sendout: SendoutReply) {
      try await bench.pool.transaction(of: key.customer.rawValue, locks: .brief) {
        try await SendoutStore($0).chooseWinner(key.customer, key.sendout, WinnerChoice(variant: variant))
      }
    }

    /// What is kept of the decision: accepted contacts, those who had opened, and the probability.
    func counts() async throws -> [[Double?]] {
      try await bench.database.query(
        """
        SELECT accepted::float8, opened::float8, p_adjusted FROM sendout_variant WHERE sendout_id = $1 AND variant_no > 0
         ORDER BY variant_no
        """, key.sendout.rawValue
      ).map { row in
        let (accepted, opened, p) = try row.decode(Double?.self, Double?.self, Double?.self)
        return [accepted, opened, p]
      }
    }

    /// When the batches are due whose contacts wait, in seconds after the decision's moment; nil while they wait.
    func due() async throws -> [Double?] {
      try await bench.database.query(
        """
        SELECT CASE WHEN isfinite(not_before) THEN round(extract(epoch FROM not_before - $2::timestamptz))::float8 END
          FROM push_batch WHERE sendout_id = $1 AND batch_no > 0 AND state <> 'cancelled' ORDER BY batch_no
        """, key.sendout.rawValue, moment
      ).map { try $0.decode(Double?.self) }
    }
  }

  private static let size = 100

  /// A sendout after its freeze, whose test is over. Batch 0 has A and B. Batches 1 and 2 have ten contacts each who wait: their own moments
  /// are an hour before the decision, and an hour after it.
  /// - Parameter opened: how many have opened of each variant, before the decision.
  private func fixture(
    _ bench: SendingBench, opened: (Int, Int), undecided: UndecidedPolicy? = nil, endAfterHours hours: Int? = nil
  ) async throws -> Fixture {
    try await bench.addDevices(2 * Self.size + 20)
    let variants = ["A", "B"].map { name in
      MessageVariant(name: name, share: 40, message: MessageBody(alert: "\(name) for {{firstName}}"))
    }
    let made = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(
        name: "Test", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hi"),
        campaign: CampaignFields(
          variants: variants, winner: WinnerRule(afterMinutes: 60, undecided: undecided))))
    let (customer, sendout) = (bench.customer.rawValue, made.sendoutId.rawValue)
    let moment = try await bench.database.query("SELECT now() - interval '10 minutes'")[0].decode(Date.self)
    try await bench.database.query("SELECT require_sendout_range($1)", sendout)
    try await bench.database.query(
      """
      UPDATE sendout
         SET state = 'running', started_at = now() - interval '1 day', changed_at = now(), frozen_at = now(), next_at = $3,
             end_at = $3::timestamptz + make_interval(hours => $4::int4)
       WHERE customer_id = $1 AND sendout_id = $2
      """, customer, sendout, moment, hours.map(Int32.init))
    try await bench.database.query(
      """
      INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts)
      VALUES ($1, $2, 0, '', 20, 20), ($1, $2, 1, 'A', 40, $3::int4), ($1, $2, 2, 'B', 40, $3::int4)
      """, customer, sendout, Int32(Self.size))
    try await bench.database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, state, attempts, sent_at,
                        settled_at, opened_at)
      SELECT $1::bigint, $2::bigint, n, CASE WHEN n <= 2 * $3::int4 THEN 0 WHEN n <= 2 * $3::int4 + 10 THEN 1 ELSE 2 END,
             device_id, contact_id, variant, CASE WHEN variant = 0 THEN 'queued' ELSE 'accepted' END,
             CASE WHEN variant = 0 THEN 0 ELSE 1 END,
             CASE WHEN variant > 0 THEN $4::timestamptz - interval '1 hour' END,
             CASE WHEN variant > 0 THEN $4::timestamptz - interval '1 hour' END,
             CASE WHEN variant > 0 AND (n - 1) % $3::int4 < CASE variant WHEN 1 THEN $5::int4 ELSE $6::int4 END
                  THEN $4::timestamptz - interval '1 minute' END
        FROM (SELECT device_id, contact_id, row_number() OVER (ORDER BY device_id) AS n FROM device) AS d
       CROSS JOIN LATERAL (SELECT CASE WHEN n <= $3::int4 THEN 1 WHEN n <= 2 * $3::int4 THEN 2 ELSE 0 END AS variant) AS v
      """, customer, sendout, Int32(Self.size), moment, Int32(opened.0), Int32(opened.1))
    try await bench.database.query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, accepted,
                              state, not_before, planned_at)
      SELECT $1::bigint, $2::bigint, batch_no, $3::bigint, false, min(push_no), max(push_no),
             count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'accepted'),
             CASE WHEN batch_no = 0 THEN 'settled' ELSE 'queued' END,
             CASE WHEN batch_no = 0 THEN $4::timestamptz ELSE 'infinity' END,
             CASE batch_no WHEN 1 THEN $4::timestamptz - interval '1 hour' WHEN 2 THEN $4::timestamptz + interval '1 hour' END
        FROM push WHERE customer_id = $1 AND sendout_id = $2 GROUP BY batch_no
      """, customer, sendout, bench.app.id.rawValue, moment)
    try await bench.database.recountBatches()
    return Fixture(bench: bench, key: SendoutKey(bench.customer, made.sendoutId), moment: moment)
  }

  @Test func `The better variant wins, and those who waited get it: at the decision, or at their own moment after it`()
    async throws
  {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      #expect(try await fixture.due() == [nil, nil])
      #expect(try await fixture.awaitsDecision())
      try await fixture.decide()
      let sendout = try await fixture.sendout()
      #expect(sendout.winner?.number == 2 && sendout.winner?.by == .test && sendout.nextAt == nil)
      #expect(try await fixture.due() == [0, 3600])
      let counts = try await fixture.counts()
      #expect(counts.map { $0[0] } == [100, 100] && counts.map { $0[1] } == [10, 30])
      let p = Significance.twoProportions(.init(contacts: 100, opened: 30), .init(contacts: 100, opened: 10))
      #expect(counts[0][2].map { abs($0 - p) < 1e-12 } == true && counts[1][2] == nil)
      let decision = try await bench.show(fixture.key).decision
      #expect(decision?.state == .decided && decision?.variant == "B" && decision?.by == .test)

      try await bench.withHubs { _ = await bench.simulator.apns.received(count: 10) }
      for number in 201...210 {
        let request = try #require(bench.simulator.apns.requests.first { $0.token == bench.token(number) })
        #expect(String(decoding: request.payload, as: UTF8.self).contains("B for N\(number)"))
      }
    }
  }

  @Test func `From its start to its end, a sendout tests two variants and gives the rest the better one`() async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 40, message: MessageBody(alert: "\($0) said")) }
      let finished = try await bench.withHubs {
        let sendout = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hi"), start: true,
            campaign: CampaignFields(variants: variants, winner: WinnerRule(afterMinutes: 60)))
        ).sendoutId
        let key = SendoutKey(bench.customer, sendout)
        try await bench.until(key) { $0.frozenAt != nil }
        let open = "SELECT count(*) FROM push WHERE variant > 0 AND state <> 'accepted'"
        try await waitUntil { try await bench.database.query(open)[0].decode(Int.self) == 0 }
        #expect(try await bench.show(key).decision?.state == .waiting)
        try await bench.database.query("UPDATE push SET opened_at = now() WHERE variant = 2")
        try await bench.database.recountBatches()
        try await bench.database.query("UPDATE sendout SET next_at = now()")
        return try await bench.until(key, .finished)
      }
      #expect(finished.decision?.variant == "B" && finished.decision?.by == .test)
      #expect(finished.counts?.accepted == 100)
      let said = try await bench.database.query(
        "SELECT token, variant FROM push JOIN device USING (customer_id, device_id)"
      ).map { try $0.decode(String.self, Int16.self) }
      #expect(Set(said.map(\.1)) == [0, 1, 2])
      let received = Dictionary(bench.simulator.apns.requests.map { ($0.token, $0.payload) }) { first, _ in first }
      for (token, variant) in said {
        let payload = String(decoding: received[token] ?? [], as: UTF8.self)
        #expect(payload.contains(variant == 1 ? "A said" : "B said"), "\(variant): \(payload)")
      }
    }
  }

  @Test func `A decision is made once`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      let before = try await fixture.sendout()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...4 { group.addTask { try await fixture.worker.decideWinner(of: before) } }
        try await group.waitForAll()
      }
      let first = try await fixture.sendout()
      // What was opened since changes nothing.
      try await bench.database.query("UPDATE push SET opened_at = $1 WHERE variant = 1", fixture.moment)
      try await bench.database.recountBatches()
      try await fixture.worker.decideWinner(of: before)
      try await fixture.decide()
      let again = try await fixture.sendout()
      #expect(again.winner?.number == 2 && again.winner?.at == first.winner?.at)
      #expect(try await fixture.counts().map { $0[1] } == [10, 30])
    }
  }

  @Test func `What is opened or accepted after the moment of the decision does not count, however late it is made`()
    async throws
  {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      try await bench.database.query(
        "UPDATE push SET opened_at = $1::timestamptz + interval '1 second' WHERE variant = 1 AND opened_at IS NULL",
        fixture.moment)
      try await bench.database.query(
        "UPDATE push SET sent_at = $1::timestamptz + interval '1 second' WHERE variant = 2 AND push_no > 190",
        fixture.moment)
      try await bench.database.recountBatches()
      try await fixture.decide()
      #expect(try await fixture.counts().map { $0[0] } == [100, 90])
      #expect(try await fixture.counts().map { $0[1] } == [10, 30])
      #expect(try await fixture.sendout().winner?.number == 2)
    }
  }

  @Test func `A contact counts once, whatever number of devices it has, and only if a push was accepted`() async throws
  {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      // A second device of the first five contacts, on which three of them opened, too.
      try await bench.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, state, attempts, sent_at, opened_at)
        SELECT customer_id, sendout_id, push_no + 1000, 3, device_id + 100000, contact_id, variant, 'failed', 1, sent_at,
               CASE WHEN push_no <= 3 THEN opened_at END
          FROM push WHERE push_no <= 5
        """)
      try await bench.database.query(
        "UPDATE push SET state = 'failed', opened_at = NULL WHERE push_no BETWEEN 91 AND 100 OR push_no = 6")
      try await bench.database.recountBatches()
      let outcomes = try await Ledger(bench.pool).outcomes(fixture.key, ofVariants: 3, until: fixture.moment)
      #expect(
        outcomes == [
          VariantOutcome(accepted: 89, opened: 9), VariantOutcome(accepted: 100, opened: 30),
          VariantOutcome(accepted: 0, opened: 0),
        ])
    }
  }

  @Test func `The outcomes of variants may take as long as they need to be counted`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      let limit = try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).outcomes(fixture.key, ofVariants: 2, until: fixture.moment)
        return try await transaction.query(sql: "SELECT current_setting('statement_timeout')")[0].decode(String.self)
      }
      #expect(limit == "0")
    }
  }

  @Test func `Where none wins, hold leaves it to a person, who chooses once`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 11))
      try await fixture.decide()
      let waiting = try #require(try await bench.show(fixture.key).decision)
      #expect(waiting.state == .waitingForPerson && waiting.variant == nil && waiting.by == nil)
      #expect(try await fixture.due() == [nil, nil])
      #expect(try await fixture.counts().map { $0[1] } == [10, 11])
      // A hub has nothing more to decide.
      #expect(try await !fixture.awaitsDecision())
      let unknown = SendoutError.invalid(
        field: "variant", problem: "names no variant of this sendout, which has A and B")
      await #expect(throws: unknown) {
        _ = try await fixture.choose("C")
      }
      let (before, chosen) = try await fixture.choose("A")
      #expect(before == waiting)
      #expect(chosen.decision?.state == .decided && chosen.decision?.variant == "A" && chosen.decision?.by == .person)
      // Ten minutes after the moment that was planned, and at their own moment.
      let due = try await fixture.due()
      #expect(due[0].map { $0 >= 600 } == true && due[1] == 3600)
      let again = try await fixture.choose("A")
      #expect(again.sendout.decision == chosen.decision)
      await #expect(throws: SendoutError.winnerDecided(fixture.key.sendout)) { _ = try await fixture.choose("B") }
      #expect(try await fixture.counts().map { $0[1] } == [10, 11])
    }
  }

  @Test func `Somebody may choose before the hub decides, and what there is by then is kept`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      let (before, chosen) = try await fixture.choose("A")
      #expect(before?.state == .waiting && chosen.decision?.by == .person)
      #expect(try await fixture.counts().map { $0[1] } == [10, 30])
      try await fixture.decide()
      #expect(try await fixture.sendout().winner?.number == 1)
    }
  }

  @Test func `Where none wins, stop cancels the rest, and the sendout finishes`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 11), undecided: .stop)
      try await fixture.decide()
      #expect(try await bench.show(fixture.key).decision?.by == .stop)
      let rest = try await bench.database.query(
        "SELECT DISTINCT state, reason FROM push WHERE sendout_id = $1 AND variant = 0", fixture.key.sendout.rawValue
      ).map { try $0.decode(String.self, String?.self) }
      #expect(rest.count == 1 && rest[0] == ("cancelled", "no_winner"))
      let finished = try await bench.withHubs { try await bench.until(fixture.key, .finished) }
      #expect(finished.counts?.cancelled == 20 && finished.counts?.accepted == 200)
      #expect(bench.simulator.apns.count == 0)
      await #expect(throws: SendoutError.winnerDecided(fixture.key.sendout)) { _ = try await fixture.choose("B") }
    }
  }

  @Test(arguments: [(10, 11, 2), (11, 10, 1), (10, 10, 1), (0, 0, 1)] as [(Int, Int, Int16)])
  func `Where none wins, best sends the highest rate, and of equals the first`(
    _ openedA: Int, _ openedB: Int, _ winner: Int16
  ) async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (openedA, openedB), undecided: .best)
      try await fixture.decide()
      let sendout = try await fixture.sendout()
      #expect(sendout.winner?.number == winner && sendout.winner?.by == .best)
      #expect(try await fixture.due() == [0, 3600])
    }
  }

  @Test func `A hub that is killed while it decides leaves all of the decision to another`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      let before = try await fixture.sendout()
      try await bench.database.withPool { observer in
        try await bench.pool.transaction { transaction in
          try await transaction.query(sql: "SELECT FROM push_batch WHERE batch_no = 2 FOR UPDATE")
          let deciding = Task { try await fixture.worker.decideWinner(of: before) }
          // It has written the winner, and waits for the batch.
          try await bench.database.someoneWaits(as: observer)
          deciding.cancel()
          await #expect(throws: (any Error).self) { try await deciding.value }
        }
      }
      let between = try await fixture.sendout()
      #expect(between.winner == nil && between.nextAt == before.nextAt)
      #expect(try await fixture.due() == [nil, nil])
      #expect(try await fixture.counts().allSatisfy { $0.allSatisfy { $0 == nil } })
      try await fixture.decide()
      #expect(try await fixture.sendout().winner?.number == 2)
      #expect(try await fixture.due() == [0, 3600])
    }
  }

  @Test func `A paused sendout is decided in time, and sends once it is resumed`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      _ = try await bench.sendouts.pause(bench.customer, fixture.key.sendout)
      try await fixture.decide()
      #expect(try await fixture.sendout().winner?.number == 2)
      let held = try await bench.database.query("SELECT count(*) FROM push_batch WHERE state = 'held'")[0]
      #expect(try held.decode(Int.self) == 2)
      _ = try await bench.sendouts.resume(bench.customer, fixture.key.sendout)
      try await bench.withHubs { _ = await bench.simulator.apns.received(count: 10) }
    }
  }

  @Test func `A sendout that was paused before its first push is decided as long after it goes on`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (0, 0), undecided: .best)
      // As where it would have reached too many.
      try await bench.database.query(
        "UPDATE push SET state = 'queued', attempts = 0, sent_at = NULL, settled_at = NULL")
      try await bench.database.query("UPDATE push_batch SET state = 'queued'")
      try await bench.database.recountBatches()
      _ = try await bench.sendouts.pause(bench.customer, fixture.key.sendout)
      try await fixture.decide()
      let paused = try await fixture.sendout()
      #expect(paused.winner == nil && paused.nextAt == nil)
      #expect(try await fixture.due() == [nil, nil])
      let reply = try await bench.sendouts.resume(bench.customer, fixture.key.sendout)
      let isHourLater = try await bench.database.query(
        "SELECT next_at = changed_at + interval '60 minutes' FROM sendout WHERE sendout_id = $1",
        fixture.key.sendout.rawValue)[0].decode(Bool.self)
      #expect(isHourLater && reply.nextAt != nil)
      #expect(try await fixture.awaitsDecision())
    }
  }

  @Test func `A pause changes nothing of a decision once pushes have left`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      let before = try await fixture.sendout().nextAt
      _ = try await bench.sendouts.pause(bench.customer, fixture.key.sendout)
      _ = try await bench.sendouts.resume(bench.customer, fixture.key.sendout)
      #expect(try await fixture.sendout().nextAt == before && before != nil)
    }
  }

  @Test func `A decision does not wait for pushes of the test that are not answered yet`() async throws {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      try await bench.database.query("UPDATE sendout SET next_at = now() + interval '1 hour'")
      try await bench.database.query(
        """
        UPDATE push SET state = 'queued', attempts = 0, sent_at = NULL, settled_at = NULL
         WHERE push_no BETWEEN 91 AND 100
        """)
      try await bench.database.query("UPDATE push_batch SET state = 'queued' WHERE batch_no = 0")
      try await bench.database.recountBatches()
      bench.simulator.apns.rule(.any, .ignore)
      // At its end the provider waits for answers.
      defer { bench.simulator.apns.answerIgnored() }
      try await bench.withHubs {
        // A fresh connection sends one request until it is answered.
        _ = await bench.simulator.apns.received(count: 1)
        try await bench.database.query("UPDATE sendout SET next_at = now() - interval '1 second'")
        try await waitUntil { try await fixture.sendout().winner != nil }
      }
      #expect(try await fixture.sendout().winner?.number == 2)
      #expect(try await fixture.counts().map { $0[0] } == [90, 100])
    }
  }

  @Test func `A sendout that ends before the decision makes none, and one that ends later is looked at then`()
    async throws
  {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30), endAfterHours: 0)
      #expect(try await !fixture.awaitsDecision())
      try await bench.database.query("UPDATE sendout SET end_at = next_at + interval '2 hours'")
      let end = try await fixture.sendout().endAt
      try await fixture.decide()
      let sendout = try await fixture.sendout()
      #expect(sendout.winner?.number == 2 && sendout.nextAt == end && end != nil)
    }
  }

  @Test func `While a choice counts pushes, the sendout can be paused, and what a hub decides meanwhile stands`()
    async throws
  {
    try await withSendingBench { bench in
      let fixture = try await fixture(bench, opened: (10, 30))
      try await withThrowingTaskGroup(of: Void.self) { group in
        let (isLocked, locked) = AsyncStream.makeStream(of: Void.self)
        let (mayEnd, end) = AsyncStream.makeStream(of: Void.self)
        group.addTask {
          try await bench.pool.transaction { transaction in
            try await transaction.query(sql: "LOCK TABLE push IN ACCESS EXCLUSIVE MODE")
            locked.finish()
            for await _ in mayEnd {}
          }
        }
        for await _ in isLocked {}
        group.addTask {
          await #expect(throws: SendoutError.winnerDecided(fixture.key.sendout)) {
            try await bench.pool.transaction(of: bench.customer.rawValue) {
              _ = try await SendoutStore($0).chooseWinner(
                bench.customer, fixture.key.sendout, WinnerChoice(variant: "A"))
            }
          }
        }
        try await bench.database.someoneWaits(as: bench.pool)
        _ = try await bench.pool.transaction { transaction in
          try await transaction.query(sql: "SELECT FROM sendout FOR UPDATE NOWAIT")
        }
        // As a hub decides.
        try await bench.database.query("UPDATE sendout SET winner_no = 2, winner_by = 'test', winner_at = now()")
        end.finish()
        try await group.waitForAll()
      }
      #expect(try await fixture.sendout().winner?.number == 2)
      #expect(try await fixture.counts() == [[nil, nil, nil], [nil, nil, nil]])
    }
  }

  @Test func `Nobody chooses a winner of what has none, has not started or has ended`() async throws {
    try await withSendingBench { bench in
      func choice(_ sendout: SendoutID) async throws {
        try await bench.pool.transaction(of: bench.customer.rawValue) {
          _ = try await SendoutStore($0).chooseWinner(bench.customer, sendout, WinnerChoice(variant: "A"))
        }
      }
      await #expect(throws: RegistryError.numberUnknown("sendout")) { try await choice(SendoutID(99)) }
      let plain = try await bench.send()
      let refusal = SendoutError.invalid(
        field: "variant", problem: "has no meaning: nobody waits for a winner of this sendout")
      await #expect(throws: refusal) { try await choice(plain.sendout) }
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hi"),
          campaign: CampaignFields(
            variants: [
              MessageVariant(name: "A", share: 10, message: MessageBody(alert: "A")),
              MessageVariant(name: "B", share: 10, message: MessageBody(alert: "B")),
            ], winner: WinnerRule(afterMinutes: 60)))
      ).sendoutId
      await #expect(throws: SendoutError.winnerNotOpen(draft, .draft)) { try await choice(draft) }
      _ = try await bench.sendouts.cancel(bench.customer, draft)
      await #expect(throws: SendoutError.winnerNotOpen(draft, .cancelled)) { try await choice(draft) }
    }
  }
}
