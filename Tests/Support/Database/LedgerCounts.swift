import Postgres

/// Batches of the ledger whose counts are not those of their pushes.
public struct MiscountedBatches: Error, CustomStringConvertible {
  /// For each, `<customer>/<sendout>/<batch>: <counts in the batch> instead of <counts of its pushes>`.
  public let batches: [String]
  public var description: String { "miscounted batches: " + batches.joined(separator: "; ") }
}

extension TestDatabase {
  private static let states = ["queued", "waiting", "accepted", "failed", "uncertain", "skipped", "cancelled"]
  private static let columns = (states + ["sent", "opened", "accepted_opened"]).joined(separator: ", ")

  private static let counts = """
    SELECT customer_id, sendout_id, batch_no, min(push_no) AS first_push, max(push_no) AS last_push,
      \(states.map { "count(*) FILTER (WHERE state = '\($0)')::int4 AS \($0)" }.joined(separator: ", ")),
      count(*) FILTER (WHERE attempts > 0)::int4 AS sent, count(opened_at)::int4 AS opened,
      (count(opened_at) FILTER (WHERE state = 'accepted'))::int4 AS accepted_opened
    FROM push GROUP BY customer_id, sendout_id, batch_no
    """

  /// Counts the pushes of each batch anew, after a test has written pushes itself. Batches that are missing are added.
  public func recountBatches() async throws {
    let updates = Self.columns.split(separator: ", ").map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try await query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, state, first_push, last_push, \(Self.columns))
      SELECT customer_id, sendout_id, batch_no, 1, false, 'settled', first_push, last_push, \(Self.columns)
      FROM (\(Self.counts)) AS counted
      ON CONFLICT (customer_id, sendout_id, batch_no) DO UPDATE SET \(updates)
      """)
  }

  /// Holds the counts of every batch against its pushes.
  /// - Throws: `MiscountedBatches`.
  public func checkBatchCounts() async throws {
    let wrong = try await query(
      """
      SELECT format('%s/%s/%s: %s instead of %s', customer_id, sendout_id, batch_no, told.counts, counted.counts)
      FROM (SELECT customer_id, sendout_id, batch_no, ROW(\(Self.columns))::text AS counts FROM push_batch) AS told
      JOIN (SELECT customer_id, sendout_id, batch_no, ROW(\(Self.columns))::text AS counts FROM (\(Self.counts)) AS c)
        AS counted USING (customer_id, sendout_id, batch_no)
      WHERE told.counts <> counted.counts
      """
    ).map { try $0.decode(String.self) }
    guard wrong.isEmpty else { throw MiscountedBatches(batches: wrong) }
  }
}
