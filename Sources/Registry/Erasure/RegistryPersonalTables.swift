package import Postgres
package import Wire

/// What this room's tables hold of a person.
package enum RegistryPersonalTables {
  /// The contact comes last: whoever adds something of it locks its row.
  package static let all: [PersonalTable] = [
    PersonalTable(
      "device_event", .inPortions(deleteEvents),
      showing: """
        SELECT device_id, kind, reason, at FROM device_event
         WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY device_event_id
        """),
    PersonalTable(
      "audit_log", .inPortions(eraseAudit),
      showing: """
        SELECT at, action, target, before, after FROM audit_log
         WHERE customer_id = $1::bigint
           AND audit_line_may_name(target, before, after, $3::text[])
           AND num_nonnulls(erased_target(target, $3::text[]), erased_json(before, $3::text[]), erased_json(after, $3::text[])) > 0
         ORDER BY audit_log_id
        """),
    PersonalTable("idempotent_reply", .inPortions(emptyReplies)),
    PersonalTable(
      "device", .atOnce(deleteDevices),
      showing: """
        SELECT device_id, token, sandbox, manufacturer, model, os_version, country, time_zone, locale, created_at, registered_at,
               invalidated_at, invalidation_type, invalidation_reason,
               (SELECT app_id FROM push_app AS a WHERE a.customer_id = $1::bigint AND a.push_app_id = device.push_app_id) AS app_id
          FROM device WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY device_id + 0
        """),
    PersonalTable(
      "list_member", .atOnce(deleteMemberships),
      showing: """
        SELECT list_id, added_at FROM list_member WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY list_id
        """),
    PersonalTable(
      "contact", .atOnce(deleteContact),
      showing: """
        SELECT contact_id, original_id, \(ContactField.allCases.map(\.column).joined(separator: ", ")), date_of_birth, properties,
               created_at, updated_at
          FROM contact WHERE customer_id = $1::bigint AND contact_id = $2::bigint
        """),
    PersonalTable("customer", .stays("It is about the customer.")),
    PersonalTable("access_key", .stays("It is about back ends and apps.")),
    PersonalTable("hub_secret", .stays("It has the hub's secrets.")),
    PersonalTable("push_app", .stays("It is about apps.")),
    PersonalTable("push_credential", .stays("It has apps' credentials.")),
    PersonalTable("provider_token", .stays("It has the hub's own tokens of push services.")),
    PersonalTable("list", .stays("It names lists.")),
    PersonalTable("suppression", .stays("It has keyed hashes, and goes on after the person is erased.")),
    PersonalTable("console_user", .stays("It is about the customer's staff.")),
    PersonalTable("membership", .stays("It is about the customer's staff.")),
    PersonalTable("console_session", .stays("It is about the customer's staff.")),
    PersonalTable("password_link", .stays("It is about the customer's staff.")),
    PersonalTable("sign_in_attempt", .stays("It is about the customer's staff.")),
  ]

  private static let deleteEvents = Statement(
    "erasure.device_event", .write,
    PersonalTable.delete(
      from: "device_event", by: "contact_id, device_event_id, at", where: "contact_id = $2::bigint"))

  private static let eraseAudit = Statement(
    "erasure.audit_log", .write,
    """
    SELECT CASE WHEN line IS NOT NULL THEN ARRAY[line, 0] END
      FROM erase_from_audit_log($1::bigint, $5::bigint, ($4::bigint[])[1], \(PersonalTable.portion)) AS line
     WHERE \(PersonalTable.parameters)
    """)

  /// Replies are sealed, so nobody can see which of them name the person. An empty one is refused as lost, so no request runs twice.
  private static let emptyReplies = Statement(
    "erasure.idempotent_reply", .write,
    """
    WITH emptied AS (
      UPDATE idempotent_reply SET body = ''
       WHERE customer_id = $1::bigint AND \(PersonalTable.parameters) AND idempotency_key IN (
         SELECT idempotency_key FROM idempotent_reply
          WHERE customer_id = $1::bigint AND status <> 0 AND body <> ''
            AND created_at <= (SELECT created_at FROM erasure WHERE customer_id = $1::bigint AND erasure_id = $5::bigint)
          LIMIT \(PersonalTable.portion))
      RETURNING 1)
    SELECT CASE WHEN (SELECT count(*) FROM emptied) > 0 THEN $4::bigint[] END
    """)

  /// Locks the devices in the order of registrations.
  private static let deleteDevices = Statement(
    "erasure.device", .write,
    """
    WITH held AS MATERIALIZED (
      SELECT device_id FROM device WHERE customer_id = $1::bigint AND contact_id = $2::bigint
       ORDER BY push_app_id, token_key FOR UPDATE)
    DELETE FROM device WHERE customer_id = $1::bigint AND device_id IN (SELECT device_id FROM held)
    """)

  private static let deleteMemberships = Statement(
    "erasure.list_member", .write,
    "DELETE FROM list_member WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  private static let deleteContact = Statement(
    "erasure.contact", .write, "DELETE FROM contact WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  package static let statements =
    all.flatMap(\.statements) + [PersonQueries.find, PersonQueries.lock, PersonQueries.missing]
}

/// Somebody whose data is shown or erased.
package struct Person: Sendable {
  package let contact: ContactID
  /// What names the person: the original id first, then address, numbers in all forms, and tokens. A first and a last name are many people's.
  package let names: [String]

  /// - Parameter isLocking: for a transaction that erases the contact.
  /// - Returns: `nil` if the customer has no such contact.
  package static func find(
    _ customer: CustomerID, _ originalID: String, locking isLocking: Bool = false, in database: any Querying
  ) async throws -> Person? {
    guard !originalID.utf8.contains(0),
      let row = try await database.query(
        isLocking ? PersonQueries.lock : PersonQueries.find, customer.rawValue, originalID
      ).first
    else { return nil }
    let (contact, texts, tokens) = try row.decode(Int64.self, [String].self, [String].self)
    var names: [String] = []
    func add(_ name: String) {
      if !name.isEmpty, !names.contains(where: { $0.hasSameBytes(as: name) }) { names.append(name) }
    }
    for text in [originalID] + texts + tokens {
      add(text)
      guard let number = PhoneNumber(text) else { continue }
      for form in [number.digits, "00" + number.digits, "+" + number.digits] { add(form) }
    }
    return Person(contact: ContactID(contact), names: names)
  }

  /// Those of the contacts that are not there: they were erased, as nothing else removes one.
  package static func missing(
    _ customer: CustomerID, _ contacts: some Sequence<ContactID>, in database: any Querying
  ) async throws -> Set<ContactID> {
    let rows = try await database.query(
      PersonQueries.missing, customer.rawValue, Array(Set(contacts.map(\.rawValue))))
    return Set(try rows.map { ContactID(try $0.decode(Int64.self)) })
  }
}

enum PersonQueries {
  static let find = person("person.find", .read)
  static let lock = person("person.lock", .write, "FOR UPDATE")

  private static func person(_ name: String, _ effect: Statement.Effect, _ locking: String = "") -> Statement {
    Statement(
      name, effect,
      """
      SELECT contact_id,
             array_remove(ARRAY[email_address, lower(email_address), mobile_number], NULL),
             ARRAY(SELECT token FROM device WHERE device.customer_id = $1::bigint AND device.contact_id = contact.contact_id)
        FROM contact WHERE customer_id = $1::bigint AND original_id = $2::text \(locking)
      """)
  }

  static let missing = Statement(
    "person.missing", .read,
    """
    SELECT wanted.contact_id FROM unnest($2::bigint[]) AS wanted (contact_id)
     WHERE NOT EXISTS (SELECT FROM contact WHERE customer_id = $1::bigint AND contact_id = wanted.contact_id)
    """)
}
