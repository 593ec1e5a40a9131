import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

/// How the ledger's tables take a sendout.
@Suite struct LedgerStorageTests {
  /// PostgreSQL cannot tidy a page while somebody looks at an older state of it, as a report or a long freeze does. The capacity that
  /// the fill factor leaves must do.
  @Test func `Outcomes stay on their pages, and indexes do not grow, even while somebody holds an old snapshot`()
    async throws
  {
    try await withSendingBench(simulator: { $0.requestsKept = 1 }) { bench in
      try await bench.addDevices(5000)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      try await bench.ledger.refreshStatistics(of: key, afterFreezing: 5000)
      let sizes = try await indexSizes(bench)
      let dispatcher = bench.dispatcher()
      try await bench.pool.transaction { reader in
        try await reader.query(sql: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        try await reader.query(sql: "SELECT FROM push LIMIT 1")
        let result = await dispatcher.dispatch(
          try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane)
        #expect(result.end == .drained)
      }
      #expect(try await bench.show(key).counts?.accepted == 5000)
      #expect(try await indexSizes(bench) == sizes)
      var (updates, hot) = (0, 0)
      while updates < 5000 {
        // Each connection of the pool tells what it has done.
        (updates, hot) = try await bench.database.query(
          """
          SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_force_next_flush(), pg_stat_user_tables WHERE relname = 'push_1'
          """)[0].decode(Int.self, Int.self)
      }
      #expect(updates == 5000 && hot * 100 >= updates * 95, "\(hot) of \(updates)")
    }
  }

  @Test func `Only claim and release write to the indexes of batches`() async throws {
    try await withSendingBench(simulator: { $0.requestsKept = 1 }) { bench in
      try await bench.addDevices(5000)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      let dispatcher = bench.dispatcher()
      _ = await dispatcher.dispatch(
        try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane)
      #expect(try await bench.show(key).counts?.accepted == 5000)
      var (updates, others) = (0, 0)
      while updates < 15 {
        (updates, others) = try await bench.database.query(
          """
          SELECT n_tup_upd, n_tup_upd - n_tup_hot_upd FROM pg_stat_force_next_flush(), pg_stat_user_tables
          WHERE relname = 'push_batch'
          """)[0].decode(Int.self, Int.self)
      }
      // Five batches, each claimed and released once; and now and then a row finds no capacity on its page.
      #expect(others <= max(10, updates / 4), "\(others) of \(updates)")
    }
  }

  private func indexSizes(_ bench: SendingBench) async throws -> [Int] {
    try await bench.database.query(
      "SELECT pg_relation_size(indexrelid) FROM pg_index WHERE indrelid = 'partitions.push_1'::regclass ORDER BY indexrelid"
    ).map { try $0.decode(Int.self) }
  }

  @Test func `A large freeze is known to the planner, in its partition and in the whole table`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(6000)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      try await bench.ledger.refreshStatistics(of: key, afterFreezing: 6000)
      let known = try await bench.database.query(
        "SELECT reltuples::int8 FROM pg_class WHERE relname IN ('push', 'push_1', 'push_batch') ORDER BY relname")
      #expect(try known.map { try $0.decode(Int.self) } == [6000, 6000, 6])
      let bounds = try await bench.database.query(
        """
        SELECT cardinality(histogram_bounds::text::text[]) FROM pg_stats
         WHERE tablename = 'push_1' AND attname = 'push_no'
        """)
      #expect(try bounds.map { try $0.decode(Int.self) } == [11], "a sample of 3,000 rows is enough")
    }
  }
}
