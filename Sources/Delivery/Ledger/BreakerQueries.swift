import Postgres

/// Statements on `circuit_breaker`, and on what opens one. `$1` is the customer, `$2` the sendout.
enum BreakerQueries {
  static let all: [Statement] = [count, answers, open, retired]

  /// Adds `$6` invalid tokens to the batch `$3` that the run `$4` has claimed in its claim `$5`. Locks the batch.
  static let count = Statement(
    "breaker.count", .write,
    """
    UPDATE push_batch
       SET invalid = invalid + $6::int4
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND batch_no = $3::int4 AND claims = $5::int4
       AND hub_id = $4::uuid
    """)

  /// Answered pushes and invalid tokens of the lane of app `$3` and environment `$4`, and whether its circuit breaker is open. It looks
  /// at the last 1000 of its batches that were sent, among the 2000 of the sendout up to the last one that is claimed: a stream has many,
  /// of a few pushes each. Batches that were never claimed can follow by the thousand, and of other lanes, too; both are left alone.
  static let answers = Statement(
    "breaker.answers", .read,
    """
    SELECT coalesce(sum(accepted + failed), 0)::int8, coalesce(sum(invalid), 0)::int8,
           EXISTS (SELECT FROM circuit_breaker
                    WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = $3::bigint
                      AND sandbox = $4::bool)
      FROM (SELECT accepted, failed, invalid
              FROM (SELECT batch_no, push_app_id, sandbox, sent, accepted, failed, invalid
                      FROM push_batch
                     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                       AND batch_no <= (SELECT batch_no FROM push_batch
                                         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                                           AND push_app_id = $3::bigint AND sandbox = $4::bool AND state = 'claimed'
                                         ORDER BY batch_no DESC LIMIT 1)
                     ORDER BY batch_no DESC
                     LIMIT 2000) AS recent
             WHERE push_app_id = $3::bigint AND sandbox = $4::bool AND (sent > 0 OR invalid > 0)
             ORDER BY batch_no DESC
             LIMIT 1000) AS last
    """)

  /// Opens the lane's circuit breaker, with `$5` answered pushes, `$6` invalid tokens, and `$7` of them before.
  static let open = Statement(
    "breaker.open", .write,
    """
    INSERT INTO circuit_breaker (customer_id, sendout_id, push_app_id, sandbox, answered, invalid, retired)
    VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bool, $5::int4, $6::int4, $7::int4)
    ON CONFLICT DO NOTHING
    """)

  static let retired = Statement(
    "breaker.retired", .read,
    """
    SELECT retired::int8 FROM circuit_breaker
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = $3::bigint AND sandbox = $4::bool
    """)
}
