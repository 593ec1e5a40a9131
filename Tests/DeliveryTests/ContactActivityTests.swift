import Content
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

/// What contacts received, rolled up from the ledger.
@Suite struct ContactActivityTests {
  private func activity(_ bench: SendingBench) -> ContactActivity { ContactActivity(bench.pool) }

  /// Counts all that is noted.
  private func countAll(_ bench: SendingBench) async throws {
    while try await activity(bench).step(bench.customer, portion: 3) {}
    #expect(try await bench.database.activityNotes() == 0)
    #expect(try await wrong(bench) == [])
  }

  private func wrong(_ bench: SendingBench, unlessNoted: Bool = false) async throws -> [Int64] {
    try await bench.database.contactsWithWrongActivity(newest: ContactActivity.newest, unlessNoted: unlessNoted)
  }

  private func counts(_ bench: SendingBench) async throws -> [[Int64]] {
    let rows = try await bench.database.query(
      "SELECT contact_id, received, opened FROM contact_activity ORDER BY contact_id")
    return try rows.map { row in
      let (contact, received, opened) = try row.decode(Int64.self, Int64.self, Int64.self)
      return [contact, received, opened]
    }
  }

  private func sent(_ bench: SendingBench) async throws -> SendoutKey {
    let key = try await bench.send()
    try await bench.withHubs { _ = try await bench.until(key, .finished) }
    return key
  }

  private func link(_ push: PushReply, _ bench: SendingBench, _ key: SendoutKey) -> PushLink {
    PushLink(customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
  }

  @Test func `What a push service accepts is noted with its outcome, and counted afterwards`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      try await bench.addDevices(1, from: 6, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
      let key = try await sent(bench)
      #expect(try await bench.show(key).counts?.accepted == 5)
      #expect(try await bench.database.activityNotes() > 0)
      #expect(try await wrong(bench).count == 5)
      #expect(try await wrong(bench, unlessNoted: true) == [])
      try await countAll(bench)
      #expect(try await counts(bench).map { $0[1] } == [1, 1, 1, 1, 1])
      // Nothing is left to do, and nothing is written again.
      #expect(try await activity(bench).step(bench.customer) == false)
      #expect(try await activity(bench).due() == [])
    }
  }

  @Test func `A push that is accepted at the second attempt is counted once, and not before`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1, prefix: "bb", registeredAt: Date(timeIntervalSinceNow: -3600))
      let since = Date(timeIntervalSinceNow: -7200)
      bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 410, reason: "Unregistered", since: since), times: 1)
      try await bench.withHubs {
        let key = try await bench.send()
        try await waitUntil {
          let push = try await bench.pushes(key).first
          try await bench.makeDue(key)
          return push?.state == .accepted && push?.attempts == 2
        }
      }
      #expect(try await bench.database.activityNotes() == 1)
      try await countAll(bench)
      #expect(try await counts(bench).map { [$0[1], $0[2]] } == [[1, 0]])
    }
  }

  @Test func `The first open by a person is noted and counted, and no other one`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await sent(bench)
      try await countAll(bench)
      let (opens, pushes) = (OpenLog(bench.pool), try await bench.pushes(key))
      _ = try await opens.record(
        [Open(link(pushes[0], bench, key), via: .page, by: .machine)], of: bench.customer)
      #expect(try await bench.database.activityNotes() == 0)
      _ = try await opens.record(
        [Open(link(pushes[1], bench, key), via: .page, by: .person)], of: bench.customer)
      #expect(try await bench.database.activityNotes() == 1)
      #expect(try await wrong(bench) == [pushes[1].contactId.rawValue])
      try await countAll(bench)
      _ = try await opens.record(
        [Open(link(pushes[1], bench, key), via: .pushreadurl, by: .person)], of: bench.customer)
      #expect(try await bench.database.activityNotes() == 0)
      #expect(try await counts(bench).map { [$0[1], $0[2]] } == [[1, 0], [1, 1], [1, 0]])
    }
  }

  @Test func `An outcome that comes after its push counted as uncertain is noted`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(4)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all, batchSize: 10)
      }
      let ledger = BatchLedger(
        database: bench.pool, key: key, lane: Lane(app: bench.app.id, isSandbox: false), run: RunID(),
        lease: .seconds(60))
      var batch = try #require(try await ledger.claim())
      batch.pushes = try await ledger.pushes(of: batch)
      _ = try await ledger.advance([
        WriteAheadMark(claim: batch.claim, push: PushNumber(batch.range.upperBound))
      ])
      try await bench.endLeases()
      #expect(try await bench.ledger.requeueLost(key, .skip) == (1, 4))
      #expect(try await bench.database.activityNotes() == 0)
      try await ledger.settle(
        batch.pushes.map {
          Settlement(push: $0.number, batch: $0.batch, state: .accepted, left: true, sentAt: Date())
        })
      #expect(try await wrong(bench).count == 4)
      #expect(try await wrong(bench, unlessNoted: true) == [])
      try await countAll(bench)
    }
  }

  /// A contact's pushes of three sendouts, at moments that repeat, some opened.
  private func addPushes(_ count: Int, _ bench: SendingBench) async throws {
    try await bench.database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, settled_at, opened_at)
      SELECT $1::bigint, 1 + n % 3, n, 0, 1, contact_id, CASE WHEN n % 2 = 0 THEN 1 END,
             CASE WHEN n % 7 = 0 THEN 'failed' ELSE 'accepted' END, now() - n / 4 * interval '1 hour',
             CASE WHEN n % 5 = 0 THEN now() - n % 11 * interval '1 hour' END
        FROM contact, generate_series(1, $2::int8) AS n
       WHERE customer_id = $1::bigint AND original_id = 'user1@example.com'
      """, bench.customer.rawValue, Int64(count))
  }

  @Test func `A contact with many pushes has all of them in its totals, and the moments of the newest`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await addPushes(200, bench)
      #expect(try await wrong(bench).count == 1)
      let recounted = try await activity(bench).recount(bench.customer, after: 0)
      #expect(recounted.contacts == 2)
      #expect(try await wrong(bench) == [])
      let row = try await bench.database.query(
        "SELECT received, opened, cardinality(received_at), cardinality(opened_at) FROM contact_activity")[0]
      #expect(
        try row.decode(Int.self, Int.self, Int.self, Int.self) == (
          200 - 200 / 7, 200 / 5, ContactActivity.newest, ContactActivity.newest
        ))
    }
  }

  @Test func `Counting anew in portions mends every row, and goes on where it was stopped`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      _ = try await sent(bench)
      try await countAll(bench)
      try await bench.database.query("DELETE FROM contact_activity WHERE contact_id % 2 = 0")
      try await bench.database.query("UPDATE contact_activity SET received = 7 WHERE contact_id % 3 = 0")
      let activity = activity(bench)
      let first = try await activity.recount(bench.customer, after: 0, portion: 2)
      #expect(first.contacts == 2)
      #expect(try await wrong(bench).allSatisfy { $0 > first.last ?? 0 })
      // Another run, behind what the first has done.
      var last = first.last
      while let after = last {
        last = try await activity.recount(bench.customer, after: after, portion: 2).last
      }
      #expect(try await wrong(bench) == [])
      #expect(try await counts(bench).count == 5)
    }
  }

  @Test func `Two hubs count a customer one after the other, and neither writes an older count last`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(20)
      let key = try await sent(bench)
      let pushes = try await bench.pushes(key)
      let activity = activity(bench)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for push in pushes {
          group.addTask {
            _ = try await OpenLog(bench.pool).record(
              [Open(link(push, bench, key), via: .page, by: .person)], of: bench.customer)
          }
        }
        for _ in 1...2 {
          group.addTask {
            for _ in 1...20 { _ = try await activity.step(bench.customer, portion: 2) }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await wrong(bench, unlessNoted: true) == [])
      try await countAll(bench)
      #expect(try await counts(bench).allSatisfy { $0[1] == 1 && $0[2] == 1 })
    }
  }

  @Test func `A hub leaves a customer alone whom another hub counts`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      _ = try await sent(bench)
      let notes = try await bench.database.activityNotes()
      try await bench.pool.transaction { transaction in
        let isLocked = try await transaction.query(ActivityQueries.turn, bench.customer.rawValue)[0].decode(Bool.self)
        #expect(isLocked)
        #expect(try await activity(bench).step(bench.customer) == false)
      }
      #expect(try await bench.database.activityNotes() == notes)
      try await countAll(bench)
    }
  }

  @Test func `The service counts what is noted of every customer`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await sent(bench)
      let other = try await bench.database.customer("Other")
      try await bench.database.query(
        "INSERT INTO activity_change (customer_id, contact_ids) VALUES ($1::bigint, '{1}')", other.rawValue)
      #expect(try await activity(bench).due() == [bench.customer, other])
      try await withThrowingTaskGroup(of: Void.self) { group in
        let runner = ActivityRunner(bench.pool, scanEvery: .milliseconds(20), logger: TestServer.logger)
        group.addTask { try await runner.run() }
        try await waitUntil { try await bench.database.activityNotes() == 0 }
        group.cancelAll()
      }
      // A contact of one customer is nobody at another.
      #expect(try await wrong(bench) == [])
      #expect(try await counts(bench).count == 3)
      #expect(try await bench.show(key).counts?.accepted == 3)
    }
  }

  @Test func `Notes up to a number are not looked for, and the last one that is taken is told`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO activity_change (customer_id, change_no, contact_ids) SELECT $1::bigint, n, ARRAY[n] FROM unnest('{5,15,25}'::bigint[]) AS n
        """, customer.rawValue)
      let taken = try await database.pool.query(ActivityQueries.apply, customer.rawValue, Int64(1), Int64(10))[0]
        .decode(Int.self, Int64?.self)
      #expect(taken.0 == 1 && taken.1 == 15)
      let left = try await database.query("SELECT change_no FROM activity_change ORDER BY 1").map {
        try $0.decode(Int64.self)
      }
      #expect(left == [5, 25])
      let none = try await database.pool.query(ActivityQueries.apply, customer.rawValue, Int64(1), Int64(25))[0]
        .decode(Int.self, Int64?.self)
      #expect(none.0 == 0 && none.1 == nil)
    }
  }

  @Test func `A note that is committed after one of a later number is counted, too`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await withThrowingTaskGroup(of: Void.self) { group in
        let runner = ActivityRunner(database.pool, scanEvery: .milliseconds(20), logger: TestServer.logger)
        group.addTask { try await runner.run() }
        for number in [Int64(100), 50] {
          try await database.query(
            "INSERT INTO activity_change (customer_id, change_no, contact_ids) VALUES ($1::bigint, $2::bigint, '{1}')",
            customer.rawValue, number)
          try await waitUntil { try await database.activityNotes() == 0 }
        }
        group.cancelAll()
      }
    }
  }

  @Test(
    arguments: [
      (2000, Duration.milliseconds(100), 2000), (2000, .milliseconds(600), 1000), (2000, .seconds(60), 20),
      (20, .seconds(60), 20), (20, .milliseconds(30), 200), (20, .zero, 2000),
    ] as [(Int64, Duration, Int64)])
  func `A portion of contacts with long histories is smaller, so that no other customer waits for it`(
    portion: Int64, time: Duration, next: Int64
  ) {
    #expect(ActivityRunner.portion(after: portion, thatTook: time) == next)
  }

  @Test func `The row of an erased contact goes, though a hub counted it meanwhile`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      _ = try await sent(bench)
      try await countAll(bench)
      let erased = try await counts(bench)[0][0]
      try await bench.database.query("DELETE FROM contact_activity")
      let table = try #require(DeliveryPersonalTables.all.first { $0.name == "contact_activity" })
      guard case .atOnce(let statement) = table.erasure else {
        Issue.record("the row does not go with the contact")
        return
      }
      try await bench.pool.transaction { transaction in
        try await transaction.query(statement, bench.customer.rawValue, erased)
        try await transaction.query(
          sql: "DELETE FROM contact WHERE customer_id = $1::bigint AND contact_id = $2::bigint",
          bench.customer.rawValue, erased)
        // It sees the contact still.
        _ = try await activity(bench).recount(bench.customer, after: 0)
      }
      #expect(try await wrong(bench) == [erased])
      try await countAll(bench)
      #expect(try await counts(bench).count == 1)
    }
  }
}
