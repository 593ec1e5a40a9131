import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Subscriptions

@Suite struct DataTreeTests {
  @Test func `A value with too many leaves is refused, and read and removed in parts`() async throws {
    try await withTree { database, tree, customer in
      try await database.query(
        """
        INSERT INTO data_tree_node (customer_id, app_id, path_key, path, value)
        SELECT 1, 'app', decode(md5(path), 'hex'), path, '1'
          FROM (SELECT '/many/' || n / 150000 || '/' || n || '/' AS path FROM generate_series(0, 200000) AS n) AS leaf
        """)
      await #expect(throws: SubscriptionsError.valueTooLarge(leaves: 200_000, bytes: 17 << 20)) {
        try await tree.value(customer, app: "app", at: .root)
      }
      let part = try await tree.value(customer, app: "app", at: try DataTreePath(text: "/many/1"))
      guard case .object(let members) = part else { throw JSONProblem("is no object") }
      #expect(members.count == 50_001)
    }
  }

  @Test func `A large value is read on connections of its own, and its memory is released`() async throws {
    try await withTree { database, tree, customer in
      let members = (1...1500).map { ("n\($0)", JSONValue.integer($0)) }
      let value = JSONValue.object(Dictionary(named: members))
      try await tree.write(.put(value), customer, app: "app", at: .root)
      try await database.withPool { other in
        let reader = DataTree(database.pool, reading: other)
        _ = try await reader.value(customer, app: "app", at: try DataTreePath(text: "/n7"))
        #expect(await other.status.sharedConnections == 0)
        for _ in 1...20 {
          let reading = try await reader.read(customer, app: "app", at: .root)
          #expect(reading.memory != nil)
          #expect(try JSONValue(parsing: reading.json) == value)
        }
        #expect(await other.status.sharedConnections > 0)
      }
    }
  }

  @Test func `A removal of any size tells whom it concerns, and leaves what stands beside`() async throws {
    try await withTree { database, tree, customer in
      func write(_ path: String, _ json: String) async throws {
        try await tree.write(
          .put(try JSONValue(parsing: Array(json.utf8))), customer, app: "app", at: try DataTreePath(text: path))
      }
      let groups = (0..<40).map { group in
        "\"g\(group)\":{\((0..<100).map { "\"\($0)\":\($0)" }.joined(separator: ","))}"
      }.joined(separator: ",")
      try await write("/a", "{\(groups)}")
      try await write("/b", "1")
      let vault = try Vault.fresh()
      let store = SubscriptionStore(database.pool, vault: vault)
      for (token, path, event) in [
        ("root", "/", SubscribedEvent.child), ("a", "/a", .child), ("g7", "/a/g7", .value),
        ("leaf", "/a/g39/99", .value),
        ("other", "/b", .value),
      ] {
        let tells: Bool? = event == .child ? true : nil
        try await store.addUnchecked(
          customer, "app",
          SubscriptionRequest(
            path: path, event: event, added: tells, changed: tells, removed: tells, deviceToken: token, service: .fcm))
      }
      // One group stays in part and one gets a new leaf; all others go.
      try await write("/a", #"{"g3":{"5":5},"g4":{"new":true}}"#)
      let lane = NotificationQueue.Lane(customer: customer, app: "app", service: "fcm")
      let items = try await NotificationQueue(database: database.pool, run: UUID(), lease: .seconds(600)).take(
        lane, upTo: 10, from: database.pool, vault: vault
      ).items
      let told = Dictionary(uniqueKeysWithValues: items.map { ($0.claimed.target, $0.event) })
      let left: JSONValue = ["g3": ["5": 5], "g4": ["new": true]]
      let removed = (0..<40).filter { $0 != 3 && $0 != 4 }.map { "g\($0)" }.sorted()
      #expect(
        told == [
          "root": .childrenUpdated(.init(changed: ["a": left])),
          "a": .childrenUpdated(.init(changed: ["g3": ["5": 5], "g4": ["new": true]], removed: removed)),
          "g7": .valueChanged(.null), "leaf": .valueChanged(.null),
        ])
      #expect(try await tree.value(customer, app: "app", at: .root) == ["a": left, "b": 1])
    }
  }

  @Test func `Writes that wait for a tree hold no connections, and one that is cancelled leaves`() async throws {
    try await withTree { database, tree, customer in
      try await database.withPool { other in
        let writes = try await other.transaction { held in
          _ = try await held.query(DataTreeQueries.lock, customer.rawValue, "app")
          let writes = (0..<20).map { number in
            Task {
              try await tree.write(
                .put(.integer(Int64(number))), customer, app: "app", at: try DataTreePath(text: "/n/\(number)"))
            }
          }
          try await database.someoneWaits(as: other)
          // Some of them wait for their turn.
          for write in writes.suffix(10) { write.cancel() }
          for write in writes.suffix(10) { _ = await write.result }
          let status = await database.pool.status
          #expect(status.transactionsWaiting == 0 && status.dedicatedConnections < 4)
          return writes.prefix(10)
        }
        for write in writes { _ = await write.result }
      }
      try await tree.write(.put(true), customer, app: "app", at: try DataTreePath(text: "/last"))
      #expect(try await tree.value(customer, app: "app", at: try DataTreePath(text: "/last")) == true)
    }
  }

  @Test func `The rows that a PATCH reads grow with the children that it names, no faster`() async throws {
    try await withTree { database, tree, customer in
      try await database.query(
        """
        INSERT INTO data_tree_node (customer_id, app_id, path_key, path, value)
        SELECT 1, 'app', decode(md5(path), 'hex'), path, '1'
          FROM (SELECT '/p/c' || n || '/x/' AS path FROM generate_series(1, 20000) AS n) AS leaf
        """)
      try await database.query("ANALYZE data_tree_node")
      func rows(_ count: Int) async throws -> Int {
        let places = (1...count).map { "/p/c\($0)/" }
        let (lower, upper) = (places, places.map { "\($0.dropLast())0" })
        let ranges = "1, 'app', \(Self.array(places)), \(Self.array(lower)), \(Self.array(upper))"
        let leaves = (1...count).map { "/p/c\($0)/y/" }
        let keys = Self.array(leaves.map { "\\\\x" + TreeChange.key($0).map { String(format: "%02x", $0) }.joined() })
        return try await Self.rows(DataTreeQueries.page, "\(ranges), '', '', 1000", database)
          + Self.rows(DataTreeQueries.present, ranges, database)
          + Self.rows(DataTreeQueries.known, "1, 'app', \(keys), \(Self.array(leaves))", database)
      }
      let (few, many) = (try await rows(200), try await rows(800))
      #expect(many < 6 * few, "\(few) rows for 200 children, \(many) for 800")
    }
  }

  @Test func `A write looks its places up among the subscriptions: others cost nothing`() async throws {
    try await withTree { database, _, _ in
      try await database.query(
        """
        INSERT INTO data_tree_subscription
          (customer_id, app_id, path_key, path, event, added, changed, removed, service, target, target_key, expires_at)
        SELECT 1, 'app', decode(md5(path), 'hex'), path, 'value', false, false, false, 'fcm', 't', '\\x00', 'infinity'
          FROM (SELECT '/p/c' || n || '/' AS path FROM generate_series(1, 50000) AS n) AS place
        """)
      try await database.query("ANALYZE data_tree_subscription")
      let key = Self.array(["\\\\x" + TreeChange.key("/p/c7/").map { String(format: "%02x", $0) }.joined()])
      let rows = try await Self.rows(
        DataTreeQueries.match, "1, 'app', \(key), '{/p/c7/}', '{\"{}\"}', '{\"{}\"}', '{\"{}\"}'", database)
      #expect(rows < 100)
    }
  }

  @Test(arguments: ["claim", "settle", "extend"])
  func `A plan that was made while nothing was due looks each notification up`(statement: String) async throws {
    try await withTree { database, _, _ in
      try await database.query("VACUUM ANALYZE data_tree_due")
      try await database.query(
        """
        INSERT INTO data_tree_subscription
          (customer_id, app_id, path_key, path, event, added, changed, removed, service, target, target_key, expires_at)
        SELECT 1, 'app', decode(md5(n::text), 'hex'), '/n/', 'value', false, false, false, 'fcm', 't', '', 'infinity'
          FROM generate_series(1, 5000) AS n
        """)
      try await database.query("ANALYZE data_tree_subscription")
      let (run, numbers) = ("'\(UUID().uuidString)'", Self.array((1...100).map(String.init)))
      func hundred(_ text: String) -> String { "array_fill(\(text), '{100}')" }
      let rows =
        switch statement {
        case "claim":
          try await Self.rows(
            NotificationQueue.claimDue, "1, 'app', 'fcm', 100, 20, \(run), ''", database, growing: Self.fill("NULL"))
        case "settle":
          try await Self.rows(
            NotificationQueue.settleClaimed,
            "1, 'app', 'fcm', \(numbers), \(hundred("'done'::text")), \(hundred("0::float8")), "
              + "\(hundred("'e'::text")), \(hundred("'accepted'::text")), \(hundred("NULL::text")), \(run), 7200, "
              + hundred("NULL::timestamptz"),
            database, growing: Self.fill(run))
        default:
          try await Self.rows(
            NotificationQueue.extendClaims, "1, 'app', \(numbers), \(run), 20", database, growing: Self.fill(run))
        }
      // Each of a hundred passes some ten steps.
      #expect((200..<5000).contains(rows))
    }
  }

  /// Makes all subscriptions due, claimed by a run.
  private static func fill(_ run: String) -> String {
    """
    INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, due_at, pending, hub_id, lease_until)
    SELECT customer_id, subscription_id, app_id, service, now(), '{}', \(run),
           CASE WHEN \(run) IS NOT NULL THEN now() + interval '1 min' END
      FROM data_tree_subscription
    """
  }

  private static func array(_ values: [String]) -> String { "'{\(values.map { "\"\($0)\"" }.joined(separator: ","))}'" }

  /// All rows that the steps of a statement's plan handle.
  /// - Parameter growing: what is done once the plan is made.
  private static func rows(
    _ statement: Statement, _ arguments: String, _ database: TestDatabase, growing: String? = nil
  ) async throws -> Int {
    try await database.pool.transaction { transaction in
      try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
      try await transaction.query(sql: "PREPARE explained AS \(statement.sql)")
      if let growing {
        try await transaction.query(sql: "EXPLAIN EXECUTE explained(\(arguments))")
        try await transaction.query(sql: growing)
      }
      let plan = try await transaction.query(
        sql: "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE explained(\(arguments))")[0].decode(
          String.self)
      try await transaction.query(sql: "DEALLOCATE explained")
      let tops = try JSONSerialization.jsonObject(with: Data(plan.utf8)) as? [[String: Any]]
      return (tops ?? []).compactMap { $0["Plan"] as? [String: Any] }.reduce(0) { $0 + handled($1) }
    }
  }

  private static func handled(_ node: [String: Any]) -> Int {
    let counts = [
      "Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck",
    ]
    let rows = counts.reduce(0.0) { $0 + ((node[$1] as? NSNumber)?.doubleValue ?? 0) }
    let loops = (node["Actual Loops"] as? NSNumber)?.doubleValue ?? 0
    return Int(rows * loops) + (node["Plans"] as? [[String: Any]] ?? []).reduce(0) { $0 + handled($1) }
  }

  private func withTree(
    _ body: @Sendable (TestDatabase, DataTree, CustomerID) async throws -> Void
  ) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      try await database.query("INSERT INTO data_tree_app (customer_id, app_id) VALUES (1, 'app')")
      try await body(database, DataTree(database.pool), customer)
    }
  }
}

extension DataTree {
  /// What is read, as a value.
  func value(_ customer: CustomerID, app: String, at path: DataTreePath) async throws -> JSONValue {
    try JSONValue(parsing: try await read(customer, app: app, at: path).json)
  }
}
