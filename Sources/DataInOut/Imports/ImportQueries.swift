import Audience
package import Postgres
import Registry
import Wire

/// Statements on imports and their rows. `$1` is the customer and `$2` the import, but for `due`.
///
/// Whoever merges locks the import's row first (`lock`), and moves its counts in the same transaction. So each portion is merged once,
/// whichever hub does it, and however often one is killed.
enum ImportQueries {
  private static let one = "customer_id = $1::bigint AND import_id = $2::bigint"
  private static let rowsOfImport = "customer_id = $1::bigint AND import_id = $2::bigint AND attempt = $3::int4"
  private static let reply = """
    import_id, name, state, list_id, segment_id, mode, identity, dry_run,
      added + updated + unchanged + duplicates + skipped + rejected AS rows, added, updated, unchanged, duplicates, skipped,
      rejected, devices, removed,
      CASE WHEN state = 'receiving' THEN CASE WHEN expected > 0 THEN least(100, received * 100 / expected) ELSE 0 END
        WHEN state = 'finished' THEN 100
        WHEN staged > 0 THEN (merged + registered) * 100 / (staged * CASE WHEN has_devices THEN 2 ELSE 1 END)
        ELSE 0 END AS percent,
      CASE WHEN state NOT IN ('waiting', 'receiving') AND staged > 0 THEN staged END AS total,
      columns, headings, delimiter, encoding, sample, error, created_at, started_at, ended_at
    """

  // MARK: Managing

  static let add = Statement(
    "import.add", .write,
    """
    INSERT INTO import (customer_id, name, mode, identity, list_id, segment_id, dry_run, request)
    VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::bool, $8::json)
    RETURNING \(reply)
    """)

  static let find = Statement("import.find", .read, "SELECT \(reply) FROM import WHERE \(one)")

  static let list = Statement(
    "import.list", .read,
    BoundedPage.rows(
      of: """
        SELECT \(reply) FROM import WHERE customer_id = $1::bigint AND import_id < $2::bigint
        ORDER BY import_id DESC LIMIT $3::bigint
        """, size: "octet_length(coalesce(sample::text, '')) + octet_length(coalesce(columns::text, ''))",
      order: "import_id DESC"))

  /// Whether the customer has the static segment `$2`.
  static let segment = Statement(
    "import.segment", .read,
    "SELECT static FROM segment WHERE customer_id = $1::bigint AND segment_id = $2::bigint")

  static let cancel = Statement(
    "import.cancel", .write,
    """
    UPDATE import SET state = 'cancelled', ended_at = now(), lease_until = NULL
     WHERE \(one) AND state NOT IN ('finished', 'failed', 'cancelled')
    RETURNING \(reply)
    """)

  /// What an import in review was added with, and the headings of its file. Locks it.
  static let reviewed = Statement(
    "import.reviewed", .write,
    "SELECT request, headings FROM import WHERE \(one) AND state = 'review' FOR NO KEY UPDATE")

  /// Starts an import in review; its rows are checked anew.
  static let start = Statement(
    "import.start", .write,
    """
    UPDATE import SET state = 'checking', mode = $3::text, identity = $4::text, list_id = $5::bigint, segment_id = $6::bigint,
           dry_run = $7::bool, request = $8::json, columns = $9::json, has_devices = $10::bool, checked = 0, merged = 0,
           registered = 0, added = 0, updated = 0, unchanged = 0, duplicates = 0, skipped = 0, rejected = 0, devices = 0,
           removed = 0, error = NULL, started_at = now()
     WHERE \(one) AND state = 'review'
    RETURNING \(reply)
    """)

  /// What an import was added or started with.
  static let request = Statement("import.request", .read, "SELECT request FROM import WHERE \(one)")

  /// What was wrong, by column and problem, of the first 10,000 rejects.
  static let problems = Statement(
    "import.problems", .read,
    """
    SELECT column_name, problem, count(*) AS rows
      FROM (SELECT column_name, problem FROM import_reject WHERE \(one) ORDER BY row_no LIMIT 10000) AS first
     GROUP BY column_name, problem ORDER BY rows DESC, column_name NULLS FIRST, problem LIMIT 50
    """)

  /// Rejects from behind the row `$3`, at most `$4`, as a bounded page.
  static let rejects = Statement(
    "import.rejects", .read,
    BoundedPage.rows(
      of: """
        SELECT row_no, line_no, column_name, problem, raw FROM import_reject WHERE \(one) AND row_no > $3::bigint
        ORDER BY row_no LIMIT $4::bigint
        """, size: "octet_length(raw) + octet_length(problem)", order: "row_no"))

  // MARK: Receiving

  /// Begins another attempt to receive the file, of `$3` bytes as far as that is known, for `$4` seconds, unless the customer has `$5` others
  /// on their way.
  static let begin = Statement(
    "import.begin", .write,
    """
    UPDATE import SET state = 'receiving', attempt = attempt + 1, received = 0, expected = $3::bigint, cleared = false,
           lease_until = now() + make_interval(secs => $4::float8)
     WHERE \(one) AND state IN ('waiting', 'receiving')
       AND (SELECT count(*) FROM import AS other
             WHERE other.customer_id = $1::bigint AND other.import_id <> $2::bigint AND NOT other.cleared
               AND other.state = 'receiving') < $5::bigint
    RETURNING attempt, request
    """)

  /// Notes that more has come, before it is staged; no row once the attempt `$3` is not the one that counts.
  static let extend = Statement(
    "import.extend", .write,
    """
    UPDATE import SET received = $4::bigint, lease_until = now() + make_interval(secs => $5::float8)
     WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    RETURNING attempt
    """)

  /// A portion of a file that is lost with a crash is sent again, so its commit does not wait for the disk. The one that ends the file does.
  static let relax = Statement("import.relax", .read, "SELECT set_config('synchronous_commit', 'off', true)")

  static let copy = "COPY import_row (\(ImportRows.columns)) FROM STDIN (FORMAT binary)"

  /// Ends the attempt `$3`: the file has come, or cannot be imported, which `$11` says.
  static let received = Statement(
    "import.received", .write,
    """
    UPDATE import SET state = CASE WHEN $11::text IS NOT NULL THEN 'failed'
                               WHEN (request ->> 'review')::bool THEN 'review' ELSE 'checking' END,
           lease_until = NULL,
           received = $4::bigint, delimiter = $5::text, encoding = $6::text, columns = $7::json, sample = $8::json,
           has_devices = $9::bool, staged = $10::bigint, error = $11::text, headings = $12::text[],
           started_at = CASE WHEN $11::text IS NULL AND NOT coalesce((request ->> 'review')::bool, false) THEN clock.at END,
           ended_at = CASE WHEN $11::text IS NOT NULL THEN clock.at END
      FROM (SELECT now() AS at OFFSET 0) AS clock
     WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    RETURNING import_id
    """)

  /// Waits for the file again, if the attempt `$3` still counts.
  static let brokeOff = Statement(
    "import.broke_off", .write,
    """
    UPDATE import SET state = 'waiting', lease_until = NULL, received = 0, expected = NULL
     WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    """)

  /// As `brokeOff`, of a hub that is gone.
  static let expire = Statement(
    "import.expire", .write,
    """
    UPDATE import SET state = 'waiting', lease_until = NULL, received = 0, expected = NULL
     WHERE \(one) AND state = 'receiving' AND lease_until < now()
    """)

  // MARK: Merging

  /// What looks at all rows of a file takes longer than other statements.
  static let unlimit = Statement(
    "import.unlimit", .read, "SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true)")

  /// What all customers' imports have to do. Those in review wait for a person.
  static let due = Statement(
    "import.due", .read,
    """
    SELECT customer_id, import_id FROM import WHERE NOT cleared AND state <> 'review' ORDER BY customer_id, import_id
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
               WHERE \(rowsOfImport) AND problem IS NULL AND last_row IS NULL AND \(column) IS NOT NULL
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
          FROM import_row WHERE \(rowsOfImport) AND row_no > $4::bigint ORDER BY row_no LIMIT $5::bigint
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

  static let beginMerging = Statement(
    "import.begin_merging", .write, "UPDATE import SET state = 'merging' WHERE \(one) AND state = 'checking'")

  /// Merges the rows from behind `$4` to `$5` of the attempt `$3`, and returns what has become of them: added, updated, unchanged, duplicates,
  /// skipped, rejected, and whether somebody else wrote one of their contacts meanwhile. Then it is to be rolled back, and run again.
  ///
  /// `$6` is the moment of the import, and `$7` its mode. `$8` and `$9` are the list and the segment that are joined. `$10` says whether nothing
  /// is merged, and `$11` whether rows note their contacts. `$12` has the headings of identity and original id.
  ///
  /// Notes are looked up in one value: a join would look through all of them for each row, as the planner takes them for few.
  ///
  /// Contacts are locked in the order of registrations. Counts come from what is wanted, and what is written is held against that, so that a
  /// dry run counts the same.
  static func merge(by identity: ImportIdentity) -> Statement {
    switch identity {
    case .originalId: mergeByOriginalID
    case .emailAddress: mergeByEmailAddress
    case .mobileNumber: mergeByMobileNumber
    }
  }

  private static let mergeByOriginalID = Statement("import.merge_by_id", .write, mergeSQL(.originalId))
  private static let mergeByEmailAddress = Statement("import.merge_by_email", .write, mergeSQL(.emailAddress))
  private static let mergeByMobileNumber = Statement("import.merge_by_number", .write, mergeSQL(.mobileNumber))

  private static func mergeSQL(_ identity: ImportIdentity) -> String {
    """
    WITH row AS MATERIALIZED (
      SELECT row_no, line_no, identity, original_id, texts, date_of_birth, properties, raw, problem IS NOT NULL AS is_wrong
        FROM import_row
       WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NULL
         AND (problem IS NULL OR $7::text = 'replace')
    ),
    found AS MATERIALIZED (
      SELECT r.row_no, r.line_no, coalesce(c.original_id, r.original_id) AS original_id, r.texts, r.date_of_birth, r.properties,
        r.raw, r.is_wrong, c.contact_id AS known_id, coalesce(c.updated_at > $6::timestamptz, false) AS is_newer,
        c.contact_id IS NOT NULL AND \(ContactMerge.isUnchanged("c", by: "r")) AS is_unchanged,
        (c.contact_id IS NOT NULL AND $7::text = 'add') OR (c.contact_id IS NULL AND $7::text = 'update') AS is_skipped,
        CASE WHEN r.is_wrong THEN NULL
          WHEN c.matches > 1 THEN 'is that of several contacts'
          WHEN c.original_id <> r.original_id THEN 'is not that of the contact that the row is about'
          WHEN c.contact_id IS NULL AND r.original_id IS NULL AND $7::text <> 'update'
            THEN 'is nobody''s yet, and a contact without an originalId cannot be added'
          WHEN \(ContactMerge.isTooLarge("c", by: "r")) THEN 'would give the contact more than 64 KiB of properties'
          END AS problem,
        CASE WHEN c.matches > 1 OR c.contact_id IS NULL AND r.original_id IS NULL THEN ($12::text[])[1]
          WHEN c.original_id <> r.original_id THEN ($12::text[])[2] END AS problem_column
      FROM row r
      LEFT JOIN LATERAL (
        \(ContactMerge.contact(by: identity, "r.identity", originalID: "r.original_id"))
      ) c ON true
    ),
    wanted AS MATERIALIZED (
      SELECT f.*, NOT f.is_unchanged AND NOT f.is_newer AND f.known_id IS NOT NULL AS changes,
        f.known_id IS NOT NULL AND (
          ($8::bigint IS NOT NULL AND NOT \(MemberTable.list.isMember("f.known_id", of: "$8::bigint")))
          OR ($9::bigint IS NOT NULL AND NOT \(MemberTable.segment.isMember("f.known_id", of: "$9::bigint")))) AS joins
      FROM found f
      WHERE NOT f.is_wrong AND f.problem IS NULL AND NOT f.is_skipped
    ),
    target AS MATERIALIZED (
      SELECT w.*, coalesce(w.known_id, \(ContactMerge.nextNumber)) AS contact_id,
        bool_or(w.changes) OVER (PARTITION BY w.known_id) AS is_written
      FROM wanted w
    ),
    changed AS (
      \(ContactMerge.update(
        by: #"SELECT * FROM target WHERE changes AND NOT $10::bool ORDER BY original_id COLLATE "C""#, asOf: "$6::timestamptz"))
    ),
    fresh AS (
      \(ContactMerge.insert(
        """
        SELECT * FROM target
               WHERE known_id IS NULL AND NOT $10::bool AND (SELECT count(*) FROM changed) >= 0 ORDER BY original_id COLLATE "C"
        """, asOf: "$6::timestamptz"))
    ),
    held AS MATERIALIZED (
      \(ContactMerge.hold(
        #"SELECT original_id FROM target WHERE joins AND NOT is_written AND NOT $10::bool ORDER BY original_id COLLATE "C""#))
    ),
    joined_list AS (\(MemberTable.list.join("$8::bigint", joining))),
    joined_segment AS (\(MemberTable.segment.join("$9::bigint", joining))),
    note AS MATERIALIZED (
      SELECT coalesce(jsonb_object_agg(row_no, contact_id) FILTER (WHERE contact_id IS NOT NULL), '{}') AS contacts,
             coalesce(jsonb_object_agg(row_no, problem) FILTER (WHERE problem IS NOT NULL), '{}') AS problems
        FROM (SELECT row_no, contact_id, NULL AS problem FROM target
              UNION ALL
              SELECT row_no, known_id, problem FROM found WHERE is_wrong OR problem IS NOT NULL) AS known
       WHERE $11::bool
    ),
    noted AS (
      UPDATE import_row AS i SET contact_id = (note.contacts ->> i.row_no::text)::bigint,
             problem = coalesce(i.problem, note.problems ->> i.row_no::text)
        FROM note
       WHERE i.customer_id = $1::bigint AND i.import_id = $2::bigint AND i.attempt = $3::int4 AND i.row_no > $4::bigint
         AND i.row_no <= $5::bigint AND $11::bool
    ),
    rejected AS (
      INSERT INTO import_reject (customer_id, import_id, row_no, line_no, original_id, column_name, problem, raw)
      SELECT $1::bigint, $2::bigint, row_no, line_no, original_id, problem_column, problem, raw FROM (
        SELECT row_no, line_no, original_id, problem_column, problem, raw FROM found WHERE problem IS NOT NULL
        UNION ALL
        SELECT row_no, line_no, original_id, problem_column, problem, raw FROM import_row
         WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND problem IS NOT NULL) AS wrong
      RETURNING row_no
    )
    SELECT
      (SELECT count(*) FROM target WHERE known_id IS NULL),
      (SELECT count(*) FROM target WHERE changes OR joins),
      (SELECT count(*) FROM target WHERE known_id IS NOT NULL AND NOT changes AND NOT joins),
      (SELECT count(*) FROM import_row
        WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NOT NULL),
      (SELECT count(*) FROM found WHERE NOT is_wrong AND problem IS NULL AND is_skipped),
      (SELECT count(*) FROM rejected),
      NOT $10::bool AND (
        (SELECT count(*) FROM changed) < (SELECT count(DISTINCT known_id) FROM target WHERE changes)
        OR (SELECT count(*) FROM fresh) < (SELECT count(*) FROM target WHERE known_id IS NULL)
        OR (SELECT count(*) FROM held) < (SELECT count(*) FROM target WHERE joins AND NOT is_written))
    """
  }

  /// Whom `changed` wrote is locked by that. `held` would not see them: a statement passes over rows that it has written itself.
  private static let joining = """
    SELECT contact_id FROM held UNION ALL SELECT contact_id FROM changed UNION ALL SELECT contact_id FROM fresh
    """

  /// As `merge`, for the mode `suppress`: the people of these rows get no marketing from now on. `$6` is whether nothing is done, `$7` the
  /// headings of identity and original id, and `$8` and `$9` the pads of the hub's key. Returns how many rows suppressed somebody, were
  /// about somebody who is suppressed already, were duplicates, and were rejected.
  static func suppress(by identity: ImportIdentity) -> Statement {
    switch identity {
    case .originalId: suppressByOriginalID
    case .emailAddress: suppressByEmailAddress
    case .mobileNumber: suppressByMobileNumber
    }
  }

  private static let suppressByOriginalID = Statement("import.suppress_by_id", .write, suppressSQL(.originalId))
  private static let suppressByEmailAddress = Statement("import.suppress_by_email", .write, suppressSQL(.emailAddress))
  private static let suppressByMobileNumber = Statement("import.suppress_by_number", .write, suppressSQL(.mobileNumber))

  private static func suppressSQL(_ identity: ImportIdentity) -> String {
    // Original ids are suppressed whether there is such a contact or not; an address leads to one only if there is.
    let originalID = identity == .originalId ? "r.identity" : "coalesce(c.original_id, r.original_id)"
    let number = identity == .mobileNumber ? "'00' || r.identity" : "NULL"
    return """
      WITH row AS MATERIALIZED (
        SELECT row_no, line_no, identity, original_id, raw FROM import_row
         WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NULL AND problem IS NULL
      ),
      found AS MATERIALIZED (
        SELECT r.row_no, r.line_no, r.original_id, r.raw,
          CASE WHEN coalesce(c.matches, 0) < 2 THEN \(originalID) END AS suppressed_id, \(number) AS suppressed_number,
          CASE WHEN c.matches > 1 THEN 'is that of several contacts'
            WHEN \(originalID) IS NULL AND \(number) IS NULL THEN 'is nobody''s' END AS problem
        FROM row r
        LEFT JOIN LATERAL (
          \(ContactMerge.contact(by: identity, "r.identity", originalID: "r.original_id"))
        ) c ON true
      ),
      hashed AS MATERIALIZED (
        SELECT row_no, 'contact' AS kind, \(SuppressionSQL.hash(.contact, "suppressed_id", key: 8)) AS hash
          FROM found WHERE suppressed_id IS NOT NULL AND problem IS NULL
        UNION ALL
        SELECT row_no, 'number', \(SuppressionSQL.hash(.number, "suppressed_number", key: 8))
          FROM found WHERE suppressed_number IS NOT NULL AND problem IS NULL
      ),
      missing AS MATERIALIZED (
        SELECT h.row_no, h.kind, h.hash FROM hashed h
         WHERE NOT EXISTS (
           SELECT FROM suppression AS s
            WHERE s.customer_id = $1::bigint AND s.hash = h.hash AND s.kind = h.kind AND s.scope = 'marketing'
              AND s.until IS NULL AND NOT s.by_page)
      ),
      suppressed AS (
        INSERT INTO suppression AS s (customer_id, kind, hash, scope, reason)
        SELECT $1::bigint, kind, hash, 'marketing', 'import' FROM (SELECT DISTINCT kind, hash FROM missing ORDER BY hash) AS m
         WHERE NOT $6::bool
        \(SuppressionQueries.merging)
      ),
      rejected AS (
        INSERT INTO import_reject (customer_id, import_id, row_no, line_no, original_id, column_name, problem, raw)
        SELECT $1::bigint, $2::bigint, row_no, line_no, original_id, problem_column, problem, raw FROM (
          SELECT row_no, line_no, original_id, ($7::text[])[1] AS problem_column, problem, raw FROM found WHERE problem IS NOT NULL
          UNION ALL
          SELECT row_no, line_no, original_id, problem_column, problem, raw FROM import_row
           WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND problem IS NOT NULL) AS wrong
        RETURNING row_no
      )
      SELECT
        (SELECT count(DISTINCT row_no) FROM missing),
        (SELECT count(*) FROM found WHERE problem IS NULL) - (SELECT count(DISTINCT row_no) FROM missing),
        (SELECT count(*) FROM import_row
          WHERE \(rowsOfImport) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NOT NULL),
        (SELECT count(*) FROM rejected)
      """
  }

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
  /// A row's last one can have a last one itself: of its identity, and then of its original id.
  static let tokens = Statement(
    "import.tokens", .read,
    """
    SELECT coalesce(c.original_id, final.original_id, last.original_id, r.original_id), r.device
      FROM import_row AS r
      LEFT JOIN import_row AS last
        ON last.customer_id = $1::bigint AND last.import_id = $2::bigint AND last.attempt = $3::int4 AND last.row_no = r.last_row
      LEFT JOIN import_row AS final
        ON final.customer_id = $1::bigint AND final.import_id = $2::bigint AND final.attempt = $3::int4
          AND final.row_no = last.last_row
      LEFT JOIN contact AS c
        ON c.customer_id = $1::bigint AND c.contact_id = coalesce(final.contact_id, last.contact_id, r.contact_id)
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
    "SELECT EXISTS (SELECT FROM import_row WHERE \(rowsOfImport) AND problem IS NULL AND contact_id IS NOT NULL)")

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
    UPDATE import SET state = CASE WHEN again.is_meant THEN 'review' WHEN $4::text IS NULL THEN 'finished' ELSE 'failed' END,
           error = $4::text, removed = $3::bigint, ended_at = CASE WHEN NOT again.is_meant THEN again.at END
      FROM (SELECT dry_run AND coalesce((request ->> 'review')::bool, false) AS is_meant, now() AS at
              FROM import WHERE \(one) OFFSET 0) AS again
     WHERE \(one)
    """)

  // MARK: Deleting

  /// Deletes a portion of the rows of attempts up to `$3`.
  static let clear = Statement(
    "import.clear", .write,
    """
    DELETE FROM import_row AS r
     USING (SELECT attempt, row_no FROM import_row
             WHERE customer_id = $1::bigint AND import_id = $2::bigint AND attempt <= $3::int4
             ORDER BY attempt, row_no LIMIT 1) AS first
     WHERE r.customer_id = $1::bigint AND r.import_id = $2::bigint AND r.attempt = first.attempt
       AND r.row_no < first.row_no + 10000
    """)

  static let cleared = Statement("import.cleared", .write, "UPDATE import SET cleared = true WHERE \(one)")

  static let forgetRejects = Statement(
    "import.forget_rejects", .write,
    Portions.delete(from: "import_reject", by: "at", before: "now() - interval '\(Imports.rejectDays) days'"))

  /// Samples are of people, too.
  static let forgetSamples = Statement(
    "import.forget_samples", .write,
    """
    UPDATE import SET sample = NULL
     WHERE customer_id = $1::bigint AND sample IS NOT NULL AND created_at < now() - interval '\(Imports.rejectDays) days'
    """)

  /// Files that nobody has started within a week.
  static let forgetReviews = Statement(
    "import.forget_reviews", .write,
    """
    UPDATE import SET state = 'cancelled', ended_at = now()
     WHERE customer_id = $1::bigint AND state = 'review' AND created_at < now() - interval '\(Imports.reviewDays) days'
    """)

  static let forget = Statement(
    "import.forget", .write,
    Portions.delete(from: "import", by: "created_at", before: "now() - interval '1 year'", "AND cleared"))

  static let all: [Statement] = [
    add, find, list, segment, cancel, request, reviewed, start, problems, rejects, fileRows, noteChecked, endCheck,
    begin, extend, relax, received, brokeOff, expire, due, unlimit,
    joinByHash, lock,
    markDuplicates,
    markSameOriginalIDs, beginMerging, mergeByOriginalID, mergeByEmailAddress, mergeByMobileNumber,
    suppressByOriginalID,
    suppressByEmailAddress, suppressByMobileNumber, advance, tokens, advanceTokens, hasGoodRows, othersOnList,
    removeFromList, othersInSegment, removeFromSegment, end, clear, cleared, forgetRejects, forgetSamples,
    forgetReviews, forget,
  ]
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DataInOutStatements {
  package static let all: [Statement] =
    ImportQueries.all + ImportPersonalTables.statements + ErasureQueries.all + ExportQueries.all
  /// What copies rows, which cannot be prepared.
  package static let copies = [ImportQueries.copy]
}
