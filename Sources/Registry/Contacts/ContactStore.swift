public import Postgres
package import Wire

/// Shows and changes single contacts and devices for people who manage them. Apps register theirs by `RegistrationBatcher`.
public struct ContactStore: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The contact with its properties and devices.
  /// - Throws: `RegistryError.contactUnknown`.
  package func find(_ customer: CustomerID, _ originalID: String) async throws -> ContactDetails {
    try await contact(ContactStoreQueries.find, customer, originalID)
  }

  /// The customer's own id of the contact of this number.
  /// - Throws: `RegistryError.numberUnknown`.
  package func originalID(_ customer: CustomerID, of id: ContactID) async throws -> String {
    guard let row = try await database.query(ContactStoreQueries.originalID, customer.rawValue, id.rawValue).first
    else {
      throw RegistryError.numberUnknown("contact")
    }
    return try row.decode(String.self)
  }

  /// Changes fields of a contact. The caller has to run it in a transaction, as it locks the row.
  /// - Throws: `RegistryError.contactUnknown`, `.invalid`; `JSONProblem`.
  package func change(
    _ customer: CustomerID, _ originalID: String, _ request: ContactRequest
  ) async throws -> (before: ContactDetails, after: ContactDetails) {
    let checked = try CheckedContact(request)
    let before = try await contact(ContactStoreQueries.lock, customer, originalID)
    return (before, try await write(customer, before, checked, replaces: false))
  }

  /// Makes a contact what the request says, and adds it if there is none. Lists that are absent stay as they are. The caller has to run it in
  /// a transaction, as it locks the row.
  /// - Returns: the contact as it was; `nil` if there was none.
  /// - Throws: `RegistryError.invalid`; `JSONProblem`.
  package func put(
    _ customer: CustomerID, _ originalID: String, _ request: ContactRequest
  ) async throws -> (before: ContactDetails?, after: ContactDetails) {
    let (checked, originalID) = (try CheckedContact(request), try Registration.originalID(originalID))
    let isNew = try await !database.query(ContactQueries.add, customer.rawValue, [originalID]).isEmpty
    let before = try await contact(ContactStoreQueries.lock, customer, originalID)
    let after = try await write(customer, before, checked, replaces: true)
    return (isNew ? nil : before, after)
  }

  /// Merges into a contact of a list what a back end that feeds the list knows of it. The caller has to run it in a transaction, as it locks
  /// the row.
  /// - Parameter makes: whether a contact that is not there is added, and one that is not on the list joins it.
  /// - Throws: `RegistryError.numberUnknown`, `.contactUnknown`, `.invalid`; `JSONProblem`.
  package func merge(
    _ customer: CustomerID, _ originalID: String, _ request: ContactRequest, on list: ListID, makes: Bool
  ) async throws {
    let (checked, originalID) = (try CheckedContact(request), try Registration.originalID(originalID))
    guard try await ContactLists(database).find(customer, list) != nil else {
      throw RegistryError.numberUnknown("list")
    }
    if makes { try await database.query(ContactQueries.add, customer.rawValue, [originalID]) }
    let before = try await contact(ContactStoreQueries.lock, customer, originalID)
    guard makes || before.listIds.contains(list) else { throw RegistryError.contactUnknown(originalID: originalID) }
    let after = try await write(customer, before, checked, replaces: false)
    if !after.listIds.contains(list) {
      try await database.query(
        ContactStoreQueries.setLists, customer.rawValue, after.contactId.rawValue,
        after.listIds.map(\.rawValue) + [list.rawValue])
    }
  }

  private func write(
    _ customer: CustomerID, _ contact: ContactDetails, _ checked: CheckedContact, replaces: Bool
  ) async throws -> ContactDetails {
    let constraints: [String: RegistryError] = [
      "list_member_list_id_fkey": .invalid(field: "listIds", problem: "names a list that this customer does not have"),
      "contact_properties_size": .invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact"),
    ]
    let (customerID, id) = (customer.rawValue, contact.contactId.rawValue)
    try await database.mapViolations(constraints) {
      _ = try await $0.query(
        ContactStoreQueries.change, customerID, id,
        checked.birth ?? (replaces ? .clear : nil), checked.properties.map { JSONDocument($0) },
        replaces ? checked.texts.values.map { $0 ?? "" } : checked.texts.values, replaces)
      if let lists = checked.lists {
        _ = try await $0.query(ContactStoreQueries.setLists, customerID, id, lists.map(\.rawValue))
      }
    }
    return try await find(customer, contact.originalId)
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

  private func contact(
    _ statement: Statement, _ customer: CustomerID, _ originalID: String
  ) async throws -> ContactDetails {
    // No contact can have such an id, and PostgreSQL would refuse it.
    guard !originalID.utf8.contains(0),
      let row = try await database.query(statement, customer.rawValue, originalID).first
    else { throw RegistryError.contactUnknown(originalID: originalID) }
    var contact: ContactDetails = try row.reply()
    contact.devices = try await database.query(
      ContactStoreQueries.devices, customer.rawValue, contact.contactId.rawValue
    ).map { try $0.reply() }
    return contact
  }

  private func device(_ statement: Statement, _ customer: CustomerID, _ id: DeviceID) async throws -> DeviceDetails {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("device")
    }
    return try row.reply()
  }
}

/// What a request says of a contact, checked.
private struct CheckedContact {
  let texts: ContactTexts
  let birth: CalendarDate?
  /// A flat JSON object.
  let properties: String?
  let lists: [ListID]?

  /// - Throws: `RegistryError.invalid`; `JSONProblem`.
  init(_ request: ContactRequest) throws {
    lists = request.listIds
    guard (lists?.count ?? 0) <= ContactRequest.maximumLists else {
      throw RegistryError.invalid(field: "listIds", problem: "names more than \(ContactRequest.maximumLists) lists")
    }
    texts = try ContactTexts { field in try request.texts[field].map(field.checked) }
    birth = try Self.day(request.dateOfBirth)
    properties = try request.propertiesJSON()
  }

  private static func day(_ text: String?) throws(RegistryError) -> CalendarDate? {
    guard let text else { return nil }
    if text.isEmpty { return .clear }
    guard text.utf8.count == 10, text.utf8.contains(UInt8(ascii: "-")), let day = CarmaDate(text)?.day else {
      throw .invalid(field: "dateOfBirth", problem: "must be a day such as 1980-02-29")
    }
    return CalendarDate(days: day - CalendarDate.daysFromUnixEpoch)
  }
}

extension CalendarDate {
  /// What removes a day: infinity.
  fileprivate static let clear = CalendarDate(days: .max)
}

/// Statements on single contacts and devices. Columns have the names of the replies' fields. `$1` is the customer, and `$2` the number, or of
/// contacts that are shown or locked the original id.
enum ContactStoreQueries {
  static let find = contact("contact.show", .read)
  static let lock = contact("contact.lock", .write, "FOR NO KEY UPDATE")

  private static func contact(_ name: String, _ effect: Statement.Effect, _ locking: String = "") -> Statement {
    Statement(
      name, effect,
      """
      SELECT \(ContactSearchQueries.columns), properties FROM contact
       WHERE customer_id = $1::bigint AND original_id = $2::text \(locking)
      """)
  }

  static let originalID = Statement(
    "contact.original_id", .read,
    "SELECT original_id FROM contact WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  /// Merges fields as a registration does: the day `$3`, infinity for none; the properties `$4`; and the texts `$5`, "" for none. NULL keeps
  /// what there is; of properties nothing is kept if `$6`. Writes nothing if nothing changes.
  static let change = Statement(
    "contact.change", .write,
    """
    WITH updated AS (
    UPDATE contact c SET (\(changed.joined(separator: ", "))) = (\(changed.map { "n.\($0)" }.joined(separator: ", "))),
           updated_at = now()
      FROM (SELECT CASE WHEN isfinite(coalesce($3::date, date_of_birth)) THEN coalesce($3::date, date_of_birth) END AS date_of_birth,
                   merged_properties(CASE WHEN $6::boolean THEN '{}' ELSE properties END, coalesce($4::json, '{}')) AS properties,
                   \(ContactField.allCases.map { "nullif(coalesce(($5::text[])[\($0.rawValue + 1)], \($0.column)), '') AS \($0.column)" }
                     .joined(separator: ",\n               "))
              FROM contact
             WHERE customer_id = $1::bigint AND contact_id = $2::bigint) AS n
     WHERE c.customer_id = $1::bigint AND c.contact_id = $2::bigint
       AND (\(compared("c"))) IS DISTINCT FROM (\(compared("n")))
    RETURNING c.contact_id)
    \(EventSQL.note(.contactUpdated, of: "updated", contact: "contact_id"))
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
      RETURNING device_id, contact_id),
    event AS (
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
      SELECT $1::bigint, device_id, contact_id, 'invalidated', '\(DeviceDetails.retired)', $3::bigint FROM retired
      RETURNING device_id, contact_id, kind, reason)
    \(DeviceQueries.invalidated)
    """)

  static let all: [Statement] = [find, lock, originalID, change, setLists, devices, device, lockDevice, retire]
}
