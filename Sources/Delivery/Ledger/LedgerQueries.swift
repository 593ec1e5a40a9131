package import Postgres

/// Statements that hold, resume and cancel a sendout's batches as a whole, and tell its progress. `$1` is the customer, `$2` the
/// sendout. Batches are locked before pushes everywhere, so these never deadlock with each other.
enum LedgerQueries {
  static let all: [Statement] = [
    hold, resume, cancel, cancelUnclaimed, moment, due, requeueLost, remainingWork, lanes, counts, pushes,
    pushesOfContact,
  ]

  /// Unclaimed batches are held now, claimed ones when they are released. Locks the batches it changes.
  static let hold = Statement(
    "ledger.hold", .write,
    """
    WITH batch AS MATERIALIZED (\(locked(in: "'queued', 'claimed'")))
    UPDATE push_batch
       SET release_to = 'held', state = CASE WHEN state = 'queued' THEN 'held' ELSE state END
      FROM batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_batch.batch_no = batch.batch_no
       AND state IN ('queued', 'claimed')
    """)

  /// Locks the batches in these states in the order of their numbers, as outcomes do.
  private static func locked(in states: String) -> String {
    """
    SELECT batch_no FROM push_batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN (\(states))
     ORDER BY batch_no
       FOR NO KEY UPDATE
    """
  }

  static let resume = Statement(
    "ledger.resume", .write,
    """
    WITH batch AS MATERIALIZED (\(locked(in: "'held', 'claimed'")))
    UPDATE push_batch
       SET release_to = 'queued', state = CASE WHEN state = 'held' THEN 'queued' ELSE state END
      FROM batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_batch.batch_no = batch.batch_no
       AND state IN ('held', 'claimed')
    """)

  /// Unclaimed pushes are cancelled now. Claimed ones keep their outcome, or are cancelled at release (`BatchQueries.release`).
  static let cancel = cancel("ledger.cancel", "'queued', 'held', 'claimed'")

  /// The same of those that are not claimed. A million take seconds, in which outcomes of claimed batches must not wait for a lock.
  static let cancelUnclaimed = cancel("ledger.cancel_unclaimed", "'queued', 'held'")

  private static func cancel(_ name: String, _ states: String) -> Statement {
    Statement(
      name, .write,
      """
      WITH batch AS MATERIALIZED (\(locked(in: states))),
      stopped AS (
        UPDATE push_batch
           SET release_to = 'cancelled', state = CASE WHEN state = 'claimed' THEN state ELSE 'cancelled' END,
               \(BatchQueries.cancelledCounts("state <> 'claimed'"))
          FROM batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_batch.batch_no = batch.batch_no
           AND state IN (\(states))
        RETURNING state, first_push, last_push)
      \(BatchQueries.cancelPushes(of: "stopped"))
      """)
  }

  static let moment = Statement("ledger.moment", .read, "SELECT clock_timestamp()")

  /// What any hub may do now, of all customers: lanes with batches to claim. True for what does not wait until a lane opens: batches with a
  /// message that has expired, and claimed batches whose lease has.
  /// The one question that is asked again and again, so it goes by the indexes of due moments, whatever number of customers there is.
  static let due = Statement(
    "ledger.due", .read,
    """
    SELECT DISTINCT customer_id, sendout_id, push_app_id, sandbox, false
      FROM push_batch WHERE state = 'queued' AND not_before <= now()
    UNION ALL
    SELECT DISTINCT customer_id, sendout_id, push_app_id, sandbox, true
      FROM push_batch WHERE state = 'queued' AND not_before <= now() AND expires_at <= now()
    UNION ALL
    SELECT DISTINCT customer_id, sendout_id, push_app_id, sandbox, true
      FROM push_batch WHERE state = 'claimed' AND lease_until < now()
    """)

  /// Requeues claimed batches whose lease has expired, but the batches `$4`. Their queued pushes up to the write-ahead mark are
  /// uncertain: the policy `$3` says whether they are sent again (`resend`) or not (`skip`). With the app `$5` of a fallback it is about
  /// pushes to that alone, and others are sent again. The others never left. In a cancelled sendout the
  /// former stay uncertain, whatever the policy, and the latter are cancelled. Returns how many batches there were, and how many
  /// uncertain pushes.
  static let requeueLost = Statement(
    "ledger.requeue_lost", .write,
    """
    WITH lost AS MATERIALIZED (
      SELECT batch_no, first_push, last_push, sent_to, claimed_at, release_to, waiting, now() AS now,
             release_to <> 'cancelled' AND ($3::text = 'resend' OR push_app_id <> $5::bigint) IS TRUE AS resends
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed' AND lease_until < now()
         AND batch_no <> ALL ($4::int4[])
       ORDER BY batch_no
         FOR NO KEY UPDATE SKIP LOCKED),
    unanswered AS (
      UPDATE push
         SET attempts = attempts + 1, sent_at = lost.claimed_at, reason = 'hub_stopped',
             resent_because = CASE WHEN lost.resends THEN 'hub_stopped' ELSE resent_because END,
             state = CASE WHEN lost.resends THEN push.state ELSE 'uncertain' END,
             settled_at = CASE WHEN lost.resends THEN settled_at ELSE lost.now END
        FROM lost
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN lost.first_push AND lost.sent_to AND push.state = 'queued'
      RETURNING push.batch_no, push.state, push.attempts = 1 AS is_first),
    unsent AS (
      UPDATE push
         SET state = 'cancelled', settled_at = lost.now, not_before = NULL
        FROM lost
       WHERE lost.release_to = 'cancelled'
         AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN lost.first_push AND lost.last_push
         AND (push.state = 'waiting' OR push.state = 'queued' AND push.push_no > lost.sent_to)),
    rest AS (
      SELECT lost.batch_no, coalesce(count.uncertain, 0) AS uncertain, coalesce(count.firsts, 0) AS firsts, due.due
        FROM lost
        LEFT JOIN (SELECT batch_no, count(*) FILTER (WHERE state = 'uncertain') AS uncertain,
                          count(*) FILTER (WHERE is_first) AS firsts
                     FROM unanswered GROUP BY batch_no) AS count ON count.batch_no = lost.batch_no
       CROSS JOIN LATERAL (SELECT min(push.not_before) AS due FROM push
                            WHERE lost.waiting > 0
                              AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                              AND push.push_no BETWEEN lost.first_push AND lost.last_push AND push.state = 'waiting') AS due),
    released AS (
      UPDATE push_batch
         SET state = CASE WHEN queued - rest.uncertain + waiting = 0 THEN 'settled' ELSE release_to END,
             not_before = CASE WHEN queued - rest.uncertain > 0 THEN '-infinity'
                               WHEN push_batch.not_before > '-infinity' THEN push_batch.not_before
                               ELSE coalesce(rest.due, '-infinity') END,
             uncertain = push_batch.uncertain + rest.uncertain, sent = sent + rest.firsts,
             cancelled = CASE WHEN release_to = 'cancelled' THEN cancelled + queued - rest.uncertain + waiting
                              ELSE cancelled END,
             queued = CASE WHEN release_to = 'cancelled' THEN 0 ELSE queued - rest.uncertain END,
             waiting = CASE WHEN release_to = 'cancelled' THEN 0 ELSE waiting END
        FROM rest
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = rest.batch_no
      RETURNING 1)
    SELECT (SELECT count(*) FROM released), (SELECT count(*) FROM unanswered)
    """)

  /// Seconds until the next batch may be claimed, a day at most, and until the next lease expires, 0 for those past, NULL for none; and whether
  /// anything is held. They are computed by the server's clock, so that a hub's own does not matter.
  static let remainingWork = Statement(
    "ledger.remaining_work", .read,
    """
    SELECT (SELECT extract(epoch FROM least(greatest(not_before, now()), now() + interval '1 day') - now())::float8
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

  /// The lanes of batches that can be claimed, now or later, or are claimed; and whether one can be claimed now.
  static let lanes = Statement(
    "ledger.lanes", .read,
    """
    SELECT push_app_id, sandbox, coalesce(bool_or(state = 'queued' AND not_before <= now()), false)
      FROM push_batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'claimed')
     GROUP BY push_app_id, sandbox
     ORDER BY push_app_id, sandbox
    """)

  static let counts = Statement(
    "ledger.counts", .read,
    """
    SELECT audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened
      FROM sendout_counts
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// `$3` is the state or NULL for all, `$4` the push after which to begin, `$5` how many.
  static let pushes = Statement(
    "ledger.pushes", .read,
    """
    SELECT push_no, device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at,
           nullif(not_before, 'infinity') AS not_before, opened_at, address, delivery, delivery_reason, reported_at
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no > $4::bigint
       AND ($3::text IS NULL OR state = $3::text)
     ORDER BY push_no
     LIMIT $5::bigint
    """)

  /// The pushes of the contact `$3`. Those of sendouts and of messages have an index each.
  static let pushesOfContact = Statement(
    "ledger.pushes_of_contact", .read,
    """
    SELECT push_no, device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at,
           nullif(not_before, 'infinity') AS not_before, opened_at, address, delivery, delivery_reason, reported_at
      FROM (SELECT * FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = $3::bigint AND message_no IS NULL
             UNION ALL
            SELECT * FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = $3::bigint AND message_no IS NOT NULL
           ) AS push
     ORDER BY push_no
    """)
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DeliveryStatements {
  package static let all: [Statement] =
    FreezeQueries.all + LedgerQueries.all + BatchQueries.all + BreakerQueries.all + MessageQueries.all + OpenQueries.all
    + HistoryQueries.all + HybridQueries.all + DeliveryReportQueries.all
}
