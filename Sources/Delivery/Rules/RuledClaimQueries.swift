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
  ///   claim looks, and only times without any work count, all of them together: while batches are claimed one after the other, nothing is late.
  ///   A minute without a claim is one of them, unless a batch was being sent; as long as `$19` it is one in any case. With a rate a push is
  ///   as late as the turn that it would have had. What is missed takes no turn.
  ///
  /// A push's life ends `$20` seconds after its moment, NULL for never. With a rate of `$21` pushes a second, NULL for none, a batch is claimed
  /// only when its turn has come, by whatever hub.
  static let claim = claim(
    "batch.claim_ruled",
    """
    WITH known AS MATERIALIZED (
      SELECT away, missed_before, turn_at, greatest(next_claim, now() - interval '1 second') AS next_turn,
             CASE WHEN worked_at >= now() - make_interval(secs => least($19::float8, 60)) THEN now()
                  WHEN worked_at < now() - make_interval(secs => $19::float8) THEN worked_at
                  ELSE least(now(), greatest(worked_at, (SELECT max(lease_until) FROM push_batch
                                                          WHERE customer_id = $1::bigint AND sendout_id = $2::bigint))) END AS away_since
        FROM sendout_pace
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND ($21::float8 IS NULL OR next_claim <= now())),
    pace AS MATERIALIZED (
      SELECT turn_at, next_turn, away, greatest(missed_before, late.moment) AS missed_before
        FROM (SELECT missed_before, turn_at, next_turn, away + tstzmultirange(tstzrange(away_since, now())) AS away FROM known) AS known
       CROSS JOIN LATERAL (
         SELECT max(until - make_interval(secs => $19::float8 - later)) AS moment
           FROM (SELECT until, seconds, coalesce(sum(seconds) OVER (ORDER BY until DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
                   FROM (SELECT upper(gap) AS until, extract(epoch FROM upper(gap) - lower(gap))::float8 AS seconds
                           FROM unnest(known.away) AS one (gap)) AS one) AS gap
          WHERE later <= $19::float8 AND later + seconds > $19::float8) AS late),
    \(found("AND EXISTS (SELECT FROM pace)")),
    timed AS MATERIALIZED (
      SELECT found.*, pace.turn_at, pace.missed_before, pace.next_turn,
             pace.away * tstzmultirange(tstzrange(pace.missed_before, NULL)) AS away,
             make_interval(secs => (found.last_push - found.first_push + 1) / $21::float8) AS takes,
             coalesce(found.claims = 0 AND found.planned_at < pace.missed_before
                      AND ($21::float8 IS NULL OR pace.turn_at < pace.missed_before), false) AS is_missed
        FROM found, pace),
    -- Of two hubs at the same moment the second looks again once it has the row, and finds that its turn is over.
    paced AS (
      UPDATE sendout_pace
         SET worked_at = claim.now, away = claim.away, missed_before = claim.missed_before,
             turn_at = coalesce(claim.later_turn, sendout_pace.turn_at),
             next_claim = coalesce(claim.later_claim, sendout_pace.next_claim)
        FROM (SELECT away, missed_before, turn_at AS own_turn, now() AS now, now() - interval '1 second' AS second_ago,
                     greatest(turn_at, planned_at) + takes AS later_turn,
                     CASE WHEN NOT is_missed THEN next_turn + takes END AS later_claim
                FROM timed
              OFFSET 0) AS claim
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
         AND CASE WHEN $21::float8 IS NULL THEN sendout_pace.worked_at < claim.second_ago
                  ELSE sendout_pace.next_claim <= claim.now AND sendout_pace.turn_at = claim.own_turn END
      RETURNING 1),
    due AS MATERIALIZED (
      SELECT batch_no, first_push, last_push, claims, planned_at, quiet_at, is_missed,
             coalesce($18::timestamptz <= now(), false) AS is_over
        FROM timed
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
      coded AS MATERIALIZED (
        SELECT push_no,
               CASE WHEN verdict IS NULL THEN \(Code.queued) WHEN verdict = 'hold' THEN \(Code.held) WHEN verdict = 'next' THEN \(Code.next)
                    WHEN verdict = '\(HubReason.expired.rawValue)' THEN \(Code.expired)
                    WHEN verdict = '\(HubReason.missed.rawValue)' THEN \(Code.missed)
                    WHEN verdict = '\(HubReason.quiet.rawValue)' THEN \(Code.quiet)
                    ELSE \(Code.capped) + \(CapSQL.rule(contact: "decided.contact_id", rules)) END
               + CASE WHEN state = 'waiting' THEN \(Code.waited) ELSE 0 END AS code,
               CASE WHEN verdict = 'hold' THEN extract(epoch FROM until)::float8 + 60 * (\(
                 ShareSQL.place(.hold, contact: "contact_id", sendout: "$2::bigint")) % greatest($10::int4, 1))
                    WHEN verdict = 'next' THEN extract(epoch FROM now())::float8 ELSE 0 END AS held_until
          FROM decided
         WHERE verdict IS NOT NULL OR state = 'waiting'),
      -- By arrays, as the planner expects few of them: it would compare each push with each.
      listed AS MATERIALIZED (
        SELECT array_agg(code ORDER BY push_no) AS codes, array_agg(held_until ORDER BY push_no) AS held_until,
               min(push_no) AS first_push, max(push_no) AS last_push, now() AS now
          FROM (SELECT push_no, max(code) AS code, max(held_until) AS held_until
                  FROM (SELECT push_no, code, held_until FROM coded
                         UNION ALL
                        SELECT generate_series(first_push, last_push), 0, 0 FROM due WHERE EXISTS (SELECT FROM coded)) AS one
                 GROUP BY push_no) AS push
        HAVING count(*) > 0),
      changed AS (
        UPDATE push
           SET state = CASE WHEN \(code) = \(Code.queued) THEN 'queued' WHEN \(code) IN (\(Code.held), \(Code.next)) THEN 'waiting' ELSE 'skipped' END,
               resent_because = CASE WHEN \(code) = \(Code.queued) AND attempts > 0 THEN push.reason ELSE resent_because END,
               reason = CASE WHEN \(code) IN (\(Code.queued), \(Code.next)) AND attempts > 0 THEN push.reason
                             WHEN \(code) IN (\(Code.held), \(Code.quiet)) THEN '\(HubReason.quiet.rawValue)'
                             WHEN \(code) = \(Code.expired) THEN '\(HubReason.expired.rawValue)'
                             WHEN \(code) = \(Code.missed) THEN '\(HubReason.missed.rawValue)'
                             WHEN \(code) > \(Code.capped) THEN \(CapSQL.reason(rule: "\(code) - \(Code.capped)", names: "$14::text[]")) END,
               not_before = CASE WHEN \(code) IN (\(Code.held), \(Code.next))
                                 THEN to_timestamp((listed.held_until)[push.push_no - listed.first_push + 1]) END,
               settled_at = CASE WHEN \(code) > \(Code.next) THEN listed.now ELSE settled_at END
          FROM listed
         WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
           AND push.push_no BETWEEN (SELECT first_push FROM listed) AND (SELECT last_push FROM listed)
           AND \(code) > 0
           AND push.state = CASE WHEN \(element) > \(Code.waited) THEN 'waiting' ELSE 'queued' END
        RETURNING push.state AS new_state, \(element) > \(Code.waited) AS has_waited, push.attempts, push.reason, push.contact_id),
      counted AS (
        \(CapSQL.count(
          names: "$14::text[]", counted: CapSQL.counted, capped: """
          SELECT reason, count(DISTINCT contact_id) AS contacts FROM changed WHERE new_state = 'skipped' GROUP BY reason
          """, seed: "SELECT $2::bigint + batch_no FROM due"))),
      tally AS (
        SELECT count(*) FILTER (WHERE new_state = 'queued') - count(*) FILTER (WHERE NOT has_waited) AS queued,
               count(*) FILTER (WHERE new_state = 'waiting') - count(*) FILTER (WHERE has_waited) AS waiting,
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

  /// What becomes of a push, as a number: that of a rule behind `capped`, and all of them behind `waited` where it was waiting.
  private enum Code {
    static let queued = 1
    static let held = 2
    static let next = 3
    static let expired = 4
    static let missed = 5
    static let quiet = 6
    static let capped = 10
    static let waited = 100
  }

  /// SQL of the code of a row of `push`, with and without `waited`.
  private static let element = "(listed.codes)[push.push_no - listed.first_push + 1]"
  private static let code = "(\(element) % \(Code.waited))"

  private static let hours = "$7::text::time, $8::text::time"
  private static let places = PlaceSQL.Places(
    customerZone: "$18::text", countries: "$19::text[]", zones: "$20::text[]")
  private static let rules = CapSQL.Rules(counts: "$11::int4[]", hours: "$12::int4[]", purposes: "$13::text[]")
}
