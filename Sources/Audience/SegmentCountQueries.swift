import Delivery
package import Postgres
import Registry

/// Statements that count the contacts that meet a filter, and on `segment_count`. `$1` is the customer.
enum SegmentCountQueries {
  static let all: [Statement] =
    [
      population, sliceSize, snapshot, unlimited, bounds, forget, claim, progress, finish, fail,
    ]
    + Scope.allCases.map { count(FilterCompiler.sample(for: $0.reach), $0) }
    + [count(.everyone, .all), count(.everyone, .numbers)]

  /// Which contacts are looked at.
  enum Scope: CaseIterable {
    /// All of the customer.
    case all
    /// The slices below `$3`.
    case slices
    /// The numbers from `$3` to `$4`.
    case numbers

    func condition(_ table: String) -> String {
      switch self {
      case .all: "true"
      case .slices:
        "filter_slice(\(table).contact_id) < \(SegmentCounts.indexedSlices) AND filter_slice(\(table).contact_id) < $3::int4"
      case .numbers: "\(table).contact_id \(Self.range)"
      }
    }

    private static let range = "BETWEEN $3::bigint AND $4::bigint"

    /// What filters are compiled for.
    var reach: FilterCompiler.Reach {
      switch self {
      case .all: .all
      case .slices: .few
      case .numbers: .numbers(Self.range)
      }
    }

    var name: String {
      switch self {
      case .all: "segment.count_all"
      case .slices: "segment.estimate"
      case .numbers: "segment.count_portion"
      }
    }

    var nameOfEveryone: String { name + "_of_everyone" }
  }

  /// Counts contacts that meet a filter, with its literals as `$2`, in a row without an app, and their valid devices in a row for each app.
  ///
  /// The contacts are found once. A device's contact is within the same range, which lets the planner read the devices in order. Of everyone,
  /// devices are counted without their contacts, which any number of processes can do: nobody but the leader reads what WITH has found.
  /// - Parameter filter: compiled for the scope.
  static func count(_ filter: FilterSQL, _ scope: Scope) -> Statement {
    let range = if case .numbers = scope { "AND \(scope.condition("device"))" } else { "" }
    let devices = "device.customer_id = $1::bigint AND device.invalidated_at IS NULL \(range)"
    let contacts = "contact.customer_id = $1::bigint AND \(scope.condition("contact"))"
    if filter == .everyone, scope != .slices {
      return Statement(
        scope.nameOfEveryone, .read,
        """
        SELECT NULL::bigint, count(*), now() FROM contact WHERE \(contacts) AND $2::text[] IS NOT NULL
        UNION ALL
        SELECT device.push_app_id, count(*), now() FROM device WHERE \(devices) GROUP BY device.push_app_id
        """)
    }
    // In the order of numbers, so that the planner can merge them with the devices. It knows nothing of what WITH has found, and would rather
    // hash all devices of the range.
    let found =
      if case .numbers = scope { "(SELECT contact_id FROM found ORDER BY contact_id) AS found" } else { "found" }
    return Statement(
      scope.name, .read,
      """
      WITH found AS MATERIALIZED (
        SELECT contact.contact_id FROM contact \(filter.join)
         WHERE \(contacts) AND \(filter.sql(literals: "$2::text[]")))
      SELECT NULL::bigint, count(*), now() FROM found
      UNION ALL
      SELECT device.push_app_id, count(*), now()
        FROM \(found) JOIN device ON device.contact_id = found.contact_id
       WHERE \(devices)
       GROUP BY device.push_app_id
      """)
  }

  /// How many contacts there are, counted up to `$2`.
  static let population = Statement(
    "segment.population", .read,
    "SELECT count(*) FROM (SELECT FROM contact WHERE customer_id = $1::bigint LIMIT $2::bigint) AS counted")

  /// How many contacts are in the slices below `$2`.
  static let sliceSize = Statement(
    "segment.slice_size", .read,
    """
    SELECT count(*) FROM contact
     WHERE customer_id = $1::bigint AND filter_slice(contact_id) < \(SegmentCounts.indexedSlices) AND filter_slice(contact_id) < $2::int4
    """)

  /// All statements of the transaction see the database as it is now.
  static let snapshot = Statement("segment.snapshot", .write, isolation)
  private static let isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

  /// As `snapshot`, but as another transaction sees it. SET takes no parameters.
  /// - Parameter snapshot: quoted, as `bounds` gives it.
  static func adopting(snapshot: String) -> String { "\(isolation); SET TRANSACTION SNAPSHOT \(snapshot)" }

  /// Lifts the time limit for the rest of the transaction, and gives each of its hashes the memory `$1`.
  static let unlimited = Statement(
    "segment.unlimited", .read,
    "SELECT set_config('statement_timeout', '0', true), set_config('work_mem', $1::text, true)")

  /// Deletes `$2` of the counts that were begun a day ago.
  static let forget = Statement(
    "segment_count.forget", .write,
    Portions.delete(from: "segment_count", by: "asked_at", before: "now() - interval '1 day'"))

  /// The least and the greatest number of a contact, and the moment; NULL if there is none. Also the name of the snapshot, for another
  /// transaction.
  static let bounds = Statement(
    "segment.bounds", .read,
    """
    SELECT (SELECT contact_id FROM contact WHERE customer_id = $1::bigint ORDER BY contact_id LIMIT 1),
           (SELECT contact_id FROM contact WHERE customer_id = $1::bigint ORDER BY contact_id DESC LIMIT 1), now(),
           quote_literal(pg_export_snapshot())
    """)

  /// Claims the count of the filter `$2` for `$4` seconds, unless another hub counts it, or a count ended within `$3` seconds. Gives whether
  /// it was claimed now, and the progress or result that there is.
  static let claim = Statement(
    "segment_count.claim", .write,
    """
    WITH again AS (
      UPDATE segment_count
         SET percent = 0, result = NULL, failure = NULL, as_of = NULL, asked_at = now(),
             lease_until = now() + make_interval(secs => $4::int4)
       WHERE customer_id = $1::bigint AND fingerprint = sha256(convert_to($2::text, 'UTF8'))
         AND (as_of < now() - make_interval(secs => $3::int4)
           OR as_of IS NULL AND (failure IS NOT NULL OR lease_until < now()))
      RETURNING 1),
    first AS (
      INSERT INTO segment_count (customer_id, fingerprint, lease_until)
      VALUES ($1::bigint, sha256(convert_to($2::text, 'UTF8')), now() + make_interval(secs => $4::int4))
      ON CONFLICT (customer_id, fingerprint) DO NOTHING
      RETURNING 1)
    SELECT EXISTS (SELECT FROM again) OR EXISTS (SELECT FROM first), percent, result, as_of
      FROM (SELECT 1) AS one
      LEFT JOIN segment_count ON customer_id = $1::bigint AND fingerprint = sha256(convert_to($2::text, 'UTF8'))
    """)

  /// Notes that `$3` percent are counted at least, and extends the lease to `$4` seconds from now.
  static let progress = Statement(
    "segment_count.progress", .write,
    """
    UPDATE segment_count SET percent = greatest(percent, $3::int4), lease_until = now() + make_interval(secs => $4::int4)
     WHERE customer_id = $1::bigint AND fingerprint = sha256(convert_to($2::text, 'UTF8')) AND as_of IS NULL
    """)

  static let finish = Statement(
    "segment_count.finish", .write,
    """
    UPDATE segment_count SET percent = 100, result = $3::json, as_of = $4::timestamptz
     WHERE customer_id = $1::bigint AND fingerprint = sha256(convert_to($2::text, 'UTF8'))
    """)

  /// Records why the count failed. The next request claims it anew.
  static let fail = Statement(
    "segment_count.fail", .write,
    """
    UPDATE segment_count SET failure = $3::text, lease_until = now()
     WHERE customer_id = $1::bigint AND fingerprint = sha256(convert_to($2::text, 'UTF8')) AND as_of IS NULL
    """)
}

/// Every statement of this room but those of numbered stores, so that a test can prepare each of them on a real server.
package enum AudienceStatements {
  package static let all: [Statement] = SegmentQueries.all + AudiencePersonalTables.statements
}
