import Postgres
import Registry
import Wire

/// Statements that write an audience into the ledger.
///
/// The selection in the middle is Registry's (`AudienceSelection`), which owns contacts and devices. `$1` is the customer, `$2` the
/// push apps, `$3` the audience, `$4` the sendout and `$5` the size of a batch.
enum FreezeQueries {
  static let all: [Statement] = [
    everyone, list, originalIDs, meeting(.sample), originalIDsMeeting(.sample), batches, people, noDevice, analyze,
    unlimited,
  ]

  static let list = freeze("ledger.freeze_list", AudienceSelection.list, sendout: "$4", size: "$5")
  static let originalIDs = freeze(
    "ledger.freeze_original_ids", AudienceSelection.originalIDs, sendout: "$4", size: "$5")
  /// Needs no audience, so `$3` is the sendout and `$4` the size.
  static let everyone = freeze("ledger.freeze_all", AudienceSelection.all, sendout: "$3", size: "$4")

  /// Those who meet a filter, with its literals as `$3`.
  static func meeting(_ filter: FilterSQL) -> Statement {
    freeze("ledger.freeze_meeting", AudienceSelection.meeting(filter), sendout: "$4", size: "$5")
  }
  /// Those with the original ids `$3` who meet a filter, with its literals as `$4`.
  static func originalIDsMeeting(_ filter: FilterSQL) -> Statement {
    freeze(
      "ledger.freeze_original_ids_meeting", AudienceSelection.originalIDsMeeting(filter), sendout: "$5", size: "$6")
  }

  /// Devices are numbered by lane, which is the app's place among the sendout's and then the environment, and by id. A batch ends
  /// with its lane, and wherever the number is a multiple of the batch's size. So its number follows from that of its first push, and
  /// no window has to be counted but one: three windows took twice the time of the whole selection.
  ///
  /// The customer comes from the devices, and the numbers are partitioned by it. On Citus rows then go from shard to shard, not
  /// through the coordinator. The outer condition says nothing new, but lets the planner know that the numbered devices are in order
  /// already. Else it sorts all of them a second time.
  private static func freeze(_ name: String, _ audience: String, sendout: String, size: String) -> Statement {
    Statement(
      name, .write,
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
      SELECT customer_id, \(sendout)::bigint, push_no, (push_no - 1) / \(size)::int4 + lane, device_id, contact_id
        FROM (SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY lane, device_id) AS push_no
                FROM (SELECT customer_id, device_id, contact_id, 
                             array_position($2::bigint[], push_app_id) * 2 - 2 + sandbox::int4 AS lane
                        FROM (\(audience)) AS audience) AS laned) AS numbered
       WHERE customer_id = $1::bigint
      """)
  }

  /// Writes the batches of the `$3` pushes that were just written. Of most it reads the first and the last push alone, as a lane ends in
  /// few of them. A batch's number, without how many it would follow in a single lane, is its lane's.
  ///
  /// The planner knows no statistics of these pushes, and takes them for one. Look-ups of their own keep it from joining all with all.
  static let batches = Statement(
    "ledger.freeze_batches", .write,
    """
    WITH \(batch)
    INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued)
    SELECT $1::bigint, $2::bigint, batch_no, ($5::bigint[])[lane / 2 + 1], lane % 2 = 1, first_push, last_push,
           last_push - first_push + 1
      FROM batch
     CROSS JOIN LATERAL (SELECT batch_no - (first_push - 1) / $4::int4 AS lane) AS numbered
    """)

  /// CTEs, the last of which, `batch`, has the batches of the `$3` pushes that were just written, of `$4` each.
  static let batch = """
    piece AS (
      SELECT first.batch_no, number AS first_push, least(number + $4::int4 - 1, $3::int4) AS last_push,
             first.batch_no < last.batch_no AS is_mixed
        FROM generate_series(1, $3::int4, $4::int4) AS number
       CROSS JOIN LATERAL \(batchNumber(of: "number")) AS first
       CROSS JOIN LATERAL \(batchNumber(of: "least(number + $4::int4 - 1, $3::int4)")) AS last
    ),
    batch AS (
      SELECT batch_no, first_push, last_push FROM piece WHERE NOT is_mixed
      UNION ALL
      SELECT part.batch_no, part.first_push, part.last_push
        FROM piece
       CROSS JOIN LATERAL (
         SELECT batch_no, min(push_no) AS first_push, max(push_no) AS last_push FROM push
          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
            AND push_no BETWEEN piece.first_push AND piece.last_push
          GROUP BY batch_no) AS part
       WHERE piece.is_mixed
    )
    """

  private static func batchNumber(of push: String) -> String {
    """
    (SELECT batch_no FROM push
      WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = \(push) LIMIT 1)
    """
  }

  /// How many contacts the `$3` pushes have that were just written.
  static let people = Statement(
    "ledger.freeze_people", .read,
    """
    SELECT count(*)
      FROM (SELECT FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no BETWEEN 1 AND $3::int4
             GROUP BY contact_id) AS contact
    """)

  /// Notes that `$3` contacts of the audience have no device.
  static let noDevice = Statement(
    "ledger.freeze_no_device", .write,
    """
    INSERT INTO sendout_left_out (customer_id, sendout_id, reason, contacts)
    VALUES ($1::bigint, $2::bigint, '\(PreflightReply.StepName.noDevice.rawValue)', $3::int4)
    """)

  /// Gives the planner statistics of `$2` new pushes of the sendout `$1`. Without statistics of them it expects a handful where there are a
  /// million, and reads all of them to settle a thousand. It looks at the sendout's partition only, and only when they are more
  /// than a tenth of what it knows of.
  static let analyze = Statement(
    "ledger.analyze", .write, "SELECT refresh_push_statistics($1::bigint, $2::bigint)")

  /// Lifts the time limit for the rest of the transaction: a freeze or cancellation takes longer the larger the audience is. A million
  /// devices are sorted in memory. Each is planned anew: a plan that was made while there was nobody compares all with all.
  static let unlimited = Statement(
    "ledger.unlimited", .write,
    """
    SELECT set_config('statement_timeout', '0', true), set_config('work_mem', '64MB', true),
           set_config('plan_cache_mode', 'force_custom_plan', true)
    """)
}
