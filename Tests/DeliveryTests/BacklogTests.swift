import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Delivery

/// Statements cost by what is due, whatever is settled or due later.
@Suite struct BacklogTests {
  /// Statements that hubs run again and again, with what they are run with here.
  private static let frequent: [(statement: String, arguments: String)] = [
    ("ledger.due", ""), ("ledger.lanes", "(1, 1)"), ("ledger.remaining_work", "(1, 1)"),
    ("breaker.answers", "(1, 1, 1, false)"), ("batch.claim", "(1, 1, gen_random_uuid(), 60, 1, false)"),
    ("batch.claim", "(1, 2, gen_random_uuid(), 60, 1, false)"),
    ("batch.claim_expired", "(1, 1, gen_random_uuid(), 60, 1, false, '{}')"),
    ("batch.advance", "(1, 1, \(run), '\(claimed)', '\(ones)', '\(claimed)')"),
    ("batch.extend", "(1, 1, \(run), 60, '\(claimed)', '\(ones)')"),
    ("push.settle", settlement), ("push.settle_tracked", settlement), ("push.correct", correction),
    ("push.correct_tracked", correction),
    ("ledger.requeue_lost", "(1, 1, 'resend', '{}', NULL)"), ("batch.claimed_by", "(1, 1, gen_random_uuid())"),
    ("activity.due", "('{}', '{}')"),
    ("sendout.settled", ""), ("sendout.freezing", ""), ("sendout.timed", ""),
    ("sendout.expired", "(1, 30, 60)"), ("sendout.find", "(1, 1)"),
  ]

  private static let run = "'00000000-0000-0000-0000-000000000001'"
  /// Some of the batches that the run has claimed, each with one push of the same number.
  private static let claimed = array((800_001...800_010).map(String.init))
  private static let ones = array(Array(repeating: "1", count: 10))
  private static let settlement = """
    (1, 1, '\(claimed)', '\(accepted)', '\(nulls)', '\(ones)', '\(nulls)', '\(nulls)', '\(nulls)', \(run), '\(claimed)',
     800010, 1, 800010)
    """
  private static let correction = "(1, 1, '\(claimed)', '\(accepted)', '\(nulls)', '\(claimed)')"
  private static let accepted = array(Array(repeating: "accepted", count: 10))
  private static let nulls = array(Array(repeating: "NULL", count: 10))

  private static func array(_ values: [String]) -> String { "{\(values.joined(separator: ","))}" }

  /// Blocks of 8 KB that a statement may look at. Reading the settled batches of the stream takes some 20,000.
  private static let limit = 600

  @Test func `Neither 500,000 settled nor 300,000 scheduled batches cost anything, on a new table and on an old one`()
    async throws
  {
    try await withDatabase { database in
      try await database.pool.transaction(limit: .seconds(600)) { transaction in
        // As the hub's pool has it.
        try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
        try await transaction.query(sql: "SET LOCAL random_page_cost = 1.1")
        try await transaction.query(sql: "SET LOCAL statement_timeout = 0")
        let known = DeliveryStatements.all + SendoutStatements.all
        for (number, (name, arguments)) in Self.frequent.enumerated() {
          let statement = try #require(known.first { $0.name == name }, "\(name)")
          try await transaction.query(sql: "PREPARE frequent_\(number) AS \(statement.sql)")
          // Its plan is made, and stays.
          try await transaction.query(sql: "EXECUTE frequent_\(number)\(arguments)")
        }
        for sql in Self.backlog { try await transaction.query(sql: sql) }
        try await check("new")
        try await transaction.query(sql: "ANALYZE sendout, push_batch, push, tracked_message")
        try await check("old")

        func check(_ age: String) async throws {
          for (number, (name, arguments)) in Self.frequent.enumerated() {
            // Each finds what the others have found.
            try await transaction.query(sql: "SAVEPOINT before")
            let blocks = try await transaction.blocks("EXECUTE frequent_\(number)\(arguments)")
            try await transaction.query(sql: "ROLLBACK TO before")
            #expect(blocks <= Self.limit, "\(age) table: \(name)\(arguments) looks at \(blocks) blocks")
          }
        }
      }
    }
  }

  @Test func `A freeze costs by its audience, though its plan was made while nobody was registered`() async throws {
    try await withSendingBench { bench in
      let customer = bench.customer, app = bench.app.id
      try await bench.database.query("INSERT INTO list (customer_id, name) VALUES (\(customer), 'All')")
      try await bench.database.query("ANALYZE contact, device, list, list_member")
      try await bench.database.pool.transaction(limit: .seconds(600)) { transaction in
        let freezes = [
          (FreezeQueries.list, "(\(customer), '{\(app)}', 1, %, 1000)"),
          (FreezeQueries.originalIDs, "(\(customer), '{\(app)}', '{user1@example.com}', %, 1000)"),
          (FreezeQueries.everyone, "(\(customer), '{\(app)}', %, 1000)"),
        ]
        for (number, (statement, arguments)) in freezes.enumerated() {
          try await transaction.query(sql: "PREPARE freeze_\(number) AS \(statement.sql)")
          // From the sixth time on the plan is kept.
          for sendout in 1...6 {
            try await transaction.query(sql: "EXECUTE freeze_\(number)\(arguments.replacing("%", with: "\(sendout)"))")
          }
        }
        try await bench.addDevices(5000, list: ListID(1))
        // Each connection of the pool tells what it has done.
        try await waitUntil {
          try await bench.database.query(
            "SELECT n_live_tup FROM pg_stat_force_next_flush(), pg_stat_user_tables WHERE relname = 'device'")[0]
            .decode(Int.self) >= 5000
        }
        try await Devices(bench.pool).refreshStatistics()
        _ = try await transaction.query(FreezeQueries.unlimited)
        for (number, (_, arguments)) in freezes.enumerated() {
          let blocks = try await transaction.blocks(
            "EXECUTE freeze_\(number)\(arguments.replacing("%", with: "\(number + 10)"))")
          // Some 20 for each push that is written.
          #expect(blocks <= 150_000, "\(arguments) looks at \(blocks) blocks")
        }
      }
    }
  }

  /// A stream with much behind it and before it, whose contacts are noted; one whose lane is closed; and nineteen that have nothing.
  private static let backlog = [
    "INSERT INTO customer (name) VALUES ('ACME')",
    """
    INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message, started_at, frozen_at)
    SELECT 1, 'stream', 's' || n, '{1,2}', 'x', 'running', '{"all":true}', '{}', now(), now() FROM generate_series(1, 20) AS n
    """,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued,
                            accepted, sent, claims, not_before)
    SELECT 1, 1, n, 1 + n % 2, false, n, n, 'settled', 0, 1, 1, 1, now() - interval '3 hours'
      FROM generate_series(1, 500000) AS n
    """,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, not_before)
    SELECT 1, 1, n, 1 + n % 2, false, n, n, 1, now() + interval '1 minute' + n * interval '1 second'
      FROM generate_series(500001, 800000) AS n
    """,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, not_before)
    SELECT 1, 2, n, 1, false, n, n, 1, now() - n * interval '0.2 second' FROM generate_series(1, 50000) AS n
    """,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued,
                            claims, hub_id, claimed_at, lease_until)
    SELECT 1, 1, n, 1, false, n, n, 'claimed', 1, 1, \(run), now(), now() + interval '1 hour'
      FROM generate_series(800001, 800020) AS n
    """,
    """
    INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state)
    SELECT 1, 1, n, n, n, n, n, CASE WHEN n > 800000 THEN 'queued' ELSE 'accepted' END
      FROM generate_series(700001, 800020) AS n
    """,
    "INSERT INTO activity_change (customer_id, contact_ids) SELECT 1, ARRAY[n] FROM generate_series(700001, 800020) AS n",
    """
    INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts, status,
                                unsettled, push_nos)
    SELECT 1, 1, n, 'app', n::text, 'x', 'x', 'default', 1, 'Sent', 1, ARRAY[n] FROM generate_series(700001, 800020) AS n
    """,
  ]

  @Test func `A lane's batch that has been due for longest is claimed first, and none before it is due`() async throws {
    try await withSendingBench { bench in
      let (key, ledger) = try await frozen(bench, batches: 4)
      for (batch, age) in [(0, 10), (1, 30), (2, -7200), (3, 20)] {
        try await bench.database.query(
          "UPDATE push_batch SET not_before = now() - make_interval(secs => $2::float8) WHERE batch_no = $1::int4",
          Int32(batch), Double(age))
      }
      #expect(try await ledger.claim()?.claim.batch == 1)
      let second = try #require(try await ledger.claim())
      #expect(second.claim.batch == 3)
      // What is released with pushes that are queued keeps its place.
      try await ledger.release(second.claim)
      #expect(try await ledger.claim()?.claim.batch == 3)
      #expect(try await ledger.claim()?.claim.batch == 0)
      #expect(try await ledger.claim() == nil)
      let next = try await bench.ledger.remainingWork(key).nextClaim
      #expect(next.map { $0 > .seconds(3600) && $0 <= .seconds(7200) } == true)
    }
  }

  @Test func `What is due is told by lane, once, of whatever hour`() async throws {
    try await withSendingBench { bench in
      let (key, ledger) = try await frozen(bench, batches: 4)
      try await bench.database.query("UPDATE push_batch SET not_before = now() + interval '2 hours'")
      #expect(try await bench.ledger.due().isEmpty)
      #expect(try await bench.ledger.lanes(key).map(\.isDue) == [false])
      try await bench.database.query(
        "UPDATE push_batch SET not_before = now() - make_interval(hours => 30 * batch_no) WHERE batch_no > 1")
      var due = try await bench.ledger.due()
      #expect(due.map(\.lane) == [bench.lane] && due.map(\.isUrgent) == [false] && due.map(\.key) == [key])
      #expect(try await bench.ledger.lanes(key).map(\.isDue) == [true])
      try await bench.database.query("UPDATE push_batch SET expires_at = now() WHERE batch_no = 2")
      due = try await bench.ledger.due()
      #expect(due.map(\.isUrgent).sorted { !$0 && $1 } == [false, true])
      while try await ledger.claim() != nil {}
      #expect(try await bench.ledger.due().isEmpty)
      #expect(try await bench.ledger.lanes(key).map(\.isDue) == [false])
      try await bench.endLeases()
      due = try await bench.ledger.due()
      #expect(due.map(\.lane) == [bench.lane] && due.map(\.isUrgent) == [true])
    }
  }

  @Test func `Idempotency keys that are too old go in portions, of one customer`() async throws {
    try await withDatabase { database in
      for (customer, age, count) in [(1, 25, 25_000), (1, 23, 10), (2, 25, 10)] as [(Int64, Int32, Int64)] {
        try await database.query(
          """
          INSERT INTO message_key (customer_id, idempotency_key, fingerprint, sendout_id, message_no, created_at)
          SELECT $1::bigint, $2::int4 || '-' || n, '', 1, n, now() - make_interval(hours => $2::int4) - n * interval '1 ms'
            FROM generate_series(1, $3::bigint) AS n
          """, customer, age, count)
      }
      let counting = CountingDatabase(database.pool)
      #expect(try await Messages(counting).forgetExpiredKeys(CustomerID(1)) == 25_000)
      #expect(counting.counts["message.forget_keys"] == 3)
      #expect(try await database.query("SELECT FROM message_key").count == 20)
    }
  }

  /// A sendout of so many batches of ten pushes, and its ledger as a run has it.
  private func frozen(_ bench: SendingBench, batches: Int) async throws -> (SendoutKey, BatchLedger) {
    try await bench.addDevices(batches * 10)
    let key = try await bench.send("Hello")
    try await bench.pool.transaction { transaction in
      _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all, batchSize: 10)
    }
    return (
      key, BatchLedger(database: bench.pool, key: key, lane: bench.lane, run: RunID(), lease: .seconds(60))
    )
  }

  @Test func `The numbers that a hub has reserved suffice for messages to contacts with a thousand devices each`() {
    let block = StreamNumbers.block
    var numbers = StreamNumbers(
      message: 1, push: 1, batch: 0, messagesLeft: block.messages, pushesLeft: block.pushes, batchesLeft: block.batches)
    // As many as one statement accepts.
    let messages = 256
    var accepted = 0
    while numbers.suffice(for: messages) {
      numbers.take(messages: messages, pushes: messages * Device.maximumOfContact, batches: 1)
      accepted += messages
    }
    #expect(accepted > 0 && numbers.pushesLeft >= 0 && numbers.push <= block.pushes + 1)
  }
}
