import Postgres

/// Statements that delete what retention no longer keeps of a sendout. `$1` is the customer, `$2` the sendout. Only sendouts that
/// ended for good come here, so nothing else changes their rows but opens.
enum HistoryQueries {
  static let all: [Statement] = [
    lastNumbers, deleteOpens, deletePushes, deleteMessages, deleteNumbers, deleteReports, foldBatches,
  ]

  /// The highest numbers of its pushes and messages, 0 if there are none.
  static let lastNumbers = Statement(
    "history.last_numbers", .read,
    """
    SELECT (SELECT coalesce(max(last_push), 0) FROM push_batch WHERE customer_id = $1::bigint AND sendout_id = $2::bigint),
           (SELECT coalesce(max(message_no), 0) FROM message WHERE customer_id = $1::bigint AND sendout_id = $2::bigint)
    """)

  /// The opens of the pushes from `$3` to `$4`.
  static let deleteOpens = delete("history.delete_opens", from: "open_event", by: "push_no")
  static let deletePushes = delete("history.delete_pushes", from: "push", by: "push_no")
  /// The messages from `$3` to `$4`.
  static let deleteMessages = delete("history.delete_messages", from: "message", by: "message_no")

  /// What messages from `$3` to `$4` to telephone numbers say.
  static let deleteNumbers = delete("history.delete_numbers", from: "hybrid_message", by: "message_no")

  static let deleteReports = delete("history.delete_reports", from: "hybrid_report", by: "message_no")

  private static func delete(_ name: String, from table: String, by number: String) -> Statement {
    Statement(
      name, .write,
      """
      DELETE FROM \(table)
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND \(number) BETWEEN $3::int4 AND $4::int4
      """)
  }

  private static let counts = [
    "queued", "waiting", "accepted", "failed", "uncertain", "skipped", "cancelled", "sent", "opened", "accepted_opened",
  ]

  /// Puts one settled batch of each lane in place of all of them: its counts are the sendout's totals. The range of its pushes
  /// is only their number.
  static let foldBatches = Statement(
    "history.fold_batches", .write,
    """
    WITH gone AS (
      DELETE FROM push_batch WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
      RETURNING *)
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, state, first_push, last_push,
                            \(counts.joined(separator: ", ")))
    SELECT $1::bigint, $2::bigint, min(batch_no), push_app_id, sandbox, 'settled', 1, sum(last_push - first_push + 1),
           \(counts.map { "sum(\($0))" }.joined(separator: ", "))
      FROM gone
     GROUP BY push_app_id, sandbox
    """)
}
