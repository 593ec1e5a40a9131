import Delivery
import Postgres
import Sendouts
import Support
import Testing
import Wire

/// Partitions are there before the first row that needs one.
@Suite struct PartitionTests {
  private func ranges(_ table: String, _ database: TestDatabase) async throws -> [String] {
    try await database.query(
      """
      SELECT first_value || ' to ' || end_value FROM partition_ranges('\(table)') ORDER BY first_value::bigint
      """
    ).map { try $0.decode(String.self) }
  }

  private func partition(ofPush sendout: Int64, _ database: TestDatabase) async throws -> String {
    try await database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
      VALUES (1, $1::bigint, 1, 0, 1, 1) RETURNING tableoid::regclass::text
      """, sendout)[0].decode(String.self)
  }

  private func giveOutNumbers(upTo last: Int64, _ database: TestDatabase) async throws {
    try await database.query("SELECT setval('sendout_sendout_id_seq', $1::bigint)", last)
  }

  /// What a start of the sendout does.
  private func require(_ sendout: Int64, _ database: TestDatabase) async throws {
    try await database.query("SELECT require_sendout_range($1::bigint)", sendout)
  }

  private func retention(_ database: TestDatabase, _ log: LogCapture = LogCapture()) -> Retention {
    Retention(database.pool, days: nil, logger: log.logger)
  }

  @Test func `Drafts make no range, and a sendout that starts makes the one that it needs`() async throws {
    try await withSendingBench { bench in
      let database = bench.database
      try await bench.addDevices(2)
      func create(start: Bool) async throws -> SendoutReply {
        try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello"), start: start))
      }
      let draft = try await create(start: false)
      try await giveOutNumbers(upTo: 870, database)
      try await retention(bench.database).makePartitions()
      #expect(try await ranges("push", database) == ["1 to 101"])
      let key = SendoutKey(bench.customer, try await create(start: true).sendoutId)
      #expect(key.sendout == SendoutID(871))
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 971"])
      #expect(try await ranges("open_event", database) == ["1 to 101", "101 to 971"])
      try await bench.sendouts.start(bench.customer, draft.sendoutId)
      try await bench.withHubs {
        for key in [key, SendoutKey(bench.customer, draft.sendoutId)] { _ = try await bench.until(key, .finished) }
      }
      #expect(try await bench.show(key).counts?.accepted == 2)
    }
  }

  @Test func `A draft whose range was dropped makes it again when it starts`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 350, database)
      for sendout in [150, 350] as [Int64] { try await require(sendout, database) }
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 250", "250 to 450"])
      for first in [1, 101] {
        try await database.query("DROP TABLE partitions.push_\(first)")
        try await database.query("DROP TABLE partitions.open_event_\(first)")
      }
      try await require(120, database)
      try await require(120, database)
      #expect(try await ranges("push", database) == ["1 to 250", "250 to 450"])
      #expect(try await ranges("open_event", database) == ["1 to 250", "250 to 450"])
      #expect(try await partition(ofPush: 120, database) == "partitions.push_1")
    }
  }

  @Test func `A spare range follows the last one in use`() async throws {
    try await withDatabase { database in
      try await database.query("INSERT INTO customer (name) VALUES ('ACME')")
      try await database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, started_at)
        VALUES (1, '{1}', 'x', 'running', '{"all":true}', '{}', now())
        """)
      for _ in 0..<2 {
        try await retention(database).makePartitions()
        #expect(try await ranges("push", database) == ["1 to 101", "101 to 201"])
      }
      #expect(try await ranges("open_event", database) == ["1 to 101", "101 to 201"])
    }
  }

  @Test func `A range is as wide as the sendouts of a month, drafts included`() async throws {
    try await withDatabase { database in
      try await database.query("INSERT INTO customer (name) VALUES ('ACME')")
      try await database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, created_at)
        SELECT 1, '{1}', 'x', 'draft', '{"all":true}', '{}', now() - make_interval(hours => n::int4)
        FROM generate_series(0, 240) AS n
        """)
      try await require(101, database)
      // 241 within ten days.
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 824"])
    }
  }

  @Test func `This month and the next two have partitions of device events`() async throws {
    try await withDatabase { database in
      let months = """
        SELECT count(*) FROM partition_ranges('device_event')
        WHERE end_value::timestamptz > now() AND first_value::timestamptz < now() + interval '63 days'
        """
      #expect(try await database.query(months)[0].decode(Int.self) == 3)
      try await database.query(
        "DO $$ BEGIN EXECUTE (SELECT string_agg(format('DROP TABLE %s', partition), ';') FROM partition_ranges('device_event')); END $$"
      )
      let log = LogCapture()
      try await retention(database, log).makePartitions()
      #expect(log.lines.contains { $0.contains("partitions made") })
      #expect(try await database.query(months)[0].decode(Int.self) == 3)
      try await database.query(
        "INSERT INTO device_event (customer_id, device_id, contact_id, kind) VALUES (1, 1, 1, 'registered')")
    }
  }

  @Test func `Reading and writing other partitions holds up none that is made`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 150, database)
      try await database.pool.transaction { transaction in
        try await transaction.query(
          Statement(
            "test.write", .write,
            """
            INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
            SELECT 1, 1, count(*) + 1, 0, 1, 1 FROM push
            """))
        try await require(150, database)
        try await database.query(
          "INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id) VALUES (1, 150, 1, 0, 1, 1)"
        )
      }
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 250"])
    }
  }

  @Test func `A partition that would have to wait for others is made later`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 150, database)
      let error = try await database.pool.transaction { transaction in
        // As ANALYZE of the whole table does.
        try await transaction.query(sql: "LOCK TABLE push IN SHARE UPDATE EXCLUSIVE MODE")
        return await #expect(throws: PostgresError.self) { try await require(150, database) }
      }
      #expect(error?.isPassing == true)
      #expect(try await ranges("push", database) == ["1 to 101"])
      try await require(150, database)
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 250"])
    }
  }

  @Test func `Many that start at once in a new range make it once`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 1000, database)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sendout in 993...1000 { group.addTask { try await require(Int64(sendout), database) } }
        for _ in 0..<4 { group.addTask { try await retention(database).makePartitions() } }
        try await group.waitForAll()
      }
      let made = try await ranges("push", database)
      #expect(made.count == 2 && made[0] == "1 to 101" && made[1].hasPrefix("101 to "), "\(made)")
    }
  }
}
