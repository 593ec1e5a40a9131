import Delivery
import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Wire

/// A customer with an app of Hybrid Messaging, and an app of iOS that stands for its SMS provider: tokens of phones begin with `aa`, those
/// of numbers with `cc`.
struct HybridBench: Sendable {
  let bench: SendingBench
  let sms: PushApp
  let key: UUID
  let dispatcher: MessageDispatcher
  let messages: HybridMessages

  var simulator: PushSimulator { bench.simulator }

  init(_ bench: SendingBench, statusURL: String? = nil, confirmationTime: Duration = .seconds(3600)) async throws {
    self.bench = bench
    let credentials = APNsCredentials.sample
    sms = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: "sms", type: .ios, name: "SMS",
        service: credentials.fields))
    (dispatcher, messages) = Self.hub(bench, confirmationTime: confirmationTime)
    let issued = try await HybridApps(bench.pool).enable(
      bench.customer, HybridAppRequest(appId: SendingBench.appID, statusUrl: statusURL), vault: bench.vault
    ).issued
    key = UUID(uuidString: issued.appKey) ?? UUID()
  }

  /// What a hub has of its own.
  /// - Parameters:
  ///   - sendsItself: false leaves what it accepts to other hubs.
  ///   - appsLive: how long it remembers apps.
  ///   - registrations: nil for one of its own.
  static func hub(
    _ bench: SendingBench, _ dispatcher: Dispatcher? = nil, confirmationTime: Duration, sendsItself: Bool = true,
    appsLive: Duration = .seconds(5), registrations: RegistrationBatcher? = nil
  ) -> (MessageDispatcher, HybridMessages) {
    let dispatcher = dispatcher ?? bench.dispatcher()
    let messages = MessageDispatcher(dispatcher, sendsItself: sendsItself)
    let registrations = registrations ?? RegistrationBatcher(bench.pool, limits: .patient)
    let apps = PushAppCache(bench.pool, timeToLive: appsLive)
    let service = MessageService(
      bench.pool, dispatcher: dispatcher, messages: messages, apps: apps,
      credentials: PushCredentialVault(bench.pool, vault: bench.vault), registrations: registrations)
    return (
      messages,
      HybridMessages(
        bench.pool, messages: service, apps: apps, hybridApps: HybridAppCache(bench.pool, vault: bench.vault),
        registrations: registrations, confirmationTime: confirmationTime)
    )
  }

  static func number(_ number: Int) -> PhoneNumber {
    guard let phone = PhoneNumber("+316\(10_000_000 + number)") else { preconditionFailure("it has 11 digits") }
    return phone
  }

  /// Numbers from 1 on: contacts that get SMS, with so many phones each.
  func addNumbers(_ count: Int, phones: Int = 1) async throws {
    try await bench.database.query(
      """
      WITH made AS (
        INSERT INTO contact (customer_id, original_id)
        SELECT $1::bigint, '00316' || (10000000 + n) FROM generate_series(1, $2::int8) AS n
        RETURNING contact_id, right(original_id, 8)::int8 - 10000000 AS n)
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, sandbox, registered_at)
      SELECT $1::bigint, CASE WHEN d = 0 THEN $5::bigint ELSE $4::bigint END, contact_id, t.token, decode(t.token, 'hex'), d > 1,
             now() - interval '1 day'
        FROM made, generate_series(0, $3::int8) AS d,
             LATERAL (SELECT CASE WHEN d = 0 THEN 'cc' ELSE 'aa' END || lpad(to_hex(n * 16 + d), 62, '0') AS token) AS t
      """, bench.customer.rawValue, Int64(count), Int64(phones), bench.app.id.rawValue, sms.id.rawValue)
  }

  /// A message to a number, by the app unless told otherwise.
  func message(
    _ number: Int, _ text: String = "Hello", kind: HybridMessage.Kind? = nil, channels: Set<HybridMessage.Channel> = [],
    reference: String? = nil, expiresAt: Date? = nil, hasKey: Bool = true
  ) -> HybridMessage {
    HybridMessage(
      number: Self.number(number), sender: "Acme", text: text, reference: reference, expiresAt: expiresAt,
      channels: channels, appKey: hasKey ? key : nil, kind: kind)
  }

  @discardableResult
  func send(_ messages: HybridMessage..., allOrNothing: Bool = false) async throws -> [HybridAcceptance] {
    try await self.messages.accept(bench.customer, messages, allOrNothing: allOrNothing)
  }

  struct Row: Equatable {
    var status: String
    /// State and reason of each push by the app, then of that by SMS.
    var pushes: [String]
    var sms: String?
  }

  /// What has become of the messages, in the order of their streams and numbers.
  func rows() async throws -> [Row] {
    try await bench.database.query(
      """
      SELECT h.status, ARRAY(SELECT concat_ws(' ', p.state, p.reason) FROM push p
                              WHERE p.sendout_id = h.sendout_id AND p.message_no = h.message_no
                                AND p.push_no IS DISTINCT FROM h.fallback_no ORDER BY p.push_no),
             (SELECT concat_ws(' ', p.state, p.reason) FROM push p
               WHERE p.sendout_id = h.sendout_id AND p.push_no = h.fallback_no)
        FROM tracked_message h ORDER BY h.sendout_id, h.message_no
      """
    ).map { row in
      let (status, pushes, sms) = try row.decode(String.self, [String].self, String?.self)
      return Row(status: status, pushes: pushes, sms: sms)
    }
  }

  /// What had become of messages when a test had waited for too long.
  struct NeverSo: Error {
    let rows: [Row]
  }

  /// Waits until all messages are so.
  /// - Throws: `NeverSo` after four minutes.
  func until(_ condition: ([Row]) -> Bool) async throws -> [Row] {
    let end = ContinuousClock.now + .seconds(240)
    var rows = try await rows()
    try await waitUntil {
      if condition(rows) { return true }
      guard .now < end else { throw NeverSo(rows: rows) }
      rows = try await self.rows()
      return false
    }
    return rows
  }

  /// Makes every push of the first stream due that waits for another attempt.
  func makeDue() async throws {
    let first = try await bench.database.query("SELECT min(sendout_id) FROM tracked_message")[0].decode(Int64.self)
    try await bench.makeDue(SendoutKey(bench.customer, SendoutID(first)))
  }

  /// Makes every push of the app due that waits for another attempt, once no hub has a batch in hand. Fallbacks stay as they are.
  func makePushesDue() async throws {
    let inHand = "SELECT FROM push_batch WHERE state = 'claimed'"
    try await waitUntil { try await bench.database.query(inHand).isEmpty }
    try await bench.database.query(
      """
      WITH due AS (
        UPDATE push_batch SET not_before = '-infinity' WHERE push_app_id = $1::bigint RETURNING sendout_id, batch_no)
      UPDATE push SET not_before = now() - interval '1 second' FROM due
       WHERE push.sendout_id = due.sendout_id AND push.batch_no = due.batch_no AND push.state = 'waiting'
      """, bench.app.id.rawValue)
  }

  /// Ends the life of every message that has one.
  func expireMessages() async throws {
    for table in ["message", "push_batch"] {
      try await bench.database.query("UPDATE \(table) SET expires_at = expires_at - interval '1 hour'")
    }
    try await makePushesDue()
  }

  /// As if somebody had removed the credentials of the phones' app.
  func removeCredentials() async throws {
    try await bench.database.query("DELETE FROM push_credential WHERE push_app_id = $1::bigint", bench.app.id.rawValue)
  }

  /// Makes every fallback with a moment due.
  func passConfirmationTime() async throws {
    for table in ["push", "push_batch"] {
      try await bench.database.query(
        "UPDATE \(table) SET not_before = now() - interval '1 second' WHERE not_before > now() AND isfinite(not_before)"
      )
    }
  }

  /// What phones confirm a message by, in the order of messages.
  func updateIDs() async throws -> [String] {
    try await bench.database.query(
      """
      SELECT min(p.sendout_id * 10000000000 + p.push_no)::text FROM push p JOIN tracked_message h USING (customer_id, sendout_id, message_no)
       WHERE p.push_no IS DISTINCT FROM h.fallback_no GROUP BY p.sendout_id, p.message_no ORDER BY p.sendout_id, p.message_no
      """
    ).map { try $0.decode(String.self) }
  }

  func confirm(_ number: Int, _ updateIDs: [String], readAt: Date? = nil) async throws -> [String] {
    try await messages.confirm(
      bench.customer, appID: SendingBench.appID, number: Self.number(number), updateIDs: updateIDs, status: .delivered,
      readAt: readAt)
  }

  /// The requests to tokens that begin so.
  func requests(_ prefix: String) -> [SimulatedAPNs.ReceivedRequest] {
    simulator.apns.requests.filter { $0.token.hasPrefix(prefix) }
  }
}

/// Runs `body` on a bench of its own, whose counts are held against the ledger at its end.
func withHybridBench(
  statusURL: String? = nil, confirmationTime: Duration = .seconds(3600), _ body: (HybridBench) async throws -> Void
) async throws {
  try await withSendingBench { bench in
    let hybrid = try await HybridBench(bench, statusURL: statusURL, confirmationTime: confirmationTime)
    try await body(hybrid)
    await hybrid.dispatcher.end()
  }
}
