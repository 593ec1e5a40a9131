import Postgres
import Registry
import Wire

/// Statements on one batch, from its claim to its release. `$1` is the customer, `$2` the sendout.
///
/// Every statement that changes pushes locks their batch first, and counts in the batch's row what it changes. So two of them
/// never deadlock, and the counts are right at every commit.
enum BatchQueries {
  static let all: [Statement] = [
    claim, claimExpired, pushes, advance, extend, settle, settleTracked, correct, correctTracked, release, claimedBy,
  ]

  /// Claims the batch of the lane of app `$5` and environment `$6` that has been due for longest, for the run `$3` and for `$4` seconds.
  /// Its waiting pushes that are due are queued again, and record now why they are sent again: nobody is sent a push twice without a
  /// reason in the ledger. Locks the batch, and skips batches that others have locked.
  static let claim = claim("batch.claim", orderedBy: "not_before, batch_no")

  /// Claims a batch that has an expired message, but none of the batches `$7`.
  static let claimExpired = claim(
    "batch.claim_expired", where: "AND expires_at <= now() AND batch_no <> ALL ($7::int4[])",
    orderedBy: "expires_at, batch_no")

  private static func claim(_ name: String, where condition: String = "", orderedBy order: String) -> Statement {
    Statement(
      name, .write,
      """
      WITH due AS MATERIALIZED (
        SELECT batch_no, first_push, last_push, waiting
          FROM push_batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = $5::bigint AND sandbox = $6::bool
           AND state = 'queued' AND not_before <= now()
           \(condition)
         ORDER BY \(order)
         LIMIT 1
           FOR NO KEY UPDATE SKIP LOCKED),
      again AS (
        UPDATE push
           SET state = 'queued', not_before = NULL,
               resent_because = CASE WHEN attempts > 0 THEN reason ELSE resent_because END
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'waiting' AND not_before <= now()
           AND \(pushNumbers("due WHERE waiting > 0"))
        RETURNING 1)
      UPDATE push_batch
         SET state = 'claimed', hub_id = $3::uuid, claims = claims + 1, woken_at = NULL, sent_to = due.first_push - 1,
             claimed_at = now(), lease_until = now() + make_interval(secs => $4::float8),
             queued = push_batch.queued + again.count, waiting = push_batch.waiting - again.count
        FROM due, (SELECT count(*)::int4 AS count FROM again) AS again
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = (SELECT batch_no FROM due)
      RETURNING push_batch.batch_no, push_batch.claims, push_batch.first_push, push_batch.last_push, again.count > 0
      """)
  }

  /// The pushes from `$3` to `$4` that are to be sent, in their order. A statement of its own, after the claim: the claim's own
  /// snapshot can be older than its lock, and show pushes as queued that the last claim has settled. The last column says in how many
  /// seconds a push expires, by the server's clock, so that a hub's own does not matter. Whoever has waited for the winner has its number: the
  /// commit that decides lets these batches be claimed.
  static let pushes = Statement(
    "batch.pushes", .read,
    """
    SELECT push_no, device_id, contact_id, message_no,
           \(VariantQueries.said),
           attempts, extract(epoch FROM give_up_at - now())::float8
      FROM push
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no BETWEEN $3::bigint AND $4::bigint
       AND state = 'queued'
     ORDER BY push_no
    """)

  /// Moves the write-ahead marks of batches `$4`, sorted, in the claims `$5` of the run `$3`, to the pushes `$6`. Once it is committed, the
  /// bytes of pushes up to there may leave. Returns the batches that are still the run's.
  static let advance = Statement(
    "batch.advance", .write,
    """
    UPDATE push_batch
       SET sent_to = greatest(push_batch.sent_to, mark.sent_to)
      FROM (SELECT *, 'claimed' AS state
              FROM unnest($4::int4[], $5::int4[], $6::bigint[]) AS mark (batch_no, claims, sent_to)
             ORDER BY batch_no) AS mark
     WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
       AND \(within("push_batch.batch_no", sorted: "$4::int4[]"))
       AND push_batch.batch_no = mark.batch_no AND push_batch.claims = mark.claims AND push_batch.state = mark.state
       AND push_batch.hub_id = $3::uuid AND push_batch.lease_until > now()
    RETURNING push_batch.batch_no
    """)

  /// Extends the leases of the run `$3`, on the batches `$5`, sorted, in their claims `$6`, to `$4` seconds from now. Returns those that are
  /// extended: an expired lease is not, even if nobody has requeued the batch yet.
  static let extend = Statement(
    "batch.extend", .write,
    """
    UPDATE push_batch
       SET lease_until = now() + make_interval(secs => $4::float8)
      FROM (SELECT *, 'claimed' AS state FROM unnest($5::int4[], $6::int4[]) AS held (batch_no, claims)
             ORDER BY batch_no) AS held
     WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
       AND \(within("push_batch.batch_no", sorted: "$5::int4[]"))
       AND push_batch.batch_no = held.batch_no AND push_batch.claims = held.claims AND push_batch.state = held.state
       AND push_batch.hub_id = $3::uuid AND push_batch.lease_until > now()
    RETURNING push_batch.batch_no, push_batch.claims
    """)

  /// Writes outcomes. Arrays: `$3` pushes, sorted, `$4` states, `$5` reasons, `$6` attempts to add, `$7` when they left. `$8`
  /// holds the seconds until the next attempt, `$9` those until such a push expires; both may be NULL. `$11` are their batches, sorted.
  /// Only queued pushes are changed, so that writing twice, or late after the batch was requeued, changes nothing. Only
  /// the run `$10` that has claimed the batch may let a push wait. A batch of that run is settled with its last push.
  ///
  /// Also moves the write-ahead mark of batch `$12`, one of `$11`, in its claim `$13` to push `$14`, as `advance` does; NULL for none.
  /// So pushes take the place of those whose outcomes are written, in the same commit. Returns how many outcomes were written, the
  /// batches that are settled now, and whether the mark was moved.
  ///
  /// Due times are rounded up to a quarter of a second, so that pushes delayed together become due together. They are
  /// computed beside the push, as Citus accepts no sum of `now()` and a column in SET; OFFSET 0 keeps the planner from
  /// moving them there. Locks the batches, then the pushes, each in the order of their numbers.
  static let settle = settle("push.settle", isTracked: false)

  /// Settles pushes of tracked messages: statuses and fallbacks follow in the same commit (`TrackedSettlement`). A statement of
  /// its own, since most pushes are of none.
  static let settleTracked = settle("push.settle_tracked", isTracked: true)

  private static func settle(_ name: String, isTracked: Bool) -> Statement {
    Statement(
      name, .write,
      """
      WITH \(isTracked ? TrackedSettlement.concerned : "")\(locked("$11::int4[]", isTracked, """
        batch_no, state = 'claimed' AND hub_id = $10::uuid AS is_ours,
        batch_no = $12::int4 AND claims = $13::int4 AND state = 'claimed' AND hub_id = $10::uuid AND lease_until > now() AS is_marked
        """)),
      settled AS (
        UPDATE push
           SET state = outcome.state, reason = outcome.reason, attempts = push.attempts + outcome.attempts,
               sent_at = coalesce(outcome.sent_at, push.sent_at), settled_at = now(), not_before = outcome.not_before,
               give_up_at = coalesce(push.give_up_at, outcome.give_up_at)
          FROM (SELECT push_no, state, reason, attempts, sent_at,
                       date_bin('250 ms', now() + make_interval(secs => delay), '2000-01-01') + interval '250 ms'
                         AS not_before,
                       now() + make_interval(secs => timeout) AS give_up_at
                  FROM unnest($3::bigint[], $4::text[], $5::text[], $6::int2[], $7::timestamptz[], $8::float8[], $9::float8[])
                       AS outcome (push_no, state, reason, attempts, sent_at, delay, timeout)
                 WHERE (SELECT count(*) FROM batch) > 0
                OFFSET 0) AS outcome
         WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = outcome.push_no
           AND \(within("push.push_no", sorted: "$3::bigint[]"))
           AND push.state = 'queued'
           AND (outcome.state <> 'waiting' OR push.batch_no IN (SELECT batch_no FROM batch WHERE is_ours))
        RETURNING push.batch_no, push.contact_id, push.state, push.attempts = 1 AND outcome.attempts = 1 AS is_first,
                  push.state = 'accepted' AND push.opened_at IS NOT NULL AS is_opened,
                  push.push_no, push.message_no\(isTracked ? ", outcome.attempts > 0 AS has_left" : "")),
      changed AS (
        SELECT batch_no, state, is_first, is_opened, NULL::bigint AS sent_to FROM settled
         UNION ALL
        SELECT batch_no, NULL, NULL, NULL, $14::bigint FROM batch WHERE is_marked),
      counted AS (
        \(count(of: "changed", in: "$11::int4[]", from: "queued", alsoCounting: ", max(sent_to) AS sent_to", alsoSetting: """
        sent_to = greatest(push_batch.sent_to, change.sent_to),
        state = CASE WHEN push_batch.state = 'claimed' AND push_batch.hub_id = $10::uuid
                      AND push_batch.queued + push_batch.waiting = change.count - change.waiting
                     THEN 'settled' ELSE push_batch.state END
        """))
        RETURNING push_batch.batch_no, push_batch.state = 'settled' AND push_batch.hub_id = $10::uuid AS is_over)\(
      isTracked ? TrackedSettlement.resolved(besides: "$11::int4[]") : ""),
      told AS (\(EventSQL.noteOutcomes(of: "settled"))),
      noted AS (\(ActivityChange.note("settled", where: accepted)))
      SELECT (SELECT count(*) FROM settled), ARRAY(SELECT batch_no FROM counted WHERE is_over),
             EXISTS (SELECT FROM batch WHERE is_marked)
      """)
  }

  /// Writes the final states `$4` and reasons `$5` of pushes `$3`, of batches `$6`, both sorted, that were requeued and not sent again: a hub
  /// that was away for longer than its lease knows what became of them. Attempts were counted when they were requeued.
  static let correct = correct("push.correct", isTracked: false)

  /// Corrects pushes of tracked messages, and their statuses in the same commit.
  static let correctTracked = correct("push.correct_tracked", isTracked: true)

  private static func correct(_ name: String, isTracked: Bool) -> Statement {
    Statement(
      name, .write,
      """
      WITH \(isTracked ? TrackedSettlement.concerned : "")\(locked("$6::int4[]", isTracked, "batch_no")),
      settled AS (
        UPDATE push
           SET state = outcome.state, reason = outcome.reason, settled_at = now()
          FROM (SELECT * FROM unnest($3::bigint[], $4::text[], $5::text[]) AS outcome (push_no, state, reason)
                 WHERE (SELECT count(*) FROM batch) > 0
                OFFSET 0) AS outcome
         WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = outcome.push_no
           AND \(within("push.push_no", sorted: "$3::bigint[]"))
           AND push.state = 'uncertain' AND push.reason = '\(HubReason.hubStopped.rawValue)'
        RETURNING push.batch_no, push.contact_id, push.state, false AS is_first,
                  push.state = 'accepted' AND push.opened_at IS NOT NULL AS is_opened,
                  push.push_no, push.message_no\(isTracked ? ", true AS has_left" : "")),
      counted AS (\(count(of: "settled", in: "$6::int4[]", from: "uncertain")))\(
      isTracked ? TrackedSettlement.resolved(besides: "$6::int4[]") : ""),
      told AS (\(EventSQL.noteOutcomes(of: "settled"))),
      noted AS (\(ActivityChange.note("settled", where: accepted)))
      SELECT count(*) FROM settled
      """)
  }

  /// Of the rows of `settled`: that the contact has received it.
  private static let accepted = "state = '\(PushState.accepted.rawValue)'"

  /// The common table expression `batch`: the batches of a sorted array, locked in the order of their numbers; of tracked messages
  /// those of the fallbacks, too.
  private static func locked(_ array: String, _ isTracked: Bool, _ columns: String) -> String {
    """
    batch AS MATERIALIZED (
      SELECT \(columns)
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND \(isTracked ? TrackedSettlement.batches(and: array) : "batch_no = ANY (\(array)) AND \(within("batch_no", sorted: array))")
       ORDER BY batch_no
         FOR NO KEY UPDATE)
    """
  }

  /// Counts the rows of `changes` in their batches, which are those of the sorted array: each that has a state has left the state `from`.
  private static func count(
    of changes: String, in array: String, from: String, alsoCounting columns: String = "",
    alsoSetting assignment: String? = nil
  ) -> String {
    let states = ["waiting", "accepted", "failed", "uncertain", "skipped"]
    let sums = states.map { "count(*) FILTER (WHERE state = '\($0)') AS \($0)" }.joined(separator: ", ")
    let changed = states.map { state in
      "\(state) = push_batch.\(state) + change.\(state)\(state == from ? " - change.count" : "")"
    }
    return """
      UPDATE push_batch
         SET \(states.contains(from) ? "" : "\(from) = push_batch.\(from) - change.count, ")\(changed.joined(separator: ", ")),
             sent = push_batch.sent + change.firsts,
             accepted_opened = push_batch.accepted_opened + change.opened\(assignment.map { ", \($0)" } ?? "")
        FROM (SELECT batch_no, count(state) AS count, count(*) FILTER (WHERE is_first) AS firsts,
                     count(*) FILTER (WHERE is_opened) AS opened, \(sums)\(columns)
                FROM \(changes) GROUP BY batch_no) AS change
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = change.batch_no AND \(within("push_batch.batch_no", sorted: array))
      """
  }

  /// Releases the batch `$3` that the run `$4` has claimed in its claim `$5`. It is settled if every push has its outcome.
  /// Otherwise it can be claimed again: at once if pushes are queued, in the place that it had, else when the first is due. A sendout that was paused
  /// or cancelled meanwhile holds or cancels it. Statuses of messages whose last pushes are cancelled follow. Returns the new state, or
  /// nothing if the batch was requeued.
  static let release = Statement(
    "batch.release", .write,
    """
    WITH released AS (
      UPDATE push_batch
         SET state = CASE WHEN queued + waiting = 0 THEN 'settled' ELSE release_to END,
             -- Pushes are read as they were before the lock. Fallbacks that became due meanwhile are in woken_at.
             not_before = CASE WHEN queued > 0 OR waiting = 0 THEN push_batch.not_before
                               WHEN woken_at IS NOT NULL THEN woken_at
                               ELSE coalesce((SELECT min(push.not_before) FROM push
                                               WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                                                 AND push.push_no BETWEEN push_batch.first_push AND push_batch.last_push
                                                 AND push.state = 'waiting'), push_batch.not_before) END,
             expires_at = CASE WHEN push_batch.expires_at IS NOT NULL AND queued + waiting > 0
                               THEN (SELECT min(m.expires_at) FROM push
                                      CROSS JOIN LATERAL (SELECT expires_at FROM message
                                                           WHERE message.customer_id = $1::bigint
                                                             AND message.sendout_id = $2::bigint
                                                             AND message.message_no = push.message_no
                                                          OFFSET 0) AS m
                                      WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                                        AND push.push_no BETWEEN push_batch.first_push AND push_batch.last_push
                                        AND push.state IN ('queued', 'waiting')) END,
             \(cancelledCounts("release_to = 'cancelled'"))
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND batch_no = $3::int4 AND claims = $5::int4
         AND hub_id = $4::uuid AND state = 'claimed'
      RETURNING state, first_push, last_push),
    cancelled AS (
      UPDATE push
         SET state = 'cancelled', settled_at = now(), not_before = NULL
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('queued', 'waiting')
         AND \(pushNumbers("released WHERE state = 'cancelled'"))
      RETURNING message_no)\(TrackedSettlement.cancelled(in: "cancelled"))
    SELECT state FROM released
    """)

  /// That a column is within the bounds of a sorted array. A join goes by the sendout alone, and reads all of a stream, while the planner
  /// takes its table for empty: there it expects one row in either way. Within these bounds it reads the neighbours at most.
  static func within(_ column: String, sorted array: String) -> String {
    "\(column) BETWEEN (\(array))[1] AND (\(array))[cardinality(\(array))]"
  }

  /// That a column lies between the least and the greatest number of these rows, which an index can look up.
  static func within(_ column: String, _ number: String, of rows: String) -> String {
    "\(column) BETWEEN (SELECT min(\(number)) FROM \(rows)) AND (SELECT max(\(number)) FROM \(rows))"
  }

  /// That a push is between the first and the last one of these batches, for the same reason.
  static func isPush(ofAny batches: String) -> String {
    "push.push_no BETWEEN (SELECT min(first_push) FROM \(batches)) AND (SELECT max(last_push) FROM \(batches))"
  }

  /// That a push is of this batch, which mostly is none. As a range of numbers, it is looked up in the primary key whatever the planner
  /// thinks of the table. By a join, or by a list of numbers on a table that is taken for empty, it read all pushes of a stream each time.
  private static func pushNumbers(_ batch: String) -> String {
    "push_no BETWEEN (SELECT first_push FROM \(batch)) AND (SELECT last_push FROM \(batch))"
  }

  /// Counts the unsettled pushes of a batch as cancelled where `condition` is true.
  static func cancelledCounts(_ condition: String) -> String {
    """
    cancelled = CASE WHEN \(condition) THEN cancelled + queued + waiting ELSE cancelled END,
    queued = CASE WHEN \(condition) THEN 0 ELSE queued END, waiting = CASE WHEN \(condition) THEN 0 ELSE waiting END
    """
  }

  /// Cancels the unsettled pushes of the batches in `batches` that are cancelled. Returns the numbers of their messages.
  static func cancelPushes(of batches: String) -> String {
    """
    UPDATE push
       SET state = 'cancelled', settled_at = now(), not_before = NULL
      FROM \(batches) AS batch
     WHERE batch.state = 'cancelled'
       AND push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
       AND push.push_no BETWEEN batch.first_push AND batch.last_push
       AND push.state IN ('queued', 'waiting')
    RETURNING push.message_no
    """
  }

  /// The batches that the run `$3` has claimed.
  static let claimedBy = Statement(
    "batch.claimed_by", .read,
    """
    SELECT batch_no, claims
      FROM push_batch
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'claimed' AND hub_id = $3::uuid
    """)
}
