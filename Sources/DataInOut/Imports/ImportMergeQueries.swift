import Audience
import Postgres
import Registry
import Wire

/// The statements that make contacts, or suppressions, of a portion of an import's rows. `$1` is the customer and `$2` the import.
enum ImportMergeQueries {
  /// Merges the rows from behind `$4` to `$5` of the attempt `$3`, and returns what has become of them: added, updated, unchanged, duplicates,
  /// skipped, rejected, and whether somebody else wrote one of their contacts meanwhile. Then it is to be rolled back, and run again. If somebody
  /// else added one meanwhile, it fails with a unique violation, and is to be run again, too.
  ///
  /// `$6` is the moment of the import, and `$7` its mode. `$8` and `$9` are the list and the segment that are joined. `$10` says whether nothing
  /// is merged, and `$11` whether rows note their contacts. `$12` has the headings of identity and original id.
  ///
  /// Notes are looked up in one value: a join would look through all of them for each row, as the planner takes them for few.
  ///
  /// Contacts whose fields change are told to webhooks, and new ones are not, as those of registrations.
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
    WITH row AS (
      SELECT row_no, line_no, identity, original_id, texts, date_of_birth, properties, raw, problem IS NOT NULL AS is_wrong
        FROM import_row
       WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NULL
         AND (problem IS NULL OR $7::text = 'replace')
    ),
    found AS MATERIALIZED (
      SELECT r.row_no, r.line_no, r.identity, coalesce(c.original_id, r.original_id) AS original_id, r.texts, r.date_of_birth,
        r.properties, r.raw, r.is_wrong, c.contact_id AS known_id, coalesce(c.updated_at > $6::timestamptz, false) AS is_newer,
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
    wanted AS (
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
    told AS (\(EventSQL.note(.contactUpdated, of: "changed", contact: "contact_id"))),
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
    new_on_list AS (\(MemberTable.list.join("$8::bigint", "SELECT contact_id FROM fresh", areNew: true))),
    joined_segment AS (\(MemberTable.segment.join("$9::bigint", joining))),
    new_in_segment AS (\(MemberTable.segment.join("$9::bigint", "SELECT contact_id FROM fresh", areNew: true))),
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
      INSERT INTO import_reject (customer_id, import_id, row_no, line_no, original_id, identity, column_name, problem, raw)
      SELECT $1::bigint, $2::bigint, row_no, line_no, original_id, identity, problem_column, problem, raw FROM (
        SELECT row_no, line_no, original_id, identity, problem_column, problem, raw FROM found WHERE problem IS NOT NULL
        UNION ALL
        SELECT row_no, line_no, original_id, identity, problem_column, problem, raw FROM import_row
         WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND problem IS NOT NULL) AS wrong
      RETURNING row_no
    )
    SELECT
      (SELECT count(*) FROM target WHERE known_id IS NULL),
      (SELECT count(*) FROM target WHERE changes OR joins),
      (SELECT count(*) FROM target WHERE known_id IS NOT NULL AND NOT changes AND NOT joins),
      (SELECT count(*) FROM import_row
        WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NOT NULL),
      (SELECT count(*) FROM found WHERE NOT is_wrong AND problem IS NULL AND is_skipped),
      (SELECT count(*) FROM rejected),
      NOT $10::bool AND (
        (SELECT count(*) FROM changed) < (SELECT count(DISTINCT known_id) FROM target WHERE changes)
        OR (SELECT count(*) FROM held) < (SELECT count(*) FROM target WHERE joins AND NOT is_written))
    """
  }

  /// Whom `changed` wrote is locked by that. `held` would not see them: a statement passes over rows that it has written itself.
  private static let joining = """
    SELECT contact_id FROM held UNION ALL SELECT contact_id FROM changed
    """

  /// As `merge`, for the mode `suppress`: the people of these rows get no marketing from now on. `$6` is whether nothing is done, `$7` the
  /// headings of identity and original id, and `$8` and `$9` the pads of the hub's key. Webhooks are told of suppressions that are new. Returns
  /// how many rows suppressed somebody, were about somebody who is suppressed already, were duplicates, and were rejected.
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
         WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NULL AND problem IS NULL
      ),
      found AS MATERIALIZED (
        SELECT r.row_no, r.line_no, r.identity, r.original_id, r.raw,
          CASE WHEN coalesce(c.matches, 0) < 2 THEN \(originalID) END AS suppressed_id, \(number) AS suppressed_number, c.contact_id,
          CASE WHEN c.matches > 1 THEN 'is that of several contacts'
            WHEN \(originalID) IS NULL AND \(number) IS NULL THEN 'is nobody''s' END AS problem
        FROM row r
        LEFT JOIN LATERAL (
          \(ContactMerge.contact(by: identity, "r.identity", originalID: "r.original_id"))
        ) c ON true
      ),
      hashed AS MATERIALIZED (
        SELECT row_no, contact_id, 'contact' AS kind, \(SuppressionSQL.hash(.contact, "suppressed_id", key: 8)) AS hash
          FROM found WHERE suppressed_id IS NOT NULL AND problem IS NULL
        UNION ALL
        SELECT row_no, contact_id, 'number', \(SuppressionSQL.hash(.number, "suppressed_number", key: 8))
          FROM found WHERE suppressed_number IS NOT NULL AND problem IS NULL
      ),
      missing AS MATERIALIZED (
        SELECT h.row_no, h.contact_id, h.kind, h.hash,
               NOT EXISTS (
                 SELECT FROM suppression
                  WHERE customer_id = $1::bigint AND hash = h.hash AND kind = h.kind AND scope = 'marketing'
                    AND \(SuppressionSQL.isInForce)) AS is_new
          FROM hashed h
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
        RETURNING suppression_id, kind, hash, scope
      ),
      told AS (\(EventSQL.note(.contactSuppressed, of: newlySuppressed, contact: "contact_id", subject: "suppression_id", reason: "scope"))),
      rejected AS (
        INSERT INTO import_reject (customer_id, import_id, row_no, line_no, original_id, identity, column_name, problem, raw)
        SELECT $1::bigint, $2::bigint, row_no, line_no, original_id, identity, problem_column, problem, raw FROM (
          SELECT row_no, line_no, original_id, identity, ($7::text[])[1] AS problem_column, problem, raw FROM found WHERE problem IS NOT NULL
          UNION ALL
          SELECT row_no, line_no, original_id, identity, problem_column, problem, raw FROM import_row
           WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND problem IS NOT NULL) AS wrong
        RETURNING row_no
      )
      SELECT
        (SELECT count(DISTINCT row_no) FROM missing),
        (SELECT count(*) FROM found WHERE problem IS NULL) - (SELECT count(DISTINCT row_no) FROM missing),
        (SELECT count(*) FROM import_row
          WHERE \(ImportStepQueries.rows) AND row_no > $4::bigint AND row_no <= $5::bigint AND last_row IS NOT NULL),
        (SELECT count(*) FROM rejected)
      """
  }

  /// Those of `suppressed` that were not in force before, each once, with the contact that its row is about. The join is FULL, which the
  /// condition turns into an inner one: there is no nested loop for it, and the planner expects few rows.
  private static let newlySuppressed = """
    (SELECT DISTINCT ON (s.suppression_id) s.suppression_id, s.scope, m.contact_id
                     FROM missing AS m FULL JOIN suppressed AS s ON s.hash = m.hash AND s.kind = m.kind
                    WHERE coalesce(m.is_new, false) AND coalesce(s.suppression_id, 0) > 0
                    ORDER BY s.suppression_id, m.contact_id) AS fresh
    """

  static let all: [Statement] = [
    mergeByOriginalID, mergeByEmailAddress, mergeByMobileNumber, suppressByOriginalID, suppressByEmailAddress,
    suppressByMobileNumber,
  ]
}
