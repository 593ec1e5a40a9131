package import Postgres
import Wire

/// Statements that manage imports, receive their files, and forget them. `$1` is the customer and `$2` the import.
enum ImportQueries {
  /// The one import.
  static let one = "customer_id = $1::bigint AND import_id = $2::bigint"
  private static let reply = """
    import_id, name, state, list_id, segment_id, mode, identity, dry_run,
      staged AS arrived, added + updated + unchanged + duplicates + skipped + rejected AS rows, added, updated, unchanged, duplicates, skipped,
      rejected, devices, removed,
      CASE WHEN state = 'receiving' THEN CASE WHEN expected > 0 THEN least(100, received * 100 / expected) END
        WHEN state = 'finished' THEN 100
        WHEN state = 'checking' AND checked > 0 THEN checked * 100 / staged
        WHEN staged > 0 THEN (merged + registered) * 100 / (staged * CASE WHEN has_devices THEN 2 ELSE 1 END)
        ELSE 0 END AS percent,
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

  /// Has a commit not wait for the disk. So it is with portions of an import: a crash of the server loses the last ones with what is noted of
  /// them, and they are received, checked, merged or deleted again. Whoever has acted on one by then has committed behind it, which has written it, too.
  /// The commits that end a file and an import do wait.
  static let relax = Statement("import.relax", .read, "SELECT set_config('synchronous_commit', 'off', true)")

  // MARK: Receiving

  /// Begins another attempt to receive the file, of `$3` bytes as far as that is known, for `$4` seconds, unless the customer has `$5` others
  /// on their way.
  static let begin = Statement(
    "import.begin", .write,
    """
    UPDATE import SET state = 'receiving', attempt = attempt + 1, received = 0, staged = 0, expected = $3::bigint, cleared = false,
           lease_until = now() + make_interval(secs => $4::float8)
     WHERE \(one) AND state IN ('waiting', 'receiving')
       AND (SELECT count(*) FROM import AS other
             WHERE other.customer_id = $1::bigint AND other.import_id <> $2::bigint AND NOT other.cleared
               AND other.state = 'receiving') < $5::bigint
    RETURNING attempt, request
    """)

  /// Notes that more has come, before it is staged: `$6` rows so far, and `$7` bytes of them now. Returns how many bytes of the customer are
  /// staged then, with those of its other imports; no row once the attempt `$3` is not the one that counts.
  static let extend = Statement(
    "import.extend", .write,
    """
    UPDATE import SET received = $4::bigint, lease_until = now() + make_interval(secs => $5::float8), staged = $6::bigint,
           staged_bytes = staged_bytes + $7::bigint
     WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    RETURNING staged_bytes + (SELECT coalesce(sum(other.staged_bytes), 0)::bigint FROM import AS other
                               WHERE other.customer_id = $1::bigint AND other.import_id <> $2::bigint AND NOT other.cleared)
    """)

  static let copy = "COPY import_row (\(ImportRows.columns)) FROM STDIN (FORMAT binary)"

  /// Ends the attempt `$3`: the file has come, or cannot be imported, which `$11` says.
  static let received = Statement(
    "import.received", .write,
    """
    WITH ended AS (
    UPDATE import SET state = CASE WHEN $11::text IS NOT NULL THEN 'failed'
                               WHEN (request ->> 'review')::bool THEN 'review' ELSE 'checking' END,
           lease_until = NULL,
           received = $4::bigint, delimiter = $5::text, encoding = $6::text, columns = $7::json, sample = $8::json,
           has_devices = $9::bool, staged = $10::bigint, error = $11::text, headings = $12::text[],
           started_at = CASE WHEN $11::text IS NULL AND NOT coalesce((request ->> 'review')::bool, false) THEN clock.at END,
           ended_at = CASE WHEN $11::text IS NOT NULL THEN clock.at END
      FROM (SELECT now() AS at OFFSET 0) AS clock
     WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    RETURNING import_id, state),
    told AS (\(ImportStepQueries.told))
    SELECT import_id FROM ended
    """)

  /// Waits for the file again, if the attempt `$3` still counts.
  static let brokeOff = Statement(
    "import.broke_off", .write,
    """
    UPDATE import SET \(waitsAgain) WHERE \(one) AND attempt = $3::int4 AND state = 'receiving'
    """)

  static let waitsAgain = "state = 'waiting', lease_until = NULL, received = 0, expected = NULL, staged = 0"

  // MARK: Forgetting

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
    add, find, list, segment, cancel, request, reviewed, start, problems, rejects, begin, extend, relax, received,
    brokeOff, forgetRejects, forgetSamples, forgetReviews, forget,
  ]
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DataInOutStatements {
  package static let all: [Statement] =
    [StepQueries.unlimited] + ImportQueries.all + ImportStepQueries.all + ImportMergeQueries.all
    + ImportPersonalTables.statements + ErasureQueries.all + ExportQueries.all
  /// What copies rows, which cannot be prepared.
  package static let copies = [ImportQueries.copy]
}
