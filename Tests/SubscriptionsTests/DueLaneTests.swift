import Postgres
import Support
import Testing

@testable import Subscriptions

/// Asking what is due, and claiming it, costs by lanes and by what is claimed.
@Suite struct DueLaneTests {
  /// Blocks of 8 KB that a statement may look at. To read all that waits takes some 4,000.
  private static let limit = 300

  @Test func `What waits in a lane that is closed, or is due later, costs nothing, on a new table and on an old one`()
    async throws
  {
    try await withDatabase { database in
      try await database.pool.transaction(limit: .seconds(600)) { transaction in
        // As the hub's pool has it, and each claim.
        try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
        try await transaction.query(sql: "SET LOCAL random_page_cost = 1.1")
        try await transaction.query(sql: "PREPARE due AS \(NotificationQueue.dueLanes.sql)")
        try await transaction.query(sql: "PREPARE claim AS \(NotificationQueue.claimDue.sql)")
        let claim = "EXECUTE claim(1, 'app7', 'fcm', 10, 20, gen_random_uuid(), '')"
        for execute in ["EXECUTE due", claim] { try await transaction.query(sql: execute) }
        for sql in Self.backlog { try await transaction.query(sql: sql) }
        for age in ["new", "old"] {
          #expect(try await transaction.blocks("EXECUTE due") <= Self.limit, "\(age)")
          #expect(try await transaction.blocks(claim) <= Self.limit, "\(age)")
          try await transaction.query(sql: "ANALYZE data_tree_due, data_tree_subscription")
        }
        let lanes = try await transaction.query(sql: "EXECUTE due").map { row in
          let (customer, app, service, webhook) = try row.decode(Int64.self, String.self, String.self, String.self)
          return "\(customer) \(app) \(service) \(webhook)"
        }
        #expect(lanes == ["1 app1 fcm ", "1 app7 fcm ", "1 app7 webhook crm"])
      }
    }
  }

  /// Much that waits for one lane, a little for two others, much that is due later, and something that is on its way.
  private static let backlog = [
    "INSERT INTO customer (name) VALUES ('ACME')",
    "INSERT INTO data_tree_app (customer_id, app_id) SELECT 1, 'app' || n FROM generate_series(1, 7) AS n",
    """
    INSERT INTO data_tree_subscription (customer_id, subscription_id, app_id, path_key, path, event, added, changed, removed,
                                       service, target, target_key, expires_at)
    SELECT 1, n, CASE WHEN n > 100000 THEN 'app7' ELSE 'app1' END, '', '/', 'value', false, false, false, 'fcm', n::text,
           decode(md5(n::text), 'hex'), 'infinity'
      FROM generate_series(1, 100100) AS n
    """,
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, due_at)
    SELECT 1, n, 'app1', 'fcm', now() FROM generate_series(1, 100000) AS n
    """,
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, due_at)
    SELECT 1, n, 'app7', 'fcm', now() - interval '1 second' FROM generate_series(100001, 100100) AS n
    """,
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, webhook, due_at)
    VALUES (1, 100101, 'app7', 'webhook', 'crm', now())
    """,
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, due_at)
    SELECT 2, n, 'app' || n % 3, 'fcm', now() + interval '1 day' FROM generate_series(1, 100000) AS n
    """,
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, due_at, lease_until)
    VALUES (3, 1, 'app1', 'hms', now(), now() + interval '1 hour')
    """,
  ]
}
