import Postgres
import Registry
import Wire

/// The claim of a batch whose sendout has times or limits. `$1` is the customer, `$2` the sendout.
enum RuledClaimQueries {
  static let all: [Statement] = [claim]

  /// Claims a batch as `BatchQueries.claim` does, for the run `$3` and for `$4` seconds, in the lane of app `$5` and environment `$6`, and
  /// decides about each of its pushes that is due, in the same commit:
  ///
  /// - after the sendout's end `$7`, NULL for none, it is skipped as expired;
  /// - one that hubs or the database had kept waiting for more than `$8` seconds after its planned moment is skipped as missed. Only the first
  ///   claim looks, and only at an interruption: while batches are claimed one after the other, nothing is late;
  /// - in quiet hours from `$9` to `$10`, NULL for none, it waits until they end, spread over \(spread) minutes. With the policy `skip` as `$11`, or
  ///   where its `$12` seconds to live (NULL for ever) or the end come before, it is skipped;
  /// - a contact counts for caps once a sendout. One too many is skipped. `$13` are the counts of the rules, `$14` their hours, `$15` their purposes and
  ///   `$16` their names; `$17` is the purpose, `$18` how many moments are kept, and `$19` whether caps leave nobody out.
  ///
  /// With a rate of `$20` pushes a second, NULL for none, a batch is claimed only when its turn has come, by whatever hub.
  ///
  /// Locks the batch, skipping those that others have locked, then the sendout's pace, then the reach of its contacts in their order,
  /// and then pushes. Pushes may be those of a moment ago, as with `BatchQueries.claim`: each is changed only if it is still in that state, and a
  /// contact that is counted twice counts once.
  static let claim = Statement(
    "batch.claim_ruled", .write,
    """
    WITH pace AS MATERIALIZED (
      SELECT greatest(missed_before, CASE WHEN worked_at < now() - make_interval(secs => $8::float8)
                                          THEN now() - make_interval(secs => $8::float8) END) AS missed_before,
             greatest(next_claim, now() - interval '1 second') AS turn
        FROM sendout_pace
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND ($20::float8 IS NULL OR next_claim <= now())),
    found AS MATERIALIZED (
      SELECT batch_no, first_push, last_push, claims, planned_at, quiet_at
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = $5::bigint AND sandbox = $6::bool
         AND state = 'queued' AND not_before <= now() AND EXISTS (SELECT FROM pace)
       ORDER BY not_before, batch_no
       LIMIT 1
         FOR NO KEY UPDATE SKIP LOCKED),
    -- Of two hubs at the same moment the second looks again once it has the row, and finds that its turn is over.
    paced AS (
      UPDATE sendout_pace
         SET worked_at = claim.now, missed_before = claim.missed_before,
             next_claim = CASE WHEN $20::float8 IS NULL THEN next_claim ELSE claim.next_turn END
        FROM (SELECT pace.missed_before, now() AS now, now() - interval '1 second' AS second_ago,
                     pace.turn + make_interval(secs => (found.last_push - found.first_push + 1) / $20::float8) AS next_turn
                FROM pace, found
              OFFSET 0) AS claim
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND CASE WHEN $20::float8 IS NULL THEN worked_at < claim.second_ago ELSE next_claim <= claim.now END
      RETURNING 1),
    due AS MATERIALIZED (
      SELECT found.*, found.claims = 0 AND coalesce(found.planned_at < pace.missed_before, false) AS is_missed,
             coalesce($7::timestamptz <= now(), false) AS is_over
        FROM found, pace
       WHERE $20::float8 IS NULL OR EXISTS (SELECT FROM paced)),
    quiet AS MATERIALIZED (
      SELECT zone_no, quiet_end(now(), zone, $9::text::time, $10::text::time) AS until
        FROM sendout_zone
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND (SELECT quiet_at <= now() FROM due)
         AND is_quiet(now(), zone, $9::text::time, $10::text::time)),
    fresh AS MATERIALIZED (
      SELECT push.push_no, push.contact_id, push.state, quiet.until,
             CASE WHEN due.is_over THEN '\(HubReason.expired.rawValue)' WHEN due.is_missed THEN '\(HubReason.missed.rawValue)'
                  WHEN quiet.until IS NULL THEN NULL
                  WHEN $11::text = '\(QuietPolicy.skip.rawValue)' OR $7::timestamptz <= quiet.until
                       OR coalesce(due.planned_at, now()) + make_interval(secs => $12::float8) <= quiet.until THEN '\(HubReason.quiet.rawValue)'
                  ELSE 'hold' END AS verdict
        FROM due
       CROSS JOIN LATERAL (SELECT push_no, contact_id, state, zone_no FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                              AND push.push_no BETWEEN due.first_push AND due.last_push
                              AND (push.state = 'queued'
                                   OR push.state = 'waiting' AND (push.not_before <= now() OR due.is_over))
                           OFFSET 0) AS push
        LEFT JOIN quiet ON quiet.zone_no = push.zone_no),
    reached AS (
      \(CapSQL.reserve(
        """
        SELECT contact_id, reach_ref($2::bigint, NULL) AS ref FROM fresh
                 WHERE verdict IS NULL AND cardinality($13::int4[]) > 0
                 GROUP BY contact_id ORDER BY contact_id
        """, purpose: "$17::text", kept: "$18::int4", ignores: "$19::bool", rules))),
    decided AS MATERIALIZED (
      SELECT push_no, contact_id, state, until,
             CASE WHEN verdict IS NULL AND cardinality($13::int4[]) > 0 AND contact_id NOT IN (SELECT contact_id FROM reached)
                  THEN '\(HubReason.capped.rawValue)' ELSE verdict END AS verdict
        FROM fresh),
    changed AS (
      UPDATE push
         SET state = CASE WHEN decided.verdict = 'hold' THEN 'waiting' WHEN decided.verdict IS NULL THEN 'queued' ELSE 'skipped' END,
             resent_because = CASE WHEN decided.verdict IS NULL AND attempts > 0 THEN push.reason ELSE resent_because END,
             reason = CASE WHEN decided.verdict = 'hold' THEN '\(HubReason.quiet.rawValue)' WHEN decided.verdict IS NOT NULL THEN decided.told
                           WHEN attempts > 0 THEN push.reason END,
             not_before = CASE WHEN decided.verdict = 'hold' THEN decided.held_until END,
             settled_at = CASE WHEN decided.verdict <> 'hold' THEN decided.now ELSE settled_at END
        FROM (SELECT decided.*, now() AS now,
                     until + make_interval(mins => \(ShareSQL.place(.hold, contact: "contact_id", sendout: "$2::bigint")) % \(spread)) AS held_until,
                     verdict || CASE WHEN verdict = '\(HubReason.capped.rawValue)' THEN coalesce(' ' || (
                       SELECT ($16::text[])[\(CapSQL.brokenRule(row: "r", rules))]
                         FROM reach AS r WHERE r.customer_id = $1::bigint AND r.contact_id = decided.contact_id LIMIT 1), '')
                       ELSE '' END AS told
                FROM decided WHERE verdict IS NOT NULL OR state = 'waiting'
              OFFSET 0) AS decided
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = decided.push_no
         AND push.push_no BETWEEN (SELECT first_push FROM due) AND (SELECT last_push FROM due)
         AND push.state = decided.state
      RETURNING push.state AS new_state, decided.state AS old_state, push.attempts),
    tally AS (
      SELECT count(*) FILTER (WHERE new_state = 'queued') - count(*) FILTER (WHERE old_state = 'queued') AS queued,
             count(*) FILTER (WHERE new_state = 'waiting') - count(*) FILTER (WHERE old_state = 'waiting') AS waiting,
             count(*) FILTER (WHERE new_state = 'skipped') AS skipped,
             count(*) FILTER (WHERE new_state = 'queued' AND attempts > 0) AS again
        FROM changed)
    UPDATE push_batch
       SET state = 'claimed', hub_id = $3::uuid, claims = push_batch.claims + 1, woken_at = NULL, sent_to = due.first_push - 1,
           claimed_at = now(), lease_until = now() + make_interval(secs => $4::float8),
           queued = push_batch.queued + tally.queued, waiting = push_batch.waiting + tally.waiting,
           skipped = push_batch.skipped + tally.skipped
      FROM due, tally
     WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
       AND push_batch.batch_no = (SELECT batch_no FROM due)
    RETURNING push_batch.batch_no, push_batch.claims, push_batch.first_push, push_batch.last_push, tally.again > 0
    """)

  private static let rules = CapSQL.Rules(counts: "$13::int4[]", hours: "$14::int4[]", purposes: "$15::text[]")

  /// Minutes over which pushes are spread that quiet hours have held.
  static let spread = 15
}
