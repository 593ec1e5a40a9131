import Audience
import Content
import DataInOut
import Delivery
import Foundation
import Hybrid
import Operations
import Outbox
import Postgres
import Pushcart
import Registry
import Sendouts
import Subscriptions
import Support
import Testing
import Wire

@Suite struct StatementTests {
  static let all =
    PostgresStatements.all + RegistryStatements.all + TemplateQueries.all + DeliveryStatements.all
    + AudienceStatements.all + PostQueries.all + EventWebhookQueries.all + SendoutStatements.all + HybridStatements.all
    + SubscriptionsStatements.all
    + DataInOutStatements.all + PushcartStatements.all + stores

  private static let stores = ManagementOperations.stores.flatMap { $0.statements }

  @Test func `Every statement has a unique name that is short enough for PostgreSQL`() {
    let names = Self.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names {
      #expect(name.utf8.count <= 63)
      #expect(name.wholeMatch(of: #/[a-z_]+\.[a-z_]+/#) != nil, "\(name)")
    }
  }

  @Test func `The rooms' lists are complete`() throws {
    let listed = Set(Self.all.map(\.name))
    var places: Set<String> = []
    for file in House.swiftFiles(in: "Sources") {
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      let code = lines.filter { !$0.contains(#/^\s*///#) }.joined(separator: "\n")
      for made in code.matches(of: #/\bStatement\(\s*(?:"([^"\n]*)"|\w+,)/#) {
        guard let name = made.1.map(String.init), !name.contains("\\(") else {
          places.insert(file.lastPathComponent)
          continue
        }
        #expect(listed.contains(name) || Self.commands.contains(name), "\(name) in \(file.lastPathComponent)")
      }
    }
    // Those of numbered stores are, where an operation lists what is in them.
    for file in House.swiftFiles(in: "Sources") {
      for table in try String(contentsOf: file, encoding: .utf8).matches(of: #/\bNumberedTable\(\s*"(\w+)"/#) {
        #expect(listed.contains("\(table.1).find"), "\(table.1) in \(file.lastPathComponent)")
      }
    }
    // These build names: all but the last one list their statements, and that one listens.
    #expect(
      places == [
        "FreezeQueries.swift", "PlannedFreezeQueries.swift", "HistoryQueries.swift", "LedgerQueries.swift",
        "BatchQueries.swift", "RuledClaimQueries.swift", "MessageQueries.swift", "ToldPushes.swift",
        "NumberedTable.swift", "PushAppQueries.swift", "ReportQueries.swift",
        "SealedColumn.swift", "Audiences.swift", "ContactSearch.swift", "ContactStore.swift", "ImportStepQueries.swift",
        "StepQueries.swift", "ExportQueries.swift", "Contacts.swift", "UserQueries.swift", "RegisterQueries.swift",
        "ListedContacts.swift", "PersonalTable.swift", "TrackedMessageQueries.swift",
        "HybridPersonalTables.swift", "RegistryPersonalTables.swift", "OverlapQueries.swift", "AudienceSamples.swift",
        "Listener.swift",
      ])
  }

  /// Commands that read no customer's table.
  private static let commands: Set<String> = [
    "transaction.begin", "transaction.limit_locks", "transaction.commit", "transaction.rollback", "database.exists",
    "database.create",
  ]

  /// Whether a statement makes pushes accepted, writes when they were opened, or deletes them.
  private static func changesActivity(_ sql: String) -> Bool {
    let harmless = Set(PushState.allCases.filter { $0 != .accepted }.map { "'\($0.rawValue)'" } + ["push.state"])
    let updates = sql.matches(of: #/\bUPDATE push(?: AS \w+)?\s+SET\s(.*?)\s(?:FROM|WHERE)\s/#.dotMatchesNewlines())
    for update in updates {
      let values = update.1
      if values.contains(#/\bopened_at\s*=/#) { return true }
      guard let state = values.firstMatch(of: #/(?:^|[\s,])state\s*=\s*(.*?)(?:,\s*\w+\s*=|$)/#.dotMatchesNewlines())
      else { continue }
      let branches = state.1.matches(of: #/\b(?:THEN|ELSE)\s+(\S+)/#).map { String($0.1) }
      let possible = branches.isEmpty ? [state.1.trimmingCharacters(in: .whitespacesAndNewlines)] : branches
      if possible.contains(where: { !harmless.contains($0) }) { return true }
    }
    return sql.contains(#/\bDELETE FROM push\b/#)
  }

  @Test func `A statement that changes what contacts received notes these contacts`() {
    let changing = Self.all.filter { Self.changesActivity($0.sql) }
    for statement in changing {
      #expect(statement.sql.contains("INSERT INTO activity_change (customer_id, contact_ids)"), "\(statement.name)")
    }
    #expect(changing.count >= 6)
  }

  @Test(arguments: [
    ("UPDATE push SET state = 'accepted' WHERE push_no = 1", true),
    ("UPDATE push SET state = outcome.state, reason = NULL FROM outcome", true),
    ("UPDATE push AS p SET reason = NULL, state = CASE WHEN a THEN 'failed' ELSE $1 END FROM b", true),
    ("UPDATE push\n   SET sent_at = now(),\n       opened_at = now()\n WHERE push_no = 1", true),
    ("WITH a AS (DELETE FROM push WHERE push_no = 1 RETURNING 1) SELECT 1", true),
    ("UPDATE push SET state = 'cancelled', settled_at = now() WHERE push_no = 1", false),
    ("UPDATE push SET state = CASE WHEN a THEN push.state ELSE 'uncertain' END, reason = 'x' FROM b", false),
    ("UPDATE push SET delivery = 'delivered' WHERE push_no = 1", false),
    ("UPDATE push_batch SET state = $1::text WHERE batch_no = 1", false),
    ("DELETE FROM push_batch WHERE batch_no = 1", false),
  ])
  func `A statement that changes what contacts received is recognised`(sql: String, changes: Bool) {
    #expect(Self.changesActivity(sql) == changes)
  }

  @Test func `PostgreSQL accepts every statement`() async throws {
    try await withDatabase { database in
      for statement in Self.all where Prepared.takes(statement) {
        await #expect(throws: Never.self, "\(statement.name)") {
          try await database.pool.transaction { _ = try await Prepared(statement, $0) }
        }
      }
    }
  }

  @Test func `A statement declared as a read changes nothing`() async throws {
    try await withDatabase { database in
      for statement in Self.all where statement.effect == .read {
        let state = try await database.pool.transaction { transaction in
          let prepared = try await Prepared(statement, transaction)
          try await transaction.query(.made("SET TRANSACTION READ ONLY"))
          do {
            try await transaction.query(.made(prepared.execute))
            return ""
          } catch PostgresError.server(let error) {
            return error.sqlState
          }
        }
        // It runs on nulls, which it may refuse. 25006 is "cannot execute … in a read-only transaction".
        #expect(state != "25006", "\(statement.name)")
      }
    }
  }
}
