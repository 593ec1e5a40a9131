import Foundation
import Postgres
import Registry
import Support
import Wire

/// A customer with one app on iOS and one on two platforms, and what registers devices for it.
struct RegistryFixture: Sendable {
  let database: TestDatabase
  let customer: CustomerID
  /// `com.acme.app`, iOS only.
  let app: [PushApp]
  /// `com.acme.both`, iOS and Android.
  let both: [PushApp]
  let registrations: RegistrationBatcher

  init(_ database: TestDatabase, registrations: RegistrationBatcher? = nil) async throws {
    self.database = database
    customer = try await database.customer()
    try await database.pool.addSampleApps(customer)
    let cache = PushAppCache(database.pool)
    app = try await cache.apps(customer, appID: "com.acme.app")
    both = try await cache.apps(customer, appID: "com.acme.both")
    self.registrations = registrations ?? RegistrationBatcher(database.pool, limits: .patient)
  }

  func registration(_ json: String, _ apps: [PushApp]? = nil) throws -> Registration {
    try Registration(try PushDevicesBody(json), apps: apps ?? app)
  }

  /// Registers, and gives the contact with all its devices.
  @discardableResult
  func register(_ json: String, _ apps: [PushApp]? = nil) async throws -> Contact {
    let contact = try await registrations.register(customer, try registration(json, apps))
    guard let contact else { throw RegistryFixtureError.noContact }
    return contact
  }

  /// Registers one token of one contact.
  @discardableResult
  func register(_ originalID: String, token: String, _ rest: String = "") async throws -> Contact {
    try await register(
      #"{"originalId":"\#(originalID)","deviceInfo":[{"devicetoken":"\#(token)"\#(rest)}]}"#)
  }

  /// Sets how many valid devices a contact may have.
  func allowDevices(_ limit: Int32) async throws {
    _ = try await Customers(database.pool).update(customer, CustomerUpdate(devicesPerContact: limit))
  }

  func invalidate(_ json: String) async throws {
    try await Devices(database.pool).invalidate(customer, try Invalidation(try PushDevicesBody(json), apps: app))
  }

  func contact(_ originalID: String, _ apps: [PushApp]? = nil) async throws -> Contact? {
    try await Contacts(database.pool).find(customer, originalID: originalID, apps: (apps ?? app).map(\.id))
  }

  /// The kinds of events of a token's device, in their order.
  func events(_ token: String) async throws -> [String] {
    try await database.query(
      """
      SELECT kind FROM device_event JOIN device USING (customer_id, device_id)
      WHERE customer_id = $1 AND token = $2 ORDER BY device_event_id
      """, customer.rawValue, token
    ).map { try $0.decode(String.self) }
  }

  func count(_ table: String) async throws -> Int {
    try await database.query("SELECT count(*) FROM \(table) WHERE customer_id = $1", customer.rawValue)[0]
      .decode(Int.self)
  }
}

enum RegistryFixtureError: Error { case noContact }

extension PushDevicesBody {
  init(_ json: String) throws { self = try Array(json.utf8).withUnsafeBytes { try PushDevicesBody(json: $0) } }
}
