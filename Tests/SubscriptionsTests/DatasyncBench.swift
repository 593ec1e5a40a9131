import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Wire

@testable import Subscriptions

/// A customer with a data tree, whose Firebase app sends to the Simulator.
struct DatasyncBench: Sendable {
  let bench: SendingBench
  private let firebase: PushAppID

  var fcm: SimulatedFCM { bench.simulator.fcm }
  var store: SubscriptionStore { SubscriptionStore(bench.pool, vault: bench.vault) }
  private var name: String { SendingBench.appID }

  init(_ bench: SendingBench) async throws {
    self.bench = bench
    let file = try bench.simulator.issueServiceAccount()
    firebase = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: SendingBench.appID, type: .firebase, name: "Acme",
        service: PushServiceFields(serviceAccount: Secret(file)))
    ).id
    _ = try await DatasyncApps(bench.pool).enable(bench.customer, app: SendingBench.appID, createdBy: nil)
  }

  /// Runs `body` while a hub sends notifications; it is killed when that ends.
  func withRunner(_ body: () async throws -> Void) async throws {
    var settings = NotificationRunner.Settings()
    settings.scanEvery = .milliseconds(50)
    let runner = NotificationRunner(
      bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault, settings: settings, logger: TestServer.logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await runner.run() }
      defer { group.cancelAll() }
      try await body()
    }
  }

  func put(_ path: String, _ json: String) async throws {
    try await DataTree(bench.pool).write(
      .put(try JSONValue(json: Array(json.utf8))), bench.customer, app: name, at: try DatasyncPath(text: path))
  }

  @discardableResult
  func subscribe(
    _ token: String, _ path: String, _ event: SubscribedEvent, key: String? = nil
  ) async throws -> SubscriptionReply {
    let tells: Bool? = event == .child ? true : nil
    return try await store.add(
      bench.customer, app: name,
      SubscriptionRequest(
        path: path, event: event, added: tells, changed: tells, removed: tells, deviceToken: token, service: .fcm,
        encryptionKey: key))
  }

  @discardableResult
  func query(_ sql: String) async throws -> Rows { try await bench.database.query(sql) }

  /// Waits until nothing is due or on its way.
  func untilIdle() async throws {
    let busy = """
      SELECT 1 FROM datasync_subscription
      WHERE pending IS NOT NULL OR sending IS NOT NULL OR revoked IS NOT NULL OR lease_until IS NOT NULL
      """
    while try await !query(busy).isEmpty { try Task.checkCancellation() }
  }

  /// Waits until a notification has failed so often, and gives the seconds until it is tried again.
  func waiting(after attempts: Int) async throws -> Double {
    while true {
      let rows = try await query(
        """
        SELECT extract(epoch FROM due_at - n.at)::float8 FROM datasync_subscription,
          (SELECT max(at) AS at FROM datasync_notification) AS n
        WHERE attempts = \(attempts) AND lease_until IS NULL
        """)
      if let row = rows.first { return try row.decode(Double.self) }
      try Task.checkCancellation()
    }
  }

  func makeDue() async throws { try await query("UPDATE datasync_subscription SET due_at = now() WHERE attempts > 0") }

  /// The log, the oldest line first: outcomes with their reasons.
  func outcomes() async throws -> [String] {
    try await query("SELECT concat_ws(' ', outcome, reason) FROM datasync_notification ORDER BY notification_id").map {
      try $0.decode(String.self)
    }
  }

  func subscriptionCount() async throws -> Int {
    try await query("SELECT count(*) FROM datasync_subscription")[0].decode(Int.self)
  }

  /// The flat maps that phones were given, by token.
  var received: [String: [[String: String]]] {
    var received: [String: [[String: String]]] = [:]
    for request in fcm.requests where request.isAccepted {
      guard case .object(let data) = try? JSONValue(parsing: request.payload)["message"]?["data"] else { continue }
      received[request.token, default: []].append(data.compactMapValues(\.text))
    }
    return received
  }

  func app() async throws -> PushApp? { try await PushApps(bench.pool).find(bench.customer, firebase) }

  func renewCredentials() async throws {
    let file = try bench.simulator.issueServiceAccount()
    _ = try await PushApps(bench.pool, vault: bench.vault).update(
      bench.customer, firebase, PushAppUpdate(service: PushServiceFields(serviceAccount: Secret(file))))
  }
}

/// Runs `body` on a bench of its own.
func withDatasync(_ body: @Sendable (DatasyncBench) async throws -> Void) async throws {
  try await withSendingBench { bench in try await body(try await DatasyncBench(bench)) }
}
