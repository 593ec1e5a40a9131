import Postgres
import Registry
import Wire

/// Statements of the steps by which an import's rows become contacts, but for those that merge them. `$1` is the customer and `$2` the import.
///
/// Whoever does a step locks the import's row first (`lock`), and moves its counts in the same transaction. So each portion is merged once,
/// whichever hub does it, and however often one is killed.
enum ImportStepQueries {
  private static let one = ImportQueries.one
  /// The rows of the attempt `$3`.
  static let rows = "customer_id = $1::bigint AND import_id = $2::bigint AND attempt = $3::int4"

  /// Those in review wait for a person, and those that are received for their clients, as long as their hubs are there.
  static let steps = StepQueries(
    "import",
    while: "NOT cleared AND state <> 'review' AND (state <> 'receiving' OR lease_until < now())")

  /// Tells webhooks of the imports that a statement has ended.
  static let told = EventSQL.note(
    .importFinished, of: "ended", where: "state IN ('finished', 'failed')", subject: "import_id", reason: "state")

  /// Ends an import whose step has failed too often; `$3` says why.
  static let giveUp = Statement(
    "import.give_up", .write,
    """
    WITH ended AS (
      UPDATE import SET state = 'failed', ended_at = now(), lease_until = NULL, error = $3::text
       WHERE \(one) AND state NOT IN ('finished', 'failed', 'cancelled')
      RETURNING import_id, state)
    \(told)
    """)

  /// As `ImportQueries.brokeOff`, of a hub that is gone.
  static let expire = Statement(
    "import.expire", .write,
    """
    UPDATE import SET \(ImportQueries.waitsAgain) WHERE \(one) AND state = 'receiving' AND lease_until < now()
    """)

  private static let work = """
    SELECT state, attempt, request, headings, created_at, staged, merged, registered, has_devices, dry_run, mode, identity,
           list_id,
           (SELECT segment.segment_id FROM segment
             WHERE segment.customer_id = $1::bigint AND segment.segment_id = import.segment_id),
           rejected, coalesce(lease_until < now(), false), checked, delimiter
      FROM import WHERE \(one)
    """

  /// Has statements that look at all rows of a file join them by hashes. The planner takes a table that has just been filled for a small one,
  /// and would look through it anew for each of its rows.
  static let joinByHash = Statement(
    "import.join_by_hash", .read, "SELECT set_config('enable_nestloop', 'off', true)")

  /// What there is to do of an import, and how far it is. Locks it; no row if another hub has it. A segment that was removed meanwhile is left
  /// out: its contacts are merged without it.
  static let lock = Statement("import.lock", .write, "\(work) FOR NO KEY UPDATE SKIP LOCKED")

  /// Marks rows of whom a later row is about, by that row.
  static let markDuplicates = mark("import.mark_duplicates", by: "identity")
  /// As `markDuplicates`, by the original id, of files whose rows are about people by another column.
  static let markSameOriginalIDs = mark("import.mark_original_ids", by: "original_id")

  private static func mark(_ name: String, by column: String) -> Statement {
    Statement(
      name, .write,
      """
      UPDATE import_row AS r SET last_row = last.row_no
        FROM (SELECT \(column) AS key, max(row_no) AS row_no FROM import_row
               WHERE \(rows) AND problem IS NULL AND last_row IS NULL AND \(column) IS NOT NULL
               GROUP BY \(column) HAVING count(*) > 1) AS last
       WHERE r.customer_id = $1::bigint AND r.import_id = $2::bigint AND r.attempt = $3::int4 AND r.\(column) = last.key
         AND r.row_no < last.row_no AND r.problem IS NULL AND r.last_row IS NULL
      """)
  }

  /// Rows of the attempt `$3` from behind `$4`, at most `$5`, as they were in the file, and whether they are wrong as a whole.
  static let fileRows = Statement(
    "import.file_rows", .write,
    BoundedPage.rows(
      of: """
        SELECT row_no, line_no, raw, problem IS NOT NULL AND problem_column IS NULL AS is_broken
          FROM import_row WHERE \(rows) AND row_no > $4::bigint ORDER BY row_no LIMIT $5::bigint
        """, size: "octet_length(raw)", order: "row_no"))

  /// Notes that rows are checked up to `$3`. Of a dry run before, their rejects do not count any more.
  static let noteChecked = Statement(
    "import.note_checked", .write,
    """
    WITH gone AS (DELETE FROM import_reject
                   WHERE \(one) AND row_no > (SELECT checked FROM import WHERE \(one)) AND row_no <= $3::bigint)
    UPDATE import SET checked = $3::bigint WHERE \(one)
    """)

  /// The rows that were checked anew are those that count.
  static let endCheck = Statement(
    "import.end_check", .write, "UPDATE import SET attempt = attempt + 1, checked = NULL WHERE \(one)")

  /// Has the planner look at the contacts and at who belongs to what.
  static let refreshStatistics = Statement(
    "import.refresh_statistics", .write, "SELECT refresh_statistics('contact', 'list_member', 'segment_member')")

  static let beginMerging = Statement(
    "import.begin_merging", .write, "UPDATE import SET state = 'merging' WHERE \(one) AND state = 'checking'")

  /// Moves an import on to the row `$3`, and adds to its counts.
  static let advance = Statement(
    "import.advance", .write,
    """
    UPDATE import SET merged = $3::bigint, added = added + $4::bigint, updated = updated + $5::bigint,
           unchanged = unchanged + $6::bigint, duplicates = duplicates + $7::bigint, skipped = skipped + $8::bigint,
           rejected = rejected + $9::bigint
     WHERE \(one)
    """)

  /// The tokens of the rows from behind `$4` to `$5` of the attempt `$3`, with the original ids of those whose they are. Unless nothing is merged,
  /// as `$6` says, a contact that was erased meanwhile has none: it would be made anew.
  ///
  /// A row's last one can have a last one itself: of its identity, and then of its original id. Each is looked up by the whole key, as LIMIT
  /// makes sure: a planner that takes the file for a small one would go through all of it for each row.
  static let tokens = Statement(
    "import.tokens", .read,
    """
    SELECT coalesce(c.original_id, final.original_id, last.original_id, r.original_id), r.device
      FROM import_row AS r
      LEFT JOIN LATERAL (SELECT * FROM import_row WHERE \(rows) AND row_no = r.last_row LIMIT 1) AS last ON true
      LEFT JOIN LATERAL (SELECT * FROM import_row WHERE \(rows) AND row_no = last.last_row LIMIT 1) AS final ON true
      LEFT JOIN LATERAL (SELECT contact_id, original_id FROM contact
                          WHERE customer_id = $1::bigint AND contact_id = coalesce(final.contact_id, last.contact_id, r.contact_id)
                          LIMIT 1) AS c ON true
     WHERE r.customer_id = $1::bigint AND r.import_id = $2::bigint AND r.attempt = $3::int4 AND r.row_no > $4::bigint
       AND r.row_no <= $5::bigint AND r.device IS NOT NULL AND r.problem IS NULL AND last.problem IS NULL AND final.problem IS NULL
       AND coalesce(final.contact_id, last.contact_id, r.contact_id) IS NOT NULL AND ($6::bool OR c.contact_id IS NOT NULL)
     ORDER BY r.row_no
    """)

  /// Notes that tokens up to the row `$3` are registered, `$4` of them.
  static let advanceTokens = Statement(
    "import.advance_tokens", .write,
    "UPDATE import SET registered = $3::bigint, devices = devices + $4::bigint WHERE \(one)")

  /// Whether a row of the attempt `$3` is as it may be.
  static let hasGoodRows = Statement(
    "import.has_good_rows", .read,
    "SELECT EXISTS (SELECT FROM import_row WHERE \(rows) AND problem IS NULL AND contact_id IS NOT NULL)")

  /// The members of the list `$4` that no row of the attempt `$3` is about.
  static let othersOnList = Statement(
    "import.others_on_list", .read, "SELECT count(*) FROM list_member AS m WHERE \(others)")
  static let removeFromList = Statement(
    "import.remove_from_list", .write, "DELETE FROM list_member AS m WHERE \(others)")
  private static let others = "m.list_id = $4::bigint AND \(isNotInFile)"

  /// As those of the list, of the segment `$4`.
  static let othersInSegment = Statement(
    "import.others_in_segment", .read, "SELECT count(*) FROM segment_member AS m WHERE \(othersOfSegment)")
  static let removeFromSegment = Statement(
    "import.remove_from_segment", .write, "DELETE FROM segment_member AS m WHERE \(othersOfSegment)")
  private static let othersOfSegment = "m.segment_id = $4::bigint AND \(isNotInFile)"

  private static let isNotInFile = """
    m.customer_id = $1::bigint AND m.added_at <= (SELECT created_at FROM import WHERE \(one))
           AND NOT EXISTS (
             SELECT FROM import_row AS r
              WHERE r.customer_id = $1::bigint AND r.import_id = $2::bigint AND r.attempt = $3::int4 AND r.contact_id = m.contact_id)
    """

  /// Ends an import; `$4` says why it failed, and is NULL if it did not. `$3` is how many contacts were taken off. After a dry run, an import
  /// with a review is there again.
  static let end = Statement(
    "import.end", .write,
    """
    WITH ended AS (
    UPDATE import SET state = CASE WHEN again.is_meant THEN 'review' WHEN $4::text IS NULL THEN 'finished' ELSE 'failed' END,
           error = $4::text, removed = $3::bigint, ended_at = CASE WHEN NOT again.is_meant THEN again.at END
      FROM (SELECT dry_run AND coalesce((request ->> 'review')::bool, false) AS is_meant, now() AS at
              FROM import WHERE \(one) OFFSET 0) AS again
     WHERE \(one)
    RETURNING import_id, state)
    \(told)
    """)

  // MARK: Deleting

  /// Deletes a portion of the rows of attempts up to `$3`.
  static let clear = Statement(
    "import.clear", .write,
    """
    WITH first AS MATERIALIZED (
      SELECT attempt, row_no FROM import_row
       WHERE customer_id = $1::bigint AND import_id = $2::bigint AND attempt <= $3::int4
       ORDER BY attempt, row_no LIMIT 1)
    DELETE FROM import_row
     WHERE customer_id = $1::bigint AND import_id = $2::bigint AND attempt = (SELECT attempt FROM first)
       AND row_no >= (SELECT row_no FROM first) AND row_no < (SELECT row_no + 10000 FROM first)
    """)

  static let cleared = Statement(
    "import.cleared", .write, "UPDATE import SET cleared = true, staged_bytes = 0 WHERE \(one)")

  static let all: [Statement] =
    steps.all + [
      giveUp, lock, expire, joinByHash, markDuplicates, markSameOriginalIDs, fileRows, noteChecked, endCheck,
      beginMerging, refreshStatistics, advance, tokens, advanceTokens, hasGoodRows, othersOnList, removeFromList,
      othersInSegment,
      removeFromSegment, end, clear, cleared,
    ]
}
