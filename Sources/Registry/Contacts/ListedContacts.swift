import FoundationEssentials
public import Postgres
package import Wire

/// A contact on a list, and whether it can be reached.
package struct ListedContact: Sendable {
  package let contact: ContactDetails
  /// Since when it has got no marketing; `nil` if it does.
  package let unsubscribedAt: Timestamp?
  /// Since when it has had no valid device; `nil` if it has one, or never had.
  package let bouncedAt: Timestamp?

  fileprivate init(_ row: Row) throws {
    contact = try row.reply()
    unsubscribedAt = (try row.get("unsubscribed_at") as Date?).map(Timestamp.init)
    bouncedAt = (try row.get("bounced_at") as Date?).map(Timestamp.init)
  }
}

/// Reads lists as Carma's API shows them: with what suppressions stop, and who has no valid device.
public struct ListedContacts: Sendable {
  /// Which contacts of a list.
  package enum Kind: String, CaseIterable, Sendable { case all, unsubscribed, bounced }

  /// Most contacts of a page.
  package static let mostOfPage = 1000

  private let database: any Querying
  private let slowReads: any Querying
  private let key: SuppressionKey

  /// - Parameter slowReads: for what reads many contacts.
  public init(_ database: any Querying, slowReads: any Querying, key: SuppressionKey) {
    self.database = database
    self.slowReads = slowReads
    self.key = key
  }

  /// The contact, if it is on the list.
  /// - Throws: `RegistryError.numberUnknown`, `.contactUnknown`.
  package func find(_ customer: CustomerID, _ list: ListID, _ originalID: String) async throws -> ListedContact {
    _ = try await known(customer, list)
    guard !originalID.utf8.contains(0),
      let row = try await database.query(
        ListedContactQueries.find, customer.rawValue, list.rawValue, originalID, key.inner, key.outer
      ).first
    else { throw RegistryError.contactUnknown(originalID: originalID) }
    return try ListedContact(row)
  }

  /// Contacts of a list by number, from behind one of them. Where their properties are large, there are fewer than asked for.
  /// - Parameters:
  ///   - email: only those with this address; `nil` for all.
  ///   - hasProperties: whether their properties are read.
  /// - Throws: `RegistryError.numberUnknown`.
  package func page(
    _ customer: CustomerID, _ list: ListID, _ kind: Kind, after: Int64, limit: Int, email: String?, hasProperties: Bool
  ) async throws -> [ListedContact] {
    _ = try await known(customer, list)
    guard email?.utf8.contains(0) != true else { return [] }
    return try await slowReads.query(
      ListedContactQueries.page(kind), customer.rawValue, list.rawValue, max(after, 0), email, Int64(limit),
      hasProperties, key.inner, key.outer
    ).map { try ListedContact($0) }
  }

  /// How many contacts are on each list; `nil` if that takes more than ten seconds.
  package func counts(_ customer: CustomerID) async throws -> [ListID: Int]? {
    try await unlessSlow { database in
      Dictionary(
        try await database.query(ListedContactQueries.counts, customer.rawValue).map { row in
          let (list, count) = try row.decode(Int64.self, Int.self)
          return (ListID(list), count)
        }, uniquingKeysWith: { $1 })
    }
  }

  /// The list, and how many of its contacts can be reached how; `nil` for those if that takes more than ten seconds.
  /// - Throws: `RegistryError.numberUnknown`.
  package func show(
    _ customer: CustomerID, _ list: ListID
  ) async throws -> (list: ListReply, breakdown: CarmaList.Breakdown?) {
    let reply = try await known(customer, list)
    let breakdown = try await unlessSlow { database in
      CarmaList.Breakdown(
        Dictionary(
          try await database.query(
            ListedContactQueries.breakdown, customer.rawValue, list.rawValue, key.inner, key.outer
          ).map { row in
            let (name, contacts, unsubscribed, bounced) = try row.decode(String.self, Int.self, Int.self, Int.self)
            return (name, CarmaList.Channel(contacts: contacts, unsubscribed: unsubscribed, bounced: bounced))
          }, uniquingKeysWith: { $1 }))
    }
    return (reply, breakdown)
  }

  /// The properties of the contacts that were added last, by name, and whether all of their values are whole numbers.
  package func properties(_ customer: CustomerID) async throws -> [(name: String, isInteger: Bool)] {
    try await slowReads.query(ListedContactQueries.properties, customer.rawValue).map {
      try $0.decode(String.self, Bool.self)
    }
  }

  private func known(_ customer: CustomerID, _ list: ListID) async throws -> ListReply {
    guard let reply = try await ContactLists(database).find(customer, list) else {
      throw RegistryError.numberUnknown("list")
    }
    return reply
  }

  private func unlessSlow<Answer: Sendable>(
    _ count: (any Querying) async throws -> Answer
  ) async throws -> Answer? {
    do {
      return try await count(slowReads.limited(to: .seconds(10)))
    } catch let error where [.tooSlow, .timedOut].contains(DatabaseUnavailable(error)) {
      return nil
    }
  }
}

/// Statements on the contacts of a list `$2`, for Carma's API.
enum ListedContactQueries {
  /// Most bytes of properties before the last contact of a page.
  private static let mostProperties = 8 * 1024 * 1024
  /// How many contacts are looked at for names of properties.
  private static let lookedAt = 1000

  /// Since when the contact of the row `contact` has had no valid device.
  private static let bounced = """
    (SELECT max(invalidated_at) FROM device
      WHERE customer_id = $1::bigint AND contact_id = contact.contact_id
     HAVING count(*) FILTER (WHERE invalidated_at IS NULL) = 0)
    """

  /// The contact `$3`. `$4` and `$5` are the pads of the key of suppressions.
  static let find = Statement(
    "list.find_contact", .read,
    """
    SELECT \(ContactSearchQueries.columns), properties,
           \(SuppressionSQL.since(ofContact: "contact.original_id", key: 4)) AS unsubscribed_at,
           \(bounced) AS bounced_at
      FROM contact
     WHERE customer_id = $1::bigint AND original_id = $3::text
       AND EXISTS (SELECT FROM list_member
                    WHERE list_member.customer_id = $1::bigint AND list_id = $2::bigint
                      AND list_member.contact_id = contact.contact_id)
    """)

  static func page(_ kind: ListedContacts.Kind) -> Statement {
    switch kind {
    case .all: everybody
    case .unsubscribed: unsubscribed
    case .bounced: withoutDevice
    }
  }

  private static let everybody = page("list.carma_all", where: "true")
  private static let unsubscribed = page("list.carma_unsubscribed", where: "reached.unsubscribed_at IS NOT NULL")
  private static let withoutDevice = page("list.carma_bounced", where: "reached.bounced_at IS NOT NULL")

  /// From behind the contact `$3`, only those with the address `$4`, at most `$5`, with properties if `$6`. `$7` and `$8` are the pads. The
  /// LATERAL look-up keeps the order of the list's index, so that a page reads as far as it goes.
  private static func page(_ name: String, where condition: String) -> Statement {
    Statement(
      name, .read,
      """
      SELECT \(ContactSearchQueries.columns), properties, unsubscribed_at, bounced_at
        FROM (SELECT found.*,
                     coalesce(sum(octet_length(properties::text)) OVER (
                       ORDER BY contact_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
                FROM (SELECT contact.contact_id, contact.original_id, contact.date_of_birth, contact.created_at, contact.updated_at,
                             \(ContactField.allCases.map { "contact.\($0.column)" }.joined(separator: ", ")),
                             CASE WHEN $6::boolean THEN contact.properties END AS properties,
                             reached.unsubscribed_at, reached.bounced_at
                        FROM list_member m
                       CROSS JOIN LATERAL (SELECT * FROM contact
                                            WHERE customer_id = $1::bigint AND contact_id = m.contact_id LIMIT 1) AS contact
                       CROSS JOIN LATERAL (SELECT \(SuppressionSQL.since(ofContact: "contact.original_id", key: 7)) AS unsubscribed_at,
                                                  \(bounced) AS bounced_at
                                           OFFSET 0) AS reached
                       WHERE m.customer_id = $1::bigint AND (m.list_id, m.contact_id) > ($2::bigint, $3::bigint)
                         AND m.list_id <= $2::bigint
                         AND ($4::text IS NULL OR contact.email_address = $4::text)
                         AND \(condition)
                       ORDER BY m.list_id, m.contact_id
                       LIMIT $5::bigint) AS found) AS contact
       WHERE bytes_before < \(mostProperties)
       ORDER BY contact_id
      """)
  }

  static let counts = Statement(
    "list.counts", .read,
    "SELECT list_id, count(*) FROM list_member WHERE customer_id = $1::bigint GROUP BY list_id")

  /// `$3` and `$4` are the pads.
  static let breakdown = Statement(
    "list.breakdown", .read,
    """
    SELECT channel.name, count(*), count(*) FILTER (WHERE reached.unsubscribed), count(*) FILTER (WHERE channel.bounced)
      FROM list_member m
     CROSS JOIN LATERAL (SELECT * FROM contact WHERE customer_id = $1::bigint AND contact_id = m.contact_id LIMIT 1) AS contact
     CROSS JOIN LATERAL (SELECT \(SuppressionSQL.since(ofContact: "contact.original_id", key: 3)) IS NOT NULL AS unsubscribed
                         OFFSET 0) AS reached
     CROSS JOIN LATERAL (
       SELECT 'all' AS name, \(bounced) IS NOT NULL AS bounced
       UNION ALL
       SELECT 'email', false WHERE contact.email_address IS NOT NULL
       UNION ALL
       SELECT 'mobile', false WHERE contact.mobile_number IS NOT NULL
       UNION ALL
       SELECT \(platform), bool_and(d.invalidated_at IS NOT NULL)
         FROM device d
         JOIN push_app a ON a.customer_id = d.customer_id AND a.push_app_id = d.push_app_id
        WHERE d.customer_id = $1::bigint AND a.customer_id = $1::bigint AND d.contact_id = contact.contact_id
          AND a.app_type <> \(AppType.sms.rawValue)
        GROUP BY 1) AS channel
     WHERE m.customer_id = $1::bigint AND m.list_id >= $2::bigint AND m.list_id <= $2::bigint
     GROUP BY channel.name
    """)

  /// The name of a platform in `CarmaList.Breakdown`.
  private static let platform = """
    CASE WHEN a.app_type = \(AppType.ios.rawValue) THEN 'ios' WHEN a.app_type = \(AppType.windows.rawValue) THEN 'windowsPush'
         WHEN a.app_type = \(AppType.web.rawValue) THEN 'web' ELSE 'android' END
    """

  static let properties = Statement(
    "contact.property_names", .read,
    """
    SELECT property.key, bool_and(property.value::text ~ '^-?[0-9]+$')
      FROM (SELECT properties FROM contact
             WHERE customer_id = $1::bigint ORDER BY contact_id DESC LIMIT \(lookedAt)) AS latest
     CROSS JOIN LATERAL json_each(latest.properties) AS property
     GROUP BY property.key
     ORDER BY property.key COLLATE "C"
    """)

  static let all: [Statement] = [find, everybody, unsubscribed, withoutDevice, counts, breakdown, properties]
}
