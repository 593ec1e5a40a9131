import Postgres
public import Registry
public import Wire

extension DayCounts {
  /// Counts what has come to a customer's days since they were counted last. While somebody else does, this does nothing.
  ///
  /// Statements that register, settle and record opens do not count days: a row of the day in each of them took 8 % of the time in which
  /// outcomes are written, and 1.4 % of that of registrations. What they write anyway says as much later, and exactly: devices have the moment
  /// of their first registration, batches the number of their pushes that were sent, and hours their opens. So nothing is lost with a hub
  /// that is killed.
  /// - Parameter age: what was counted within it is not counted again.
  public func count(_ customer: CustomerID, olderThan age: Duration = .zero) async throws {
    try await database.query(DayCountQueries.begin, customer.rawValue)
    try await database.query(DayCountingQueries.count, customer.rawValue, age.inSeconds)
  }
}

/// Statements that count days. `$1` is the customer.
enum DayCountingQueries {
  static let all: [Statement] = [count]

  /// Adds to the days what is not counted yet, unless that was done within the last `$2` seconds. It costs by the new devices, the batches of
  /// sendouts that go on or ended within the hour, and the hours with opens since yesterday.
  ///
  /// A sendout's pushes are counted up to a number, `sent_counted`. Its batches say on which days they were sent: those beyond that number, in
  /// the order of days, are new. A batch that is claimed again on another day moves no push that is counted.
  ///
  /// Locks the customer's progress, then sendouts, which it looks at again next time if others have locked them, then days in their order.
  static let count = Statement(
    "day_count.count", .write,
    """
    WITH \(DayCountQueries.progress),
    sent AS MATERIALIZED (
      SELECT s.sendout_id, s.sent_counted, s.is_over, b.day, b.sent,
             sum(b.sent) OVER (PARTITION BY s.sendout_id ORDER BY b.day) AS until_day
        FROM (SELECT sendout_id, sent_counted,
                     state IN ('finished', 'cancelled') AND finished_at < now() - interval '1 hour' AS is_over
                FROM sendout
               WHERE customer_id = $1::bigint AND NOT all_counted AND state <> 'draft' AND EXISTS (SELECT FROM progress)) AS s
        LEFT JOIN LATERAL (SELECT (coalesce(claimed_at, not_before) AT TIME ZONE 'UTC')::date AS day, sum(sent) AS sent
                             FROM push_batch
                            WHERE customer_id = $1::bigint AND sendout_id = s.sendout_id AND sent > 0
                            GROUP BY 1) AS b ON true),
    free AS MATERIALIZED (
      SELECT s.sendout_id, t.sent, t.is_over
        FROM (SELECT sendout_id, sent_counted, is_over, greatest(max(until_day), sent_counted)::bigint AS sent
                FROM sent GROUP BY sendout_id, sent_counted, is_over) AS t
       CROSS JOIN LATERAL (SELECT sendout_id FROM sendout
                            WHERE customer_id = $1::bigint AND sendout_id = t.sendout_id AND sent_counted = t.sent_counted
                            LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS s
       WHERE t.sent > t.sent_counted OR t.is_over),
    sendout_counted AS (
      UPDATE sendout SET sent_counted = free.sent, all_counted = free.is_over
        FROM free
       WHERE sendout.customer_id = $1::bigint AND sendout.sendout_id = free.sendout_id)
    INSERT INTO day_count AS known (customer_id, day, registered, sent, opened)
    SELECT $1::bigint, day, sum(registered), sum(sent), sum(opened)
      FROM (SELECT day, 0 AS registered, greatest(until_day, sent_counted) - greatest(until_day - sent, sent_counted) AS sent, 0 AS opened
              FROM sent WHERE day IS NOT NULL AND sendout_id IN (SELECT sendout_id FROM free)
             UNION ALL
            SELECT day, number, 0, 0 FROM (\(DayCountQueries.devices)) AS new
             UNION ALL
            SELECT day, 0, 0, number FROM (\(opens)) AS latest) AS portion
     GROUP BY day
    HAVING sum(registered) + sum(sent) + sum(opened) > 0
     ORDER BY day
    ON CONFLICT (customer_id, day)
      DO UPDATE SET registered = known.registered + excluded.registered, sent = known.sent + excluded.sent,
                    opened = greatest(known.opened, excluded.opened)
    """)

  /// All first opens of the days from the last counted one before today on, each day anew.
  private static let opens = """
    SELECT (hour AT TIME ZONE 'UTC')::date AS day, sum(first_opens) AS number
      FROM open_hour
     WHERE customer_id = $1::bigint AND EXISTS (SELECT FROM progress)
       AND hour >= coalesce((SELECT max(day) FROM day_count
                              WHERE customer_id = $1::bigint AND day < (now() AT TIME ZONE 'UTC')::date
                            )::timestamp AT TIME ZONE 'UTC', '-infinity')
     GROUP BY 1
    """
}
