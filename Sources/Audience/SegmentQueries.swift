import Postgres
package import Registry

/// Statements on `segment`, and those whose text each filter makes. `$1` is the customer.
enum SegmentQueries {
  /// The segments with the numbers `$2` or the names `$3`, locked against removal until the transaction ends.
  static let named = Statement("segment.named", .write, select + " FOR KEY SHARE")
  /// The segments with the numbers `$2` or the names `$3`, for what only reads.
  static let read = Statement("segment.read", .read, select)

  private static let select = """
    SELECT segment_id, name, filter FROM segment
     WHERE customer_id = $1::bigint AND (segment_id = ANY ($2::bigint[]) OR name = ANY ($3::text[]))
    """

  /// Locks the segment `$2` against use by others.
  static let lockForRemoval = Statement(
    "segment.lock_for_removal", .write,
    "SELECT 1 FROM segment WHERE customer_id = $1::bigint AND segment_id = $2::bigint FOR UPDATE")

  /// A segment whose filter names the segment `$2`, or the list `$3`.
  static let using = Statement(
    "segment.using", .read,
    """
    SELECT name FROM segment
     WHERE customer_id = $1::bigint
       AND (jsonb_path_exists(filter::jsonb, '$.**.segment ? (@ == $number)', jsonb_build_object('number', $2::bigint))
            OR jsonb_path_exists(filter::jsonb, '$.**.list ? (@ == $number)', jsonb_build_object('number', $3::bigint)))
     ORDER BY segment_id LIMIT 1
    """)

  static let all: [Statement] =
    [
      named, read, lockForRemoval, using, search(FilterCompiler.sample),
      search(FilterCompiler.sample(for: .few), amongFirst: 1),
      // What explains one contact joins nothing.
      explain([(condition: .everyone, value: "(\(FilterSQL.literalsMark))[1]")]),
    ]
    + SegmentMemberQueries.all + SegmentCountQueries.all + AudienceSampleQueries.all

  /// The contacts that meet a filter, with its literals as `$2`, with numbers above `$3`, at most `$4` of them.
  /// - Parameter first: how many contacts are looked at; nil for all.
  static func search(_ filter: FilterSQL, amongFirst first: Int? = nil) -> Statement {
    Statement(
      first == nil ? "segment.search" : "segment.search_first", .read,
      """
      SELECT \(ContactConditions.details)
        FROM (SELECT * FROM contact WHERE contact.customer_id = $1::bigint AND contact.contact_id > $3::bigint
              \(PageFilter.looked(at: first, by: "contact_id"))) AS contact \(filter.join)
       WHERE \(filter.sql(literals: "$2::text[]"))
       ORDER BY contact.contact_id LIMIT $4::bigint
      """)
  }

  /// For the contact with the original id `$3`, whether it meets each of these conditions, and what it has there. They have the same literals.
  static func explain(_ nodes: [(condition: FilterSQL, value: String?)]) -> Statement {
    let columns = nodes.map { node in
      let value = node.value.map { FilterSQL(template: $0, literals: []).sql(literals: "$2::text[]") }
      return "(\(node.condition.sql(literals: "$2::text[]"))) IS TRUE, \(value ?? "NULL::text")"
    }
    return Statement(
      "segment.explain", .read,
      """
      SELECT \(columns.joined(separator: ",\n       "))
        FROM contact WHERE contact.customer_id = $1::bigint AND contact.original_id = $3::text
      """)
  }
}

extension MemberTable {
  /// Of static segments.
  package static let segment = MemberTable("segment")
}

/// Statements on `segment_member`. `$1` is the customer, `$2` the segment.
enum SegmentMemberQueries {
  static let all: [Statement] = [add, remove]

  /// Puts the contacts with the original ids `$3` into the segment. Gives a row for each id: whether there is such a contact, and whether it was
  /// put there now. Locks the contacts in the order of registrations, so that none is erased meanwhile.
  static let add = Statement(
    "segment_member.add", .write,
    """
    WITH named AS MATERIALIZED (
      SELECT i.original_id, c.contact_id
        FROM (SELECT DISTINCT named.original_id COLLATE "C" AS original_id FROM unnest($3::text[]) AS named (original_id)
               ORDER BY 1) i
        LEFT JOIN LATERAL (
          SELECT contact_id FROM contact
           WHERE customer_id = $1::bigint AND original_id = i.original_id LIMIT 1 FOR KEY SHARE) c ON true),
    added AS (
      INSERT INTO segment_member (customer_id, segment_id, contact_id)
      SELECT $1::bigint, $2::bigint, contact_id FROM named WHERE contact_id IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING contact_id)
    SELECT named.original_id, named.contact_id, added.contact_id IS NOT NULL
      FROM named LEFT JOIN added ON added.contact_id = named.contact_id
    """)

  /// Takes the contacts with the original ids `$3` out of the segment. Gives rows as `add` does.
  static let remove = Statement(
    "segment_member.remove", .write,
    """
    WITH named AS MATERIALIZED (
      SELECT i.original_id, c.contact_id
        FROM (SELECT DISTINCT named.original_id COLLATE "C" AS original_id FROM unnest($3::text[]) AS named (original_id)) i
        LEFT JOIN contact c ON c.customer_id = $1::bigint AND c.original_id = i.original_id),
    removed AS (
      DELETE FROM segment_member
       WHERE customer_id = $1::bigint AND segment_id = $2::bigint
         AND contact_id IN (SELECT contact_id FROM named WHERE contact_id IS NOT NULL)
      RETURNING contact_id)
    SELECT named.original_id, named.contact_id, removed.contact_id IS NOT NULL
      FROM named LEFT JOIN removed ON removed.contact_id = named.contact_id
    """)
}
