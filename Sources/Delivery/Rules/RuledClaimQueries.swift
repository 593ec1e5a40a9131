import Postgres
import Registry
import Wire

/// Claims of batches whose pushes are decided about at the moment of the claim. `$1` is the customer, `$2` the sendout.
///
/// Each claims as `BatchQueries.claim` does, for the run `$3` and for `$4` seconds, in the lane of app `$5` and environment `$6`, and decides
/// about each push that is due, in the same commit:
///
/// - in quiet hours from `$7` to `$8`, NULL for none, it waits until they end, and up to `$10` minutes more. With the policy `skip` as `$9`, or
///   where its life ends before, it is skipped;
/// - a contact counts for caps once a sendout or message. One too many is skipped. `$11` are the counts of the rules, `$12` their hours, `$13`
///   their purposes and `$14` their names; `$15` is the purpose, `$16` how many moments are kept, and `$17` whether caps leave nobody out.
///
/// Locks the batch, skipping those that others have locked, then the sendout's pace, then the reach of its contacts in their order, then pushes, and
/// then the days of caps. Pushes may be those of a moment ago, as with `BatchQueries.claim`: each is changed only if it is still in that state,
/// and a contact that is counted twice counts once.
enum RuledClaimQueries {
  static let all: [Statement] = [claim, claimMessages]

  /// The claim of a sendout with times or limits. Besides:
  ///
  /// - after the sendout's end `$18`, NULL for none, a push is skipped as expired;
  /// - one that hubs or the database had kept waiting for more than `$19` seconds after its planned moment is skipped as missed. Only the first
  ///   claim looks, and only at an interruption: while batches are claimed one after the other, nothing is late.
  ///
  /// A push's life ends `$20` seconds after its moment, NULL for never. With a rate of `$21` pushes a second, NULL for none, a batch is claimed
  /// only when its turn has come, by whatever hub.
  static let claim = claim(
    "batch.claim_ruled",
    """
    WITH pace AS MATERIALIZED (
      SELECT greatest(missed_before, CASE WHEN worked_at < now() - make_interval(secs => $19::float8)
                                          THEN now() - make_interval(secs => $19::float8) END) AS missed_before,
             greatest(next_claim, now() - interval '1 second') AS turn
        FROM sendout_pace
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND ($21::float8 IS NULL OR next_claim <= now())),
    \(found("AND EXISTS (SELECT FROM pace)")),
    -- Of two hubs at the same moment the second looks again once it has the row, and finds that its turn is over.
    paced AS (
      UPDATE sendout_pace
         SET worked_at = claim.now, missed_before = claim.missed_before,
             next_claim = CASE WHEN $21::float8 IS NULL THEN next_claim ELSE claim.next_turn END
        FROM (SELECT pace.missed_before, now() AS now, now() - interval '1 second' AS second_ago,
                     pace.turn + make_interval(secs => (found.last_push - found.first_push + 1) / $21::float8) AS next_turn
                FROM pace, found
              OFFSET 0) AS claim
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND CASE WHEN $21::float8 IS NULL THEN worked_at < claim.second_ago ELSE next_claim <= claim.now END
      RETURNING 1),
    due AS MATERIALIZED (
      SELECT found.*, found.claims = 0 AND coalesce(found.planned_at < pace.missed_before, false) AS is_missed,
             coalesce($18::timestamptz <= now(), false) AS is_over
        FROM found, pace
       WHERE $21::float8 IS NULL OR EXISTS (SELECT FROM paced)),
    quiet AS MATERIALIZED (
      SELECT zone_no, quiet_end(now(), zone, \(hours)) AS until
        FROM sendout_zone
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND (SELECT quiet_at <= now() FROM due)
         AND is_quiet(now(), zone, \(hours))),
    fresh AS MATERIALIZED (
      SELECT push.push_no, push.contact_id, push.state, quiet.until, reach_ref($2::bigint, NULL) AS ref,
             cardinality($11::int4[]) > 0 AS counts,
             CASE WHEN due.is_over THEN '\(HubReason.expired.rawValue)' WHEN due.is_missed THEN '\(HubReason.missed.rawValue)'
                  WHEN quiet.until IS NULL THEN NULL
                  WHEN $9::text = '\(QuietPolicy.skip.rawValue)' OR $18::timestamptz <= quiet.until
                       OR coalesce(due.planned_at, now()) + make_interval(secs => $20::float8) <= quiet.until
                  THEN '\(HubReason.quiet.rawValue)'
                  ELSE 'hold' END AS verdict
        FROM due
       CROSS JOIN LATERAL (SELECT push_no, contact_id, state, zone_no FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                              AND push.push_no BETWEEN due.first_push AND due.last_push
                              AND (push.state = 'queued'
                                   OR push.state = 'waiting' AND (push.not_before <= now() OR due.is_over))
                           OFFSET 0) AS push
        LEFT JOIN quiet ON quiet.zone_no = push.zone_no),
    """)

  /// The claim of a stream whose customer has limits. It decides about messages that were due later when they were accepted, as their batches'
  /// `quiet_at` says; the others were decided about then. Of two messages to a contact in a batch the second waits for the next claim.
  ///
  /// `$18` is the customer's zone, `$19` are countries that have one zone alone, and `$20` these zones.
  static let claimMessages = claim(
    "batch.claim_ruled_messages",
    """
    WITH \(found()),
    due AS MATERIALIZED (SELECT found.*, coalesce(quiet_at <= now(), false) AS is_decided FROM found),
    looked AS MATERIALIZED (
      SELECT push.push_no, push.contact_id, push.state, push.message_no, place.until,
             due.is_decided AND cardinality($11::int4[]) > 0 AS counts,
             CASE WHEN place.until IS NULL THEN NULL
                  WHEN $9::text = '\(QuietPolicy.skip.rawValue)' OR said.expires_at <= place.until THEN '\(HubReason.quiet.rawValue)'
                  ELSE 'hold' END AS verdict
        FROM due
       CROSS JOIN LATERAL (SELECT push_no, contact_id, state, message_no FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                              AND push.push_no BETWEEN due.first_push AND due.last_push
                              AND (push.state = 'queued' OR push.state = 'waiting' AND push.not_before <= now())
                           OFFSET 0) AS push
        LEFT JOIN LATERAL (SELECT expires_at FROM message
                            WHERE message.customer_id = $1::bigint AND message.sendout_id = $2::bigint
                              AND message.message_no = push.message_no
                           OFFSET 0) AS said ON true
        LEFT JOIN LATERAL (SELECT quiet_end(now(), zone, \(hours)) AS until
                             FROM (SELECT \(PlaceSQL.zone(ofContact: "contact", places)) AS zone FROM contact
                                    WHERE contact.customer_id = $1::bigint AND contact.contact_id = push.contact_id
                                      AND due.is_decided AND $7::text IS NOT NULL
                                   OFFSET 0) AS contact) AS place ON true),
    fresh AS MATERIALIZED (
      SELECT push_no, contact_id, state, until, counts, reach_ref($2::bigint, message_no) AS ref,
             CASE WHEN counts AND verdict IS NULL
                       AND dense_rank() OVER (PARTITION BY contact_id, verdict ORDER BY message_no) > 1
                  THEN 'next' ELSE verdict END AS verdict
        FROM looked),
    """)

  /// The batch of the lane that has been due for longest.
  private static func found(_ condition: String = "") -> String {
    """
    found AS MATERIALIZED (
      SELECT batch_no, first_push, last_push, claims, planned_at, quiet_at
        FROM push_batch
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_app_id = $5::bigint AND sandbox = $6::bool
         AND state = 'queued' AND not_before <= now() \(condition)
       ORDER BY not_before, batch_no
       LIMIT 1
         FOR NO KEY UPDATE SKIP LOCKED)
    """
  }

  /// - Parameter looks: common table expressions. `due` has the batch, and `fresh` its pushes: the verdict, NULL to send it, until when quiet
  ///   hours last, whether its contact counts, and as what.
  private static func claim(_ name: String, _ looks: String) -> Statement {
    Statement(
      name, .write,
      """
      \(looks)
      reached AS (
        \(CapSQL.reserve(
          """
          SELECT contact_id, min(ref) AS ref FROM fresh
                   WHERE verdict IS NULL AND counts
                   GROUP BY contact_id ORDER BY contact_id
          """, purpose: "$15::text", kept: "$16::int4", ignores: "$17::bool", rules))),
      decided AS MATERIALIZED (
        SELECT push_no, contact_id, state, until,
               CASE WHEN verdict IS NULL AND counts AND contact_id NOT IN (SELECT contact_id FROM reached)
                    THEN '\(HubReason.capped.rawValue)' ELSE verdict END AS verdict
          FROM fresh),
      changed AS (
        UPDATE push
           SET state = CASE WHEN decided.verdict IS NULL THEN 'queued' WHEN decided.waits THEN 'waiting' ELSE 'skipped' END,
               resent_because = CASE WHEN decided.verdict IS NULL AND attempts > 0 THEN push.reason ELSE resent_because END,
               reason = CASE WHEN decided.verdict <> 'next' THEN decided.told WHEN attempts > 0 THEN push.reason END,
               not_before = decided.held_until,
               settled_at = CASE WHEN decided.verdict IS NOT NULL AND NOT decided.waits THEN decided.now ELSE settled_at END
          FROM (SELECT decided.*, now() AS now,
                       verdict IN ('hold', 'next') AS waits,
                       CASE WHEN verdict = 'hold' THEN until + make_interval(mins => \(
                         ShareSQL.place(.hold, contact: "contact_id", sendout: "$2::bigint")) % greatest($10::int4, 1))
                            WHEN verdict = 'next' THEN now() END AS held_until,
                       CASE WHEN verdict = 'hold' THEN '\(HubReason.quiet.rawValue)'
                            WHEN verdict = '\(HubReason.capped.rawValue)' THEN \(
                         CapSQL.reason(contact: "decided.contact_id", names: "$14::text[]", rules))
                            ELSE verdict END AS told
                  FROM decided WHERE verdict IS NOT NULL OR state = 'waiting'
                OFFSET 0) AS decided
         WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = decided.push_no
           AND push.push_no BETWEEN (SELECT first_push FROM due) AND (SELECT last_push FROM due)
           AND push.state = decided.state
        RETURNING push.state AS new_state, decided.state AS old_state, push.attempts, decided.told, decided.contact_id),
      counted AS (
        \(CapSQL.count(
          names: "$14::text[]", counted: CapSQL.counted, capped: """
          SELECT told AS reason, count(DISTINCT contact_id) AS contacts FROM changed WHERE new_state = 'skipped' GROUP BY told
          """, seed: "SELECT batch_no FROM due"))),
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
      RETURNING push_batch.batch_no, push_batch.claims, push_batch.first_push, push_batch.last_push, tally.again > 0,
                push_batch.planned_at
      """)
  }

  private static let hours = "$7::text::time, $8::text::time"
  private static let places = PlaceSQL.Places(
    customerZone: "$18::text", countries: "$19::text[]", zones: "$20::text[]")
  private static let rules = CapSQL.Rules(counts: "$11::int4[]", hours: "$12::int4[]", purposes: "$13::text[]")
}
