package import Postgres

/// Statements that hold, resume and cancel a sendout's batches as a whole, and tell its progress. `$1` is the customer, `$2` the
/// sendout. Batches are locked before pushes everywhere, so these never deadlock with each other.
enum LedgerQueries {
  static let all: [Statement] = [hold, resume, cancel, lost, requeueLost, remainingWork, counts, pushes]

  /// Unclaimed batches are held now, claimed ones when they are released. Locks the batches it changes.
  static let hold = Statement(
    "ledger.hold", .write,
    """
    UPDATE push_batch
       SET release_to = 'held', state = CASE state WHEN 'queued' THEN 'held' ELSE state END
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'claimed')
    """)

  static let resume = Statement(
    "ledger.resume", .write,
    """
    UPDATE push_batch
       SET release_to = 'queued', state = CASE state WHEN 'held' THEN 'queued' ELSE state END
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('held', 'claimed')
    """)

  /// Unclaimed pushes are cancelled now. Claimed ones keep their outcome, or are cancelled at release (`BatchQueries.release`).
  static let cancel = Statement(
    "ledger.cancel", .write,
    """
    WITH stopped AS (
      UPDATE push_batch
         SET release_to = 'cancelled', state = CASE WHEN state = 'claimed' THEN state ELSE 'cancelled' END
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'held', 'claimed')
      RETURNING first_device_id, last_device_id, state)
    UPDATE push
       SET state = 'cancelled', settled_at = now(), not_before = NULL
      FROM stopped
     WHERE stopped.state = 'cancelled'
       AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
       AND push.device_id BETWEEN stopped.first_device_id AND stopped.last_device_id
       AND push.state IN ('queued', 'waiting')
    """)

  /// The customer's sendouts that have claimed batches with an expired lease.
  static let lost = Statement(
    "ledger.lost", .read,
    """
    SELECT DISTINCT sendout_id FROM push_batch
     WHERE customer_id = $1::bigint AND state = 'claimed' AND lease_until < now()
    """)

  /// Requeues claimed batches whose lease has expired. Their pushes that are still queued are uncertain: the policy `$3` says
  /// whether they are sent again (`resend`) or not (`skip`). In a cancelled sendout they stay uncertain, whatever the policy.
  static let requeueLost = Statement(
    "ledger.requeue_lost", .write,
    """
    WITH lost AS (
      SELECT batch_no, first_device_id, last_device_id, rest.queued, rest.waiting, rest.due
        FROM push_batch
       CROSS JOIN LATERAL (\(restOfBatch)) AS rest
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed' AND lease_until < now()
         FOR UPDATE OF push_batch SKIP LOCKED),
    released AS (
      UPDATE push_batch
         SET state = CASE WHEN ($3::text = 'skip' OR lost.queued = 0) AND lost.waiting = 0 THEN 'settled'
                          ELSE release_to END,
             not_before = CASE WHEN $3::text = 'resend' AND lost.queued > 0 THEN '-infinity'
                               ELSE coalesce(lost.due, '-infinity') END
        FROM lost
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = lost.batch_no
      RETURNING push_batch.batch_no, push_batch.first_device_id, push_batch.last_device_id, push_batch.state,
                push_batch.claimed_at),
    requeued AS (
      UPDATE push
         SET attempts = attempts + CASE push.state WHEN 'queued' THEN 1 ELSE 0 END,
             sent_at = CASE push.state WHEN 'queued' THEN released.claimed_at ELSE sent_at END,
             reason = CASE push.state WHEN 'queued' THEN 'hub_stopped' ELSE reason END,
             resent_because = CASE WHEN push.state = 'queued' AND released.state IN ('queued', 'held')
                                    AND $3::text = 'resend' THEN 'hub_stopped' ELSE resent_because END,
             state = CASE WHEN push.state = 'waiting' THEN 'cancelled'
                          WHEN $3::text = 'skip' OR released.state = 'cancelled' THEN 'uncertain'
                          ELSE push.state END,
             settled_at = CASE WHEN push.state = 'queued' AND $3::text = 'resend' AND released.state <> 'cancelled'
                               THEN settled_at ELSE released.now END,
             not_before = NULL
        FROM (SELECT *, now() AS now FROM released OFFSET 0) AS released
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.device_id BETWEEN released.first_device_id AND released.last_device_id
         AND (push.state = 'queued' OR push.state = 'waiting' AND released.state = 'cancelled')
      RETURNING 1)
    SELECT (SELECT count(*) FROM released), (SELECT count(*) FROM requeued)
    """)

  /// The rest of a batch: queued pushes, waiting pushes, and when the first of these is due.
  static let restOfBatch = """
    SELECT count(*) FILTER (WHERE push.state = 'queued') AS queued,
           count(*) FILTER (WHERE push.state = 'waiting') AS waiting,
           min(push.not_before) FILTER (WHERE push.state = 'waiting') AS due
      FROM push
     WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
       AND push.device_id BETWEEN push_batch.first_device_id AND push_batch.last_device_id
    """

  /// Seconds until the next batch may be claimed and until the next lease expires, 0 for those past, NULL for none; and whether
  /// anything is held. They are computed by the server's clock, so that a hub's own does not matter.
  static let remainingWork = Statement(
    "ledger.remaining_work", .read,
    """
    SELECT (SELECT extract(epoch FROM greatest(not_before, now()) - now())::float8
              FROM push_batch
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'queued'
             ORDER BY not_before LIMIT 1),
           (SELECT extract(epoch FROM greatest(lease_until, now()) - now())::float8
              FROM push_batch
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed'
             ORDER BY lease_until LIMIT 1),
           EXISTS (SELECT FROM push_batch
                    WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'held')
    """)

  static let counts = Statement(
    "ledger.counts", .read,
    """
    SELECT audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened
      FROM sendout_counts
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// `$3` is the state or NULL for all, `$4` the device after which to begin, `$5` how many.
  static let pushes = Statement(
    "ledger.pushes", .read,
    """
    SELECT device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at, not_before, opened_at
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND device_id > $4::bigint
       AND ($3::text IS NULL OR state = $3::text)
     ORDER BY device_id
     LIMIT $5::bigint
    """)
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DeliveryStatements {
  package static let all: [Statement] = FreezeQueries.all + LedgerQueries.all + BatchQueries.all + OpenQueries.all
}
