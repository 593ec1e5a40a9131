import FoundationEssentials
public import Postgres
public import Wire

/// The counts of the last days. `count` brings them up to date, which Delivery has: it owns most of what is counted.
public struct DayCounts: Sendable {
  /// How many days are kept.
  package static let kept: Int32 = 400

  package let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The last days up to today, the oldest first. Days without anything are there too.
  package func last(_ days: Int, of customer: CustomerID) async throws -> [DayActivity] {
    try await database.query(DayCountQueries.last, customer.rawValue, Int32(days)).map { row in
      let (day, registered, sent, opened) = try row.decode(String.self, Int64.self, Int64.self, Int64.self)
      return DayActivity(day: day, sent: Int(sent), opened: Int(opened), registered: Int(registered))
    }
  }

  /// Deletes days that are no longer kept.
  public func forgetOld(_ customer: CustomerID) async throws {
    try await database.query(DayCountQueries.forget, customer.rawValue, Self.kept)
  }
}

/// Statements on `day_count` and `day_progress`. `$1` is the customer.
package enum DayCountQueries {
  static let all: [Statement] = [last, forget, begin]

  /// Devices are counted once they are so old. Whatever has a lower number than one of these was written by then, or never will be: it took
  /// its number earlier, and no statement that registers lasts half as long. So none is missed, though numbers are not committed in order.
  private static let age = "interval '5 minutes'"
  /// Most devices that are too new to be counted and are read for a page.
  private static let mostNew = 10_000

  /// The last `$2` days, each with its sums and the devices that are too new to be counted there.
  static let last = Statement(
    "day_count.last", .read,
    """
    SELECT to_char(d.day, 'YYYY-MM-DD'), coalesce(sum(c.registered), 0)::bigint, coalesce(sum(c.sent), 0)::bigint,
           coalesce(sum(c.opened), 0)::bigint
      FROM generate_series((now() AT TIME ZONE 'UTC')::date::timestamp - make_interval(days => $2::int4 - 1),
                           (now() AT TIME ZONE 'UTC')::date::timestamp, interval '1 day') AS d (day)
      LEFT JOIN (SELECT day, registered, sent, opened FROM day_count
                  WHERE customer_id = $1::bigint AND day > (now() AT TIME ZONE 'UTC')::date - $2::int4
                  UNION ALL
                 SELECT (created_at AT TIME ZONE 'UTC')::date, count(*), 0, 0
                   FROM (SELECT created_at FROM device
                          WHERE customer_id = $1::bigint AND device_id > coalesce(
                            (SELECT last_device FROM day_progress WHERE customer_id = $1::bigint), 0)
                          ORDER BY device_id LIMIT \(mostNew)) AS new
                  GROUP BY 1) AS c
        ON c.day = d.day::date
     GROUP BY d.day
     ORDER BY d.day
    """)

  static let forget = Statement(
    "day_count.forget", .write,
    "DELETE FROM day_count WHERE customer_id = $1::bigint AND day < (now() AT TIME ZONE 'UTC')::date - $2::int4")

  /// Makes the row that whoever counts locks.
  package static let begin = Statement(
    "day_count.begin", .write,
    """
    INSERT INTO day_progress (customer_id)
    SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM day_progress WHERE customer_id = $1::bigint)
    ON CONFLICT DO NOTHING
    """)

  /// Common table expressions. `progress` has a row, and locks it, unless somebody else is counting, or has within the last `$2` seconds.
  /// `settled` says which devices are to be counted, and notes that they are.
  package static let progress = """
    progress AS MATERIALIZED (
      SELECT last_device FROM day_progress
       WHERE customer_id = $1::bigint AND counted_at <= now() - make_interval(secs => $2::float8)
         FOR NO KEY UPDATE SKIP LOCKED),
    settled AS MATERIALIZED (
      SELECT progress.last_device AS first, coalesce(newest.device_id, progress.last_device) AS last
        FROM progress
        LEFT JOIN LATERAL (SELECT device_id FROM device
                            WHERE customer_id = $1::bigint AND device_id > progress.last_device AND created_at < now() - \(age)
                            ORDER BY device_id DESC LIMIT 1) AS newest ON true),
    noted AS (
      UPDATE day_progress SET last_device = settled.last, counted_at = now() FROM settled
       WHERE day_progress.customer_id = $1::bigint)
    """

  /// Devices by day, of `settled`.
  package static let devices = """
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS number
      FROM device
     WHERE customer_id = $1::bigint AND device_id > (SELECT first FROM settled) AND device_id <= (SELECT last FROM settled)
     GROUP BY 1
    """
}
