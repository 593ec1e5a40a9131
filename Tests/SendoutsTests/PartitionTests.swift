import Postgres
import Sendouts
import Support
import Testing

/// Partitions are made ahead of need, and no row fails for want of one.
@Suite struct PartitionTests {
  private func ranges(_ table: String, _ database: TestDatabase) async throws -> [String] {
    try await database.query(
      """
      SELECT coalesce(first_value || ' to ' || end_value, 'default') FROM partition_ranges('\(table)')
      ORDER BY first_value::bigint NULLS LAST
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

  private func retention(_ database: TestDatabase, _ log: LogCapture = LogCapture()) -> Retention {
    Retention(database.pool, days: nil, logger: log.logger)
  }

  @Test func `The range after that of the last number is always there`() async throws {
    try await withDatabase { database in
      #expect(try await ranges("push", database) == ["1 to 101", "default"])
      try await giveOutNumbers(upTo: 1, database)
      try await retention(database).makePartitions()
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 201", "default"])
      try await retention(database).makePartitions()
      #expect(try await ranges("push", database).count == 3)
      // Nobody looked for long.
      try await giveOutNumbers(upTo: 350, database)
      try await retention(database).makePartitions()
      let expected = ["1 to 101", "101 to 201", "201 to 301", "301 to 401", "401 to 501", "default"]
      #expect(try await ranges("push", database) == expected)
      #expect(try await ranges("open_event", database) == expected)
      #expect(try await partition(ofPush: 350, database) == "partitions.push_301")
    }
  }

  @Test func `A range is as wide as the sendouts of a month`() async throws {
    try await withDatabase { database in
      try await database.query("INSERT INTO customer (name) VALUES ('ACME')")
      try await database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, created_at)
        SELECT 1, '{1}', 'x', 'draft', '{"all":true}', '{}', now() - make_interval(hours => n::int4)
        FROM generate_series(0, 240) AS n
        """)
      try await retention(database).makePartitions()
      let widths = try await database.query(
        """
        SELECT end_value::bigint - first_value::bigint FROM partition_ranges('push')
        WHERE first_value IS NOT NULL ORDER BY first_value::bigint DESC LIMIT 1
        """)
      // 241 within ten days.
      #expect(try widths[0].decode(Int.self) == 723)
    }
  }

  @Test func `Rows without a partition go to DEFAULT, stay there, and are told of`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 150, database)
      #expect(try await partition(ofPush: 120, database) == "partitions.push_default")
      let log = LogCapture()
      try await retention(database, log).makePartitions()
      #expect(log.lines.contains { $0.contains("warning") && $0.contains("sendouts up to 120 came before") })
      #expect(try await ranges("push", database) == ["1 to 101", "121 to 221", "221 to 321", "default"])
      #expect(try await partition(ofPush: 121, database) == "partitions.push_121")
      #expect(try await database.query("SELECT FROM push WHERE customer_id = 1 AND sendout_id = 120").count == 1)

      try await database.query(
        """
        INSERT INTO device_event (customer_id, device_id, contact_id, kind, at)
        VALUES (1, 1, 1, 'registered', '2001-01-01'), (1, 1, 1, 'registered', now() + interval '1 year')
        """)
      #expect(try await database.query("SELECT FROM partitions.device_event_default").count == 2)
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
        "DO $$ BEGIN EXECUTE (SELECT string_agg(format('DROP TABLE %s', partition), ';') FROM partition_ranges('device_event') WHERE first_value IS NOT NULL); END $$"
      )
      try await database.query(
        "INSERT INTO device_event (customer_id, device_id, contact_id, kind) VALUES (1, 1, 1, 'registered')")
      let log = LogCapture()
      try await retention(database, log).makePartitions()
      #expect(log.lines.contains { $0.contains("came before their partition was made") })
      #expect(try await database.query(months)[0].decode(Int.self) == 2)
    }
  }

  @Test func `A partition that would have to wait for others is made later`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 1, database)
      let log = LogCapture()
      try await database.pool.transaction { transaction in
        try await transaction.query(
          Statement("test.hold", .write, "LOCK TABLE partitions.push_default IN ROW EXCLUSIVE MODE"))
        try await retention(database, log).makePartitions()
      }
      #expect(log.lines.contains { $0.contains("lock timeout") })
      #expect(try await ranges("push", database) == ["1 to 101", "default"])
      try await retention(database, log).makePartitions()
      #expect(try await ranges("push", database) == ["1 to 101", "101 to 201", "default"])
    }
  }

  @Test func `Many hubs make partitions at once, each of them once`() async throws {
    try await withDatabase { database in
      try await giveOutNumbers(upTo: 1000, database)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { try await retention(database).makePartitions() } }
        try await group.waitForAll()
      }
      #expect(try await ranges("push", database).count == 12)
    }
  }
}
