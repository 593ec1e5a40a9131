import Postgres
import Registry

/// Statements on one batch, from its claim to its release. `$1` is the customer, `$2` the sendout.
enum BatchQueries {
  static let all: [Statement] = [claim, extend, settle, release, claimedBy, hasQueued]

  /// Claims a batch for the run `$3` for `$4` seconds and returns its pushes that are to be sent now; a batch that has none
  /// returns one row without a device. Once this is committed, pushes of the batch without an outcome are uncertain, so it is
  /// safe to let their bytes leave. Pushes due for another attempt record now why they are sent again: nobody is sent a push
  /// twice without a reason in the ledger. Locks the batch, and skips batches that others have locked.
  static let claim = Statement(
    "batch.claim", .write,
    """
    WITH due AS (
      SELECT batch_no, not_before
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'queued' AND not_before <= now()
       ORDER BY not_before DESC, batch_no
       LIMIT 1
         FOR UPDATE SKIP LOCKED),
    claimed AS (
      UPDATE push_batch
         SET state = 'claimed', hub_id = $3::uuid, claims = claims + 1, not_before = '-infinity',
             claimed_at = now(), lease_until = now() + make_interval(secs => $4::float8)
        FROM due
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = due.batch_no
      RETURNING push_batch.batch_no, claims, first_device_id, last_device_id),
    due_again AS (
      UPDATE push
         SET state = 'queued', not_before = NULL,
             resent_because = CASE WHEN attempts > 0 THEN reason ELSE resent_because END
        FROM claimed
       WHERE claimed.claims > 1
         AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.device_id BETWEEN claimed.first_device_id AND claimed.last_device_id
         AND push.state = 'waiting' AND push.not_before <= now()
      RETURNING claimed.batch_no, claimed.claims, claimed.first_device_id, claimed.last_device_id,
                push.device_id, push.contact_id, push.attempts, push.give_up_at)
    SELECT claimed.batch_no, claimed.claims, claimed.first_device_id, claimed.last_device_id,
           queued.device_id, queued.contact_id, queued.attempts, queued.give_up_at, false AS is_due_again
      FROM claimed
      LEFT JOIN LATERAL
           -- OFFSET 0 keeps this a look-up by the primary key, whatever the planner thinks of the tables' sizes.
           (SELECT device_id, contact_id, attempts, give_up_at
              FROM push
             WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
               AND push.device_id BETWEEN claimed.first_device_id AND claimed.last_device_id
               AND push.state = 'queued'
            OFFSET 0) AS queued ON true
    UNION ALL
    SELECT *, true FROM due_again
    """)

  /// Extends the leases of the run `$3`, on the batches `$5` in their claims `$6`, to `$4` seconds from now. Returns those that are
  /// extended: an expired lease is not, even if nobody has requeued the batch yet.
  static let extend = Statement(
    "batch.extend", .write,
    """
    UPDATE push_batch
       SET lease_until = now() + make_interval(secs => $4::float8)
      FROM unnest($5::int4[], $6::int4[]) AS held (batch_no, claims)
     WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
       AND push_batch.batch_no = held.batch_no AND push_batch.claims = held.claims
       AND push_batch.state = 'claimed' AND push_batch.hub_id = $3::uuid AND push_batch.lease_until > now()
    RETURNING push_batch.batch_no, push_batch.claims
    """)

  /// Writes outcomes. Arrays: `$3` devices, `$4` states, `$5` reasons, `$6` attempts to add, `$7` when they left. `$8`
  /// holds the seconds until the next attempt, `$9` those until such a push expires; both may be NULL. Only queued
  /// pushes are changed, so that writing twice, or late after the batch was requeued, changes nothing. Only the run
  /// `$10` that has claimed the batch may let a push wait. Due times are rounded up to a quarter of a second, so that
  /// pushes delayed together become due together. They are computed beside the push, as Citus accepts no sum of `now()`
  /// and a column in SET; OFFSET 0 keeps the planner from moving them there. Locks the pushes in the order of their
  /// ids, as opens do.
  static let settle = Statement(
    "push.settle", .write,
    """
    UPDATE push
       SET state = outcome.state, reason = outcome.reason, attempts = push.attempts + outcome.attempts,
           sent_at = coalesce(outcome.sent_at, push.sent_at), settled_at = now(), not_before = outcome.not_before,
           give_up_at = coalesce(push.give_up_at, outcome.give_up_at)
      FROM (SELECT device_id, state, reason, attempts, sent_at,
                   date_bin('250 ms', now() + make_interval(secs => delay), '2000-01-01') + interval '250 ms'
                     AS not_before,
                   now() + make_interval(secs => timeout) AS give_up_at
              FROM unnest($3::bigint[], $4::text[], $5::text[], $6::int2[], $7::timestamptz[], $8::float8[], $9::float8[])
                   AS outcome (device_id, state, reason, attempts, sent_at, delay, timeout)
            OFFSET 0) AS outcome
     WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.device_id = outcome.device_id
       AND push.state = 'queued'
       AND (outcome.state <> 'waiting'
            OR EXISTS (SELECT FROM push_batch
                        WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
                          AND push_batch.batch_no = push.batch_no AND push_batch.state = 'claimed'
                          AND push_batch.hub_id = $10::uuid))
    """)

  /// Releases the batch `$3`, of the devices from `$5` to `$6`, that the run `$4` has claimed in its claim `$7`. It is
  /// settled if every push has its outcome. Otherwise it can be claimed again: at once if pushes are queued, else when
  /// the first is due. A sendout that was paused or cancelled meanwhile holds or cancels it. Returns the new state, or
  /// nothing if the batch was requeued.
  static let release = Statement(
    "batch.release", .write,
    """
    WITH released AS (
      UPDATE push_batch
         SET state = CASE WHEN rest.queued + rest.waiting = 0 THEN 'settled' ELSE release_to END,
             not_before = CASE WHEN rest.queued = 0 THEN coalesce(rest.due, '-infinity') ELSE '-infinity' END
        FROM (SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
                     count(*) FILTER (WHERE state = 'waiting') AS waiting,
                     min(not_before) FILTER (WHERE state = 'waiting') AS due
                FROM push
               WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                 AND device_id BETWEEN $5::bigint AND $6::bigint) AS rest
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = $3::int4 AND push_batch.claims = $7::int4
         AND push_batch.hub_id = $4::uuid AND push_batch.state = 'claimed'
      RETURNING push_batch.state),
    cancelled AS (
      UPDATE push
         SET state = 'cancelled', settled_at = now(), not_before = NULL
        FROM released
       WHERE released.state = 'cancelled'
         AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.device_id BETWEEN $5::bigint AND $6::bigint
         AND push.state IN ('queued', 'waiting'))
    SELECT state FROM released
    """)

  /// The batches that the run `$3` has claimed.
  static let claimedBy = Statement(
    "batch.claimed_by", .read,
    """
    SELECT batch_no, claims, first_device_id, last_device_id
      FROM push_batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed' AND hub_id = $3::uuid
    """)

  /// Whether there are queued pushes to devices of the sandbox or, if `$3` is false, of production.
  static let hasQueued = Statement(
    "push.has_queued", .read,
    """
    SELECT EXISTS (SELECT FROM push
                    WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.state = 'queued'
                      AND \(DeviceCondition.isOf("push.device_id", sandbox: "$3::bool")))
    """)
}
