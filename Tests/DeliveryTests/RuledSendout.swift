import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import Delivery

/// A planned sendout of ten pushes in one batch, to ten contacts in Europe/Stockholm, and its claims.
struct RuledSendout {
  static let pushes = 10
  static let noRules = SendRules(purpose: .marketing, quietHours: nil, caps: [])

  let database: TestDatabase
  let key: SendoutKey

  /// - Parameter customer: a new one if it is absent. Contacts of one customer are the same in all sendouts.
  init(_ database: TestDatabase, of customer: CustomerID? = nil) async throws {
    self.database = database
    let owner = if let customer { customer } else { try await database.customer() }
    let sendout = try await database.query(
      """
      INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message)
      VALUES ($1, '{1,2}', 's', 'running', '{"all":true}', '{}') RETURNING sendout_id
      """, owner.rawValue)[0].decode(Int64.self)
    key = SendoutKey(owner, SendoutID(sendout))
    try await database.query("SELECT require_sendout_range($1)", sendout)
    try await change("INSERT INTO sendout_pace (customer_id, sendout_id) VALUES ($1, $2)")
    try await change(
      """
      INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, contacts)
      VALUES ($1, $2, 1, 'Europe/Stockholm', 'contact', 10)
      """)
    try await addBatch(0, app: 1)
  }

  /// Adds a batch of ten pushes, to one device each of the same ten contacts.
  func addBatch(_ number: Int, app: Int64) async throws {
    let first = number * Self.pushes
    try await database.query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, planned_at)
      VALUES ($1, $2, $3, $4, false, $5 + 1, $5 + 10, 10, now())
      """, key.customer.rawValue, key.sendout.rawValue, Int32(number), app, Int32(first))
    try await database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, zone_no)
      SELECT $1, $2, $4 + n, $3, $4 + n, n, 1 FROM generate_series(1, 10) AS n
      """, key.customer.rawValue, key.sendout.rawValue, Int32(number), Int32(first))
  }

  /// - Returns: the number of the batch.
  @discardableResult
  func claim(_ rules: SendRules = noRules, endAt: Date? = nil, app: Int64 = 1) async throws -> Int32? {
    let ledger = BatchLedger(
      database: database.pool, key: key, lane: Lane(app: PushAppID(app), isSandbox: false), run: RunID(),
      lease: .seconds(60), rules: rules, endAt: endAt)
    return try await ledger.claim()?.claim.batch
  }

  /// How many pushes are in which state, for which reason.
  func states() async throws -> [String: Int] {
    let rows = try await database.query(
      """
      SELECT state || coalesce(' ' || reason, ''), count(*) FROM push WHERE customer_id = $1 AND sendout_id = $2 GROUP BY 1
      """, key.customer.rawValue, key.sendout.rawValue)
    return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
  }

  func change(_ sql: String) async throws {
    try await database.query(sql, key.customer.rawValue, key.sendout.rawValue)
  }

  /// Its batches are queued again, as after a release.
  func requeue() async throws {
    try await change("UPDATE push_batch SET state = 'queued' WHERE customer_id = $1 AND sendout_id = $2")
  }

  /// Its claims look at quiet hours from now on.
  func becomeQuiet() async throws {
    try await change("UPDATE push_batch SET quiet_at = now() WHERE customer_id = $1 AND sendout_id = $2")
  }
}

extension TestDatabase {
  /// Marketing's quiet hours, which have begun an hour ago in a zone and end in an hour.
  func quietHours(_ policy: QuietPolicy, in zone: String = "Europe/Stockholm") async throws -> QuietHours {
    let (start, end) = try await query(
      """
      SELECT to_char(now() AT TIME ZONE $1 - interval '1 hour', 'HH24:MI'), to_char(now() AT TIME ZONE $1 + interval '1 hour', 'HH24:MI')
      """, zone)[0].decode(String.self, String.self)
    guard let hours = QuietHours("\(start)-\(end)/\(policy.rawValue)") else { throw CancellationError() }
    return hours
  }
}
