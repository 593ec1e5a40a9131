import FoundationEssentials
package import Postgres
package import Wire

/// What is counted by day. Its statement adds to the day's row in the commit of what is counted.
package enum DayCount: String, Sendable, CaseIterable {
  /// Devices registered for the first time.
  case registered
  /// Pushes sent for the first time.
  case sent
  /// Pushes opened by a person for the first time.
  case opened

  /// A data-modifying common table expression that adds the customer `$1`'s rows of an earlier one. It locks its row last, for as long as the
  /// commit takes, and none if there is nothing to count: whoever has it waits for nobody.
  ///
  /// PostgreSQL promises no order of such expressions, "the order in which the specified updates actually happen is unpredictable" (its
  /// manual, 7.8.4). What it does: those that the main query does not read run after it, the last one first (`ExecPostprocessPlan`). But
  /// nothing can be counted before it is there. So this one counts what each other one returns, and these are done by then.
  /// - Parameters:
  ///   - condition: which rows count, as SQL.
  ///   - others: all expressions that write and that neither `rows` nor one of these reads as a whole. Each has to return something.
  package func add(_ rows: String, where condition: String, after others: [String]) -> String {
    let areDone = others.map { " AND (SELECT count(*) FROM \($0)) >= 0" }.joined()
    return """
      INSERT INTO day_count AS known (customer_id, day, slot, \(rawValue))
      SELECT $1::bigint, (now() AT TIME ZONE 'UTC')::date, \(DayCounts.slot), counted.number
        FROM (SELECT count(*) AS number FROM \(rows) WHERE \(condition)) AS counted
       WHERE counted.number > 0\(areDone)
      ON CONFLICT (customer_id, day, slot) DO UPDATE SET \(rawValue) = known.\(rawValue) + excluded.\(rawValue)
      """
  }
}

/// The counts of the last days.
package struct DayCounts: Sendable {
  /// As SQL: which row of a day a connection counts in.
  package static let slot = "(pg_backend_pid() % 16)::int2"
  /// How many days are kept.
  package static let kept: Int32 = 400

  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// The last days up to today, the oldest first. Days without anything are there too.
  package func last(_ days: Int, of customer: CustomerID) async throws -> [DayActivity] {
    try await database.query(DayCountQueries.last, customer.rawValue, Int32(days)).map { row in
      let (day, registered, sent, opened) = try row.decode(String.self, Int64.self, Int64.self, Int64.self)
      return DayActivity(day: day, sent: Int(sent), opened: Int(opened), registered: Int(registered))
    }
  }

  /// Deletes days that are no longer kept.
  package func forgetOld(_ customer: CustomerID) async throws {
    try await database.query(DayCountQueries.forget, customer.rawValue, Self.kept)
  }
}

/// Statements on `day_count`. `$1` is the customer.
enum DayCountQueries {
  static let all: [Statement] = [last, forget]

  /// The last `$2` days, each with its sums.
  static let last = Statement(
    "day_count.last", .read,
    """
    SELECT to_char(d.day, 'YYYY-MM-DD'), coalesce(sum(c.registered), 0)::bigint, coalesce(sum(c.sent), 0)::bigint,
           coalesce(sum(c.opened), 0)::bigint
      FROM generate_series((now() AT TIME ZONE 'UTC')::date::timestamp - make_interval(days => $2::int4 - 1),
                           (now() AT TIME ZONE 'UTC')::date::timestamp, interval '1 day') AS d (day)
      LEFT JOIN (SELECT * FROM day_count
                  WHERE customer_id = $1::bigint AND day > (now() AT TIME ZONE 'UTC')::date - $2::int4) AS c
        ON c.day = d.day::date
     GROUP BY d.day
     ORDER BY d.day
    """)

  static let forget = Statement(
    "day_count.forget", .write,
    "DELETE FROM day_count WHERE customer_id = $1::bigint AND day < (now() AT TIME ZONE 'UTC')::date - $2::int4")
}
