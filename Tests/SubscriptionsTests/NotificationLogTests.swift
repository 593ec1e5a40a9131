import Foundation
import Postgres
import Registry
import Subscriptions
import Support
import Testing
import Wire

@Suite struct NotificationLogTests {
  @Test func `Old lines go in portions, and newer ones and those of others stay`() async throws {
    try await withDatasync { datasync in
      let other = try await Customers(datasync.bench.pool).add(name: "Other").id
      try await add(25, of: datasync.bench.customer, "31 days", datasync)
      try await add(4, of: datasync.bench.customer, "29 days", datasync)
      try await add(3, of: other, "31 days", datasync)
      // Refuses what deletes more at once.
      try await onDelete(
        "IF (SELECT count(*) FROM gone) > 10 THEN RAISE EXCEPTION 'more than a portion'; END IF;", datasync)
      try await NotificationRunner.forgetExpired(datasync.bench.customer, in: datasync.bench.pool, portion: 10)
      #expect(try await lines(datasync) == [datasync.bench.customer: 4, other: 3])
    }
  }

  private func add(_ count: Int, of customer: CustomerID, _ age: String, _ datasync: DatasyncBench) async throws {
    try await datasync.query(
      """
      INSERT INTO datasync_notification (customer_id, at, app_id, subscription_id, service, event, outcome)
      SELECT \(customer), now() - interval '\(age)', 'app', 1, 'fcm', '', 'accepted' FROM generate_series(1, \(count))
      """)
  }

  /// Does that with each statement that deletes lines.
  private func onDelete(_ body: String, _ datasync: DatasyncBench) async throws {
    try await datasync.query(
      "CREATE FUNCTION on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body) RETURN NULL; END $$")
    try await datasync.query(
      """
      CREATE TRIGGER on_delete AFTER DELETE ON datasync_notification
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION on_delete()
      """)
  }

  private func lines(_ datasync: DatasyncBench) async throws -> [CustomerID: Int] {
    let rows = try await datasync.query("SELECT customer_id, count(*) FROM datasync_notification GROUP BY customer_id")
    return Dictionary(
      uniqueKeysWithValues: try rows.map { row in
        let (customer, count) = try row.decode(Int64.self, Int.self)
        return (CustomerID(customer), count)
      })
  }
}
