public import FoundationEssentials
package import Logging
public import Postgres
public import Wire

/// A tenant: everything else belongs to exactly one.
public struct Customer: Sendable, Equatable {
  public let id: CustomerID
  /// For people; not unique.
  public let name: String
  public let settings: CustomerSettings
  public let createdAt: Date
}

/// What a customer may set for all of their apps.
public struct CustomerSettings: Sendable, Equatable {
  /// Days after which a page link answers 404; `nil` for never.
  public var linkMaximumAgeDays: Int32?
  /// Most valid devices a contact may have.
  public var devicesPerContact: Int32
  /// Days after its end that a sendout keeps its pushes, messages and opens; `nil` for as long as the hub keeps them.
  public var retentionDays: Int32?
  /// What the customer's reporters of tokens call their fields; those that are not in it have their own names.
  public var reporterFields: [ReporterField: String]
  /// The time zone of the console's times, and of contacts whose own is not known, by its name in the IANA database.
  public var timeZone: String
  /// Whether a second person has to start a sendout that somebody wrote in the console.
  public var approval: Bool
  /// The console sends to more devices than this only after somebody has typed their number.
  public var sendThreshold: Int32
  /// When marketing waits, or is not sent; `nil` for never.
  public var quietHours: QuietHours?
  /// How often contacts are reached at most.
  public var caps: [Cap]
}

/// What is to change about a customer; `nil` leaves a field as it is.
public struct CustomerUpdate: Sendable, Equatable {
  public var name: String?
  /// 0 for links that never expire.
  public var linkMaximumAgeDays: Int32?
  public var devicesPerContact: Int32?
  /// 0 for as long as the hub keeps things.
  public var retentionDays: Int32?
  /// By the names of `ReporterField`; empty for these names alone.
  public var reporterFields: [String: String]?
  /// By its name in the IANA database.
  public var timeZone: String?
  public var approval: Bool?
  public var sendThreshold: Int32?
  public var quietHours: Change<QuietHours>
  /// Empty for no rules.
  public var caps: [Cap]?

  public init(
    name: String? = nil, linkMaximumAgeDays: Int32? = nil, devicesPerContact: Int32? = nil, retentionDays: Int32? = nil,
    reporterFields: [String: String]? = nil, timeZone: String? = nil, approval: Bool? = nil,
    sendThreshold: Int32? = nil, quietHours: Change<QuietHours> = .keep, caps: [Cap]? = nil
  ) {
    self.quietHours = quietHours
    self.caps = caps
    self.name = name
    self.reporterFields = reporterFields
    self.timeZone = timeZone
    self.approval = approval
    self.sendThreshold = sendThreshold
    self.linkMaximumAgeDays = linkMaximumAgeDays
    self.devicesPerContact = devicesPerContact
    self.retentionDays = retentionDays
  }
}

/// The store of customers.
public struct Customers: Sendable {
  /// Days that page links may be set to live; 0 for ever.
  public static let linkAges: ClosedRange<Int32> = 0...3650
  /// Valid devices that a contact may be allowed.
  public static let deviceLimits: ClosedRange<Int32> = 1...1000
  /// Days that a customer's pushes may be kept; 0 for as long as the hub keeps them.
  public static let retentions: ClosedRange<Int32> = 0...36_500
  /// Devices to which the console sends without asking for their number.
  public static let sendThresholds: ClosedRange<Int32> = 0...Int32.max

  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds a customer. The name has 1 to 200 characters and need not be unique.
  /// - Throws: `RegistryError.invalid`.
  public func add(name: String) async throws -> Customer {
    let name = try TextRule("name", maximum: 200).require(name)
    return try await database.query(CustomerQueries.add, name).map(Customer.init)[0]
  }

  /// Changes a customer's settings; hubs that serve hear of it as soon as this is committed.
  /// - Throws: `RegistryError.invalid`, `.customerUnknown`.
  public func update(_ id: CustomerID, _ update: CustomerUpdate) async throws -> Customer {
    let name = try update.name.map { name throws(RegistryError) in
      try TextRule("name", maximum: 200).require(name)
    }
    let age = try update.linkMaximumAgeDays.map { days throws(RegistryError) in
      try Self.check("linkMaxAgeDays", days, Self.linkAges)
    }
    let devices = try update.devicesPerContact.map { limit throws(RegistryError) in
      try Self.check("devicesPerContact", limit, Self.deviceLimits)
    }
    let retention = try update.retentionDays.map { days throws(RegistryError) in
      try Self.check("retentionDays", days, Self.retentions)
    }
    let fields = try update.reporterFields.map { fields in
      try Self.check(fields)
      return JSONB(String(decoding: try JSONCoding.encode(fields), as: UTF8.self))
    }
    let zone = try update.timeZone.map(Self.checkTimeZone)
    let threshold = try update.sendThreshold.map { number throws(RegistryError) in
      try Self.check("sendThreshold", number, Self.sendThresholds)
    }
    let quietHours: JSONB? =
      switch update.quietHours {
      case .keep: nil
      case .clear: JSONB("{}")
      case .set(let hours): try Self.json(hours)
      }
    let caps = try update.caps.map { caps in try Self.json(Self.check(caps)) }
    let rows = try await database.query(
      CustomerQueries.update, id.rawValue, age, devices, retention, fields, zone, update.approval, threshold,
      name, quietHours, caps)
    guard let row = rows.first else { throw RegistryError.customerUnknown(id) }
    try await database.notify(.links, id.description)
    return try Customer(row)
  }

  private static func check(_ field: String, _ number: Int32, _ range: ClosedRange<Int32>) throws(RegistryError)
    -> Int32
  {
    guard range.contains(number) else {
      throw .invalid(field: field, problem: "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func checkTimeZone(_ name: String) throws(RegistryError) -> String {
    guard TimeZoneName.isKnown(name) else { throw .invalid(field: "timeZone", problem: TimeZoneName.problem) }
    return name
  }

  private static func json(_ value: some Encodable) throws -> JSONB {
    JSONB(String(decoding: try JSONCoding.encode(value), as: UTF8.self))
  }

  private static func check(_ caps: [Cap]) throws(RegistryError) -> [Cap] {
    guard caps.count <= Cap.maximumCount else {
      throw .invalid(field: "caps", problem: "has more than \(Cap.maximumCount) rules")
    }
    for (index, cap) in caps.enumerated() {
      guard Cap.counts.contains(Int64(cap.count)) else {
        throw .invalid(
          field: "caps[\(index)].count",
          problem: "must be a whole number from \(Cap.counts.lowerBound) to \(Cap.counts.upperBound)")
      }
      guard !caps[..<index].contains(cap) else {
        throw .invalid(field: "caps[\(index)]", problem: "is there already: leave it out")
      }
    }
    return caps
  }

  private static func check(_ reporterFields: [String: String]) throws(RegistryError) {
    for (name, field) in reporterFields.sorted(by: { $0.key < $1.key }) {
      guard ReporterField(rawValue: name) != nil else {
        let known = ReporterField.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid(field: "reporterFields", problem: "has a member that is not one of \(known)")
      }
      let rule = TextRule("reporterFields.\(name)", maximum: 100)
      guard field != ReporterField.password else {
        throw rule.refuse("is \(ReporterField.password), which the hub never reads")
      }
      _ = try rule.require(field)
    }
  }

  /// Every customer, in the order they were added.
  public func all() async throws -> [Customer] {
    try await database.query(CustomerQueries.list).map(Customer.init)
  }

  /// Does something for every customer, one after the other. What fails for one is logged, and holds up no other.
  /// - Parameter what: completes "could not … of a customer".
  /// - Returns: those for whom it failed, and why.
  /// - Throws: when the customers cannot be listed, and `CancellationError`.
  @discardableResult
  package func forEach(
    _ what: String, logger: Logger, _ body: (Customer) async throws -> Void
  ) async throws -> [CustomerID: any Error] {
    var failures: [CustomerID: any Error] = [:]
    for customer in try await all() {
      try Task.checkCancellation()
      do {
        try await body(customer)
      } catch {
        try Task.checkCancellation()
        logger.warning(
          "could not \(what) of a customer", metadata: ["customer": "\(customer.id)", "error": "\(error)"])
        failures[customer.id] = error
      }
    }
    return failures
  }

  /// The customer of that number, locked against other changes until the transaction ends.
  package func lock(_ id: CustomerID) async throws -> Customer? {
    try await database.query(CustomerQueries.lock, id.rawValue).first.map(Customer.init)
  }

  /// The customer of that number; `nil` if there is none.
  public func find(_ id: CustomerID) async throws -> Customer? {
    try await database.query(CustomerQueries.find, id.rawValue).first.map(Customer.init)
  }
}

/// Statements on `customer`, a reference table: they need no customer_id to be routed by.
enum CustomerQueries {
  private static let columns =
    """
    customer_id, name, link_max_age_days, devices_per_contact, retention_days, reporter_fields, time_zone, approval,
    send_threshold, quiet_hours, caps, created_at
    """

  static let add = Statement(
    "customer.add", .write, "INSERT INTO customer (name) VALUES ($1::text) RETURNING \(columns)")

  /// A maximum age `$2` or retention `$4` of 0 stands for none, as no member does of `$5` and of quiet hours `$10`; NULL leaves it as it is.
  static let update = Statement(
    "customer.update", .write,
    """
    UPDATE customer SET
      link_max_age_days = nullif(coalesce($2::int4, link_max_age_days), 0),
      devices_per_contact = coalesce($3::int4, devices_per_contact),
      retention_days = nullif(coalesce($4::int4, retention_days), 0),
      reporter_fields = nullif(coalesce($5::jsonb, reporter_fields), '{}'),
      time_zone = coalesce($6::text, time_zone),
      approval = coalesce($7::bool, approval),
      send_threshold = coalesce($8::int4, send_threshold),
      name = coalesce($9::text, name),
      quiet_hours = nullif(coalesce($10::jsonb, quiet_hours), '{}'),
      caps = coalesce($11::jsonb, caps)
    WHERE customer_id = $1::bigint
    RETURNING \(columns)
    """)

  /// How often the addresses for status reports of SMS were renewed, of customers whose was.
  static let smsStatusSerials = Statement(
    "customer.sms_status_serials", .read,
    "SELECT customer_id, sms_status_serial FROM customer WHERE sms_status_serial > 0")

  static let renewSMSStatus = Statement(
    "customer.renew_sms_status", .write,
    """
    UPDATE customer SET sms_status_serial = sms_status_serial + 1 WHERE customer_id = $1::bigint
    RETURNING sms_status_serial
    """)

  static let list = Statement("customer.list", .read, "SELECT \(columns) FROM customer ORDER BY customer_id")

  static let find = Statement("customer.find", .read, "SELECT \(columns) FROM customer WHERE customer_id = $1::bigint")

  /// Locks the row against other changes, but not against rows that refer to it.
  static let lock = Statement(
    "customer.lock", .write,
    "SELECT \(columns) FROM customer WHERE customer_id = $1::bigint FOR NO KEY UPDATE")

  static let all: [Statement] = [add, update, list, find, lock, smsStatusSerials, renewSMSStatus]
}

extension Customer {
  fileprivate init(_ row: Row) throws {
    let (id, name, age, devices, retention, reporter, zone, approval, threshold, quietHours, caps, createdAt) =
      try row.decode(
        Int64.self, String.self, Int32?.self, Int32.self, Int32?.self, JSONB?.self, String.self, Bool.self, Int32.self,
        JSONB?.self, JSONB.self, Date.self)
    let fields = try reporter.map { try JSONCoding.decode([String: String].self, from: $0.text.utf8) } ?? [:]
    self.init(
      id: CustomerID(id), name: name,
      settings: CustomerSettings(
        linkMaximumAgeDays: age, devicesPerContact: devices, retentionDays: retention,
        reporterFields: Dictionary(
          uniqueKeysWithValues: fields.compactMap { name, field in ReporterField(rawValue: name).map { ($0, field) } }),
        timeZone: zone, approval: approval, sendThreshold: threshold,
        quietHours: try quietHours.map { try JSONCoding.decode(QuietHours.self, from: $0.text.utf8) },
        caps: try JSONCoding.decode([Cap].self, from: caps.text.utf8)),
      createdAt: createdAt)
  }
}
