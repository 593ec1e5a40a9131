import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Subscriptions

@Suite struct TreeModelTests {
  @Test func `A thousand random trees have the values and events of the model`() async throws {
    try await withDatabase { database in
      let customer = try await Customers(database.pool).add(name: "ACME").id
      try await database.query(
        "INSERT INTO datasync_app (customer_id, app_id) SELECT 1, 'app' || n FROM generate_series(0, 999) AS n")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<4 {
          group.addTask {
            for number in stride(from: worker, to: 1000, by: 4) {
              var writes = RandomWrites(database.pool, customer, number)
              try await writes.run()
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}

/// Random writes of one tree, held against the model.
private struct RandomWrites {
  private let pool: Pool
  private let customer: CustomerID
  private let app: String
  private let tree: DataTree
  private var random: SeededGenerator
  private var model = TreeModel()

  init(_ pool: Pool, _ customer: CustomerID, _ number: Int) {
    self.pool = pool
    self.customer = customer
    app = "app\(number)"
    tree = DataTree(pool)
    random = SeededGenerator(seed: UInt64(number))
  }

  private static let names = ["a", "b", "a!", "é", "\u{301}x"]

  mutating func run() async throws {
    for _ in 0..<Int.random(in: 0...2, using: &random) { try await write() }
    try await subscribe()
    for _ in 0..<2 {
      for _ in 0..<Int.random(in: 1...4, using: &random) { try await write() }
      try await compare()
    }
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

  private mutating func members(_ depth: Int) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      members[Self.names.randomElement(using: &random) ?? "a"] = value(depth - 1)
    }
    return members
  }

  private mutating func write() async throws {
    let path = path()
    let place = try DatasyncPath(names: path)
    if Bool.random(using: &random) {
      let value = value()
      model.put(value, at: path)
      try await tree.write(.put(value), customer, app: app, at: place)
    } else {
      let children = members(2)
      model.patch(children, at: path)
      try await tree.write(.patch(children), customer, app: app, at: place)
    }
  }

  private mutating func subscribe() async throws {
    let store = SubscriptionStore(pool, vault: Vault(try MasterKeys(current: MasterKeys.generate())))
    for number in 0..<6 {
      let event = SubscribedEvent.allCases.randomElement(using: &random) ?? .value
      var tells = (added: false, changed: false, removed: false)
      if event == .child {
        tells = (Bool.random(using: &random), Bool.random(using: &random), Bool.random(using: &random))
        if !tells.added, !tells.changed { tells.removed = true }
      }
      let path = path()
      try await store.addUnchecked(
        customer, app,
        SubscriptionRequest(
          path: try DatasyncPath(names: path).description, event: event, added: tells.added, changed: tells.changed,
          removed: tells.removed, deviceToken: "token\(number)", service: .fcm))
      model.subscriptions.append(.init(path: path, event: event, tells: tells))
    }
  }

  /// The value of the whole tree, and what each subscription is told.
  private mutating func compare() async throws {
    let value = try await tree.value(customer, app: app, at: .root)
    #expect(value == model.root, "\(app)")
    let lane = NotificationQueue.Lane(customer: customer, app: app, service: "fcm")
    let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
    var events = NotificationEvents(pool, lane)
    var told: [String: DatasyncEvent] = [:]
    let claimed = try await queue.claim(lane, upTo: 100)
    for one in claimed { told[one.target] = try await events.event(of: one) }
    try await queue.settle(claimed.map { .init(id: $0.id, next: .done) }, of: lane)
    for (number, expected) in model.events().enumerated() {
      #expect(told["token\(number)"] == expected, "\(app), subscription \(number) to \(model.subscriptions[number])")
    }
  }
}

extension SubscriptionStore {
  /// A subscription of an app that needs no platform.
  func addUnchecked(_ customer: CustomerID, _ app: String, _ request: SubscriptionRequest) async throws {
    _ = try await insert(customer, app, request, "fcm", request.deviceToken ?? "", key: nil, duration: nil)
  }
}
