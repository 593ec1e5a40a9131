package import Postgres
import Registry
import Wire

/// Statements that hold, resume and cancel a sendout's batches as a whole, and count its progress. `$1` is the customer, `$2` the
/// sendout. Batches are locked before pushes everywhere, so these never deadlock with each other.
enum LedgerQueries {
  static let all: [Statement] = [
    hold, resume, cancel, cancelUnclaimed, moment, due, requeueLost, remainingWork, lanes, counts, totals, sendouts,
    settledLately, reasons,
    pushes, pushesOfContact, recipients, recipientsFound,
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

  /// Unclaimed pushes are cancelled now. Claimed ones keep their outcome, or are cancelled at release (`BatchQueries.release`). Statuses of
  /// tracked messages whose last pushes are cancelled follow, and so do their reports.
  static let cancel = cancel("ledger.cancel", "'queued', 'held', 'claimed'")

  /// Cancels only what is not claimed. A million pushes take seconds, in which outcomes of claimed batches must not wait for a lock.
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
        RETURNING state, first_push, last_push),
      cancelled AS (\(BatchQueries.cancelPushes(of: "stopped")))\(TrackedSettlement.cancelled(in: "cancelled"))
      SELECT count(*) FROM cancelled
      """)
  }

  static let moment = Statement("ledger.moment", .read, "SELECT clock_timestamp()")

  /// What any hub may do now, of all customers: lanes with batches to claim. True for what does not wait until a lane opens: batches with a
  /// message that has expired, and claimed batches whose lease has.
  /// This question is asked again and again, so it costs by the lanes that have something due, however many batches they have. It steps
  /// through `push_batch_due`, which has the lanes of each hour in order, from one lane to the next, up to this hour.
  static let due = Statement(
    "ledger.due", .read,
    """
    WITH RECURSIVE step AS (
      (SELECT b.due_hour, b.customer_id, b.sendout_id, b.push_app_id, b.sandbox
         FROM push_batch AS b
        WHERE b.state = 'queued' AND b.due_hour <= now() AT TIME ZONE 'UTC'
        ORDER BY 1, 2, 3, 4, 5 LIMIT 1)
      UNION ALL
      SELECT next.*
        FROM step
       CROSS JOIN LATERAL (
         SELECT b.due_hour, b.customer_id, b.sendout_id, b.push_app_id, b.sandbox
           FROM push_batch AS b
          WHERE b.state = 'queued' AND b.due_hour <= now() AT TIME ZONE 'UTC'
            AND (b.due_hour, b.customer_id, b.sendout_id, b.push_app_id, b.sandbox)
                > (step.due_hour, step.customer_id, step.sendout_id, step.push_app_id, step.sandbox)
          ORDER BY 1, 2, 3, 4, 5 LIMIT 1) AS next),
    lane AS MATERIALIZED (SELECT DISTINCT customer_id, sendout_id, push_app_id, sandbox FROM step)
    SELECT lane.*, false FROM lane CROSS JOIN LATERAL (\(first(orderedBy: "b.not_before"))) AS due
    UNION ALL
    SELECT lane.*, true FROM lane
     CROSS JOIN LATERAL (\(first("AND b.expires_at <= now()", orderedBy: "b.expires_at"))) AS due
    UNION ALL
    SELECT DISTINCT customer_id, sendout_id, push_app_id, sandbox, true
      FROM push_batch WHERE state = 'claimed' AND lease_until < now()
    """)

  /// A batch of `lane` that is due, if there is one. The order says which index leads to it, whatever is known of the table.
  private static func first(_ condition: String = "", orderedBy order: String) -> String {
    """
    SELECT FROM push_batch AS b
     WHERE b.customer_id = lane.customer_id AND b.sendout_id = lane.sendout_id AND b.push_app_id = lane.push_app_id
       AND b.sandbox = lane.sandbox AND b.state = 'queued' AND b.not_before <= now() \(condition)
     ORDER BY \(order) LIMIT 1
    """
  }

  /// Every lane that the sendout can have, with its queued batch that is due first; NULL for none.
  private static let laneHeads = """
    (SELECT app.push_app_id, environment.sandbox
       FROM sendout
      CROSS JOIN LATERAL unnest(push_app_ids) AS app (push_app_id)
      CROSS JOIN (VALUES (false), (true)) AS environment (sandbox)
      WHERE customer_id = $1::bigint AND sendout_id = $2::bigint) AS lane
      LEFT JOIN LATERAL (SELECT not_before FROM push_batch
                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = lane.push_app_id
                            AND sandbox = lane.sandbox AND state = 'queued'
                          ORDER BY not_before LIMIT 1) AS head ON true
    """

  /// Requeues claimed batches whose lease has expired, but the batches `$4`. Their queued pushes up to the write-ahead mark are
  /// uncertain: the policy `$3` says whether they are sent again (`resend`) or not (`skip`). With the app `$5` of a fallback it is about
  /// pushes to that alone, and others are sent again. The others never left. In a cancelled sendout the former stay uncertain, whatever the
  /// policy, and the latter are cancelled, with the statuses of their messages. Returns how many batches there were, and how many uncertain
  /// pushes.
  static let requeueLost = Statement(
    "ledger.requeue_lost", .write,
    """
    WITH lost AS MATERIALIZED (
      SELECT batch_no, first_push, last_push, sent_to, claimed_at, release_to, waiting, now() AS now,
             release_to <> 'cancelled' AND ($3::text = 'resend' OR push_app_id <> $5::bigint) IS TRUE AS resends
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed' AND lease_until < now()
         AND batch_no <> ALL ($4::int4[])
       -- As in push_batch_claimed. It waits for no lock of a batch, so their order does not matter.
       ORDER BY push_app_id, sandbox, batch_no
         FOR NO KEY UPDATE SKIP LOCKED),
    unanswered AS (
      UPDATE push
         SET attempts = attempts + 1, sent_at = lost.claimed_at, reason = '\(HubReason.hubStopped.rawValue)',
             resent_because = CASE WHEN lost.resends THEN '\(HubReason.hubStopped.rawValue)' ELSE resent_because END,
             state = CASE WHEN lost.resends THEN push.state ELSE 'uncertain' END,
             settled_at = CASE WHEN lost.resends THEN settled_at ELSE lost.now END
        FROM lost
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN lost.first_push AND lost.sent_to AND push.state = 'queued'
         AND \(BatchQueries.isPush(ofAny: "lost"))
      RETURNING push.batch_no, push.state, push.attempts = 1 AS is_first),
    unsent AS (
      UPDATE push
         SET state = 'cancelled', settled_at = lost.now, not_before = NULL
        FROM lost
       WHERE lost.release_to = 'cancelled'
         AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
         AND push.push_no BETWEEN lost.first_push AND lost.last_push AND \(BatchQueries.isPush(ofAny: "lost"))
         AND (push.state = 'waiting' OR push.state = 'queued' AND push.push_no > lost.sent_to)
      RETURNING push.message_no)\(TrackedSettlement.cancelled(in: "unsent")),
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
             not_before = CASE WHEN queued - rest.uncertain > 0 THEN push_batch.not_before
                               WHEN woken_at IS NOT NULL THEN woken_at
                               ELSE coalesce(rest.due, push_batch.not_before) END,
             uncertain = push_batch.uncertain + rest.uncertain, sent = sent + rest.firsts,
             cancelled = CASE WHEN release_to = 'cancelled' THEN cancelled + queued - rest.uncertain + waiting
                              ELSE cancelled END,
             queued = CASE WHEN release_to = 'cancelled' THEN 0 ELSE queued - rest.uncertain END,
             waiting = CASE WHEN release_to = 'cancelled' THEN 0 ELSE waiting END
        FROM rest
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = rest.batch_no AND push_batch.state = 'claimed'
      RETURNING 1)
    SELECT (SELECT count(*) FROM released), (SELECT count(*) FROM unanswered)
    """)

  /// Seconds until the next batch may be claimed, a day at most, and until the next lease expires, 0 for those past, NULL for none; and whether
  /// anything is held. They are computed by the server's clock, so that a hub's own does not matter.
  static let remainingWork = Statement(
    "ledger.remaining_work", .read,
    """
    SELECT (SELECT extract(epoch FROM least(greatest(min(head.not_before), now()), now() + interval '1 day') - now())::float8
              FROM \(laneHeads) HAVING min(head.not_before) IS NOT NULL),
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
    SELECT lane.push_app_id, lane.sandbox, coalesce(head.not_before <= now(), false)
      FROM \(laneHeads)
     WHERE head.not_before IS NOT NULL
        OR EXISTS (SELECT FROM push_batch
                    WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = lane.push_app_id
                      AND sandbox = lane.sandbox AND state = 'claimed')
     ORDER BY lane.push_app_id, lane.sandbox
    """)

  static let counts = Statement(
    "ledger.counts", .read,
    """
    SELECT audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened
      FROM sendout_counts
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// The counts of the sendouts `$2`. Those without pushes have no row.
  static let totals = Statement(
    "ledger.totals", .read,
    """
    SELECT sendout_id, audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened
      FROM sendout_counts
     WHERE customer_id = $1::bigint AND sendout_id = ANY ($2::bigint[])
    """)

  /// Those of the numbers `$2` that a sendout has.
  static let sendouts = Statement(
    "ledger.sendouts", .read,
    "SELECT sendout_id FROM sendout WHERE customer_id = $1::bigint AND sendout_id = ANY ($2::bigint[])")

  /// How many pushes have an outcome in batches that were claimed within the last minute, and whether others wait for a planned moment.
  static let settledLately = Statement(
    "ledger.settled_lately", .read,
    """
    SELECT coalesce(sum(accepted + failed + uncertain + skipped) FILTER (WHERE claimed_at > now() - interval '1 minute'), 0)::bigint,
           coalesce(bool_or(state = 'queued' AND planned_at IS NOT NULL AND not_before > now()), false)
      FROM push_batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    """)

  /// Why pushes did not arrive, or have not yet, by state and reason, of `$3` batches that have such pushes. If there are more, these are
  /// spread over all of them. So it reads no more than their pushes, however large the sendout is.
  static let reasons = Statement(
    "ledger.reasons", .read,
    """
    SELECT p.state, coalesce(p.reason, 'unknown'), count(*)
      FROM (SELECT first_push, last_push FROM push_batch
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND failed + uncertain + skipped + waiting > 0
             ORDER BY hashint4(batch_no), batch_no LIMIT $3::bigint) AS b
     CROSS JOIN LATERAL (SELECT state, reason FROM push
                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
                            AND push_no BETWEEN b.first_push AND b.last_push
                            AND state IN ('failed', 'uncertain', 'skipped', 'waiting')
                         OFFSET 0) AS p
     GROUP BY 1, 2
     ORDER BY 3 DESC, 1, 2
     LIMIT 50
    """)

  private static let recipientColumns =
    "p.push_no, p.contact_id, p.device_id, p.state, p.reason, p.sent_at, p.opened_at"

  /// Whom pushes went to, after the push `$4`, at most `$5`: those in the state `$3`, NULL for all, and with `$6` those that were opened.
  /// Batches without such pushes are passed over by their counts, so it reads a batch for each row at most.
  static let recipients = Statement(
    "ledger.recipients", .read,
    """
    SELECT c.original_id, \(recipientColumns)
      FROM (SELECT p.*
              FROM (SELECT first_push, last_push FROM push_batch
                     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND last_push > $4::bigint
                       AND CASE WHEN $3::text = 'queued' THEN queued WHEN $3::text = 'waiting' THEN waiting
                             WHEN $3::text = 'accepted' THEN accepted WHEN $3::text = 'failed' THEN failed
                             WHEN $3::text = 'uncertain' THEN uncertain WHEN $3::text = 'skipped' THEN skipped
                             WHEN $3::text = 'cancelled' THEN cancelled ELSE 1 END > 0
                       AND (NOT $6::bool OR opened > 0)
                     ORDER BY batch_no) AS b
             CROSS JOIN LATERAL (SELECT * FROM push
                                  WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no > $4::bigint
                                    AND push_no BETWEEN b.first_push AND b.last_push
                                    AND ($3::text IS NULL OR state = $3::text) AND (NOT $6::bool OR opened_at IS NOT NULL)
                                  ORDER BY push_no LIMIT $5::bigint) AS p
             LIMIT $5::bigint) AS p
      LEFT JOIN LATERAL (SELECT original_id FROM contact
                          WHERE customer_id = $1::bigint AND contact_id = p.contact_id LIMIT 1) AS c ON true
     ORDER BY p.push_no
    """)

  /// Pushes to the contact numbered `$4`, NULL for none, and to the first \(Ledger.mostFound) contacts whose original ids begin with `$3`;
  /// `$5` and `$6` as `$3` and `$6` of `recipients`. No text begins with the prefix behind the last character of all.
  static let recipientsFound = Statement(
    "ledger.recipients_found", .read,
    """
    SELECT found.original_id, \(recipientColumns)
      FROM (SELECT contact_id, original_id FROM contact WHERE customer_id = $1::bigint AND contact_id = $4::bigint
             UNION
            (SELECT contact_id, original_id FROM contact
              WHERE customer_id = $1::bigint AND original_id >= $3::text AND original_id < $3::text || chr(1114111)
              ORDER BY original_id LIMIT \(Ledger.mostFound))) AS found
     CROSS JOIN LATERAL (SELECT * FROM push
                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = found.contact_id
                            AND message_no IS NULL
                          UNION ALL
                         SELECT * FROM push
                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = found.contact_id
                            AND message_no IS NOT NULL
                         OFFSET 0) AS p
     WHERE ($5::text IS NULL OR p.state = $5::text) AND (NOT $6::bool OR p.opened_at IS NOT NULL)
     ORDER BY found.original_id, p.push_no
    """)

  /// `$3` is the state or NULL for all, `$4` the push after which to begin, `$5` how many.
  static let pushes = Statement(
    "ledger.pushes", .read,
    """
    SELECT push_no, device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at,
           nullif(not_before, 'infinity') AS not_before, opened_at, delivery, delivery_reason, reported_at
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no > $4::bigint
       AND ($3::text IS NULL OR state = $3::text)
     ORDER BY push_no
     LIMIT $5::bigint
    """)

  /// The pushes of the contact `$3`. Those of sendouts and of messages have an index each. One that waits for its moment is due when its batch is.
  static let pushesOfContact = Statement(
    "ledger.pushes_of_contact", .read,
    """
    SELECT push_no, device_id, contact_id, state, attempts, reason, resent_because, sent_at, settled_at,
           nullif(CASE WHEN state = 'queued' AND attempts = 0
                       THEN (SELECT b.not_before FROM push_batch AS b
                              WHERE b.customer_id = $1::bigint AND b.sendout_id = $2::bigint AND b.batch_no = push.batch_no
                                AND b.state IN ('queued', 'held') AND b.planned_at IS NOT NULL)
                       ELSE not_before END, 'infinity') AS not_before,
           opened_at, delivery, delivery_reason, reported_at
      FROM (SELECT * FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = $3::bigint AND message_no IS NULL
             UNION ALL
            SELECT * FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND contact_id = $3::bigint AND message_no IS NOT NULL
           ) AS push
     ORDER BY push_no
    """)
}

/// What other rooms ask of batches within their own statements.
package enum PushBatchCondition {
  /// Whether a sendout has a batch that is not settled. Each state that is not final has an index, so it does not matter how many are.
  /// - Parameters:
  ///   - customer: the sendout's customer, as SQL.
  ///   - sendout: its number, as SQL.
  package static func isUnsettled(_ customer: String, _ sendout: String) -> String {
    let batch =
      "SELECT b.batch_no FROM push_batch AS b WHERE b.customer_id = \(customer) AND b.sendout_id = \(sendout) AND b.state"
    return """
      coalesce((\(batch) = 'queued' ORDER BY b.push_app_id, b.sandbox, b.not_before LIMIT 1),
               (\(batch) = 'claimed' ORDER BY b.push_app_id, b.sandbox, b.batch_no LIMIT 1),
               (\(batch) = 'held' LIMIT 1)) IS NOT NULL
      """
  }
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DeliveryStatements {
  package static let all: [Statement] =
    FreezeQueries.all + PlannedFreezeQueries.all + LedgerQueries.all + BatchQueries.all + RuledClaimQueries.all
    + LimitQueries.all + VariantQueries.all + OverlapQueries.all + BreakerQueries.all + MessageQueries.all
    + RuledMessageQueries.all + MessageHistoryQueries.all + OpenQueries.all + ActivityQueries.all + HistoryQueries.all
    + ToldPushQueries.all + DayCountingQueries.all + TrackedMessageQueries.all + DeliveryReportQueries.all
    + DeliveryPersonalTables.statements + CampaignFigureQueries.all
}
