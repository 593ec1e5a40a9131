package import Postgres
package import Registry
package import Wire

/// What this room's tables hold of a person.
package enum AudiencePersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable(
      "segment_member", .atOnce(deleteMemberships),
      showing: """
        SELECT segment_id, added_at FROM segment_member
         WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY segment_id
        """),
    PersonalTable("segment", .stays("Filters are the customer's own words. Those that name the person are told.")),
    PersonalTable("segment_count", .stays("It has counts.")),
  ]

  private static let deleteMemberships = Statement(
    "erasure.segment_member", .write,
    "DELETE FROM segment_member WHERE customer_id = $1::bigint AND contact_id = $2::bigint")

  static let statements = all.flatMap(\.statements) + [naming]

  /// The segments whose filters name the person, by number.
  package static func segments(
    _ customer: CustomerID, naming names: [String], in database: any Querying
  ) async throws -> [String] {
    try await database.query(naming, customer.rawValue, names).map { "segment \(try $0.decode(Int64.self))" }
  }

  private static let naming = Statement(
    "segment.naming", .read,
    """
    SELECT segment_id FROM segment
     WHERE customer_id = $1::bigint AND EXISTS (SELECT FROM unnest(literals) AS l (text) WHERE names_person(l.text, $2::text[]))
     ORDER BY segment_id LIMIT 100
    """)
}
