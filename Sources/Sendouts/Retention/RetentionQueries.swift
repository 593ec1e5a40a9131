import Delivery
import Postgres

/// Statements of retention. The first three are functions of the schema's owner, since a hub may not change the schema.
enum RetentionQueries {
  static let all: [Statement] = [
    makePartitions, analyze, dropPartitions, forgotten, explainEnd, unfolded, lockUnfolded, markFolded, expired,
    markExpired,
  ]

  /// Returns the partitions that were made, and what hinders others.
  static let makePartitions = Statement(
    "partition.make", .write, "SELECT made, problem FROM make_partitions()")

  /// Gives the planner statistics of the partitioned tables as a whole, which autovacuum never makes. It runs with each new partition.
  static let analyze = Statement(
    "partition.analyze", .write, "SELECT refresh_statistics('push', 'open_event', 'device_event')")

  /// Drops partitions that have expired for everybody, with `$1` days of the hub; only names them if `$2`.
  static let dropPartitions = Statement(
    "partition.drop_expired", .write,
    "SELECT dropped, known_rows, problem FROM drop_expired_partitions($1::int4, $2::bool)")

  /// The sendouts of the customer `$1` that have been paused for more than `$2` days, or running for more than `$3` days: nobody has taken
  /// their pushes for so long.
  static let forgotten = Statement(
    "sendout.forgotten", .read,
    """
    SELECT sendout_id, state FROM sendout
     WHERE customer_id = $1::bigint
       AND (state = 'paused' AND changed_at < now() - make_interval(days => $2::int4)
            OR state IN ('freezing', 'running') AND changed_at < now() - make_interval(days => $3::int4))
     ORDER BY sendout_id
    """)

  /// Says why the hub has cancelled the sendout.
  static let explainEnd = Statement(
    "sendout.explain_end", .write,
    "UPDATE sendout SET halt_reason = $3::text WHERE customer_id = $1::bigint AND sendout_id = $2::bigint")

  /// The sendouts of the customer `$1` that ended for good more than `$2` days ago, of which reports still count the pushes.
  static let unfolded = Statement(
    "sendout.unfolded", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND \(isUnfolded) AND state IN ('finished', 'cancelled')
       AND finished_at < now() - make_interval(days => $2::int4)
       AND NOT \(PushBatchCondition.isUnsettled("$1::bigint", "sendout.sendout_id"))
     ORDER BY sendout_id
    """)

  /// Whether the sendout has times, limits or variants; no row once its figures are written for good. Locks it.
  static let lockUnfolded = Statement(
    "sendout.lock_unfolded", .write,
    """
    SELECT rules IS NOT NULL FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND \(isUnfolded)
       FOR UPDATE
    """)

  static let markFolded = Statement(
    "sendout.mark_folded", .write,
    "UPDATE sendout SET folded_at = now() WHERE customer_id = $1::bigint AND sendout_id = $2::bigint")

  private static let isUnfolded = "kind = 'broadcast' AND folded_at IS NULL"

  /// The sendouts of the customer `$1` that ended for good more than `$2` days ago and are not marked yet. Those that still have
  /// pushes count once it is `$3` days. A hub may still have a batch of a cancelled one in hand; such a sendout waits.
  static let expired = Statement(
    "sendout.expired", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND expired_at IS NULL AND state IN ('finished', 'cancelled')
       AND finished_at < now() - make_interval(days => $2::int4)
       AND NOT \(PushBatchCondition.isUnsettled("$1::bigint", "sendout.sendout_id"))
       AND (finished_at < now() - make_interval(days => $3::int4)
            OR (SELECT push_no FROM push
                 WHERE push.customer_id = $1::bigint AND push.sendout_id = sendout.sendout_id
                 ORDER BY push_no LIMIT 1) IS NULL)
     ORDER BY sendout_id
    """)

  /// Marks a sendout whose pushes are deleted. Original ids name people, so they go with their pushes.
  static let markExpired = Statement(
    "sendout.mark_expired", .write,
    """
    UPDATE sendout
       SET expired_at = now(),
           audience = CASE WHEN audience ? 'originalIds' THEN '{"originalIds":[]}' ELSE audience END
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)
}
