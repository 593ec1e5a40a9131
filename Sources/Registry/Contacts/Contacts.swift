public import Postgres
public import Wire

/// A user of a customer's apps, and what the user can be reached on.
public struct Contact: Sendable, Equatable {
  public let id: ContactID
  /// The customer's own id of the user; compared exactly.
  public let originalID: String
  /// The lowest of the lists that the contact is on: Carma's API has room for one.
  public let listID: ListID?
  /// `nil` for what is not known.
  public let texts: ContactTexts
  /// Days since 1970-01-01.
  public let dateOfBirth: Int32?
  /// A flat JSON object.
  public let properties: String
  /// The devices that were asked for, oldest first, at most `Device.maximumOfContact`.
  public internal(set) var devices: [Device] = []

  /// Most bytes of `properties` as PostgreSQL keeps them: what `contact_properties_size` allows.
  static let maximumPropertiesSize = 65_536

  public subscript(field: ContactField) -> String? { texts[field] }
}

extension ContactField {
  /// The column of table `contact`.
  var column: String {
    switch self {
    case .firstName: "first_name"
    case .middleName: "middle_name"
    case .lastName: "last_name"
    case .emailAddress: "email_address"
    case .mobileNumber: "mobile_number"
    case .timeZone: "time_zone"
    case .country, .title, .city, .zipcode, .sex, .language: name
    }
  }
}

/// The store of contacts. They are written by `RegistrationBatcher`.
public struct Contacts: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The contact of that id with its devices of these apps, valid or not; `nil` if the customer has no such contact.
  public func find(_ customer: CustomerID, originalID: String, apps: [PushAppID]) async throws -> Contact? {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0) else { return nil }
    let rows = try await database.query(
      ContactQueries.find, customer.rawValue, originalID, apps.map(\.rawValue))
    var contact: Contact?
    for row in rows {
      let row = try ContactRow(row)
      if contact == nil { contact = row.contact }
      if let device = row.device { contact?.devices.append(device) }
    }
    contact?.devices.sort { $0.id < $1.id }
    return contact
  }

  /// Adds contacts without devices and fields, where there are none yet.
  public func add(_ customer: CustomerID, originalIDs: [String]) async throws {
    try await database.query(ContactQueries.add, customer.rawValue, originalIDs)
  }

  /// Merges properties into those of a contact, key by key, as a registration does; null removes a key.
  /// - Parameter properties: a flat JSON object.
  /// - Returns: whether the customer has such a contact.
  /// - Throws: `RegistryError.invalid` if they would grow too large.
  public func merge(_ customer: CustomerID, originalID: String, properties: String) async throws -> Bool {
    try await database.mapViolations([
      "contact_properties_size": .invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact")
    ]) {
      try await $0.query(ContactQueries.mergeProperties, customer.rawValue, originalID, JSONDocument(properties))[0]
        .decode(
          Bool.self)
    }
  }
}

/// Statements on `contact` that are not part of a registration.
///
/// The sums in ORDER BY keep the planner from reading all of the customer's devices in the order of the primary key.
enum ContactQueries {
  /// One contact by the customer's own id `$2`, with its devices of the apps `$3`, in no order.
  static let find = Statement(
    "contact.find", .read,
    """
    SELECT 1::bigint, 0::int2, \(ContactColumns.sql(contact: "c", device: "d"))
    FROM contact c
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = ANY ($3::bigint[])
      ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
    ) d ON true
    WHERE c.customer_id = $1::bigint AND c.original_id = $2::text
    """)

  /// The contacts by the customer's own ids `$2`, with their devices of the apps `$3`, in no order. If a contact has one more than are told,
  /// `findOldest` says which: to sort each contact's devices would cost all contacts a tenth more.
  static let findMany = findMany("contact.find_many", "LIMIT \(Device.maximumOfContact + 1)")

  /// The contacts `$2` with their oldest devices, as many as are told.
  static let findOldest = findMany("contact.find_oldest", "ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)")

  private static func findMany(_ name: String, _ choice: String) -> Statement {
    Statement(
      name, .read,
      """
      SELECT i.ordinal, 0::int2, \(ContactColumns.sql(contact: "c", device: "d"))
      FROM unnest($2::text[]) WITH ORDINALITY AS i(original_id, ordinal)
      CROSS JOIN LATERAL (
        SELECT * FROM contact WHERE customer_id = $1::bigint AND original_id = i.original_id LIMIT 1
      ) c
      LEFT JOIN LATERAL (
        SELECT * FROM device
        WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = ANY ($3::bigint[])
        \(choice)
      ) d ON true
      """)
  }

  /// Merges the properties `$3` into those of the contact `$2`, unless that changes nothing. Returns whether there is one. Locks
  /// the contact.
  static let mergeProperties = Statement(
    "contact.merge_properties", .write,
    """
    WITH merged AS (
      UPDATE contact SET properties = merged_properties(properties, $3::json), updated_at = now()
      WHERE customer_id = $1::bigint AND original_id = $2::text
        AND merged_properties(properties, $3::json)::text <> properties::text)
    SELECT EXISTS (SELECT FROM contact WHERE customer_id = $1::bigint AND original_id = $2::text)
    """)

  /// In the order of registrations, so that none waits for the other in a circle. Returns those that were not there.
  static let add = Statement(
    "contact.add", .write,
    """
    INSERT INTO contact (customer_id, original_id)
    SELECT $1::bigint, named.original_id FROM unnest($2::text[]) AS named (original_id) ORDER BY named.original_id COLLATE "C"
    ON CONFLICT (customer_id, original_id) DO NOTHING
    RETURNING contact_id
    """)

  static let all: [Statement] = [find, findMany, findOldest, add, mergeProperties]
}
