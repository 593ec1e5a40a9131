import Postgres
package import Registry

/// What the tables of imports and of erasures hold of a person.
package enum ImportPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable("import_row", .inPortions(rejectRows)),
    PersonalTable(
      "import_reject", .inPortions(deleteRejects),
      showing: """
        SELECT import_id, line_no, column_name, problem, raw, at FROM import_reject
         WHERE customer_id = $1::bigint AND (original_id = ANY ($3::text[]) OR names_person(raw, $3::text[]))
         ORDER BY import_id DESC, row_no
        """),
    PersonalTable("import", .inPortions(clearSamples)),
    PersonalTable("erasure", .stays("What it has of the person, its last step deletes.")),
  ]

  static let statements = all.flatMap(\.statements)

  /// Of one import in each portion, whose row is locked as for a merge. Rows of the person count as rejected from now on, and bring nobody back.
  ///
  /// Whom the rows of a review are about, nobody knows before its columns are chosen. So it is cancelled if a name of the person stands
  /// anywhere in the file, in whatever case, and however short. Its other rows go as those of all imports that were cancelled.
  private static let rejectRows = Statement(
    "erasure.import_row", .write,
    """
    WITH next AS MATERIALIZED (
      SELECT import_id, state = 'review' OR state = 'checking' AND checked IS NOT NULL AS is_unread,
             concat_ws(' ', sample::text, headings::text) AS shown
        FROM import
       WHERE customer_id = $1::bigint AND NOT cleared AND import_id > ($4::bigint[])[1] AND \(PersonalTable.parameters)
       ORDER BY import_id LIMIT 1 FOR NO KEY UPDATE),
    rejected AS (
      UPDATE import_row AS r
         SET identity = NULL, original_id = NULL, texts = NULL, date_of_birth = NULL, properties = NULL, device = NULL, raw = '',
             problem_column = NULL, problem = 'is about somebody who was erased', contact_id = NULL
        FROM next
       WHERE r.customer_id = $1::bigint AND r.import_id = next.import_id
         AND (r.original_id = ANY ($3::text[]) OR r.identity = ANY ($3::text[]) OR r.device && $3::text[]
              OR names_person(r.raw, $3::text[]) OR next.is_unread AND \(holdsName("r.raw")))
      RETURNING r.import_id),
    cancelled AS (
      UPDATE import AS i
         SET state = 'cancelled', ended_at = now(), sample = NULL, headings = NULL, columns = NULL,
             error = 'A person whom the file may name was erased. Send the file again without them.'
        FROM next
       WHERE i.customer_id = $1::bigint AND i.import_id = next.import_id AND next.is_unread
         AND (EXISTS (SELECT FROM rejected) OR \(holdsName("next.shown"))))
    SELECT (SELECT ARRAY[import_id, 0] FROM next)
    """)

  private static func holdsName(_ text: String) -> String {
    """
    EXISTS (SELECT FROM unnest($3::text[]) AS n (name)
                       WHERE strpos(lower(\(text)) COLLATE "C", lower(n.name) COLLATE "C") > 0)
    """
  }

  private static let deleteRejects = Statement(
    "erasure.import_reject", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT import_id, row_no, original_id = ANY ($3::text[]) IS TRUE OR names_person(raw, $3::text[]) AS is_persons
        FROM import_reject
       WHERE customer_id = $1::bigint AND (import_id, row_no) > (($4::bigint[])[1], ($4::bigint[])[2])
         AND \(PersonalTable.parameters)
       ORDER BY import_id, row_no LIMIT 20000),
    gone AS (
      DELETE FROM import_reject AS r USING portion AS p
       WHERE p.is_persons AND r.customer_id = $1::bigint AND r.import_id = p.import_id AND r.row_no = p.row_no)
    SELECT (SELECT ARRAY[import_id, row_no] FROM portion ORDER BY import_id DESC, row_no DESC LIMIT 1)
    """)

  private static let clearSamples = Statement(
    "erasure.import", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT import_id FROM import
       WHERE customer_id = $1::bigint AND import_id > ($4::bigint[])[1] AND \(PersonalTable.parameters)
       ORDER BY import_id LIMIT 500),
    cleared AS (
      UPDATE import AS i SET sample = NULL FROM portion AS p
       WHERE i.customer_id = $1::bigint AND i.import_id = p.import_id AND json_names_person(i.sample, $3::text[]))
    SELECT (SELECT ARRAY[max(import_id), 0] FROM portion HAVING count(*) > 0)
    """)
}
