import Postgres
import Registry

/// Statements on a table whose rows any hub works on step by step: when a row is due, and how often its next step has failed.
///
/// The table has the columns `failures`, `failing_since`, `try_at` and `failure`. Its key is the customer, and a number that is named for it.
package struct StepQueries: Sendable {
  /// The rows that are due: customers and numbers.
  let due: Statement
  /// Those of the customer `$1`: numbers, and how often each has failed.
  let dueOf: Statement
  /// Notes that the next step of `$2` has failed once more than `$3` times, as `$4` says, and is tried again in `$5` seconds. No row if another
  /// hub has noted that, or a success.
  let noteFailure: Statement
  /// Notes that a step of `$2` has succeeded.
  let noteSuccess: Statement

  /// - Parameter condition: which rows have anything to do.
  init(_ table: String, while condition: String) {
    let (number, isDue) = ("\(table)_id", "\(condition) AND (try_at IS NULL OR try_at <= now())")
    let one = "customer_id = $1::bigint AND \(number) = $2::bigint"
    due = Statement(
      "\(table).due", .read,
      "SELECT customer_id, \(number) FROM \(table) WHERE \(isDue) ORDER BY customer_id, \(number)")
    dueOf = Statement(
      "\(table).due_of_customer", .read,
      "SELECT \(number), failures FROM \(table) WHERE customer_id = $1::bigint AND \(isDue) ORDER BY \(number)")
    noteFailure = Statement(
      "\(table).note_failure", .write,
      """
      UPDATE \(table) SET failures = failures + 1, failing_since = coalesce(failing_since, clock.at), failure = $4::text,
             try_at = now() + make_interval(secs => $5::float8)
        FROM (SELECT now() AS at OFFSET 0) AS clock
       WHERE \(one) AND failures = $3::int4
      RETURNING failures
      """)
    noteSuccess = Statement(
      "\(table).note_success", .write,
      """
      UPDATE \(table) SET failures = 0, failing_since = NULL, failure = NULL, try_at = NULL
       WHERE \(one) AND failures > 0
      """)
  }

  /// Lifts the time limit for the rest of the transaction, and gives it memory to hash many rows.
  static let unlimited = Statement(
    "step.unlimited", .read,
    "SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true)")

  var all: [Statement] { [due, dueOf, noteFailure, noteSuccess] }
}

extension ChangeChannel {
  /// There is a step to do of something that `StepRunner` runs.
  static let step = ChangeChannel("pushcart_step")
}
