public import Postgres
package import Wire

/// Shows and changes single contacts and devices for people who manage them. Apps register theirs by `RegistrationBatcher`.
public struct ContactStore: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The contact with its properties and devices.
  /// - Throws: `RegistryError.numberUnknown`.
  package func find(_ customer: CustomerID, _ id: ContactID) async throws -> ContactDetails {
    try await contact(ContactStoreQueries.find, customer, id)
  }

  /// Changes fields of a contact. The caller has to run it in a transaction, as it locks the row.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`; `JSONProblem`.
  package func change(
    _ customer: CustomerID, _ id: ContactID, _ request: ContactRequest
  ) async throws -> (before: ContactDetails, after: ContactDetails) {
    let texts = try ContactTexts { field in try request.texts[field].map(field.checked) }
    guard (request.listIds?.count ?? 0) <= ContactRequest.maximumLists else {
      throw RegistryError.invalid(
        field: "listIds", problem: "names more than \(ContactRequest.maximumLists) lists")
    }
    let (birth, properties) = (try Self.day(request.dateOfBirth), try request.propertiesJSON())
    let before = try await contact(ContactStoreQueries.lock, customer, id)
    let constraints: [String: RegistryError] = [
      "list_member_list_id_fkey": .invalid(field: "listIds", problem: "names a list that this customer does not have"),
      "contact_properties_size": .invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact"),
    ]
    try await database.mapViolations(constraints) {
      _ = try await $0.query(
        ContactStoreQueries.change, customer.rawValue, id.rawValue, birth, properties.map { JSONDocument($0) },
        texts.values)
      if let lists = request.listIds {
        _ = try await $0.query(
          ContactStoreQueries.setLists, customer.rawValue, id.rawValue, lists.map(\.rawValue))
      }
    }
    return (before, try await find(customer, id))
  }

  /// Sends nothing more to a device until it registers again. A device that is invalid already stays as it is. The caller has to run it in
  /// a transaction, as it locks the row.
  /// - Parameter key: the access key of the request.
  /// - Throws: `RegistryError.numberUnknown`.
  package func retire(
    _ customer: CustomerID, _ id: DeviceID, by key: AccessKeyID?
  ) async throws -> (before: DeviceDetails, after: DeviceDetails) {
    let before = try await device(ContactStoreQueries.lockDevice, customer, id)
    guard before.invalidatedAt == nil else { return (before, before) }
    try await database.query(ContactStoreQueries.retire, customer.rawValue, id.rawValue, key?.rawValue)
    return (before, try await device(ContactStoreQueries.device, customer, id))
  }

  private func contact(_ statement: Statement, _ customer: CustomerID, _ id: ContactID) async throws -> ContactDetails {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("contact")
    }
    var contact: ContactDetails = try row.reply()
    contact.devices = try await database.query(ContactStoreQueries.devices, customer.rawValue, id.rawValue).map {
      try $0.reply()
    }
    return contact
  }

  private func device(_ statement: Statement, _ customer: CustomerID, _ id: DeviceID) async throws -> DeviceDetails {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("device")
    }
    return try row.reply()
  }

  /// What a statement gets for a day: infinity removes it.
  private static func day(_ text: String?) throws(RegistryError) -> CalendarDate? {
    guard let text else { return nil }
    if text.isEmpty { return CalendarDate(days: .max) }
    guard text.utf8.count == 10, text.utf8.contains(UInt8(ascii: "-")), let day = CarmaDate(text)?.day else {
      throw .invalid(field: "dateOfBirth", problem: "must be a day such as 1980-02-29")
    }
    return CalendarDate(days: day - CalendarDate.daysFromUnixEpoch)
  }
}

/// Statements on single contacts and devices. Columns have the names of the replies' fields. `$1` is the customer, and `$2` the number.
enum ContactStoreQueries {
  static let find = contact("contact.show", .read)
  static let lock = contact("contact.lock", .write, "FOR NO KEY UPDATE")

  private static func contact(_ name: String, _ effect: Statement.Effect, _ locking: String = "") -> Statement {
    Statement(
      name, effect,
      """
      SELECT \(ContactSearchQueries.columns), properties FROM contact
       WHERE customer_id = $1::bigint AND contact_id = $2::bigint \(locking)
      """)
  }

  /// Merges fields as a registration does: the day `$3`, infinity for none; the properties `$4`; and the texts `$5`, "" for none. NULL keeps
  /// what there is. Writes nothing if nothing changes.
  static let change = Statement(
    "contact.change", .write,
    """
    UPDATE contact c SET (\(changed.joined(separator: ", "))) = (\(changed.map { "n.\($0)" }.joined(separator: ", "))),
           updated_at = now()
      FROM (SELECT CASE WHEN isfinite(coalesce($3::date, date_of_birth)) THEN coalesce($3::date, date_of_birth) END AS date_of_birth,
                   CASE WHEN $4::json IS NULL THEN properties ELSE merged_properties(properties, $4::json) END AS properties,
                   \(ContactField.allCases.map { "nullif(coalesce(($5::text[])[\($0.rawValue + 1)], \($0.column)), '') AS \($0.column)" }
                     .joined(separator: ",\n               "))
              FROM contact
             WHERE customer_id = $1::bigint AND contact_id = $2::bigint) AS n
     WHERE c.customer_id = $1::bigint AND c.contact_id = $2::bigint
       AND (\(compared("c"))) IS DISTINCT FROM (\(compared("n")))
    """)

  /// Puts the contact, whose row is locked, on the lists `$3`, and takes it off all others.
  static let setLists = Statement(
    "contact.set_lists", .write,
    """
    WITH gone AS (
      DELETE FROM list_member
       WHERE customer_id = $1::bigint AND contact_id = $2::bigint AND list_id <> ALL ($3::bigint[])
      RETURNING list_id),
    joined AS (
      INSERT INTO list_member (customer_id, list_id, contact_id)
      SELECT DISTINCT $1::bigint, list_id, $2::bigint FROM unnest($3::bigint[]) AS wanted (list_id)
      ON CONFLICT DO NOTHING
      RETURNING list_id)
    UPDATE contact SET updated_at = now()
     WHERE customer_id = $1::bigint AND contact_id = $2::bigint
       AND (EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM joined))
    """)

  private static let changed = ["date_of_birth", "properties"] + ContactField.allCases.map(\.column)

  /// JSON has no equality of its own.
  private static func compared(_ alias: String) -> String {
    changed.map { $0 == "properties" ? "\(alias).\($0)::text" : "\(alias).\($0)" }.joined(separator: ", ")
  }

  private static let deviceColumns = """
    d.device_id, d.contact_id, a.app_id, a.app_type, d.sandbox, d.manufacturer, d.model, d.os_version, d.country, d.time_zone, d.locale,
      d.registered_at, d.invalidated_at, d.invalidation_reason
    """

  /// The devices of the contact, the oldest first. The sum is why the planner does not read all of the customer's devices.
  static let devices = Statement(
    "device.of_contact", .read,
    """
    SELECT \(deviceColumns)
      FROM device d
      JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
     WHERE d.customer_id = $1::bigint AND a.customer_id = $1::bigint AND d.contact_id = $2::bigint
     ORDER BY d.device_id + 0 LIMIT \(Device.maximumOfContact)
    """)

  static let device = oneDevice("device.show", .read)
  static let lockDevice = oneDevice("device.lock", .write, "FOR NO KEY UPDATE OF d")

  private static func oneDevice(_ name: String, _ effect: Statement.Effect, _ locking: String = "") -> Statement {
    Statement(
      name, effect,
      """
      SELECT \(deviceColumns)
        FROM device d
        JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
       WHERE d.customer_id = $1::bigint AND a.customer_id = $1::bigint AND d.device_id = $2::bigint \(locking)
      """)
  }

  /// `$3` is the access key.
  static let retire = Statement(
    "device.retire_by_hand", .write,
    """
    WITH retired AS (
      UPDATE device
         SET invalidated_at = now(), invalidation_type = \(InvalidationType.byAppOrUser.rawValue),
             invalidation_reason = '\(DeviceDetails.retired)'
       WHERE customer_id = $1::bigint AND device_id = $2::bigint AND invalidated_at IS NULL
      RETURNING device_id, contact_id)
    INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
    SELECT $1::bigint, device_id, contact_id, 'invalidated', '\(DeviceDetails.retired)', $3::bigint FROM retired
    """)

  static let all: [Statement] = [find, lock, change, setLists, devices, device, lockDevice, retire]
}
