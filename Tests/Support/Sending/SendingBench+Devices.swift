public import Foundation
import Postgres
public import Registry
public import Wire

extension SendingBench {
  /// Registers so many contacts with a device each: `user<n>@example.com`, called `N<n>`, from `first` on.
  /// - Parameter prefix: how the tokens begin, for the Simulator's rules: hexadecimal digits.
  /// - Returns: the devices, in the order of their contacts.
  @discardableResult
  public func addDevices(
    _ count: Int, from first: Int = 1, prefix: String = "aa", sandbox: Bool = false, list: ListID? = nil,
    registeredAt: Date = Date(timeIntervalSinceNow: -86_400)
  ) async throws -> [DeviceID] {
    let rows = try await database.query(
      """
      WITH made AS (
        INSERT INTO contact (customer_id, original_id, first_name)
        SELECT $1::bigint, 'user' || n || '@example.com', 'N' || n
          FROM generate_series($3::int8, $3::int8 + $4::int8 - 1) AS n
        RETURNING contact_id, substr(first_name, 2)::int8 AS n),
      listed AS (
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT $1::bigint, $2::bigint, contact_id FROM made WHERE $2::bigint IS NOT NULL)
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, sandbox, model, registered_at)
      SELECT $1::bigint, $5::bigint, contact_id, token, decode(token, 'hex'), $7::bool, 'iPhone', $8::timestamptz
        FROM made, LATERAL (SELECT $6::text || lpad(to_hex(n), 64 - length($6::text), '0') AS token) AS t
       ORDER BY n
      RETURNING device_id
      """, customer.rawValue, list?.rawValue, Int64(first), Int64(count), app.id.rawValue, prefix, sandbox, registeredAt
    )
    return try rows.map { DeviceID(try $0.decode(Int64.self)) }.sorted()
  }

  /// The token of the device of `user<n>`.
  public func token(_ number: Int, prefix: String = "aa") -> String {
    let digits = String(number, radix: 16)
    return prefix + String(repeating: "0", count: 64 - prefix.count - digits.count) + digits
  }

  /// The token of every device.
  public func tokens() async throws -> [DeviceID: String] {
    let rows = try await database.query("SELECT device_id, token FROM device").map {
      try $0.decode(Int64.self, String.self)
    }
    return Dictionary(uniqueKeysWithValues: rows.map { (DeviceID($0), $1) })
  }

  /// What is written of a device: since when it is invalid, and why.
  public func invalidation(_ device: DeviceID) async throws -> (at: Date?, type: Int16, reason: String?) {
    let row = try await database.query(
      """
      SELECT invalidated_at, invalidation_type, invalidation_reason
        FROM device WHERE customer_id = $1::bigint AND device_id = $2::bigint
      """, customer.rawValue, device.rawValue)[0]
    let (at, type, reason) = try row.decode(Date?.self, Int16.self, String?.self)
    return (at, type, reason)
  }

  /// The app as it is now.
  public func currentApp() async throws -> PushApp? {
    try await PushApps(pool, vault: vault).find(customer, app.id)
  }
}
