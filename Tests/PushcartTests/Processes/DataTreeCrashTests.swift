import Foundation
import Postgres
import Simulator
import Support
import Locking
import Testing
import Wire

/// Changes of a data tree survive kills of the hub. `PUSHCART_SOAK` sets the number of changes. The hub is killed once per 5,000 of
/// them.
@Suite struct DataTreeCrashTests {
  private static let size = ProcessInfo.processInfo.environment["PUSHCART_SOAK"].flatMap { Int($0) } ?? 600
  private static let kills = max(3, size / 5000)
  private static let places = 1...24

  @Test func `Kills lose no acknowledged change, and each subscription is told the newest state`() async throws {
    let size = Self.size
    try await withProcessFixture(configure: { $0.requestsKept = max(2000, 4 * size) }) { fixture in
      let (pushcart, fcm) = (try await Self.pushcart(fixture), fixture.simulator.fcm)
      let enabled = try await pushcart.run(
        "datasync", "enable", "--customer", "1", "--app", ProcessFixture.appID, "--json")
      let tree = Tree(key: try #require(try enabled.json.string("secret")))
      for round in 0...Self.kills {
        fcm.removeRules()
        fcm.rule(.any, .after(.milliseconds(20), .accept))
        let hub = try await ProcessFixture.Hub(pushcart, logLevel: "info")
        if round == 0 { for place in Self.places { try await tree.subscribe(place, at: hub) } }
        try await withThrowingTaskGroup(of: Void.self) { group in
          let (acknowledged, acknowledge) = AsyncStream.makeStream(of: Void.self)
          tree.isWritten.store(true, ordering: .relaxed)
          for place in Self.places {
            group.addTask {
              while tree.isWritten.load(ordering: .relaxed), await tree.write(place, to: hub) { acknowledge.yield() }
              acknowledge.finish()
            }
          }
          var left = Self.size / (Self.kills + 1)
          for await _ in acknowledged {
            left -= 1
            if left == 0 { break }
          }
          #expect(left == 0, "the hub has refused a change: \(tree.refusals.withLock(\.self))")
          if round < Self.kills {
            // The kill finds a push that has arrived, but is not answered yet.
            fcm.removeRules()
            let late = SimulatedFCM.Reply.after(.seconds(600), .accept)
            fcm.rule(.any, late)
            // Each phone has one at a time. All of them may be there already, and then no other comes.
            try await waitUntil { fcm.requests.contains { $0.reply == late } }
            await hub.process.die()
          }
          tree.isWritten.store(false, ordering: .relaxed)
          try await group.waitForAll()
        }
        guard round == Self.kills else {
          // What the hub has asked of the database ends with its connections. Then it is as if its leases were over.
          let connected =
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pushcart hub'"
          try await waitUntil { try await fixture.database.query(connected).isEmpty }
          try await fixture.database.query(
            "UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE lease_until IS NOT NULL")
          continue
        }
        let busy =
          "SELECT FROM data_tree_due WHERE coalesce(pending, sending) IS NOT NULL OR hub_id IS NOT NULL"
        try await waitUntil { try await fixture.database.query(busy).isEmpty }
        for place in Self.places { try await Self.check(place, tree, hub, fixture) }
        await hub.process.die()
      }
      let killed = try await fixture.database.query(
        "SELECT FROM data_tree_notification WHERE outcome = 'uncertain' AND reason = 'hub_stopped'")
      #expect(!killed.isEmpty)
    }
  }

  /// The commands and the hub of a customer whose Firebase app is at the Simulator.
  private static func pushcart(_ fixture: ProcessFixture) async throws -> Pushcart {
    var pushcart = fixture.pushcart
    pushcart.environment["PUSHCART_FCM_URL"] = fixture.simulator.fcmURL
    pushcart.environment["PUSHCART_GOOGLE_TOKEN_URL"] = fixture.simulator.googleTokenURL
    let folder = try TemporaryDirectory(named: "account")
    defer { folder.remove() }
    let account = "\(folder.path)/account.json"
    try fixture.simulator.issueServiceAccount().write(toFile: account, atomically: true, encoding: .utf8)
    let added = try await pushcart.run(
      "app", "add", "--customer", "1", "--type", "firebase", "--app-id", ProcessFixture.appID, "--name", "Acme",
      "--service-account", account)
    try #require(added.status == 0, "\(added.errors)")
    return pushcart
  }

  private static func check(
    _ place: Int, _ tree: Tree, _ hub: ProcessFixture.Hub, _ fixture: ProcessFixture
  ) async throws {
    let value = try #require(try await tree.read(place, at: hub))
    let (acknowledged, written) = tree.progress(of: place)
    #expect((acknowledged...written).contains(value), "place \(place)")
    let told = fixture.simulator.fcm.requests.filter { $0.isAccepted && $0.token == "phone\(place)" }.compactMap {
      $0.message["data"]?["webcom.data"]?.text.flatMap(Int.init)
    }
    #expect(told.last == value && told == told.sorted(), "place \(place)")
    let rows = try await fixture.database.query(
      """
      SELECT count(*) FILTER (WHERE outcome = 'accepted'), count(*) FILTER (WHERE outcome = 'uncertain')
        FROM data_tree_notification JOIN data_tree_subscription USING (customer_id, subscription_id)
       WHERE target = 'phone' || $1::int8
      """, Int64(place))
    let (accepted, uncertain) = try rows[0].decode(Int.self, Int.self)
    // None was told twice without a line that says so.
    #expect((accepted...accepted + uncertain).contains(told.count), "place \(place)")
  }
}

/// Numbers in a data tree that only grow, each at a place of its own.
private final class Tree: Sendable {
  /// Whether more is to be written.
  let isWritten = Atomic(false)
  private let key: String
  private let numbers = Mutex<[Int: (acknowledged: Int, written: Int)]>([:])
  /// What was answered to writes that were not acknowledged.
  let refusals = Mutex<[String]>([])

  init(key: String) { self.key = key }

  /// The last number that was acknowledged, and the last that was sent.
  func progress(of place: Int) -> (acknowledged: Int, written: Int) { numbers.withLock { $0[place] ?? (0, 0) } }

  /// Writes the next number.
  /// - Returns: whether it was acknowledged.
  func write(_ place: Int, to hub: ProcessFixture.Hub) async -> Bool {
    let number = numbers.withLock { numbers in
      numbers[place, default: (0, 0)].written += 1
      return numbers[place]?.written ?? 0
    }
    let reply = try? await hub.server.send("PUT", path("data/n\(place)"), key: key, json: "\(number)")
    guard reply?.status == 200 else {
      refusals.withLock { $0.append(reply.map { "\($0.status) \($0.text)" } ?? "no reply") }
      return false
    }
    numbers.withLock { $0[place]?.acknowledged = number }
    return true
  }

  func read(_ place: Int, at hub: ProcessFixture.Hub) async throws -> Int? {
    Int(try await hub.server.send("GET", path("data/n\(place)"), key: key).text)
  }

  func subscribe(_ place: Int, at hub: ProcessFixture.Hub) async throws {
    let body = #"{"path":"/n\#(place)","event":"value","deviceToken":"phone\#(place)","service":"fcm"}"#
    let reply = try await hub.server.send("POST", path("subscriptions"), key: key, json: body)
    try #require(reply.status == 200, "\(reply.text)")
  }

  private func path(_ path: String) -> String { "/datasync/v2/\(ProcessFixture.appID)/\(path)" }
}
