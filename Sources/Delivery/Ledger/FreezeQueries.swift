import Postgres
import Registry

/// Statements that write an audience into the ledger.
///
/// The selection in the middle is Registry's (`AudienceSelection`), which owns contacts and devices. `$1` is the customer, `$2` the
/// push apps, `$3` the audience, `$4` the sendout and `$5` the size of a batch.
enum FreezeQueries {
  static let all: [Statement] = [everyone, list, originalIDs, batches, analyze, unlimited]

  static let list = freeze("ledger.freeze_list", AudienceSelection.list, sendout: "$4", size: "$5")
  static let originalIDs = freeze(
    "ledger.freeze_original_ids", AudienceSelection.originalIDs, sendout: "$4", size: "$5")
  /// Needs no audience, so `$3` is the sendout and `$4` the size.
  static let everyone = freeze("ledger.freeze_all", AudienceSelection.all, sendout: "$3", size: "$4")

  /// Devices are numbered in the order of app, environment and id. Each batch is a range of these numbers, and of one app and
  /// environment. The customer comes from the devices, and the numbers are partitioned by it. On Citus rows then go from shard to
  /// shard, not through the coordinator. The outer condition says nothing new, but tells the planner that the numbered devices are in
  /// order already. Else it sorts all of them a second time.
  private static func freeze(_ name: String, _ audience: String, sendout: String, size: String) -> Statement {
    Statement(
      name, .write,
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
      SELECT customer_id, \(sendout)::bigint, push_no, 
             sum(begins_batch) OVER (PARTITION BY customer_id ORDER BY push_app_id, sandbox, device_id
                                      ROWS UNBOUNDED PRECEDING) - 1,
             device_id, contact_id
        FROM (SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY push_app_id, sandbox, device_id) AS push_no,
                     ((row_number() OVER (PARTITION BY customer_id, push_app_id, sandbox ORDER BY device_id) - 1)
                       % \(size)::int4 = 0)::int4 AS begins_batch
                FROM (\(audience)) AS audience) AS numbered
       WHERE customer_id = $1::bigint
      """)
  }

  /// Writes the batches of the pushes that were just written.
  static let batches = Statement(
    "ledger.freeze_batches", .write,
    """
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued)
    SELECT batch.customer_id, batch.sendout_id, batch.batch_no, device.push_app_id, device.sandbox, batch.first_push,
           batch.last_push, batch.last_push - batch.first_push + 1
      FROM (SELECT customer_id, sendout_id, batch_no, min(push_no) AS first_push, max(push_no) AS last_push,
                   min(device_id) AS device_id
              FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
             GROUP BY customer_id, sendout_id, batch_no) AS batch
      LEFT JOIN LATERAL \(DeviceCondition.lane("batch.device_id")) AS device ON true
    """)

  /// Tells the planner of `$2` new pushes of the sendout `$1`. Without statistics of them it expects a handful where there are a
  /// million, and reads all of them to settle a thousand. It looks at the sendout's partition only, and only when they are more
  /// than a tenth of what it knows of.
  static let analyze = Statement(
    "ledger.analyze", .write, "SELECT refresh_push_statistics($1::bigint, $2::bigint)")

  /// Lifts the time limit for the rest of the transaction: a freeze or cancellation takes longer the larger the audience is. A million
  /// devices are sorted in memory.
  static let unlimited = Statement(
    "ledger.unlimited", .write,
    "SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true)")
}
