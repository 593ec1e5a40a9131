import Postgres

/// Statements on the contacts an audience names.
enum AudienceQueries {
  static let unknownOriginalIDs = Statement(
    "audience.unknown_original_ids", .read,
    """
    SELECT count(*)
      FROM (SELECT DISTINCT unnest($2::text[]) AS original_id) AS wanted
     WHERE NOT EXISTS (SELECT FROM contact
                        WHERE contact.customer_id = $1::bigint AND contact.original_id = wanted.original_id)
    """)

  static let all: [Statement] = [unknownOriginalIDs]
}
