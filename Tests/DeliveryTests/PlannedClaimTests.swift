import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Delivery

/// Quiet hours, lateness, end and rate when batches are claimed.
@Suite struct PlannedClaimTests {
  private func rules(_ quietHours: QuietHours?, ttl: Int? = nil) -> SendRules {
    SendRules(purpose: .marketing, quietHours: quietHours, caps: [], ttl: ttl)
  }

  // MARK: Quiet hours

  @Test func `In quiet hours a push waits until they end, and leaves then`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.becomeQuiet()
      #expect(try await sendout.claim(rules(database.quietHours(.hold))) == 0)
      #expect(try await sendout.states() == ["waiting quiet": 10])
      let isSoon = try await database.query(
        """
        SELECT bool_and(not_before BETWEEN now() + interval '55 minutes' AND now() + interval '76 minutes' AND attempts = 0) FROM push
         WHERE customer_id = $1 AND sendout_id = $2
        """, sendout.key.customer.rawValue, sendout.key.sendout.rawValue)[0].decode(Bool.self)
      #expect(isSoon)
      try await sendout.change("UPDATE push SET not_before = now() WHERE customer_id = $1 AND sendout_id = $2")
      try await sendout.requeue()
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.states() == ["queued": 10])
    }
  }

  @Test func `A push is left out whose quiet hours outlast it, or where the policy says so`() async throws {
    try await withDatabase { database in
      let first = try await RuledSendout(database)
      let inHalfAnHour = Date(timeIntervalSinceNow: 1800)
      for (policy, ttl, end) in [
        (QuietPolicy.skip, nil, nil), (.hold, 60, nil), (.hold, nil, inHalfAnHour),
      ] as [(QuietPolicy, Int?, Date?)] {
        let sendout = try await RuledSendout(database, of: first.key.customer)
        try await sendout.becomeQuiet()
        #expect(try await sendout.claim(rules(database.quietHours(policy), ttl: ttl), endAt: end) == 0)
        #expect(try await sendout.states() == ["skipped quiet": 10])
      }
    }
  }

  @Test func `Quiet hours go by each contact's own zone`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.change(
        """
        INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, contacts)
        VALUES ($1, $2, 2, 'Pacific/Auckland', 'contact', 4)
        """)
      try await sendout.change(
        "UPDATE push SET zone_no = 2 WHERE customer_id = $1 AND sendout_id = $2 AND contact_id <= 4")
      try await sendout.becomeQuiet()
      #expect(try await sendout.claim(rules(database.quietHours(.skip))) == 0)
      #expect(try await sendout.states() == ["queued": 4, "skipped quiet": 6])
    }
  }

  @Test func `Pushes are spread so that they leave before the next quiet hours`() {
    #expect(rules(QuietHours("08:10-08:00")).holdMinutes == 10)
    #expect(rules(QuietHours("21:00-08:00")).holdMinutes == 15)
  }

  // MARK: Lateness and end

  private let late =
    "UPDATE push_batch SET planned_at = now() - interval '2 hours' WHERE customer_id = $1 AND sendout_id = $2"
  private let away =
    "UPDATE sendout_pace SET worked_at = now() - interval '3 hours' WHERE customer_id = $1 AND sendout_id = $2"

  @Test func `What hubs kept waiting for too long is missed in every lane`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.addBatch(1, app: 2)
      try await sendout.change(late)
      try await sendout.change(away)
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.claim(app: 2) == 1)
      #expect(try await sendout.states() == ["skipped missed": 20])
    }
  }

  @Test func `What waited while hubs sent without a break is not late, nor what was claimed before`() async throws {
    try await withDatabase { database in
      let busy = try await RuledSendout(database)
      try await busy.change(late)
      #expect(try await busy.claim() == 0)
      #expect(try await busy.states() == ["queued": 10])
      try await busy.requeue()
      try await busy.change(away)
      #expect(try await busy.claim() == 0)
      #expect(try await busy.states() == ["queued": 10])
    }
  }

  @Test func `A person's pause makes nothing late`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.change(late)
      try await sendout.change(away)
      try await Ledger(database.pool).resume(sendout.key)
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.states() == ["queued": 10])
    }
  }

  /// Hubs were away from 100 to 60 minutes ago, and for the last 30 minutes.
  private let awayTwice =
    """
    UPDATE sendout_pace
       SET away = tstzmultirange(tstzrange(now() - interval '100 minutes', now() - interval '60 minutes')),
           worked_at = now() - interval '30 minutes'
     WHERE customer_id = $1 AND sendout_id = $2
    """

  @Test func `Times without hubs add up for what was planned before them`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.change(late)
      try await sendout.addBatch(1, app: 2)
      try await sendout.change(
        """
        UPDATE push_batch SET planned_at = now() - interval '70 minutes'
         WHERE customer_id = $1 AND sendout_id = $2 AND batch_no = 1
        """)
      try await sendout.change(awayTwice)
      #expect(try await sendout.claim() == 0)
      // What was planned 90 minutes ago has waited for an hour of them, so nothing before that is needed any more.
      let isKept = try await database.query(
        """
        SELECT lower(away) = missed_before AND upper(away) = worked_at AND missed_before < worked_at - interval '89 minutes'
          FROM sendout_pace WHERE customer_id = $1 AND sendout_id = $2
        """, sendout.key.customer.rawValue, sendout.key.sendout.rawValue)[0].decode(Bool.self)
      #expect(isKept)
      #expect(try await sendout.claim(app: 2) == 1)
      #expect(try await sendout.states() == ["skipped missed": 10, "queued": 10])
    }
  }

  @Test func `While a hub sends a batch for long, hubs are not away`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.addBatch(1, app: 2)
      try await sendout.change(late)
      try await sendout.change(awayTwice)
      try await sendout.change(
        """
        UPDATE push_batch SET state = 'settled', claims = 1, lease_until = now() - interval '5 minutes'
         WHERE customer_id = $1 AND sendout_id = $2 AND batch_no = 1
        """)
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.states() == ["queued": 20])
    }
  }

  @Test func `With a rate the turn is late, not the planned moment, and what is missed takes none`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      for number in 1...2 { try await sendout.addBatch(number, app: 1) }
      try await sendout.change(late)
      // A batch takes ten seconds. The turn of the first has passed too long ago, that of the second has not.
      try await sendout.change(
        """
        UPDATE sendout_pace SET missed_before = now() - interval '1 hour', turn_at = now() - interval '1 hour 5 seconds'
         WHERE customer_id = $1 AND sendout_id = $2
        """)
      #expect(try await sendout.claim(slow) == 0)
      #expect(try await sendout.claim(slow) == 1)
      #expect(try await sendout.claim(slow) == nil)
      #expect(try await sendout.states() == ["skipped missed": 10, "queued": 20])
    }
  }

  @Test func `What had no planned moment is never late`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.change("UPDATE push_batch SET planned_at = NULL WHERE customer_id = $1 AND sendout_id = $2")
      try await sendout.change(away)
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.states() == ["queued": 10])
    }
  }

  @Test func `After its end nothing is sent`() async throws {
    try await withDatabase { database in
      let claimed = try await RuledSendout(database)
      #expect(try await claimed.claim(endAt: Date(timeIntervalSince1970: 0)) == 0)
      #expect(try await claimed.states() == ["skipped expired": 10])
      let unclaimed = try await RuledSendout(database)
      try await unclaimed.addBatch(1, app: 2)
      #expect(try await unclaimed.claim() == 0)
      #expect(try await Ledger(database.pool).expire(unclaimed.key) == 10)
      #expect(try await unclaimed.states() == ["queued": 10, "skipped expired": 10])
      try await database.checkBatchCounts()
    }
  }

  // MARK: Rate

  private let slow = SendRules(purpose: .marketing, quietHours: nil, caps: [], ratePerSecond: 1)

  @Test func `With a rate the next batch waits for its turn`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.addBatch(1, app: 2)
      #expect(try await sendout.claim(slow) == 0)
      #expect(try await sendout.claim(slow, app: 2) == nil)
      let wait = try await database.query(
        "SELECT extract(epoch FROM next_claim - now())::float8 FROM sendout_pace WHERE customer_id = $1 AND sendout_id = $2",
        sendout.key.customer.rawValue, sendout.key.sendout.rawValue)[0].decode(Double.self)
      #expect(wait <= 10)
      try await sendout.change("UPDATE sendout_pace SET next_claim = now() WHERE customer_id = $1 AND sendout_id = $2")
      #expect(try await sendout.claim(slow, app: 2) == 1)
    }
  }

  @Test func `Of hubs at the same moment one gets the turn`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      for number in 1...5 { try await sendout.addBatch(number, app: 1) }
      let claims = try await withThrowingTaskGroup(of: Int32?.self) { group in
        for _ in 0..<6 { group.addTask { try await sendout.claim(slow) } }
        return try await group.reduce(into: 0) { $0 += $1 == nil ? 0 : 1 }
      }
      #expect(claims == 1)
    }
  }

  // MARK: Failures

  @Test func `The last outcomes are those of the batches that were claimed last`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      for number in 1...2 { try await sendout.addBatch(number, app: 1) }
      for (number, failed) in [(0, 10), (1, 4), (2, 2)] {
        try await database.query(
          """
          UPDATE push_batch SET state = 'settled', queued = 0, failed = $4, accepted = 10 - $4,
                                claimed_at = now() + make_interval(secs => $3::int4)
           WHERE customer_id = $1 AND sendout_id = $2 AND batch_no = $3
          """, sendout.key.customer.rawValue, sendout.key.sendout.rawValue, Int32(number), Int32(failed))
      }
      let ledger = Ledger(database.pool)
      let start = Date(timeIntervalSinceNow: -60)
      let (answered, failed) = try await ledger.recentOutcomes(sendout.key, since: start, last: 20)
      #expect(answered == 20 && failed == 6)
      let all = try await ledger.recentOutcomes(sendout.key, since: start)
      #expect(all.answered == 30 && all.failed == 16)
      let none = try await ledger.recentOutcomes(sendout.key, since: Date(timeIntervalSinceNow: 600))
      #expect(none.answered == 0)
    }
  }
}
