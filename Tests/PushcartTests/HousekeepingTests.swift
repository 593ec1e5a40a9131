import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Pushcart

@Suite struct HousekeepingTests {
  @Test func `What is too old goes of every customer but one, of which nothing can be deleted`() async throws {
    try await withSendingBench { bench in
      let (refused, log) = (bench.customer, LogCapture())
      let other = try await bench.database.customer("Other")
      try await bench.database.query(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$")
      for (table, columns, values) in Self.expired {
        for customer in [refused, other] {
          try await bench.database.query(
            "INSERT INTO \(table) (customer_id, \(columns)) VALUES (\(customer), \(values))")
        }
        try await bench.database.query(
          """
          CREATE TRIGGER refuse BEFORE DELETE ON \(table)
            FOR EACH ROW WHEN (old.customer_id = \(refused)) EXECUTE FUNCTION refuse()
          """)
      }
      try await Housekeeping(bench.pool, vault: bench.vault, retentionDays: nil, logger: log.logger).tidy()
      for (table, _, _) in Self.expired {
        let left = try await bench.database.query("SELECT customer_id FROM \(table) WHERE customer_id > 0")
        #expect(try left.map { try $0.decode(Int64.self) } == [refused.rawValue], "\(table)")
      }
      let warnings = log.lines.filter { $0.hasPrefix("warning could not delete ") }
      #expect(
        warnings.count == Self.expired.count && warnings.allSatisfy { $0.contains("\"customer\": \(refused)") },
        "\(warnings)")
    }
  }

  /// A row of each kind that is too old: its table, columns and values.
  private static let expired = [
    (
      "idempotent_reply", "idempotency_key, fingerprint, status, body, created_at",
      "'k', '', 200, '', now() - interval '2 days'"
    ),
    (
      "message_key", "idempotency_key, fingerprint, sendout_id, message_no, created_at",
      "'k', '', 1, 1, now() - interval '2 days'"
    ),
    (
      "hybrid_signature", "registration_no, signature, body_hash, at", "1, '', '', now() - interval '2 days'"
    ),
    (
      "outbox", "kind, receiver, sendout_id, item_no, event, created_at",
      "'message_status', 'app', 1, 1, 'Failed', now() - interval '8 days'"
    ),
    (
      "data_tree_notification", "app_id, subscription_id, service, event, outcome, at",
      "'app', 1, 'fcm', '', 'failed', now() - interval '31 days'"
    ),
    ("reach", "contact_id, changed_at", "1, now() - interval '31 days'"),
  ]
}
