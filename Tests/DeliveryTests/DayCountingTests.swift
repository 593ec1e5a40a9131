import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct DayCountingTests {
  /// What is counted of the last days, the oldest first, as `sent`, `opened` or `registered`.
  private func days(_ bench: SendingBench, _ count: Int, _ value: (DayActivity) -> Int) async throws -> [Int] {
    try await DayCounts(bench.pool).last(count, of: bench.customer).map(value)
  }

  /// Adds batches with pushes that were sent, claimed so many days ago, around noon.
  private func addBatches(_ bench: SendingBench, _ key: SendoutKey, _ sent: [(count: Int32, age: Int32)]) async throws {
    for (number, batch) in sent.enumerated() {
      try await bench.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted, sent,
                                claimed_at)
        SELECT $1::bigint, $2::bigint, $3::int4, $4::bigint, false, 1, $5::int4, 'settled', 0, $5::int4, $5::int4,
               (date_trunc('day', now() AT TIME ZONE 'UTC') + interval '12 hours') AT TIME ZONE 'UTC' - make_interval(days => $6::int4)
        """, bench.customer.rawValue, key.sendout.rawValue, Int32(number), bench.app.id.rawValue, batch.count, batch.age
      )
    }
  }

  @Test func `Pushes count on the days on which their batches were claimed, however late that is counted`() async throws
  {
    try await withSendingBench { bench in
      let key = try await bench.addStream()
      try await addBatches(bench, key, [(3, 2), (4, 1), (5, 0)])
      for _ in 1...2 {
        try await DayCounts(bench.pool).count(bench.customer)
        #expect(try await days(bench, 4, \.sent) == [0, 3, 4, 5])
      }
      // What is sent of a batch that is claimed again is new, and nothing else of it.
      try await bench.database.query(
        """
        UPDATE push_batch SET claimed_at = now(), sent = sent + 2, accepted = accepted + 2, last_push = last_push + 2
         WHERE batch_no = 0
        """)
      try await DayCounts(bench.pool).count(bench.customer)
      #expect(try await days(bench, 4, \.sent) == [0, 3, 4, 7])
    }
  }

  @Test func `A sendout is looked at until an hour after its end`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.addStream()
      let counts = DayCounts(bench.pool)
      func isOver() async throws -> Bool {
        try await bench.database.query("SELECT all_counted FROM sendout")[0].decode(Bool.self)
      }
      func end(_ minutesAgo: Int32) async throws {
        try await bench.database.query(
          "UPDATE sendout SET state = 'finished', finished_at = now() - make_interval(mins => $1::int4)", minutesAgo)
      }
      try await addBatches(bench, key, [(3, 0)])
      try await counts.count(bench.customer)
      try await end(59)
      try await bench.database.query(
        "UPDATE push_batch SET sent = sent + 1, accepted = accepted + 1, last_push = last_push + 1")
      try await counts.count(bench.customer)
      #expect(try await days(bench, 1, \.sent) == [4])
      #expect(try await !isOver())
      try await end(61)
      try await counts.count(bench.customer)
      #expect(try await isOver())
      #expect(try await days(bench, 1, \.sent) == [4])
    }
  }

  @Test func `Opens count on the days of their hours, those of the day before too`() async throws {
    try await withSendingBench { bench in
      func add(_ opens: Int64, hoursAgo: Int32, slot: Int16) async throws {
        try await bench.database.query(
          """
          INSERT INTO open_hour (customer_id, sendout_id, hour, slot, opens, first_opens)
          SELECT $1::bigint, 1, (date_trunc('day', now() AT TIME ZONE 'UTC') - make_interval(hours => $2::int4)) AT TIME ZONE 'UTC', $3::int2,
                 100, $4::bigint
          """, bench.customer.rawValue, hoursAgo, slot, opens)
      }
      try await add(3, hoursAgo: 30, slot: 0)
      try await add(4, hoursAgo: 2, slot: 0)
      try await add(5, hoursAgo: 0, slot: 0)
      try await add(6, hoursAgo: 0, slot: 1)
      try await DayCounts(bench.pool).count(bench.customer)
      #expect(try await days(bench, 3, \.opened) == [3, 4, 11])
      try await add(10, hoursAgo: 2, slot: 1)
      try await DayCounts(bench.pool).count(bench.customer)
      #expect(try await days(bench, 3, \.opened) == [3, 14, 11])
    }
  }

  @Test func `A device counts once, on the day of its first registration`() async throws {
    try await withSendingBench { bench in
      let counts = DayCounts(bench.pool)
      try await bench.addDevices(3)
      try await bench.database.query(
        """
        UPDATE device SET created_at = created_at - CASE WHEN device_id = (SELECT min(device_id) FROM device)
          THEN interval '1 day' ELSE interval '6 minutes' END
        """)
      // Those six minutes ago may have been yesterday, too.
      func all() async throws -> Int { try await days(bench, 3, \.registered).reduce(0, +) }
      func counted() async throws -> Int64 {
        try await bench.database.query("SELECT coalesce(sum(registered), 0)::bigint FROM day_count")[0].decode(
          Int64.self)
      }
      #expect(try await all() == 3)
      for _ in 1...2 {
        try await counts.count(bench.customer)
        #expect(try await counted() == 3)
        #expect(try await all() == 3)
      }
      let before = try await days(bench, 3, \.registered)
      #expect(before[0] + before[1] >= 1)
      // A new one is shown, and counted once nothing older can come any more.
      try await bench.addDevices(1, from: 4)
      try await counts.count(bench.customer)
      #expect(try await counted() == 3)
      #expect(try await all() == 4)
      try await bench.database.query("UPDATE device SET created_at = created_at - interval '6 minutes'")
      try await counts.count(bench.customer)
      #expect(try await counted() == 4)
      #expect(try await all() == 4)
      // What is erased stays counted.
      try await bench.database.query("DELETE FROM device")
      try await counts.count(bench.customer)
      #expect(try await all() == 4)
    }
  }

  @Test func `Whoever finds others counting, or a sendout locked, leaves that for later`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.addStream()
      let counts = DayCounts(bench.pool)
      try await addBatches(bench, key, [(3, 0)])
      try await bench.database.query(
        "INSERT INTO day_progress (customer_id) VALUES ($1::bigint)", bench.customer.rawValue)
      for lock in ["day_progress", "sendout"] {
        try await bench.pool.transaction { transaction in
          try await transaction.query(
            Statement("test.lock_\(lock)", .write, "SELECT FROM \(lock) WHERE customer_id = $1::bigint FOR UPDATE"),
            bench.customer.rawValue)
          try await counts.count(bench.customer)
        }
        #expect(try await days(bench, 1, \.sent) == [0])
      }
      try await counts.count(bench.customer)
      #expect(try await days(bench, 1, \.sent) == [3])
    }
  }

  @Test func `What was counted a moment ago is not counted for each look`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.addStream()
      let counts = DayCounts(bench.pool)
      try await counts.count(bench.customer, olderThan: .seconds(3600))
      try await addBatches(bench, key, [(3, 0)])
      try await counts.count(bench.customer, olderThan: .seconds(3600))
      #expect(try await days(bench, 1, \.sent) == [0])
      try await bench.database.query("UPDATE day_progress SET counted_at = now() - interval '3601 seconds'")
      try await counts.count(bench.customer, olderThan: .seconds(3600))
      #expect(try await days(bench, 1, \.sent) == [3])
    }
  }
}
