package import Wire

/// How statements of the customer `$1` that merge many rows at once find and write contacts. All arguments are SQL.
///
/// A row has `original_id`, `texts` (in the order of `ContactField`), `date_of_birth` and `properties`, as a registration's parameters have them:
/// NULL leaves a field as it is, "" and an infinite date clear it. Properties are texts mostly, as cells of a file are: one that says what a number
/// or a boolean of the contact says leaves that as it is.
package enum ContactMerge {
  private static let columns = ContactField.allCases.map(\.column)
  private static let fields = ContactField.allCases

  private static func text(_ field: ContactField, of row: String) -> String { "\(row).texts[\(field.rawValue + 1)]" }

  /// A subquery with the contact that a row is about: its columns, and how many contacts the row fits. It has no row if there is none.
  ///
  /// It looks for the original id where neither e-mail address nor number leads to a contact.
  /// - Parameters:
  ///   - key: an original id, an e-mail address in lower case, or the digits of a number without zeros before them.
  ///   - originalID: the original id that the row names, or NULL.
  package static func contact(by identity: ImportIdentity, _ key: String, originalID: String) -> String {
    let columns =
      "contact_id, original_id, updated_at, date_of_birth, properties, \(Self.columns.joined(separator: ", "))"
    func one(_ id: String) -> String {
      """
      SELECT \(columns), 1::bigint AS matches FROM contact
                 WHERE customer_id = $1::bigint AND original_id = \(id) LIMIT 1
      """
    }
    func first(_ search: SearchKey) -> String {
      """
      SELECT * FROM (
                SELECT * FROM (
                  SELECT found.*, count(*) OVER () AS matches FROM (
                    SELECT \(columns) FROM contact
                     WHERE customer_id = $1::bigint AND \(search.sql) = \(key) AND \(search.condition) LIMIT 2) AS found
                   LIMIT 1) AS by_key
                UNION ALL
                SELECT * FROM (\(one(originalID))) AS by_original_id) AS either LIMIT 1
      """
    }
    return switch identity {
    case .originalId: one(key)
    case .emailAddress: first(.emailAddress)
    case .mobileNumber: first(.mobileNumber)
    }
  }

  /// Whether a row would change nothing of its contact.
  package static func isUnchanged(_ contact: String, by row: String) -> String {
    """
    ((\(row).date_of_birth IS NULL OR \(row).date_of_birth = coalesce(\(contact).date_of_birth, 'infinity'))
        \(fields.map { "AND (\(text($0, of: row)) IS NULL OR \(text($0, of: row)) = coalesce(\(contact).\($0.column), ''))" }
          .joined(separator: "\n    "))
        AND (\(row).properties IS NULL
          OR imported_properties(\(contact).properties, \(row).properties)::text = \(contact).properties::text))
    """
  }

  /// Whether the contact would have more properties than it may.
  package static func isTooLarge(_ contact: String, by row: String) -> String {
    // Together they are shorter than one after the other, which costs less to tell than merging them.
    """
    (\(row).properties IS NOT NULL
          AND octet_length(coalesce(\(contact).properties::text, '')) + octet_length(\(row).properties::text)
            > \(Contact.maximumPropertiesSize)
          AND octet_length(imported_properties(coalesce(\(contact).properties, '{}'), \(row).properties)::text)
            > \(Contact.maximumPropertiesSize))
    """
  }

  /// Merges rows into contacts that were not written since a moment, and dates them to that moment. So of two files that are merged at the same
  /// time the later one wins, whichever ends first.
  /// - Parameter rows: a query that has a row for each contact, in the order of original ids.
  package static func update(by rows: String, asOf moment: String) -> String {
    """
    UPDATE contact c SET
          date_of_birth = CASE WHEN isfinite(coalesce(r.date_of_birth, c.date_of_birth))
            THEN coalesce(r.date_of_birth, c.date_of_birth) END,
          properties = CASE WHEN r.properties IS NULL THEN c.properties ELSE imported_properties(c.properties, r.properties) END,
          \(fields.map { "\($0.column) = nullif(coalesce(\(text($0, of: "r")), c.\($0.column)), '')" }.joined(separator: ",\n      ")),
          updated_at = \(moment)
        FROM (\(rows)) r
        WHERE c.customer_id = $1::bigint AND c.original_id = r.original_id AND c.updated_at <= \(moment)
        RETURNING c.contact_id
    """
  }

  /// Adds contacts. If another transaction has added one of them meanwhile, the statement fails with a unique violation: to pass over that one
  /// would cost a tenth more (`ON CONFLICT` looks each contact up once more, and marks its row twice).
  /// - Parameter rows: a query, in the order of original ids, whose rows have `contact_id`, too.
  package static func insert(_ rows: String, asOf moment: String) -> String {
    """
    INSERT INTO contact (customer_id, contact_id, original_id, date_of_birth, properties, updated_at, \(columns.joined(separator: ", ")))
        SELECT $1::bigint, r.contact_id, r.original_id, nullif(r.date_of_birth, 'infinity'),
          coalesce(merged_properties('{}', r.properties), '{}'), \(moment),
          \(fields.map { "nullif(\(text($0, of: "r")), '')" }.joined(separator: ", "))
        FROM (\(rows)) r
        RETURNING contact_id
    """
  }

  /// The number of a new contact. It stands in a step of its own, as Citus wants it.
  package static let nextNumber = "nextval('contact_contact_id_seq')"

  /// Locks contacts against being erased, so that they can join something, and gives those that are still there.
  /// - Parameter rows: a query of original ids, in their order.
  package static func hold(_ rows: String) -> String {
    """
    SELECT c.contact_id FROM (\(rows)) r
        CROSS JOIN LATERAL (
          SELECT contact_id FROM contact WHERE customer_id = $1::bigint AND original_id = r.original_id LIMIT 1 FOR KEY SHARE) c
    """
  }
}

/// A table of the contacts that belong to something, such as a list, in statements of the customer `$1`. All arguments are SQL.
package struct MemberTable: Sendable {
  private let table: String
  private let number: String

  /// - Parameter table: of what contacts belong to; that of its members is called after it.
  package init(_ table: String) { (self.table, number) = ("\(table)_member", "\(table)_id") }

  package static let list = MemberTable("list")

  /// - Parameter range: what the contact's number meets in any case, as in `BETWEEN 1 AND 9`: so the planner knows it of the members, too.
  package func isMember(_ contact: String, of whole: String, within range: String? = nil) -> String {
    """
    EXISTS (SELECT FROM \(table)
            WHERE \(table).customer_id = $1::bigint AND \(table).\(number) = \(whole) AND \(table).contact_id = \(contact)
              \(range.map { "AND \(table).contact_id \($0)" } ?? ""))
    """
  }

  /// - Parameters:
  ///   - contacts: a query of contacts' numbers, each locked or made in the same statement.
  ///   - areNew: whether all of them are made in it. Nobody else can have added them to anything.
  package func join(_ whole: String, _ contacts: String, areNew: Bool = false) -> String {
    """
    INSERT INTO \(table) (customer_id, \(number), contact_id)
        SELECT $1::bigint, \(whole), joining.contact_id FROM (\(contacts)) AS joining WHERE \(whole) IS NOT NULL
        \(areNew ? "" : "ON CONFLICT DO NOTHING")
    """
  }
}
