import Foundation
import Postgres
import Registry
import Subscriptions
import Support
import Testing
import Wire

@Suite struct NotificationLogTests {
  @Test func `Old lines go in portions, and newer ones and those of others stay`() async throws {
    try await withDataTree { tree in
      let other = try await Customers(tree.bench.pool).add(name: "Other").id
      try await add(25_000, of: tree.bench.customer, "31 days", tree)
      try await add(4, of: tree.bench.customer, "29 days", tree)
      try await add(3, of: other, "31 days", tree)
      let counting = CountingDatabase(tree.bench.pool)
      try await NotificationRunner.forgetExpired(tree.bench.customer, in: counting)
      #expect(counting.counts["notification.prune"] == 3)
      #expect(try await lines(tree) == [tree.bench.customer: 4, other: 3])
    }
  }

  private func add(_ count: Int, of customer: CustomerID, _ age: String, _ tree: DataTreeBench) async throws {
    try await tree.query(
      """
      INSERT INTO data_tree_notification (customer_id, at, app_id, subscription_id, service, event, outcome)
      SELECT \(customer), now() - interval '\(age)' - n * interval '1 ms', 'app', 1, 'fcm', '', 'accepted' FROM generate_series(1, \(count)) AS n
      """)
  }

  private func lines(_ tree: DataTreeBench) async throws -> [CustomerID: Int] {
    let rows = try await tree.query("SELECT customer_id, count(*) FROM data_tree_notification GROUP BY customer_id")
    return Dictionary(
      uniqueKeysWithValues: try rows.map { row in
        let (customer, count) = try row.decode(Int64.self, Int.self)
        return (CustomerID(customer), count)
      })
  }
}
