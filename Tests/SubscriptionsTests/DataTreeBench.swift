import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Wire

@testable import Subscriptions

/// A customer with a data tree, whose Firebase app sends to the Simulator.
struct DataTreeBench: Sendable {
  let bench: SendingBench
  private let firebase: PushAppID
  /// The key file of the Firebase app's service account.
  let serviceAccount: String

  var fcm: SimulatedFCM { bench.simulator.fcm }
  var store: SubscriptionStore { SubscriptionStore(bench.pool, vault: bench.vault) }
  private var name: String { SendingBench.appID }
  var lane: Subscriptions.NotificationQueue.Lane {
    NotificationQueue.Lane(customer: bench.customer, app: SendingBench.appID, service: "fcm")
  }

  init(_ bench: SendingBench) async throws {
    self.bench = bench
    serviceAccount = try bench.simulator.issueServiceAccount()
    firebase = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: SendingBench.appID, type: .firebase, name: "Acme",
        service: PushServiceFields([.serviceAccount: Secret(serviceAccount)]))
    ).id
    _ = try await DataTreeApps(bench.pool).enable(bench.customer, app: SendingBench.appID, createdBy: nil)
  }

  /// Runs `body` while so many hubs send notifications; they are killed when that ends.
  /// - Parameters:
  ///   - lease: how long a claim is valid; longer than a hub's, as a slow machine extends none in time.
  ///   - jitter: how much of the random half each delay gets, 0 to 1.
  ///   - clock: by which closed lanes are tried again.
  ///   - services: send in place of the bench's own.
  ///   - vault: opens what is sealed, in place of the bench's own.
  ///   - groupSize: how many are claimed at once; nil for as many as hubs do.
  func withRunner(
    _ count: Int = 1, lease: Duration = .seconds(120), jitter: Double = 0, clock: SteerableClock? = nil,
    services: PushServices? = nil, vault: Vault? = nil, groupSize: Int? = nil,
    dispatch configure: (inout DispatchSettings) -> Void = { _ in }, _ body: () async throws -> Void
  ) async throws {
    var hub = TestHub()
    hub.jitter = jitter
    configure(&hub.dispatch)
    if let clock { hub.clock = { clock.now } }
    var settings = NotificationRunner.Settings()
    settings.scanEvery = .milliseconds(50)
    settings.lease = lease
    if let groupSize { settings.groupSize = groupSize }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        let runner = NotificationRunner(
          bench.pool, dispatcher: bench.dispatcher(hub, services: services), vault: vault ?? bench.vault,
          settings: settings, logger: TestServer.logger)
        group.addTask { try await runner.run() }
      }
      defer { group.cancelAll() }
      try await body()
    }
  }

  func put(_ path: String, _ json: String) async throws {
    try await DataTree(bench.pool).write(
      .put(try JSONValue(parsing: Array(json.utf8))), bench.customer, app: name, at: try DataTreePath(text: path))
  }

  @discardableResult
  func subscribe(
    _ token: String, _ path: String, _ event: SubscribedEvent, service: MessagingService = .fcm, key: String? = nil,
    tells: (added: Bool, changed: Bool, removed: Bool) = (true, true, true)
  ) async throws -> SubscriptionReply {
    let told = event == .child ? tells : nil
    return try await store.add(
      bench.customer, app: name,
      SubscriptionRequest(
        path: path, event: event, added: told?.added, changed: told?.changed, removed: told?.removed,
        deviceToken: token, service: service, encryptionKey: key))
  }

  /// Subscribes a webhook that is disabled.
  func subscribeDisabledWebhook(_ path: String) async throws {
    let destination = WebhookDestination(
      enabled: false, subscribeDurationSeconds: 60,
      destinationUris: [DestinationURI(uri: "https://hooks.example.com/changes")])
    try await WebhookStore(bench.pool, vault: bench.vault).save(
      WebhookSettings(destinations: ["hook": destination]), bench.customer, app: name, rule: .webhook)
    _ = try await store.add(
      bench.customer, app: name, SubscriptionRequest(path: path, event: .value, webhook: "hook"))
  }

  @discardableResult
  func query(_ sql: String) async throws -> Rows { try await bench.database.query(sql) }

  /// Waits until nothing is due or on its way.
  func untilIdle() async throws {
    let busy = """
      SELECT 1 FROM data_tree_due
      WHERE pending IS NOT NULL OR sending IS NOT NULL OR revoked IS NOT NULL OR lease_until IS NOT NULL
      """
    try await waitUntil { try await query(busy).isEmpty }
  }

  func untilAlarm() async throws { try await waitUntil { try await app()?.alarm != nil } }
  /// Waits until nothing is on its way. What still is when a lane closes may be refused later, and closes it again.
  func untilReleased() async throws {
    try await waitUntil { try await query("SELECT FROM data_tree_due WHERE lease_until IS NOT NULL").isEmpty }
  }

  /// Waits until a hub has looked for what is due, and has begun to send it.
  func untilScanned() async throws {
    let probe = "customer_id = \(bench.customer) AND app_id = 'probe'"
    try await query(
      "INSERT INTO data_tree_app (customer_id, app_id) VALUES (\(bench.customer), 'probe') ON CONFLICT DO NOTHING")
    // It ends, since there is no webhook of that name.
    try await query(
      """
      INSERT INTO data_tree_subscription (customer_id, app_id, path_key, path, event, added, changed, removed, service, target,
        target_key, expires_at)
      VALUES (\(bench.customer), 'probe', '', '/', 'value', false, false, false, 'webhook', 'none', '', 'infinity')
      """)
    try await query(
      """
      INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, webhook, pending, due_at)
      SELECT customer_id, subscription_id, app_id, service, target, '{}', now() FROM data_tree_subscription WHERE \(probe)
      """)
    try await waitUntil { try await query("SELECT FROM data_tree_subscription WHERE \(probe)").isEmpty }
    try await query("DELETE FROM data_tree_notification WHERE \(probe)")
  }

  /// What fails is tried again when the test makes it due, however slow the machine is: its moment is put off by a day.
  func holdRetries() async throws {
    try await query(
      """
      CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.due_at := NEW.due_at + interval '24 hours'; RETURN NEW; END $$
      """)
    try await query(
      """
      CREATE TRIGGER later BEFORE UPDATE ON data_tree_due FOR EACH ROW
      WHEN (NEW.attempts > OLD.attempts) EXECUTE FUNCTION later()
      """)
  }

  /// Waits until every subscription's notification has failed so often, and gives the seconds until each is tried again. The retries are
  /// held, see `holdRetries`.
  func delays(after attempts: Int) async throws -> [Double] {
    var delays: [Double] = []
    try await waitUntil {
      let rows = try await query(
        """
        SELECT CASE WHEN attempts = \(attempts) AND lease_until IS NULL
                    THEN extract(epoch FROM due_at - interval '24 hours'
                                       - (SELECT max(at) FROM data_tree_notification AS n
                                           WHERE n.subscription_id = s.subscription_id))::float8 END
          FROM data_tree_due AS s WHERE customer_id > 0
        """)
      delays = try rows.compactMap { try $0.decode(Double?.self) }
      return !rows.isEmpty && delays.count == rows.count
    }
    return delays
  }

  /// Ends all subscriptions a second ago.
  func expire() async throws {
    try await query("UPDATE data_tree_subscription SET expires_at = now() - interval '1 s'")
    try await query(
      """
      INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, webhook, expires_at, due_at)
      SELECT customer_id, subscription_id, app_id, service, CASE WHEN service = 'webhook' THEN target ELSE '' END, expires_at, expires_at
        FROM data_tree_subscription
      ON CONFLICT (customer_id, subscription_id) DO UPDATE SET due_at = excluded.due_at, expires_at = excluded.expires_at
      """)
  }

  func makeDue() async throws { try await query("UPDATE data_tree_due SET due_at = now() WHERE attempts > 0") }

  /// The log, the oldest line first: outcomes with their reasons.
  func outcomes() async throws -> [String] {
    try await query("SELECT concat_ws(' ', outcome, reason) FROM data_tree_notification ORDER BY notification_id").map {
      try $0.decode(String.self)
    }
  }

  func subscriptionCount() async throws -> Int {
    try await query("SELECT count(*) FROM data_tree_subscription")[0].decode(Int.self)
  }

  /// The flat maps that phones were given, by token.
  var received: [String: [[String: String]]] {
    var received: [String: [[String: String]]] = [:]
    for request in fcm.requests where request.isAccepted {
      guard let data = try? JSONValue(parsing: request.payload)["message"]?["data"]?.texts else { continue }
      received[request.token, default: []].append(data)
    }
    return received
  }

  func app() async throws -> PushApp? { try await PushApps(bench.pool).find(bench.customer, firebase) }

  func renewCredentials() async throws {
    let file = try bench.simulator.issueServiceAccount()
    _ = try await PushApps(bench.pool, vault: bench.vault).update(
      bench.customer, firebase, PushAppUpdate(service: PushServiceFields([.serviceAccount: Secret(file)])))
  }
}

/// Runs `body` on a bench of its own.
func withDataTree(_ body: @Sendable (DataTreeBench) async throws -> Void) async throws {
  try await withSendingBench { bench in try await body(try await DataTreeBench(bench)) }
}

extension SubscriptionStore {
  /// A subscription of an app that needs no platform.
  func addUnchecked(_ customer: CustomerID, _ app: String, _ request: SubscriptionRequest) async throws {
    _ = try await insert(customer, app, request, "fcm", request.deviceToken ?? "", key: nil, duration: nil)
  }
}
