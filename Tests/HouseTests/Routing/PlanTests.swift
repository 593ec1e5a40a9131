import Delivery
import FoundationEssentials
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

/// The planner goes by the ledger's keys, whatever it knows of the tables.
@Suite struct PlanTests {
  @Test(arguments: [false, true])
  func `Every statement finds pushes by their key, before and after the table was analysed`(isAnalysed: Bool)
    async throws
  {
    try await withDatabase { database in
      try await database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
        SELECT 1, s, n, n / 1000, n, n FROM generate_series(1, 2) AS s, generate_series(1, 20000) AS n
        """)
      try await database.query(
        """
        INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, audience, message)
        SELECT 1, s, '{1}', 'x', 'running', '{"all":true}', '{}' FROM generate_series(1, 2) AS s
        """)
      try await database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued)
        SELECT 1, s, n, 1, false, n * 1000, n * 1000 + 999, 1000 FROM generate_series(1, 2) AS s, generate_series(0, 20) AS n
        """)
      if isAnalysed {
        try await database.query("ANALYZE push, push_batch")
      } else {
        // As PostgreSQL assumes them for a table that it has never looked at.
        try await database.query("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname LIKE 'push%'")
      }
      for statement in DeliveryStatements.all + SendoutStatements.all
      where Prepared.takes(statement) && !Self.others.contains(statement.name) && !statement.name.hasPrefix("report.") {
        let plan = try await database.pool.transaction { try await Prepared(statement, $0).plan() }
        let key = Self.ofContacts.contains(statement.name) ? "contact_id = " : "sendout_id = "
        for scan in try PlannedScan.all(in: plan) where scan.table == "push_1" {
          #expect(
            scan.type != "Seq Scan" && scan.conditions.first?.contains(key) ?? false,
            "\(statement.name): \(scan.type) of \(scan.table) \(scan.conditions)")
        }
      }
    }
  }

  @Test(arguments: [false, true])
  func `Every statement looks suppressions up by their hashes, before and after the table was analysed`(
    isAnalysed: Bool
  ) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query(
        """
        INSERT INTO suppression (customer_id, kind, hash, scope)
        SELECT $1::bigint, 'contact', sha256(n::text::bytea), 'all' FROM generate_series(1, 20000) AS n
        """, customer.rawValue)
      if isAnalysed {
        try await database.query("ANALYZE suppression")
      } else {
        try await database.query("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname LIKE 'suppression%'")
      }
      var count = 0
      for statement in RegistryStatements.all + DeliveryStatements.all where statement.sql.contains("suppression.hash")
      {
        let plan = try await database.pool.transaction { try await Prepared(statement, $0).plan() }
        let scans = try PlannedScan.all(in: plan).filter { $0.table == "suppression" }
        for scan in scans where scan.conditions.contains(where: { $0.contains("hash") }) {
          count += 1
          #expect(
            scan.type != "Seq Scan" && scan.conditions.first?.contains("hash") == true,
            "\(statement.name): \(scan.type) \(scan.conditions)")
        }
        // Whether there are any at all is asked once a statement, and reads one row.
        for scan in scans where !scan.conditions.contains(where: { $0.contains("hash") }) {
          #expect(scan.conditions.first?.contains("customer_id") == true, "\(statement.name): \(scan.conditions)")
        }
      }
      #expect(count >= 6)
    }
  }

  @Test func `A freeze sorts the audience once`() async throws {
    try await withDatabase { database in
      let freeze = try #require(DeliveryStatements.all.first { $0.name == "ledger.freeze_all" })
      let plan = try await database.pool.transaction { transaction in
        for setting in ["enable_indexscan", "enable_bitmapscan"] {
          try await transaction.query(.made("SET LOCAL \(setting) = off"))
        }
        return try await Prepared(freeze, transaction).plan()
      }
      #expect(plan.components(separatedBy: #""Node Type": "WindowAgg""#).count == 2)
      #expect(plan.components(separatedBy: #""Node Type": "Sort""#).count == 2)
    }
  }

  @Test(arguments: ["ledger.freeze_batches", "ledger.freeze_planned_batches"])
  func `The batches of a freeze are found by its pushes' numbers, though the planner knows of none`(
    name: String
  ) async throws {
    try await withDatabase { database in
      try await database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
        SELECT 1, 1, n, n / 1000, n, n FROM generate_series(1, 20000) AS n
        """)
      try await database.query("ANALYZE push")
      let batches = try #require(DeliveryStatements.all.first { $0.name == name })
      let plan = try await database.pool.transaction { try await Prepared(batches, $0).plan() }
      let scans = try PlannedScan.all(in: plan).filter { $0.table == "push_1" }
      #expect(scans.count == 3)
      for scan in scans { #expect(scan.conditions.contains { $0.contains("push_no") }, "\(scan.conditions)") }
    }
  }

  /// They ask for pushes of contacts.
  /// The last two read all pushes of a sendout.
  private static let others: Set = [
    "ledger.pushes_of_contact", "ledger.recipients_found", "history.fold_contacts", "campaign.zones",
  ]

  /// They read what is stored of contacts in all sendouts, by the indexes of contacts.
  private static let ofContacts: Set = [
    "personal.message", "personal.push", "personal.open_event", "activity.apply", "activity.recount",
  ]
}
