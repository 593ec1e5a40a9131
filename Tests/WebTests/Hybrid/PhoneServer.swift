import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

/// The whole server with a customer whose app has Hybrid Messaging, and whose app of SMS takes PINs into the ledger.
struct PhoneServer: Sendable {
  let managed: ManagementServer
  let app: IssuedHybridApp

  var database: TestDatabase { managed.database }
  var customer: CustomerID { managed.customer }

  func phone() -> TestPhone { TestPhone(managed.server, appKey: app.appKey, secret: app.appSecret) }

  /// A phone that has verified that number.
  func phone(verified number: String, token: String? = nil) async throws -> TestPhone {
    var phone = phone()
    let push = token.map { #","PushToken":"\#($0)""# } ?? ""
    try await phone.register(#"{"Msisdn":"\#(number)"\#(push)}"#)
    let pin = try await pin(number)
    let reply = try await phone.put(#"{"VerificationCode":"\#(pin)"}"#)
    #expect(try reply.json.string("RegistrationStatus") == "PinVerified")
    return phone
  }

  /// The texts of the SMS that a number gets, the newest last.
  func texts(_ number: String) async throws -> [String] {
    let digits = try #require(PhoneNumber(number))
    return try await database.query(
      """
      SELECT m.body ->> 'alert', m.body -> 'fields' ->> 'pinSource' FROM message m JOIN contact c USING (customer_id, contact_id)
      WHERE c.original_id = $1::text AND m.body -> 'fields' ->> 'pinSource' IS NOT NULL ORDER BY m.sendout_id, m.message_no
      """, number
    ).map { row in
      let (text, source) = try row.decode(String.self, String.self)
      return text.replacing("{{pin}}", with: try #require(PINs.ofTests.pin(customer, digits, source: source)))
    }
  }

  /// The PIN of the newest SMS.
  func pin(_ number: String) async throws -> String {
    let text = try #require(try await texts(number).last)
    return String(text.suffix(5))
  }

  /// Lets the rates of PINs begin anew.
  func forgetRates() async throws { try await database.query("DELETE FROM hybrid_rate") }

  /// A message to a number, as a gateway's is stored.
  @discardableResult
  func addMessage(
    _ body: String, to digits: String, sender: String = "MyApp", app: String = "com.acme.app",
    at moment: String = "now",
    status: String = "Sent"
  ) async throws -> Int32 {
    let rows = try await database.query(
      """
      INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts, created_at, status,
                                  push_nos)
      SELECT $1::bigint, 700, count(*)::int4 + 1, $2::text, $3::text, $4::text, $5::text, 'default', 1::int2,
             $6::text::timestamptz, $7::text, ARRAY[count(*)::int4 + 1, count(*)::int4 + 1001]
      FROM tracked_message RETURNING message_no
      """, customer.rawValue, app, digits, sender, body, moment, status)
    return try rows[0].decode(Int32.self)
  }
}

/// Runs `body` on a server of its own.
func withPhoneServer(
  _ services: PushServiceSettings = .nowhere, _ body: @escaping @Sendable (PhoneServer) async throws -> Void
) async throws {
  try await withManagementServer(apns: services) { managed in
    try await managed.addApp()
    try await PushApps(managed.database.pool, vault: managed.vault).addSMS(managed.customer)
    let enabled = try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#)
    let app = try JSONDecoder().decode(IssuedHybridApp.self, from: Data(enabled.body))
    try await body(PhoneServer(managed: managed, app: app))
  }
}
