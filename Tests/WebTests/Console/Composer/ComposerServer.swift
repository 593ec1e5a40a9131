import Postgres
import Providers
import Registry
import Sendouts
import Support
import Wire

@testable import Web

extension ConsoleServer {
  /// Adds an app with credentials, and so many contacts with a device each: `user1@example.com`, whose first name is N1, and so on.
  func settle(devices: Int = 2) async throws {
    let app = try await PushApps(database.pool, vault: vault).add(
      customer,
      NewPushApp(appID: "com.acme.app", type: .ios, name: "Acme", service: APNsCredentials.sample.fields))
    try await database.query(
      """
      WITH c AS (INSERT INTO contact (customer_id, original_id, first_name)
                 SELECT $1::int8, 'user' || n || '@example.com', 'N' || n FROM generate_series(1, $3::int4) AS n
                 RETURNING contact_id)
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
      SELECT $1::int8, $2::int8, contact_id, lpad(contact_id::text, 8, '0'), decode(lpad(contact_id::text, 8, '0'), 'hex') FROM c
      """, customer.rawValue, app.id.rawValue, Int32(devices))
  }

  func sendout(_ id: Int64 = 1) async throws -> SendoutReply {
    try await SendoutStore(database.pool).find(customer, SendoutID(id))
  }
}

/// What a browser sends of the composer's form.
enum ComposerFields {
  private static let usual = [
    ("name", "Friday"), ("audience", "all"), ("appIds", "com.acme.app"), ("message.alert", "Hi {{firstName}}"),
  ]

  /// The usual fields with others in place of some of them or beside them.
  static func form(_ changes: KeyValuePairs<String, String> = [:]) -> [(String, String)] {
    usual.filter { field in !changes.contains { $0.key == field.0 } } + changes.map { ($0.key, $0.value) }
  }

  /// What the check's form says of the draft that it shows.
  static func seen(_ page: TestReply) -> (String, String) {
    ("seen", page.text.firstMatch(of: #/name="seen" value="([^"]+)"/#).map { String($0.1) } ?? "")
  }
}
