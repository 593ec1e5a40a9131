import Postgres
import Registry
import Wire

/// Statements on `message` and `message_key`. `$1` is the customer, `$2` the stream.
enum MessageQueries {
  static let all: [Statement] = [
    accept.reading(RecipientColumns(.toSend)), acceptAny.reading(RecipientColumns(.toSend)),
    acceptOnce.reading(RecipientColumns(.toSend)),
    accepted.reading(RecipientColumns(.toSend)), repetitions, find, contents, expired, ofPush, forgetKeys,
  ]

  /// Accepts messages to contacts that are due now: writes them, their pushes and batches that the run `$6` has claimed already for `$7`
  /// seconds, with the write-ahead mark at their ends if there are at most `$8` pushes. So their bytes may leave once this is
  /// committed. Without a run they are queued for any hub.
  ///
  /// `$3` are the apps; pushes are numbered from `$4` and batches from `$5`. Arrays have one item a message: `$9` holds numbers, `$10`
  /// original ids, and `$11` to `$14` bodies, properties, seconds to live and references. The last two parameters are the pads of the key
  /// of suppressions.
  ///
  /// Returns a row for each push with its recipient, and one for a message without pushes. The second column says what became of the
  /// message: 0 accepted, 1 nobody to send it to, 2 its idempotency key is taken.
  static let accept = RecipientStatement { accept("message.accept", .toContacts, $0) }

  /// Accepts messages to contacts or devices, due now or later. `$10` are original ids. `$15` and `$16` name devices by app and token
  /// key, which have to be of that contact if there is one. `$17` are the moments at which messages are due, NULL for now. Those that
  /// are due later are queued for any hub until then. A statement of its own, since each part of one costs time before the first row.
  static let acceptAny = RecipientStatement { accept("message.accept_any", .any, $0) }

  /// Accepts any messages, with idempotency keys `$18` and fingerprints `$19`, NULL for messages without. Locks the keys in their order.
  static let acceptOnce = RecipientStatement { accept("message.accept_once", .once, $0) }

  /// Which of the three statements that accept.
  private enum Form { case toContacts, any, once }

  private static func accept(_ name: String, _ form: Form, _ columns: RecipientColumns) -> Statement {
    let isOnce = form == .once
    let isFresh =
      "w.contact_id IS NOT NULL"
      + (isOnce ? " AND (w.idempotency_key IS NULL OR w.message_no IN (SELECT message_no FROM taken))" : "")
    let taken = """
      taken AS (
        INSERT INTO message_key (customer_id, idempotency_key, fingerprint, sendout_id, message_no)
        SELECT $1::bigint, idempotency_key, fingerprint, $2::bigint, message_no
          FROM wanted
         WHERE idempotency_key IS NOT NULL AND contact_id IS NOT NULL
         ORDER BY idempotency_key
        ON CONFLICT DO NOTHING
        RETURNING message_no),
      """
    let isAny = form != .toContacts
    let key = isOnce ? 20 : isAny ? 18 : 15
    let suppression = columns.andSuppression(ofDevice: "d", originalID: isAny ? "w.addressed" : "w.named", key: key)
    let deliverAt = isAny ? "w.deliver_at" : "NULL::timestamptz"
    let arrays = isAny ? ", $15::bigint[], $16::bytea[], $17::timestamptz[]" : ""
    let names = isAny ? ", app, token_key, deliver_at" : ""
    let contacts = """
      SELECT \(columns.ofContactRow("contact"))
              FROM contact
             WHERE customer_id = $1::bigint AND original_id = w.named
      """
    return Statement(
      name, .write,
      """
      WITH wanted AS MATERIALIZED (
        SELECT w.*, \(isAny ? "c.device_id AS only_device, c.addressed, " : "")\(columns.ofContact("c"))
          FROM unnest($9::int4[], $10::text[], $11::json[], $12::json[], $13::int4[], $14::text[]\(arrays)
                      \(isOnce ? ", $18::text[], $19::bytea[]" : ""))
            AS w (message_no, named, body, own_properties, ttl, reference\(names)
                  \(isOnce ? ", idempotency_key, fingerprint" : ""))
          LEFT JOIN LATERAL (
            \(isAny ? contactsOrDevices(columns) : contacts)) c ON true),
      \(isOnce ? taken : "")
      numbered AS MATERIALIZED (
        SELECT w.message_no, \(deliverAt) AS deliver_at, w.contact_id, \(columns.ofDevice("d"))\(suppression),
               ($4::int4 + row_number() OVER (ORDER BY d.push_app_id, d.sandbox, \(deliverAt), w.message_no, d.device_id)
                     - 1)::int4 AS push_no,
               ($5::int4 + dense_rank() OVER (ORDER BY d.push_app_id, d.sandbox, \(deliverAt)) - 1)::int4 AS batch_no,
               $6::uuid IS NOT NULL AND \(deliverAt) IS NULL AS is_claimed
          FROM wanted w
         CROSS JOIN LATERAL (SELECT * FROM device
                              WHERE customer_id = $1::bigint AND contact_id = w.contact_id
                                AND push_app_id = ANY ($3::bigint[]) AND invalidated_at IS NULL
                                \(isAny ? "AND (w.only_device IS NULL OR device_id = w.only_device)" : "")
                              LIMIT \(Device.maximumOfContact)) d
         WHERE \(isFresh)),
      made AS (
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body, properties, reference,
                             deliver_at, expires_at)
        SELECT $1::bigint, $2::bigint, w.message_no, w.contact_id, coalesce(n.push_nos, '{}'), w.body, w.own_properties,
               w.reference, \(deliverAt),
               greatest(\(deliverAt), now()) + make_interval(secs => w.ttl)
          FROM wanted w
          LEFT JOIN (SELECT message_no, array_agg(push_no ORDER BY push_no) AS push_nos FROM numbered GROUP BY message_no) n
            ON n.message_no = w.message_no
         WHERE \(isFresh)),
      batch AS (
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, state,
                                not_before, hub_id, claims, claimed_at, lease_until, sent_to)
        SELECT $1::bigint, $2::bigint, batch_no, push_app_id, sandbox, min(push_no), max(push_no), count(*),
               CASE WHEN is_claimed THEN 'claimed' ELSE 'queued' END, coalesce(deliver_at, batch_moment.claimed_at),
               CASE WHEN is_claimed THEN $6::uuid END, CASE WHEN is_claimed THEN 1 ELSE 0 END,
               CASE WHEN is_claimed THEN batch_moment.claimed_at END, CASE WHEN is_claimed THEN batch_moment.lease_until END,
               CASE WHEN is_claimed AND (SELECT count(*) FROM numbered WHERE is_claimed) <= $8::int4 THEN max(push_no) ELSE 0 END
          FROM numbered,
               (SELECT now() AS claimed_at, now() + make_interval(secs => $7::float8) AS lease_until) AS batch_moment
         GROUP BY batch_no, push_app_id, sandbox, deliver_at, is_claimed, batch_moment.claimed_at, batch_moment.lease_until),
      push AS (
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no)
        SELECT $1::bigint, $2::bigint, push_no, batch_no, device_id, contact_id, message_no FROM numbered)
      SELECT w.message_no, CASE WHEN w.contact_id IS NULL THEN 1 WHEN \(isFresh) THEN 0 ELSE 2 END::int2,
             \(columns.all(contact: "w", device: "n")), n.push_no, n.batch_no
        FROM wanted w
        LEFT JOIN numbered n ON n.message_no = w.message_no
       ORDER BY n.push_no
      """)
  }

  /// SQL of whom a row of `w` names: a contact, or a device.
  ///
  /// A device of a contact that is named is looked up among the contact's, whose pages are needed anyway: by its token, and its contact by
  /// number, the statement took a tenth more.
  static func contactsOrDevices(_ columns: RecipientColumns) -> String {
    """
    SELECT \(columns.ofContactRow("contact")), own.device_id, contact.original_id AS addressed
            FROM contact
            LEFT JOIN LATERAL (SELECT device_id FROM device
                                WHERE w.token_key IS NOT NULL AND customer_id = $1::bigint AND contact_id = contact.contact_id
                                  AND (push_app_id = w.app AND token_key = w.token_key) IS TRUE
                                LIMIT 1) AS own ON true
           WHERE contact.customer_id = $1::bigint AND contact.original_id = w.named
             AND (w.token_key IS NULL OR own.device_id IS NOT NULL)
          UNION ALL
          SELECT \(columns.ofContactRow("contact")), device.device_id, contact.original_id
            FROM device
            JOIN contact ON contact.customer_id = device.customer_id AND contact.contact_id = device.contact_id
           WHERE w.named IS NULL AND device.customer_id = $1::bigint AND device.push_app_id = w.app
             AND device.token_key = w.token_key AND contact.customer_id = $1::bigint
    """
  }

  /// The same rows as `accept` for the messages `$3`, of which a reply was lost: 0 for those that are there. The last columns say whether
  /// a push waits, as a fallback does, why it does or is skipped, and until when. `$4` and `$5` are the pads of the key of suppressions.
  static let accepted = RecipientStatement { columns in
    Statement(
      "message.accepted", .read,
      """
      SELECT w.message_no, CASE WHEN m.message_no IS NULL THEN 1 ELSE 0 END::int2,
             \(columns.all(contactRow: "c", device: "d")), p.push_no, p.batch_no, coalesce(p.state = 'waiting', false),
             CASE WHEN p.state IN ('waiting', 'skipped') THEN p.reason END, p.not_before
        FROM unnest($3::int4[]) AS w (message_no)
        LEFT JOIN LATERAL (SELECT message_no, push_nos FROM message
                            WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = w.message_no
                            LIMIT 1) m ON true
        LEFT JOIN LATERAL (SELECT push_no, batch_no, contact_id, device_id, state, reason, not_before FROM push
                            WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = ANY (m.push_nos)
                            LIMIT \(Device.maximumOfContact)) p ON true
        LEFT JOIN LATERAL (SELECT * FROM contact WHERE customer_id = $1::bigint AND contact_id = p.contact_id LIMIT 1) c
          ON true
        LEFT JOIN LATERAL (SELECT device.*\(columns.andSuppression(ofDevice: "device", key: 4)) FROM device
                            WHERE device.customer_id = $1::bigint AND device.device_id = p.device_id LIMIT 1) d ON true
       ORDER BY p.push_no
      """)
  }

  /// The messages of the idempotency keys `$2`, with the fingerprints of their requests.
  static let repetitions = Statement(
    "message.repetitions", .read,
    """
    SELECT idempotency_key, fingerprint, sendout_id, message_no
      FROM message_key WHERE customer_id = $1::bigint AND idempotency_key = ANY ($2::text[])
    """)

  /// A row for each push of the message `$3`, or one without; with the sendout that it tested.
  static let find = Statement(
    "message.find", .read,
    """
    SELECT m.reference, m.deliver_at, p.push_no, p.push_app_id, p.state, p.reason, p.held_until,
           (SELECT test_of FROM sendout WHERE customer_id = $1::bigint AND sendout_id = $2::bigint) AS test_of
      FROM message m
      LEFT JOIN LATERAL (
        SELECT push.push_no, batch.push_app_id, push.state, push.reason,
               CASE WHEN push.state = 'waiting' AND push.reason = '\(HubReason.quiet.rawValue)' THEN push.not_before END AS held_until
          FROM push
          JOIN push_batch batch ON batch.customer_id = push.customer_id AND batch.sendout_id = push.sendout_id
                               AND batch.batch_no = push.batch_no
         WHERE push.customer_id = $1::bigint AND push.sendout_id = $2::bigint AND push.push_no = ANY (m.push_nos)
           AND batch.customer_id = $1::bigint
         LIMIT \(Device.maximumOfContact)) p ON true
     WHERE m.customer_id = $1::bigint AND m.sendout_id = $2::bigint AND m.message_no = $3::int4
     ORDER BY p.push_no
    """)

  /// What the messages `$3` say.
  static let contents = Statement(
    "message.contents", .read,
    """
    SELECT message_no, body, properties, expires_at
      FROM message WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = ANY ($3::int4[])
    """)

  /// Those of the messages `$3` that have expired, and when.
  static let expired = Statement(
    "message.expired", .read,
    """
    SELECT message_no, expires_at FROM message
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = ANY ($3::int4[]) AND expires_at <= now()
    """)

  /// What the message of the push `$3` says. The push is looked up by itself: on a new table, a join with `message_no` would take the
  /// index of messages' contacts for as good as the primary key.
  static let ofPush = Statement(
    "message.of_push", .read,
    """
    SELECT m.message_no, m.body, m.properties, m.expires_at
      FROM (SELECT customer_id, sendout_id, message_no FROM push
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = $3::bigint
             LIMIT 1) p
      JOIN message m ON m.customer_id = p.customer_id AND m.sendout_id = p.sendout_id AND m.message_no = p.message_no
     WHERE m.customer_id = $1::bigint AND m.sendout_id = $2::bigint
    """)

  static let forgetKeys = Statement(
    "message.forget_keys", .write,
    Portions.delete(from: "message_key", by: "created_at", before: "now() - interval '24 hours'"))
}
