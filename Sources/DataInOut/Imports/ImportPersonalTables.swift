import Postgres
package import Registry

/// What the tables of imports and of erasures hold of a person.
package enum ImportPersonalTables {
  package static let all: [PersonalTable] = [
    PersonalTable("import_row", .inPortions(rejectRows)),
    PersonalTable(
      "import_reject", .inPortions(deleteRejects),
      showing: """
        SELECT r.import_id, r.line_no, r.column_name, r.problem, r.raw, r.at
          FROM import_reject AS r JOIN import AS i ON i.customer_id = $1::bigint AND i.import_id = r.import_id
         WHERE r.customer_id = $1::bigint AND \(isAbout(problemColumn: "column_name"))
         ORDER BY r.import_id DESC, r.row_no
        """),
    PersonalTable("import", .inPortions(clearSamples)),
    PersonalTable("erasure", .stays("What it has of the person, its last step deletes.")),
  ]

  static let statements = all.flatMap(\.statements)

  /// Whether the row `r` of the import `i` is about the person, or has an address of the person in it.
  ///
  /// Other names, such as the id Stockholm, are words of others' rows, too. They count where they say whom the row is about, and in rows
  /// that could not be read by their columns.
  private static func isAbout(problemColumn: String) -> String {
    """
    (r.original_id = ($3::text[])[1] IS TRUE OR nullif(r.identity, r.original_id) = ANY ($3::text[]) IS TRUE
              OR holds_name(r.raw, $3::text[])
              OR r.original_id IS NULL AND r.identity IS NULL AND r.problem IS NOT NULL AND r.\(problemColumn) IS NULL
                 AND csv_cells(r.raw, coalesce(i.delimiter, ',')) && $3::text[])
    """
  }

  /// Of one import in each portion, whose row is locked as for a merge. Rows of the person count as rejected from now on, and bring nobody back.
  ///
  /// Before its columns are chosen, nobody knows whom the rows of a review are about. So it is cancelled if a row has an address of the
  /// person, in whatever case. It is cancelled for a cell that is another name, too, unless its column is known to be something else. Its
  /// other rows go as those of all imports that were cancelled.
  private static let rejectRows = Statement(
    "erasure.import_row", .write,
    """
    WITH i AS MATERIALIZED (
      SELECT import_id, delimiter, headings, state = 'review' OR state = 'checking' AND checked IS NOT NULL AS is_unread,
             naming_places(headings, columns) AS places,
             ARRAY(SELECT lower(name) FROM unnest($3::text[]) AS n (name)) AS lowered
        FROM import
       WHERE customer_id = $1::bigint AND NOT cleared AND import_id > ($4::bigint[])[1] AND \(PersonalTable.parameters)
       ORDER BY import_id LIMIT 1 FOR NO KEY UPDATE),
    rejected AS (
      UPDATE import_row AS r
         SET identity = NULL, original_id = NULL, texts = NULL, date_of_birth = NULL, properties = NULL, device = NULL, raw = '',
             problem_column = NULL, problem = 'is about somebody who was erased', contact_id = NULL
        FROM i
       WHERE r.customer_id = $1::bigint AND r.import_id = i.import_id
         AND (\(isAbout(problemColumn: "problem_column")) OR r.device[2] = ANY ($3::text[]) IS TRUE
              OR i.is_unread
                 AND EXISTS (SELECT FROM unnest(i.lowered) AS n (name)
                              WHERE strpos(lower(r.raw) COLLATE "C", n.name COLLATE "C") > 0)
                 AND (holds_name(lower(r.raw), i.lowered)
                      OR cells_name_person(csv_cells(r.raw, i.delimiter), i.places, $3::text[])))
      RETURNING r.import_id),
    cancelled AS (
      UPDATE import
         SET state = 'cancelled', ended_at = now(), sample = NULL, headings = NULL, columns = NULL,
             error = 'A person whom the file may name was erased. Send the file again without them.'
        FROM i
       WHERE import.customer_id = $1::bigint AND import.import_id = i.import_id AND i.is_unread
         AND (EXISTS (SELECT FROM rejected)
              OR EXISTS (SELECT FROM unnest(i.headings) AS h (text) WHERE holds_name(lower(h.text), i.lowered))))
    SELECT (SELECT ARRAY[import_id, 0] FROM i)
    """)

  private static let deleteRejects = Statement(
    "erasure.import_reject", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT r.import_id, r.row_no, \(isAbout(problemColumn: "column_name")) AS is_persons
        FROM import_reject AS r JOIN import AS i ON i.customer_id = $1::bigint AND i.import_id = r.import_id
       WHERE r.customer_id = $1::bigint AND (r.import_id, r.row_no) > (($4::bigint[])[1], ($4::bigint[])[2])
         AND \(PersonalTable.parameters)
       ORDER BY r.import_id, r.row_no LIMIT 20000),
    gone AS (
      DELETE FROM import_reject AS r USING portion AS p
       WHERE p.is_persons AND r.customer_id = $1::bigint AND r.import_id = p.import_id AND r.row_no = p.row_no)
    SELECT (SELECT ARRAY[import_id, row_no] FROM portion ORDER BY import_id DESC, row_no DESC LIMIT 1)
    """)

  /// A sample that names the person goes as a whole. Of a file without headings, the first row is taken for them.
  private static let clearSamples = Statement(
    "erasure.import", .write,
    """
    WITH portion AS MATERIALIZED (
      SELECT import_id,
             EXISTS (SELECT FROM json_array_elements(sample) AS cells (row)
                      WHERE holds_name(cells.row::text, $3::text[])
                         OR cells_name_person(
                              ARRAY(SELECT json_array_elements_text(cells.row)), naming_places(headings, columns), $3::text[]))
               AS is_shown,
             EXISTS (SELECT FROM unnest(headings) AS h (text) WHERE holds_name(h.text, $3::text[])) AS is_heading,
             coalesce(holds_name(error, $3::text[]), false) AS is_told
        FROM import
       WHERE customer_id = $1::bigint AND import_id > ($4::bigint[])[1] AND \(PersonalTable.parameters)
       ORDER BY import_id LIMIT 500),
    cleared AS (
      UPDATE import AS i
         SET sample = CASE WHEN NOT p.is_shown THEN i.sample END,
             headings = CASE WHEN NOT p.is_heading THEN i.headings END,
             columns = CASE WHEN NOT p.is_heading THEN i.columns END,
             error = CASE WHEN p.is_told THEN 'It named a person who was erased.' ELSE i.error END
        FROM portion AS p
       WHERE i.customer_id = $1::bigint AND i.import_id = p.import_id AND (p.is_shown OR p.is_heading OR p.is_told))
    SELECT (SELECT ARRAY[max(import_id), 0] FROM portion HAVING count(*) > 0)
    """)
}
