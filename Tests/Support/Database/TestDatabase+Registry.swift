public import Postgres
public import Registry
public import Wire

extension TestDatabase {
  /// A customer to hang things on.
  public func customer(_ name: String = "ACME") async throws -> CustomerID {
    try await Customers(pool).add(name: name).id
  }
}

extension Querying {
  /// Adds `com.acme.app` on iOS, and `com.acme.both` on iOS and Android.
  public func addSampleApps(_ customer: CustomerID) async throws {
    for (appID, type) in [("com.acme.app", 1), ("com.acme.both", 1), ("com.acme.both", 2)] {
      try await query(
        sql: "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES ($1, $2, $3::int2, 'Acme')",
        customer.rawValue, appID, Int16(type))
    }
  }
}

extension Vault {
  /// A vault of a key of its own.
  public static func fresh() throws -> Vault { Vault(try MasterKeys(current: MasterKeys.generate())) }
}

extension PushDevicesBody {
  /// A contact with one device.
  public init(_ originalID: String, firstName: String? = nil, token: String, type: AppType? = nil) {
    self.init(originalId: originalID, deviceInfo: [.init(deviceToken: token, appType: type)])
    texts[.firstName] = firstName
  }
}
