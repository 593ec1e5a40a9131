import Postgres
import Registry
import Wire

/// Statements on `tracked_message`, and on the pushes and batches that its statuses follow from. `$1` is the customer.
///
/// Locks are taken in one order, so that none deadlocks: batches, those of fallbacks among them, then pushes, then messages, then
/// fallbacks. Of several rows the lowest number comes first.
enum TrackedMessageQueries {
  static let all: [Statement] = [
    accept.reading(RecipientColumns(.toSend)), acceptRuled.reading(RecipientColumns(.toSend)), unreachable, confirm,
    withdraw,
  ]

  /// Accepts tracked messages, as `MessageQueries.accept` does others: `$2` to `$7` are the same, `$8` are message numbers, `$9` original
  /// ids, `$10` to `$12` bodies, seconds to live and references. There are at most `$13` pushes for the write-ahead mark.
  ///
  /// `$14` is the fallback's app, one of `$3`; NULL for none. Where a contact has other devices, its push there waits: for `$22` seconds
  /// unless the message is confirmed, or until all others have failed if that is NULL. `$15` to `$18` are recipients, senders, texts and
  /// counts of parts; `$19` is the app id, `$20` the kind, and `$21` the app whose address gets statuses; NULL for none. `$23` and `$24` are
  /// the pads of the key of suppressions.
  ///
  /// Joins of messages with their counts are FULL, which the condition turns into LEFT: PostgreSQL knows no nested loop for them. It
  /// expects one message, and a loop over the 40,000 pairs of 200 messages takes longer than all the rest.
  ///
  /// Returns the same rows, with a last column that says whether a push waits. The second column is the verdict. It is 0 for accepted.
  /// It is 1 for a contact that is unknown, or has no device for the fallback yet. It is 3 where that device has opted out.
  static let accept = RecipientStatement { accept("message.accept_tracked", isRuled: false, $0) }

  /// Accepts tracked messages whose customer has caps for their purpose. Besides, a contact with devices counts once a message, and of one too
  /// many all pushes are skipped, that of the fallback too. `$25` are the counts of the rules, `$26` their hours, `$27` their purposes and `$28`
  /// their names; `$29` is the purpose and `$30` how many moments are kept.
  ///
  /// Returns two columns more: why pushes are skipped, and NULL, as nothing is held. The verdict 4 says that an earlier message of the statement
  /// is for the same contact, as with `RuledMessageQueries.accept`. Locks the reach of contacts in their order.
  static let acceptRuled = RecipientStatement { accept("message.accept_tracked_ruled", isRuled: true, $0) }

  private static func accept(_ name: String, isRuled: Bool, _ columns: RecipientColumns) -> Statement {
    func ruled(_ sql: String, else plain: String = "") -> String { isRuled ? sql : plain }
    let isAccepted =
      "coalesce(w.verdict, -1) = 0"
      + ruled(" AND w.message_no NOT IN (SELECT message_no FROM decided WHERE is_deferred)")
    let isSkipped = ruled("n.is_skipped IS TRUE", else: "false")
    return Statement(
      name, .write,
      """
      WITH wanted AS MATERIALIZED (
        SELECT w.*, f.device_id AS fallback_device, \(columns.ofContactRow("c")),
               CASE WHEN c.contact_id IS NULL OR $14::bigint IS NOT NULL AND f.device_id IS NULL THEN 1
                    WHEN f.invalidation_type = \(InvalidationType.optedOut.rawValue) THEN 3 ELSE 0 END::int2 AS verdict
          FROM unnest($8::int4[], $9::text[], $10::json[], $11::int4[], $12::text[], $15::text[], $16::text[], $17::text[],
                      $18::int2[])
            AS w (message_no, named, body, ttl, reference, recipient, sender, text, parts)
          LEFT JOIN LATERAL (SELECT * FROM contact WHERE customer_id = $1::bigint AND original_id = w.named LIMIT 1) c ON true
          LEFT JOIN LATERAL (SELECT device_id, invalidation_type FROM device
                              WHERE $14::bigint IS NOT NULL
                                AND customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = $14::bigint
                              ORDER BY device_id LIMIT 1) f ON true),
      target AS MATERIALIZED (
        SELECT w.message_no, w.contact_id, w.ttl, \(columns.ofDevice("d"))\(columns.andSuppression(ofDevice: "d", originalID: "w.named", key: 23)),
               coalesce(d.push_app_id = $14::bigint, false) AS is_fallback,
               coalesce(d.push_app_id = $14::bigint, false)
                 AND count(*) FILTER (WHERE d.push_app_id IS DISTINCT FROM $14::bigint) OVER (PARTITION BY w.message_no) > 0 AS \(ruled("may_wait", else: "waits"))
          FROM wanted w
         CROSS JOIN LATERAL (SELECT * FROM device
                              WHERE customer_id = $1::bigint AND contact_id = w.contact_id
                                AND push_app_id = ANY ($3::bigint[]) AND invalidated_at IS NULL
                                AND (push_app_id IS DISTINCT FROM $14::bigint OR device_id = w.fallback_device)
                              LIMIT \(Device.maximumOfContact)) d
         WHERE w.verdict = 0),
      \(ruled(decided))
      numbered AS MATERIALIZED (
        SELECT *, $6::uuid IS NOT NULL AND NOT waits\(ruled(" AND NOT is_skipped")) AS is_claimed,
               ($4::int4 + row_number() OVER (ORDER BY push_app_id, sandbox, waits\(ruled(", is_skipped")), message_no, device_id) - 1)::int4
                 AS push_no,
               ($5::int4 + dense_rank() OVER (ORDER BY push_app_id, sandbox, waits\(ruled(", is_skipped"))) - 1)::int4 AS batch_no
          FROM \(ruled(judged, else: "target"))),
      counted AS MATERIALIZED (
        SELECT message_no, array_agg(push_no ORDER BY push_no) AS push_nos, count(*)::int2 AS count, bool_or(waits) AS waits,
               max(push_no) FILTER (WHERE is_fallback) AS fallback_no\(ruled(", bool_or(is_skipped) AS is_skipped"))
          FROM numbered GROUP BY message_no),
      made AS (
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body, reference, expires_at)
        SELECT $1::bigint, $2::bigint, w.message_no, w.contact_id, coalesce(n.push_nos, '{}'), w.body, w.reference,
               now() + make_interval(secs => w.ttl)
          FROM wanted w FULL JOIN counted n ON n.message_no = w.message_no
         WHERE \(isAccepted)),
      tracked AS (
        INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts, reference, status,
                                     unsettled, fallback_no, fallback_until, fallback_reason, report_app, push_nos)
        SELECT $1::bigint, $2::bigint, w.message_no, $19::text, w.recipient, w.sender, w.text, $20::text, w.parts, w.reference,
               CASE WHEN n.count IS NULL OR \(isSkipped) THEN 'Failed' ELSE 'Sent' END,
               CASE WHEN \(isSkipped) THEN 0 ELSE coalesce(n.count, 0) END, n.fallback_no,
               CASE WHEN $22::float8 IS NULL THEN 'accepted' ELSE 'confirmed' END,
               CASE WHEN n.fallback_no IS NULL OR \(isSkipped) THEN NULL WHEN cardinality($3::bigint[]) = 1 THEN 'alone'
                    WHEN NOT n.waits THEN 'no_device' WHEN $22::float8 IS NULL THEN 'push_failed' ELSE 'unconfirmed' END,
               $21::text, coalesce(n.push_nos, '{}')
          FROM wanted w FULL JOIN counted n ON n.message_no = w.message_no
         WHERE \(isAccepted)),
      reported AS (
        \(report("""
        SELECT $1::bigint, $2::bigint, w.message_no, 'Failed', $21::text
          FROM wanted w FULL JOIN counted n ON n.message_no = w.message_no
         WHERE \(isAccepted) AND $21::text IS NOT NULL AND (n.count IS NULL OR \(isSkipped))
        """))),
      batch AS (
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, waiting,
                                \(ruled("skipped, "))state, not_before, expires_at, hub_id, claims, claimed_at, lease_until, sent_to)
        SELECT $1::bigint, $2::bigint, batch_no, push_app_id, sandbox, min(push_no), max(push_no),
               count(*) FILTER (WHERE NOT waits\(ruled(" AND NOT is_skipped"))), count(*) FILTER (WHERE waits),
               \(ruled("count(*) FILTER (WHERE is_skipped),"))
               CASE \(ruled("WHEN is_skipped THEN 'settled' "))WHEN is_claimed THEN 'claimed' ELSE 'queued' END,
               CASE WHEN waits THEN moment.due ELSE moment.claimed_at END, moment.claimed_at + make_interval(secs => min(ttl)),
               CASE WHEN is_claimed THEN $6::uuid END, CASE WHEN is_claimed THEN 1 ELSE 0 END,
               CASE WHEN is_claimed THEN moment.claimed_at END, CASE WHEN is_claimed THEN moment.lease_until END,
               CASE WHEN is_claimed AND (SELECT count(*) FROM numbered WHERE is_claimed) <= $13::int4 THEN max(push_no) ELSE 0 END
          FROM numbered, (\(moments)) AS moment
         GROUP BY batch_no, push_app_id, sandbox, waits, is_claimed\(ruled(", is_skipped")), moment.due, moment.claimed_at, moment.lease_until),
      push AS (
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, not_before\(ruled(", reason, settled_at")))
        SELECT $1::bigint, $2::bigint, push_no, batch_no, device_id, contact_id, message_no,
               CASE \(ruled("WHEN is_skipped THEN 'skipped' "))WHEN waits THEN 'waiting' ELSE 'queued' END,
               CASE WHEN waits THEN moment.due END\(ruled(", reason, CASE WHEN is_skipped THEN moment.claimed_at END"))
          FROM numbered, (\(moments)) AS moment)\(ruled(capDays))
      SELECT w.message_no,
             \(ruled("CASE WHEN w.message_no IN (SELECT message_no FROM decided WHERE is_deferred) THEN 4 ELSE w.verdict END::int2",
               else: "w.verdict")),
             \(columns.all(contact: "w", device: "n")), n.push_no, n.batch_no,
             coalesce(n.waits, false)\(ruled(", n.reason, NULL::timestamptz"))
        FROM wanted w
        LEFT JOIN numbered n ON n.message_no = w.message_no
       ORDER BY n.push_no
      """)
  }

  /// Decides about the messages in `target`. Two to a contact cannot both count in a statement.
  private static let decided = """
    turn AS MATERIALIZED (
      SELECT message_no, contact_id, row_number() OVER (PARTITION BY contact_id ORDER BY message_no) AS place
        FROM (SELECT DISTINCT message_no, contact_id FROM target) AS message),
    reached AS (
      \(CapSQL.reserve(
        """
        SELECT contact_id, reach_ref($2::bigint, message_no) AS ref FROM turn
                 WHERE place = 1
                 ORDER BY contact_id
        """, purpose: "$29::text", kept: "$30::int4", ignores: "false", rules))),
    decided AS MATERIALIZED (
      SELECT message_no, place > 1 AS is_deferred,
             CASE WHEN place = 1 AND contact_id NOT IN (SELECT contact_id FROM reached)
                  THEN \(CapSQL.reason(rule: CapSQL.rule(contact: "turn.contact_id", rules), names: "$28::text[]")) END AS reason
        FROM turn),
    """

  /// The rows of `target` whose messages are accepted now. What is skipped does not wait.
  private static let judged = """
    (SELECT target.*, decided.reason, decided.reason IS NOT NULL AS is_skipped,
                       target.may_wait AND decided.reason IS NULL AS waits
                  FROM target FULL JOIN decided ON decided.message_no = target.message_no
                 WHERE NOT coalesce(decided.is_deferred, true)) AS target
    """

  private static let capDays = """
    ,
    cap_days AS (
      \(CapSQL.count(
        names: "$28::text[]", counted: CapSQL.counted, capped: """
        SELECT reason, count(*) AS contacts FROM decided WHERE reason IS NOT NULL GROUP BY reason
        """, seed: "$2::bigint + $5::int4")))
    """

  private static let rules = CapSQL.Rules(counts: "$25::int4[]", hours: "$26::int4[]", purposes: "$27::text[]")

  private static let moments = """
    SELECT now() AS claimed_at, now() + make_interval(secs => $7::float8) AS lease_until,
           CASE WHEN $22::float8 IS NULL THEN 'infinity' ELSE now() + make_interval(secs => $22::float8) END AS due
    """

  /// Those of the original ids `$2` that `accept` would not take, and whether they have opted out. `$3` is the fallback's app, or NULL.
  static let unreachable = Statement(
    "message.unreachable", .read,
    """
    SELECT named.original_id, d.device_id IS NOT NULL
      FROM unnest($2::text[]) AS named (original_id)
      LEFT JOIN LATERAL (SELECT contact_id FROM contact
                          WHERE customer_id = $1::bigint AND original_id = named.original_id LIMIT 1) AS c ON true
      LEFT JOIN LATERAL (SELECT device_id, invalidation_type FROM device
                          WHERE $3::bigint IS NOT NULL
                            AND customer_id = $1::bigint AND contact_id = c.contact_id AND push_app_id = $3::bigint
                          ORDER BY device_id LIMIT 1) AS d ON true
     WHERE c.contact_id IS NULL OR $3::bigint IS NOT NULL AND d.device_id IS NULL
        OR d.invalidation_type = \(InvalidationType.optedOut.rawValue)
    """)

  /// Records what a device or a provider says of pushes: sendouts `$2`, push numbers `$3`. Those of other recipients than `$4` or other
  /// apps than `$5` are left alone, unless these are NULL. With `$7` the messages were delivered, and read at `$6` if that is there; else
  /// they failed.
  ///
  /// A fallback that nobody has claimed is cancelled in the same commit. It may be queued again, where a hub had claimed it and its lane
  /// closed. One that may have left with a hub that stopped is kept: cancelled, it would count as never sent. Returns the positions of
  /// the pushes that are known.
  ///
  /// What a device delivers is told to webhooks, of the first push that says so. A provider's reports are told where they are recorded.
  static let confirm = Statement(
    "message.confirm", .write,
    """
    WITH known AS MATERIALIZED (
      SELECT named.place, named.sendout_id, named.push_no, h.message_no, h.fallback_no, f.batch_no, f.state
        FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS named (sendout_id, push_no, place)
       CROSS JOIN LATERAL (SELECT message_no FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = named.sendout_id
                              AND push.push_no = named.push_no
                           OFFSET 0) AS p
       CROSS JOIN LATERAL (SELECT h.message_no, h.fallback_no FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = named.sendout_id
                              AND h.message_no = p.message_no
                              AND ($4::text IS NULL OR h.recipient = $4::text) AND ($5::text IS NULL OR h.app_id = $5::text)
                           OFFSET 0) AS h
        LEFT JOIN LATERAL (SELECT batch_no, state FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = named.sendout_id
                              AND push.push_no = h.fallback_no AND $7::bool
                              AND (push.state = 'waiting' OR push.state = 'queued' AND push.reason IS DISTINCT FROM '\(HubReason.hubStopped.rawValue)')
                           OFFSET 0) AS f ON true),
    batch AS MATERIALIZED (
      SELECT b.sendout_id, b.batch_no, b.state
        FROM (SELECT DISTINCT sendout_id, batch_no FROM known WHERE batch_no IS NOT NULL ORDER BY sendout_id, batch_no) AS w
       CROSS JOIN LATERAL (SELECT sendout_id, batch_no, state FROM push_batch
                            WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = w.sendout_id
                              AND push_batch.batch_no = w.batch_no
                            LIMIT 1 FOR NO KEY UPDATE) AS b),
    locked AS MATERIALIZED (
      SELECT h.*
        FROM (SELECT DISTINCT sendout_id, message_no FROM known WHERE (SELECT count(*) FROM batch) >= 0
               ORDER BY sendout_id, message_no) AS w
       CROSS JOIN LATERAL (SELECT h.sendout_id, h.message_no, h.status, h.read_at FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = w.sendout_id AND h.message_no = w.message_no
                            LIMIT 1 FOR NO KEY UPDATE) AS h),
    updated AS (
      UPDATE tracked_message AS h
         SET status = CASE WHEN $7::bool THEN 'Delivered' ELSE 'Failed' END,
             delivered_at = CASE WHEN $7::bool THEN coalesce(h.delivered_at, c.now) ELSE h.delivered_at END,
             read_at = coalesce(h.read_at, c.read_at)
        FROM (SELECT sendout_id, message_no, status, read_at AS was_read_at, now() AS now, $6::timestamptz AS read_at
                FROM locked WHERE \(few("sendout_id", "message_no")) OFFSET 0) AS c
       WHERE h.customer_id = $1::bigint AND h.sendout_id = c.sendout_id AND h.message_no = c.message_no
         AND (h.status <> CASE WHEN $7::bool THEN 'Delivered' ELSE 'Failed' END AND ($7::bool OR h.status <> 'Delivered')
              OR h.read_at IS NULL AND c.read_at IS NOT NULL)
      RETURNING h.sendout_id, h.message_no, h.report_app, h.status, c.status AS status_before,
                c.was_read_at IS NULL AND c.read_at IS NOT NULL AS is_read),
    told AS (\(EventSQL.notePushes(.messageDelivered, of: confirmed, sendout: "sendout_id"))),
    cancelled AS (
      UPDATE push
         SET state = 'cancelled', reason = '\(HubReason.confirmedInTime.rawValue)', settled_at = c.now, not_before = NULL
        FROM (SELECT DISTINCT sendout_id, fallback_no, state, now() AS now FROM known
               WHERE \(few("fallback_no", "sendout_id")) AND batch_no >= 0 AND (SELECT count(*) FROM locked) > 0
                 AND (state = 'waiting'
                      OR (sendout_id, batch_no) IN (SELECT sendout_id, batch_no FROM batch WHERE state <> 'claimed'))
              OFFSET 0) AS c
       WHERE push.customer_id = $1::bigint AND push.sendout_id = c.sendout_id AND push.push_no = c.fallback_no
         AND push.state = c.state
      RETURNING push.sendout_id, push.batch_no, c.state AS state_before),
    counted AS (
      UPDATE push_batch
         SET queued = push_batch.queued - c.queued, waiting = push_batch.waiting - (c.count - c.queued),
             cancelled = push_batch.cancelled + c.count, state = \(stateWithout("c.count"))
        FROM (SELECT sendout_id, batch_no, count(*)::int4 AS count,
                     count(*) FILTER (WHERE state_before = 'queued')::int4 AS queued
                FROM cancelled GROUP BY sendout_id, batch_no) AS c
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = c.sendout_id AND push_batch.batch_no = c.batch_no),
    reported AS (
      \(report("""
      SELECT $1::bigint, sendout_id, message_no, status, report_app FROM updated WHERE report_app IS NOT NULL AND status <> status_before
      UNION ALL
      SELECT $1::bigint, sendout_id, message_no, 'Read', report_app FROM updated WHERE report_app IS NOT NULL AND is_read
      """)))
    SELECT coalesce(array_agg(place), '{}') FROM known
    """)

  private static let confirmed = """
    (SELECT u.sendout_id, min(k.push_no) AS push_no
                           FROM updated AS u JOIN known AS k ON k.sendout_id = u.sendout_id AND k.message_no = u.message_no
                          WHERE $4::text IS NOT NULL AND u.status = 'Delivered' AND u.status_before <> 'Delivered'
                          GROUP BY u.sendout_id, u.message_no) AS confirmed
    """

  /// Withdraws messages of the kind `$5` and the last `$6` seconds without a fallback: those to the recipients `$2` with the references `$3`
  /// or the texts `$4`. They are not tried again; a push that its service has taken may still arrive.
  static let withdraw = Statement(
    "message.withdraw", .write,
    """
    WITH found AS MATERIALIZED (
      SELECT DISTINCT h.sendout_id, h.message_no
        FROM unnest($2::text[], $3::text[], $4::text[]) AS later (recipient, reference, body)
       CROSS JOIN LATERAL (SELECT h.sendout_id, h.message_no FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.recipient = later.recipient
                              AND h.created_at > now() - make_interval(secs => $6::float8) AND h.kind = $5::text
                              AND h.fallback_no IS NULL
                              AND h.status IN ('Sent', 'Accepted')
                              AND (h.reference = later.reference OR h.body = later.body)
                           OFFSET 0) AS h),
    locked AS MATERIALIZED (
      -- In key order, as settlements and confirmations lock them.
      SELECT h.sendout_id, h.message_no
        FROM (SELECT * FROM found ORDER BY sendout_id, message_no) AS w
       CROSS JOIN LATERAL (SELECT h.sendout_id, h.message_no FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = w.sendout_id AND h.message_no = w.message_no
                            LIMIT 1 FOR NO KEY UPDATE) AS h),
    updated AS (
      UPDATE tracked_message AS h SET status = 'Cancelled'
        FROM (SELECT DISTINCT sendout_id, message_no FROM locked) AS l
       WHERE h.customer_id = $1::bigint AND h.sendout_id = l.sendout_id AND h.message_no = l.message_no
         AND h.status IN ('Sent', 'Accepted')
      RETURNING h.sendout_id, h.message_no, h.report_app),
    expired AS (
      UPDATE message SET expires_at = 'epoch'
        FROM (SELECT DISTINCT sendout_id, message_no FROM updated WHERE \(few("sendout_id", "message_no")) OFFSET 0) AS updated
       WHERE message.customer_id = $1::bigint AND message.sendout_id = updated.sendout_id
         AND message.message_no = updated.message_no)
    \(report("SELECT $1::bigint, sendout_id, message_no, 'Cancelled', report_app FROM updated WHERE report_app IS NOT NULL"))
    """)

  /// Notes what is to be reported of messages: customer, stream, number, status, and the app whose address gets it. Each status of a message
  /// is reported once.
  fileprivate static func report(_ rows: String) -> String {
    """
    INSERT INTO outbox (customer_id, sendout_id, item_no, event, receiver, kind)
    SELECT change.*, 'message_status' FROM (
    \(rows)) AS change
    ON CONFLICT DO NOTHING
    """
  }

  /// True of all rows, where the planner expects one in nine: it then looks each up by its key. Of more it would rather read all rows of
  /// the customer, which it believes to be few.
  fileprivate static func few(_ first: String, _ second: String) -> String { "\(first) > 0 AND \(second) > 0" }

  /// The state of a batch that loses so many waiting pushes.
  static func stateWithout(_ count: String) -> String {
    """
    CASE WHEN push_batch.state IN ('queued', 'held') AND push_batch.queued + push_batch.waiting = \(count) THEN 'settled'
         ELSE push_batch.state END
    """
  }
}

/// What settling, correcting and cancelling pushes of tracked messages does beside.
enum TrackedSettlement {
  /// The messages of the pushes, and the batches of fallbacks that wait for them.
  static let concerned = """
    concerned AS MATERIALIZED (
      SELECT h.message_no, h.fallback_no, f.batch_no AS fallback_batch
        FROM (SELECT DISTINCT p.message_no
                FROM unnest($3::bigint[]) AS outcome (push_no)
               CROSS JOIN LATERAL (SELECT message_no FROM push
                                    WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                                      AND push.push_no = outcome.push_no
                                   OFFSET 0) AS p) AS m
       CROSS JOIN LATERAL (SELECT h.message_no, h.fallback_no FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = $2::bigint AND h.message_no = m.message_no
                           OFFSET 0) AS h
        LEFT JOIN LATERAL (SELECT batch_no FROM push
                            WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint
                              AND push.push_no = h.fallback_no AND push.state = 'waiting' AND push.attempts = 0
                           OFFSET 0) AS f ON true),
    """

  /// That a batch is of this sorted array, or one of the fallbacks.
  static func batches(and own: String) -> String {
    """
    batch_no = ANY (\(own) || ARRAY(SELECT fallback_batch FROM concerned WHERE fallback_batch IS NOT NULL))
         AND batch_no BETWEEN least((\(own))[1], (SELECT min(fallback_batch) FROM concerned))
                          AND greatest((\(own))[cardinality(\(own))], (SELECT max(fallback_batch) FROM concerned))
    """
  }

  /// Counts the cancelled pushes in `pushes` in their messages, whose rows are locked. A message that nothing has become of, and nothing
  /// more will, is cancelled with them. Pushes of other messages and of sendouts have no such row.
  static func cancelled(in pushes: String) -> String {
    """
    ,
    stopped_message AS MATERIALIZED (
      SELECT h.message_no, h.status, w.count
        FROM (SELECT message_no, count(*)::int2 AS count FROM \(pushes)
               WHERE message_no IS NOT NULL GROUP BY message_no ORDER BY message_no) AS w
       CROSS JOIN LATERAL (SELECT h.message_no, h.status FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = $2::bigint AND h.message_no = w.message_no
                            LIMIT 1 FOR NO KEY UPDATE) AS h),
    updated AS (
      UPDATE tracked_message AS h
         SET unsettled = h.unsettled - m.count,
             status = CASE WHEN h.status = 'Sent' AND h.unsettled = m.count THEN 'Cancelled' ELSE h.status END
        FROM (SELECT message_no, status, count FROM stopped_message
               WHERE \(TrackedMessageQueries.few("message_no", "count")) OFFSET 0) AS m
       WHERE h.customer_id = $1::bigint AND h.sendout_id = $2::bigint AND h.message_no = m.message_no
         AND \(BatchQueries.within("h.message_no", "message_no", of: "stopped_message"))
      RETURNING h.message_no, h.report_app, h.status, m.status AS status_before),
    reported AS (\(TrackedMessageQueries.report("""
      SELECT $1::bigint, $2::bigint, message_no, status, report_app FROM updated WHERE report_app IS NOT NULL AND status <> status_before
      """)))
    """
  }

  /// Counts final outcomes in their messages, whose rows are locked, so that of outcomes that are written at the same time one is the
  /// last. A fallback is cancelled once a push is accepted, if it waits for that, and due once all others have failed.
  /// - Parameter own: the batches of the outcomes themselves.
  static func resolved(besides own: String) -> String {
    """
    ,
    locked AS MATERIALIZED (
      SELECT h.message_no, h.status
        FROM (SELECT DISTINCT message_no FROM settled WHERE state <> 'waiting' ORDER BY message_no) AS w
       CROSS JOIN LATERAL (SELECT h.message_no, h.status FROM tracked_message h
                            WHERE h.customer_id = $1::bigint AND h.sendout_id = $2::bigint AND h.message_no = w.message_no
                            LIMIT 1 FOR NO KEY UPDATE) AS h),
    ended AS MATERIALIZED (
      SELECT l.message_no, l.status, count(*)::int2 AS pushes,
             bool_or(s.state = 'accepted') AS is_accepted,
             bool_or(s.state = 'accepted' AND s.push_no IS DISTINCT FROM c.fallback_no) AS is_pushed,
             bool_or(s.state = 'uncertain') AS is_uncertain,
             bool_or(s.state = 'failed' AND s.has_left AND s.push_no IS NOT DISTINCT FROM c.fallback_no) AS is_rejected
        -- FULL, which the condition turns into an inner join: PostgreSQL knows no nested loop for it, and it expects one row of each.
        FROM settled s
        FULL JOIN concerned c ON c.message_no = s.message_no
        FULL JOIN locked l ON l.message_no = s.message_no
       WHERE coalesce(s.state, 'waiting') <> 'waiting' AND coalesce(c.message_no, 0) > 0 AND coalesce(l.message_no, 0) > 0
       GROUP BY l.message_no, l.status),
    updated AS (
      UPDATE tracked_message AS h
         SET unsettled = h.unsettled - e.pushes,
             -- A delivery report may come before the outcome of its SMS is written, and knows more.
             status = CASE WHEN h.status IN ('Delivered', 'Cancelled') OR h.status = 'Failed' AND NOT e.is_pushed THEN h.status
                           WHEN e.is_accepted OR h.status = 'Accepted' THEN 'Accepted'
                           WHEN h.unsettled > e.pushes OR e.is_uncertain THEN h.status
                           WHEN e.is_rejected THEN 'Rejected' ELSE 'Failed' END,
             fallback_reason = CASE WHEN h.fallback_reason = 'unconfirmed' AND h.status = 'Sent' AND NOT e.is_accepted
                                         AND h.unsettled = e.pushes + 1 THEN 'push_failed' ELSE h.fallback_reason END
        FROM (SELECT * FROM ended WHERE \(TrackedMessageQueries.few("message_no", "pushes")) OFFSET 0) AS e
       WHERE h.customer_id = $1::bigint AND h.sendout_id = $2::bigint AND h.message_no = e.message_no
         AND \(BatchQueries.within("h.message_no", "message_no", of: "ended"))
      RETURNING h.message_no, h.fallback_no, h.fallback_until, h.status, h.unsettled, h.report_app,
                e.status AS status_before, e.is_pushed),
    choice AS MATERIALIZED (
      SELECT fallback_no, is_pushed AND fallback_until = 'accepted' AS is_over, now() AS now
        FROM updated
       WHERE fallback_no IS NOT NULL AND (is_pushed AND fallback_until = 'accepted' OR unsettled = 1 AND status = 'Sent')),
    resolved AS (
      UPDATE push
         SET state = CASE WHEN c.is_over THEN 'cancelled' ELSE 'waiting' END, reason = c.reason, not_before = c.not_before,
             settled_at = c.settled_at
        FROM (SELECT fallback_no, is_over,
                     CASE WHEN is_over THEN '\(HubReason.pushAccepted.rawValue)' ELSE '\(HubReason.pushFailed.rawValue)' END AS reason,
                     CASE WHEN NOT is_over THEN now END AS not_before, CASE WHEN is_over THEN now END AS settled_at
                FROM choice OFFSET 0) AS c
       WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = c.fallback_no
         AND \(BatchQueries.within("push.push_no", "fallback_no", of: "choice")) AND push.state = 'waiting' AND push.attempts = 0
         AND push.batch_no IN (SELECT batch_no FROM batch WHERE batch_no <> ALL (\(own)))
      RETURNING push.batch_no, push.state),
    recounted AS (
      UPDATE push_batch
         SET waiting = push_batch.waiting - c.cancelled, cancelled = push_batch.cancelled + c.cancelled,
             not_before = CASE WHEN c.due = 0 OR push_batch.state = 'claimed' THEN push_batch.not_before
                               ELSE least(push_batch.not_before, c.now) END,
             woken_at = CASE WHEN c.due > 0 AND push_batch.state = 'claimed' THEN c.now ELSE push_batch.woken_at END,
             state = \(TrackedMessageQueries.stateWithout("c.cancelled"))
        FROM (SELECT batch_no, count(*) FILTER (WHERE state = 'cancelled')::int4 AS cancelled,
                     count(*) FILTER (WHERE state = 'waiting')::int4 AS due, now() AS now
                FROM resolved GROUP BY batch_no OFFSET 0) AS c
       WHERE push_batch.customer_id = $1::bigint AND push_batch.sendout_id = $2::bigint
         AND push_batch.batch_no = c.batch_no AND \(BatchQueries.within("push_batch.batch_no", "batch_no", of: "batch"))),
    reported AS (\(TrackedMessageQueries.report("""
      SELECT $1::bigint, $2::bigint, message_no, status, report_app FROM updated WHERE report_app IS NOT NULL AND status <> status_before
      """)))
    """
  }
}
