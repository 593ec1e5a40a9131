import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Subscriptions

@Suite struct TreeModelTests {
  @Test func `Random trees have the values and events of the model`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      // Some are all that an app has. Others stand side by side, so that few claims tell of many.
      let sizes = Array(repeating: 1, count: sampleSize(of: 100)) + Array(repeating: 20, count: sampleSize(of: 45))
      try await database.addBystanders()
      try await database.query(
        "INSERT INTO data_tree_app (customer_id, app_id) SELECT 1, 'app' || n FROM generate_series(1, \(sizes.count)) AS n"
      )
      var forests: [RandomForest] = []
      var first = 0
      for size in sizes {
        forests.append(RandomForest(database, customer, "app\(forests.count + 1)", trees: first..<first + size))
        first += size
      }
      #expect(first >= 100)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<4 {
          group.addTask { [forests] in
            for number in stride(from: worker, to: forests.count, by: 4) {
              var forest = forests[number]
              try await forest.run()
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}

extension TestDatabase {
  /// Another app's leaves and subscriptions, and statistics. Nothing else makes these here, and the plans of empty tables read all of a
  /// customer's subscriptions for each write.
  fileprivate func addBystanders() async throws {
    for sql in [
      "INSERT INTO data_tree_app (customer_id, app_id) VALUES (1, 'bystander')",
      """
      INSERT INTO data_tree_node (customer_id, app_id, path_key, path, value)
      SELECT 1, 'bystander', decode(md5(path), 'hex'), path, '1'
        FROM (SELECT '/n' || n || '/' AS path FROM generate_series(1, 10000) AS n) AS leaf
      """,
      """
      INSERT INTO data_tree_subscription (customer_id, app_id, path_key, path, event, added, changed, removed, service, target,
        target_key, expires_at)
      SELECT 1, 'bystander', path_key, path, 'value', false, false, false, 'fcm', 't', '', 'infinity'
        FROM data_tree_node
      """,
      "ANALYZE data_tree_app, data_tree_node, data_tree_subscription",
    ] { try await query(sql) }
  }
}

/// Random trees within the data tree of one app, held against their models.
private struct RandomForest: Sendable {
  private let database: TestDatabase
  private let lane: Subscriptions.NotificationQueue.Lane
  private let tree: DataTree
  private var trees: [RandomTree]

  /// - Parameter numbers: of the trees; each makes other ones. A tree that is alone begins at the root.
  init(_ database: TestDatabase, _ customer: CustomerID, _ app: String, trees numbers: Range<Int>) {
    self.database = database
    lane = NotificationQueue.Lane(customer: customer, app: app, service: "fcm")
    // Small trees are removed in several portions, too.
    tree = DataTree(database.pool, portion: 1 + numbers.lowerBound % 5)
    trees = numbers.map { RandomTree($0, below: numbers.count == 1 ? nil : "\($0)") }
  }

  mutating func run() async throws {
    try await write(0...2)
    try await subscribe()
    for _ in 0..<2 {
      try await write(1...4)
      try await compare()
    }
  }

  /// So many writes of each tree, in one transaction: what one notes, the next ones find.
  private mutating func write(_ count: ClosedRange<Int>) async throws {
    var writes: [RandomTree.Write] = []
    for index in trees.indices { writes += try trees[index].writes(count) }
    try await database.pool.transaction { [writes, tree, lane] database in
      for (place, write) in writes {
        _ = try await tree.write(write, lane.customer, app: lane.app, at: place, database)
      }
    }
  }

  private mutating func subscribe() async throws {
    var rows: [(path: String, event: String, tells: String, token: String)] = []
    for index in trees.indices { rows += try trees[index].subscribe() }
    try await database.query(
      """
      INSERT INTO data_tree_subscription (customer_id, app_id, path_key, path, event, added, changed, removed, service, target,
        target_key, expires_at)
      SELECT $1, $2, path_key, path, event, tells ~ 'a', tells ~ 'c', tells ~ 'r', 'fcm', token, convert_to(token, 'UTF8'),
        'infinity'
      FROM unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[]) AS s (path_key, path, event, tells, token)
      """, lane.customer.rawValue, lane.app, rows.map { Bytes(TreeChange.key($0.path)) }, rows.map(\.path),
      rows.map(\.event), rows.map(\.tells), rows.map(\.token))
  }

  /// The values of the trees, and what each subscription is told.
  private mutating func compare() async throws {
    let value = try await tree.value(lane.customer, app: lane.app, at: .root)
    let queue = NotificationQueue(database: database.pool, run: UUID(), lease: .seconds(600))
    let vault = try Vault.fresh()
    let items = try await queue.take(lane, upTo: 1000, from: database.pool, vault: vault).items
    try await queue.settle(items.map { .init(id: $0.claimed.id, next: .done) }, of: lane)
    let told = Dictionary(uniqueKeysWithValues: items.map { ($0.claimed.target, $0.event) })
    for index in trees.indices { trees[index].compare(value, told) }
  }
}

/// One of these trees.
private struct RandomTree: Sendable {
  typealias Write = (place: DataTreePath, write: DataTree.Write)

  private let number: Int
  /// Its name; nil for the root.
  private let name: String?
  private var random: SeededGenerator
  private var model = TreeModel()

  init(_ number: Int, below name: String?) {
    self.number = number
    self.name = name
    random = SeededGenerator(seed: UInt64(number))
  }

  private static let names = ["a", "b", "a!", "é", "\u{301}x"]

  private func place(_ path: [String]) throws -> DataTreePath {
    try DataTreePath(names: (name.map { [$0] } ?? []) + path)
  }

  private mutating func path() -> [String] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.names.randomElement(using: &random) ?? "a" }
  }

  private mutating func value(_ depth: Int = 3) -> JSONValue {
    let scalars: [JSONValue] = [
      .null, true, "x", .integer(0), .integer(1), .number(1.5), .array([]), .array([.integer(1), ["y": .null]]),
    ]
    guard depth > 0, Bool.random(using: &random) else { return scalars.randomElement(using: &random) ?? .null }
    return .object(members(depth))
  }

  private mutating func members(_ depth: Int) -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      members[Self.names.randomElement(using: &random) ?? "a"] = value(depth - 1)
    }
    return members
  }

  /// Writes that the model has had already.
  mutating func writes(_ count: ClosedRange<Int>) throws -> [Write] {
    try (0..<Int.random(in: count, using: &random)).map { _ in
      let path = path()
      if Bool.random(using: &random) {
        let value = value()
        model.put(value, at: path)
        return (try place(path), .put(value))
      } else {
        let children = members(2)
        model.patch(children, at: path)
        return (try place(path), .patch(children))
      }
    }
  }

  /// Subscriptions that the model has already. `tells` has the first letters of the changes of children that are told.
  mutating func subscribe() throws -> [(path: String, event: String, tells: String, token: String)] {
    try (0..<6).map { number in
      let event = SubscribedEvent.allCases.randomElement(using: &random) ?? .value
      var tells = (added: false, changed: false, removed: false)
      if event == .child {
        tells = (Bool.random(using: &random), Bool.random(using: &random), Bool.random(using: &random))
        if !tells.added, !tells.changed { tells.removed = true }
      }
      let path = path()
      model.subscriptions.append(.init(path: path, event: event, tells: tells))
      let letters = (tells.added ? "a" : "") + (tells.changed ? "c" : "") + (tells.removed ? "r" : "")
      return (try place(path).stored, event.rawValue, letters, token(number))
    }
  }

  private func token(_ subscription: Int) -> String { "\(number).\(subscription)" }

  /// - Parameters:
  ///   - value: of the app's whole tree.
  ///   - told: the events of the subscriptions that were claimed, by their tokens.
  mutating func compare(_ value: JSONValue, _ told: [String: DataTreeEvent?]) {
    #expect(name.map { value[$0] ?? .null } ?? value == model.root, "tree \(number)")
    for (index, expected) in model.events().enumerated() {
      #expect((told[token(index)] ?? nil) == expected, "tree \(number), \(model.subscriptions[index])")
    }
  }
}
