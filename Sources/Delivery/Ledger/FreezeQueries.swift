import Postgres
import Registry

/// Statements that write an audience into the ledger.
///
/// The selection in the middle is Registry's (`AudienceSelection`), which owns contacts and devices. `$1` is the customer, `$2` the
/// push app, `$3` the audience, `$4` the sendout and `$5` the size of a batch.
enum FreezeQueries {
  static let all: [Statement] = [everyone, list, originalIDs, batches, analyze, unlimited]

  static let list = freeze("ledger.freeze_list", AudienceSelection.list, sendout: "$4", size: "$5")
  static let originalIDs = freeze(
    "ledger.freeze_original_ids", AudienceSelection.originalIDs, sendout: "$4", size: "$5")
  /// Needs no audience, so `$3` is the sendout and `$4` the size.
  static let everyone = freeze("ledger.freeze_all", AudienceSelection.all, sendout: "$3", size: "$4")

  /// Devices are numbered in the order of their ids, so that a batch is a range of the ledger's primary key. The
  /// customer comes from the devices, and the numbers are partitioned by it. On Citus rows then go from shard to shard,
  /// not through the coordinator.
  private static func freeze(_ name: String, _ audience: String, sendout: String, size: String) -> Statement {
    Statement(
      name, .write,
      """
      INSERT INTO push (customer_id, sendout_id, device_id, contact_id, batch_no)
      SELECT customer_id, \(sendout)::bigint, device_id, contact_id,
             (row_number() OVER (PARTITION BY customer_id ORDER BY device_id) - 1) / \(size)::int4
        FROM (\(audience)) AS audience
      """)
  }

  /// Writes the batches of the pushes that were just written.
  static let batches = Statement(
    "ledger.freeze_batches", .write,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, size, first_device_id, last_device_id, state)
    SELECT customer_id, sendout_id, batch_no, count(*), min(device_id), max(device_id), 'queued'
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
     GROUP BY customer_id, sendout_id, batch_no
    """)

  /// Without statistics of the new rows, the planner expects a handful of pushes where there are a million. It then
  /// reads all of them to settle a thousand.
  static let analyze = Statement("ledger.analyze", .write, "SELECT refresh_statistics('push', 'push_batch')")

  /// Lifts the time limit for the rest of the transaction: a freeze or cancellation takes longer the larger the audience is.
  static let unlimited = Statement(
    "ledger.unlimited", .write, "SELECT set_config('statement_timeout', '0', true)")
}
