import Postgres
import Registry
import Wire

/// The statement that accepts messages whose customer has quiet hours or caps for their purpose. `$1` is the customer, `$2` the stream.
enum RuledMessageQueries {
  static let all: [Statement] = [accept.reading(RecipientColumns(.toSend))]

  /// Accepts messages as `MessageQueries.acceptOnce` does, with its parameters `$1` to `$21`, and decides in the same commit about those that
  /// are due now:
  ///
  /// - in quiet hours from `$22` to `$23`, NULL for none, pushes wait until they end, and up to `$25` minutes more. With the policy `skip` as
  ///   `$24`, or where the message's life ends before, they are skipped. `$26` is the customer's zone, `$27` are countries that have one
  ///   zone alone, and `$28` these zones;
  /// - a contact with devices counts for caps once a message. Of one too many the pushes are skipped. `$29` are the counts of the rules, `$30` their
  ///   hours, `$31` their purposes and `$32` their names; `$33` is the purpose and `$34` how many moments are kept.
  ///
  /// Those that are due later are decided about by `RuledClaimQueries.claimMessages`, as are those that wait.
  ///
  /// Returns rows as `message.accepted` does. The code 4 says that an earlier message of the statement is for the same contact, whose count can
  /// be changed only once: this one is not accepted, and comes again in another statement. Locks idempotency keys in their order, then the reach
  /// of contacts in their order.
  static let accept = RecipientStatement { columns in
    let suppression = columns.andSuppression(ofDevice: "d", originalID: "w.addressed", key: 20)
    return Statement(
      "message.accept_ruled", .write,
      """
      WITH wanted AS MATERIALIZED (
        SELECT w.*, c.device_id AS only_device, c.addressed, \(columns.ofContact("c"))
          FROM unnest($9::int4[], $10::text[], $11::json[], $12::json[], $13::int4[], $14::text[], $15::bigint[], $16::bytea[],
                      $17::timestamptz[], $18::text[], $19::bytea[])
            AS w (message_no, named, body, own_properties, ttl, reference, app, token_key, deliver_at, idempotency_key, fingerprint)
          LEFT JOIN LATERAL (
            \(MessageQueries.contactsOrDevices(columns))) c ON true),
      looked AS MATERIALIZED (
        SELECT w.message_no, w.contact_id, place.until,
               w.deliver_at IS NULL AND cardinality($29::int4[]) > 0 AND EXISTS (
                 SELECT FROM device
                  WHERE device.customer_id = $1::bigint AND device.contact_id = w.contact_id
                    AND device.push_app_id = ANY ($3::bigint[]) AND device.invalidated_at IS NULL
                    AND (w.only_device IS NULL OR device.device_id = w.only_device)) AS counts,
               CASE WHEN place.until IS NULL THEN NULL
                    WHEN $24::text = '\(QuietPolicy.skip.rawValue)' OR now() + make_interval(secs => w.ttl) <= place.until
                    THEN '\(HubReason.quiet.rawValue)'
                    ELSE 'hold' END AS verdict
          FROM wanted w
          LEFT JOIN LATERAL (SELECT quiet_end(now(), zone, $22::text::time, $23::text::time) AS until
                               FROM (SELECT \(PlaceSQL.zone(ofContact: "contact", places)) AS zone FROM contact
                                      WHERE contact.customer_id = $1::bigint AND contact.contact_id = w.contact_id
                                        AND w.deliver_at IS NULL AND $22::text IS NOT NULL
                                     OFFSET 0) AS contact) AS place ON true
         WHERE w.contact_id IS NOT NULL),
      turn AS MATERIALIZED (
        SELECT message_no, contact_id, until, verdict, counts AND verdict IS NULL AS counts,
               row_number() OVER (PARTITION BY contact_id, counts AND verdict IS NULL ORDER BY message_no) AS place
          FROM looked),
      taken AS (
        INSERT INTO message_key (customer_id, idempotency_key, fingerprint, sendout_id, message_no)
        SELECT $1::bigint, idempotency_key, fingerprint, $2::bigint, message_no
          FROM wanted w
         WHERE idempotency_key IS NOT NULL AND contact_id IS NOT NULL AND \(hasTurn)
         ORDER BY idempotency_key
        ON CONFLICT DO NOTHING
        RETURNING message_no),
      reached AS (
        \(CapSQL.reserve(
          """
          SELECT w.contact_id, reach_ref($2::bigint, w.message_no) AS ref FROM turn
                    JOIN wanted w ON w.message_no = turn.message_no
                   WHERE turn.counts AND \(isFresh)
                   ORDER BY w.contact_id
          """, purpose: "$33::text", kept: "$34::int4", ignores: "false", rules))),
      decided AS MATERIALIZED (
        SELECT message_no, contact_id,
               CASE WHEN verdict = 'hold' THEN until + make_interval(mins => \(
                 ShareSQL.place(.hold, contact: "contact_id", sendout: "$2::bigint")) % greatest($25::int4, 1)) END AS held_until,
               CASE WHEN verdict IS NOT NULL THEN '\(HubReason.quiet.rawValue)'
                    WHEN counts AND contact_id NOT IN (SELECT contact_id FROM reached)
                    THEN \(CapSQL.reason(rule: CapSQL.rule(contact: "turn.contact_id", rules), names: "$32::text[]")) END AS reason
          FROM turn),
      sorted AS MATERIALIZED (
        SELECT w.message_no, w.contact_id, coalesce(w.deliver_at, decided.held_until) AS due_at, decided.held_until, decided.reason,
               decided.reason IS NOT NULL AND decided.held_until IS NULL AS is_skipped, w.only_device, w.addressed
          FROM wanted w
          JOIN decided ON decided.message_no = w.message_no
         WHERE \(isFresh)),
      numbered AS MATERIALIZED (
        SELECT w.message_no, w.contact_id, w.due_at, w.held_until, w.reason, w.is_skipped, \(columns.ofDevice("d"))\(suppression),
               ($4::int4 + row_number() OVER (ORDER BY d.push_app_id, d.sandbox, w.due_at, w.is_skipped, w.message_no, d.device_id)
                     - 1)::int4 AS push_no,
               ($5::int4 + dense_rank() OVER (ORDER BY d.push_app_id, d.sandbox, w.due_at, w.is_skipped) - 1)::int4 AS batch_no,
               $6::uuid IS NOT NULL AND w.due_at IS NULL AND NOT w.is_skipped AS is_claimed
          FROM sorted w
         CROSS JOIN LATERAL (SELECT * FROM device
                              WHERE customer_id = $1::bigint AND contact_id = w.contact_id
                                AND push_app_id = ANY ($3::bigint[]) AND invalidated_at IS NULL
                                AND (w.only_device IS NULL OR device_id = w.only_device)
                              LIMIT \(Device.maximumOfContact)) d),
      made AS (
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body, properties, reference,
                             deliver_at, expires_at)
        SELECT $1::bigint, $2::bigint, w.message_no, w.contact_id, coalesce(n.push_nos, '{}'), w.body, w.own_properties,
               w.reference, w.deliver_at, greatest(w.deliver_at, now()) + make_interval(secs => w.ttl)
          FROM wanted w
          LEFT JOIN (SELECT message_no, array_agg(push_no ORDER BY push_no) AS push_nos FROM numbered GROUP BY message_no) n
            ON n.message_no = w.message_no
         WHERE \(isFresh)),
      batch AS (
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, waiting,
                                skipped, state, not_before, quiet_at, hub_id, claims, claimed_at, lease_until, sent_to)
        SELECT $1::bigint, $2::bigint, batch_no, push_app_id, sandbox, min(push_no), max(push_no),
               count(*) FILTER (WHERE reason IS NULL), count(*) FILTER (WHERE held_until IS NOT NULL),
               count(*) FILTER (WHERE is_skipped),
               CASE WHEN is_skipped THEN 'settled' WHEN is_claimed THEN 'claimed' ELSE 'queued' END,
               coalesce(due_at, batch_moment.claimed_at), due_at,
               CASE WHEN is_claimed THEN $6::uuid END, CASE WHEN is_claimed THEN 1 ELSE 0 END,
               CASE WHEN is_claimed THEN batch_moment.claimed_at END, CASE WHEN is_claimed THEN batch_moment.lease_until END,
               CASE WHEN is_claimed AND (SELECT count(*) FROM numbered WHERE is_claimed) <= $8::int4 THEN max(push_no) ELSE 0 END
          FROM numbered,
               (SELECT now() AS claimed_at, now() + make_interval(secs => $7::float8) AS lease_until) AS batch_moment
         GROUP BY batch_no, push_app_id, sandbox, due_at, is_skipped, is_claimed, batch_moment.claimed_at, batch_moment.lease_until),
      push AS (
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, reason, not_before,
                          settled_at)
        SELECT $1::bigint, $2::bigint, push_no, batch_no, device_id, contact_id, message_no,
               CASE WHEN is_skipped THEN 'skipped' WHEN held_until IS NOT NULL THEN 'waiting' ELSE 'queued' END, reason, held_until,
               CASE WHEN is_skipped THEN now() END
          FROM numbered),
      counted AS (
        \(CapSQL.count(
          names: "$32::text[]", counted: CapSQL.counted, capped: """
          SELECT reason, count(*) AS contacts FROM sorted WHERE is_skipped GROUP BY reason
          """, seed: "$2::bigint + $5::int4")))
      SELECT w.message_no,
             CASE WHEN w.contact_id IS NULL THEN 1 WHEN NOT (\(hasTurn)) THEN 4 WHEN \(isFresh) THEN 0 ELSE 2 END::int2,
             \(columns.all(contact: "w", device: "n")), n.push_no, n.batch_no, n.held_until IS NOT NULL, n.reason, n.held_until
        FROM wanted w
        LEFT JOIN numbered n ON n.message_no = w.message_no
       ORDER BY n.push_no
      """)
  }

  /// Of a row of `wanted` with the alias `w`: that no earlier message of the statement counts for its contact.
  private static let hasTurn = "w.message_no NOT IN (SELECT message_no FROM turn WHERE counts AND place > 1)"
  /// Of a row of `wanted` with the alias `w`: that it is accepted.
  private static let isFresh =
    "w.contact_id IS NOT NULL AND \(hasTurn) AND (w.idempotency_key IS NULL OR w.message_no IN (SELECT message_no FROM taken))"
  private static let places = PlaceSQL.Places(
    customerZone: "$26::text", countries: "$27::text[]", zones: "$28::text[]")
  private static let rules = CapSQL.Rules(counts: "$29::int4[]", hours: "$30::int4[]", purposes: "$31::text[]")
}
