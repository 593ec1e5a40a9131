package import Postgres
package import Registry
package import Wire

/// What this room's tables hold of a person.
package enum SendoutsPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable(
      "sendout", .inPortions(leaveAudiences),
      showing: """
        SELECT sendout_id, name FROM sendout
         WHERE customer_id = $1::bigint AND audience -> 'originalIds' ?| $3::text[] ORDER BY sendout_id DESC
        """),
    PersonalTable("circuit_breaker", .stays("It has counts.")),
    PersonalTable("template", .stays("It has the customer's own texts, which are for everybody.")),
    PersonalTable("series", .stays("It has days.")),
  ]

  static let statements = all.flatMap(\.statements) + [naming]

  /// Takes the person out of audiences that list original ids. The first of the names is the original id.
  private static let leaveAudiences = Statement(
    "erasure.sendout", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT sendout_id FROM sendout
       WHERE customer_id = $1::bigint AND sendout_id > ($4::bigint[])[1] AND \(PersonalTable.parameters)
       ORDER BY sendout_id LIMIT \(PersonalTable.portion)),
    left_out AS (
      UPDATE sendout AS s
         SET audience = jsonb_set(s.audience, '{originalIds}', (s.audience -> 'originalIds') - ($3::text[])[1])
        FROM portion AS p
       WHERE s.customer_id = $1::bigint AND s.sendout_id = p.sendout_id AND s.audience -> 'originalIds' ? ($3::text[])[1])
    SELECT (SELECT ARRAY[max(sendout_id), 0] FROM portion HAVING count(*) > 0)
    """)

  /// The sendouts whose filters name the person, by number.
  package static func sendouts(
    _ customer: CustomerID, naming names: [String], in database: any Querying
  ) async throws -> [String] {
    try await database.query(naming, customer.rawValue, names).map { "sendout \(try $0.decode(Int64.self))" }
  }

  private static let naming = Statement(
    "sendout.naming", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND (audience ? 'filter' OR audience ? 'exclude')
       AND (json_names_person((audience -> 'filter')::json, $2::text[]) OR json_names_person((audience -> 'exclude')::json, $2::text[]))
     ORDER BY sendout_id DESC LIMIT 100
    """)
}
