public import Postgres
public import Registry
public import Wire

extension TestDatabase {
  /// A customer to hang things on.
  public func customer(_ name: String = "ACME") async throws -> CustomerID {
    try await Customers(pool).add(name: name).id
  }

  /// Finished sendouts of these numbers, without pushes, for filters that name them.
  public func addSendouts(_ numbers: ClosedRange<Int64>, of customer: CustomerID) async throws {
    try await query(
      """
      INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, audience, message)
      SELECT $1::bigint, number, '{1}', 'Sendout ' || number, 'finished', '{"all":true}', '{"alert":"Hello"}'
        FROM generate_series($2::bigint, $3::bigint) AS number
      """, customer.rawValue, numbers.lowerBound, numbers.upperBound)
  }
}

extension TestDatabase {
  /// What hubs write by themselves while they send, and replies kept, which no test compares.
  private static let moving: Set = [
    "circuit_breaker", "idempotent_reply", "outbox", "provider_token", "tracked_message",
  ]

  /// Every row that a customer has, by the schema, each beginning with its table's name: to see that nothing changed.
  public func rows(of customer: CustomerID) async throws -> [String] {
    let tables = try await query(
      """
      SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'customer_id'
      WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
      ORDER BY c.relname
      """
    ).map { try $0.decode(String.self) }
    let each = tables.filter { !Self.moving.contains($0) }.map { table in
      "SELECT '\(table)' || t::text AS row FROM \(table) AS t WHERE customer_id = $1::bigint"
    }
    return try await query(each.joined(separator: " UNION ALL ") + " ORDER BY row", customer.rawValue).map {
      try $0.decode(String.self)
    }
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

extension RegistrationBatcher.Limits {
  /// For a machine that is busy with all the other tests.
  public static var patient: RegistrationBatcher.Limits {
    var limits = RegistrationBatcher.Limits()
    limits.timeout = .seconds(120)
    return limits
  }
}
