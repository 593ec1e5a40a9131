package import Postgres
import Registry
import Retrying
import Wire

/// Statements on `webhook`, `webhook_event` and `webhook_delivery`. `$1` is the customer and `$2` the webhook. Events are noted by the
/// statements that make what they tell (`EventSQL`).
package enum EventWebhookQueries {
  package static let all: [Statement] = [
    list, find, lock, count, number, add, change, hasten, remove, rotate, deliveries, delivery, test, redeliver,
    failing, tellExpiry, forgetDeliveries, forgetEvents, due, target, begin, assemble, events, taken, empty, failed,
    unmade, postpone,
  ]

  private static let raw = """
    webhook_id, url, events, description, form, enabled, disabled_reason, first_failed_at, former_until, created_at, updated_at
    """

  /// With the names of the reply's fields.
  private static let columns = """
    webhook_id, url, events, description, form, enabled, disabled_reason, first_failed_at AS failing_since,
           CASE WHEN former_until > now() THEN former_until END AS former_secret_until, created_at, updated_at
    """

  private static let one = "customer_id = $1::bigint AND webhook_id = $2::bigint"

  // MARK: Webhooks

  static let list = Statement(
    "webhook.list", .read,
    """
    SELECT \(columns) FROM webhook
     WHERE customer_id = $1::bigint AND webhook_id > $2::bigint ORDER BY webhook_id LIMIT $3::bigint
    """)

  static let find = Statement("webhook.find", .read, "SELECT \(columns) FROM webhook WHERE \(one)")

  static let lock = Statement(
    "webhook.lock", .write, "SELECT \(columns) FROM webhook WHERE \(one) FOR NO KEY UPDATE")

  /// How many the customer has.
  static let count = Statement(
    "webhook.count", .read, "SELECT count(*) FROM webhook WHERE customer_id = $1::bigint")

  static let number = Statement(
    "webhook.number", .write, "SELECT nextval(pg_get_serial_sequence('webhook', 'webhook_id'))")

  static let add = Statement(
    "webhook.add", .write,
    """
    WITH added AS (
      INSERT INTO webhook (customer_id, webhook_id, url, description, events, form, secret)
      VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text[], $6::text, $7::bytea)
      RETURNING \(raw))
    SELECT \(columns) FROM added
    """)

  /// Writes address `$3`, events `$4`, and with `$5` the description `$6`; NULL changes nothing. `$7` enables or disables it. With `$8` it
  /// begins anew, as if it had never failed. Writes and returns nothing if nothing changes.
  static let change = Statement(
    "webhook.change", .write,
    """
    WITH changed AS (
      UPDATE webhook AS w
         SET (\(changed)) = (\(changed("n"))), updated_at = now()
        FROM (SELECT coalesce($3::text, url) AS url, coalesce($4::text[], events) AS events,
                     CASE WHEN $5::bool THEN $6::text ELSE description END AS description,
                     coalesce($7::bool, enabled) AS enabled,
                     CASE WHEN $7::bool IS NULL THEN disabled_reason END AS disabled_reason,
                     CASE WHEN NOT $8::bool THEN first_failed_at END AS first_failed_at
                FROM webhook WHERE \(one)) AS n
       WHERE w.customer_id = $1::bigint AND w.webhook_id = $2::bigint
         AND (\(changed("w"))) IS DISTINCT FROM (\(changed("n")))
      RETURNING \(returned))
    SELECT \(columns) FROM changed
    """)

  private static let fields = ["url", "events", "description", "enabled", "disabled_reason", "first_failed_at"]
  private static let changed = fields.joined(separator: ", ")
  private static func changed(_ alias: String) -> String { fields.map { "\(alias).\($0)" }.joined(separator: ", ") }
  private static let returned = """
    w.webhook_id, \(changed("w")), w.form, w.former_until, w.created_at, w.updated_at
    """

  /// Makes all that waits for another attempt due. What is being posted stays as it is.
  static let hasten = Statement(
    "webhook.hasten", .write,
    """
    UPDATE webhook_delivery SET not_before = now()
     WHERE \(one) AND state = 'waiting' AND not_before > now() AND NOT \(isUnderWay)
    """)

  /// Whether a hub is posting the delivery now: it waits for no other moment than that after which another hub would (`begin`). Never NULL.
  private static let isUnderWay =
    "(state = 'waiting' AND not_before > now() AND (not_before - tried_at = \(lost)) IS TRUE)"

  /// Deliveries go with their webhook. Its events are deleted here, but those that a statement under way is noting: they grow old.
  static let remove = Statement(
    "webhook.remove", .write,
    """
    WITH gone AS (DELETE FROM webhook WHERE \(one) RETURNING \(raw)),
    events_gone AS (DELETE FROM webhook_event WHERE \(one))
    SELECT \(columns) FROM gone
    """)

  static let rotate = Statement(
    "webhook.rotate", .write,
    """
    WITH changed AS (
      UPDATE webhook
         SET former_secret = secret, former_until = now() + interval '24 hours', secret = $3::bytea, updated_at = now()
       WHERE \(one)
      RETURNING \(raw))
    SELECT \(columns) FROM changed
    """)

  static let failing = Statement(
    "webhook.failing", .read,
    """
    SELECT \(columns) FROM webhook
     WHERE customer_id = $1::bigint
       AND (disabled_reason IS NOT NULL OR enabled AND first_failed_at < now() - interval '1 hour')
     ORDER BY webhook_id
    """)

  // MARK: Deliveries

  private static let rawDelivery = """
    delivery_id, message_id, event, items, state, attempts, status, problem, created_at, tried_at, not_before
    """

  private static let deliveryColumns = """
    delivery_id, 'msg_' || message_id::text AS message_id, event, items, state, attempts, status, problem, created_at, tried_at,
           CASE WHEN state = 'waiting' THEN not_before END AS next_at
    """

  static let deliveries = Statement(
    "webhook.deliveries", .read,
    """
    SELECT \(deliveryColumns) FROM webhook_delivery
     WHERE \(one) AND delivery_id < $3::bigint ORDER BY delivery_id DESC LIMIT $4::bigint
    """)

  static let delivery = Statement(
    "webhook.delivery", .read,
    "SELECT \(deliveryColumns) FROM webhook_delivery WHERE \(one) AND delivery_id = $3::bigint")

  /// Makes the delivery `$3` of a test.
  static let test = Statement(
    "webhook.test", .write,
    """
    WITH made AS (
      INSERT INTO webhook_delivery (customer_id, webhook_id, message_id, event)
      SELECT $1::bigint, webhook_id, $3::uuid, '\(WebhookEvent.webhookTest.rawValue)' FROM webhook WHERE \(one)
      RETURNING \(rawDelivery)),
    event AS (
      INSERT INTO webhook_event (customer_id, webhook_id, event, delivery_id)
      SELECT $1::bigint, $2::bigint, event, delivery_id FROM made)
    SELECT \(deliveryColumns) FROM made
    """)

  /// Makes the delivery `$3` due. One that is being posted stays as it is: two posts at once would have the same id.
  static let redeliver = Statement(
    "webhook.redeliver", .write,
    """
    WITH changed AS (
      UPDATE webhook_delivery SET state = 'waiting', not_before = now(), settled_at = NULL
       WHERE \(one) AND delivery_id = $3::bigint AND NOT \(isUnderWay)
      RETURNING \(rawDelivery))
    SELECT \(deliveryColumns) FROM changed
    UNION ALL
    SELECT \(deliveryColumns) FROM webhook_delivery
     WHERE \(one) AND delivery_id = $3::bigint AND NOT EXISTS (SELECT FROM changed)
    """)

  /// Tells that a certificate of the app `$2` expires; `$3` says when and which number of days. Each is told once.
  static let tellExpiry = Statement(
    "webhook.tell_expiry", .write,
    """
    INSERT INTO webhook_event (customer_id, webhook_id, event, subject_id, reason)
    SELECT $1::bigint, w.webhook_id, '\(expiring)', $2::bigint, $3::text
      FROM webhook AS w
     WHERE w.customer_id = $1::bigint AND w.enabled AND '\(expiring)' = ANY (w.events)
       AND NOT EXISTS (SELECT FROM webhook_event AS e
                        WHERE e.customer_id = $1::bigint AND e.webhook_id = w.webhook_id AND e.event = '\(expiring)'
                          AND e.subject_id = $2::bigint AND e.reason = $3::text)
    """)

  private static let expiring = WebhookEvent.certificateExpiring.rawValue

  static let forgetDeliveries = Statement(
    "webhook.forget_deliveries", .write,
    Portions.delete(from: "webhook_delivery", by: "created_at", before: "now() - interval '30 days'"))

  static let forgetEvents = Statement(
    "webhook.forget_events", .write,
    Portions.delete(from: "webhook_event", by: "at", before: "now() - interval '30 days'"))

  // MARK: Posting

  /// Most deliveries of a webhook that are under way or wait for another attempt. What happens meanwhile is kept as events, however long its
  /// receiver is away. Several can wait, so that one which the receiver refuses again and again holds up no other.
  static let mostWaiting = 16

  /// How many more of the webhook `w` may be put together.
  private static func room(of customer: String) -> String {
    """
    \(mostWaiting) - (SELECT count(*) FROM (SELECT FROM webhook_delivery AS d
                                    WHERE d.customer_id = \(customer) AND d.webhook_id = w.webhook_id AND d.state = 'waiting'
                                    LIMIT \(mostWaiting)) AS waiting)
    """
  }

  /// The webhooks of all customers that have something due. It steps through the indexes of what waits, from one webhook to the next. So it costs
  /// by the webhooks that have a delivery or an event to post, however much that is, and nothing by all others.
  static let due = Statement(
    "webhook.due", .read,
    """
    WITH RECURSIVE waiting AS (\(steps("waiting", through: "webhook_delivery", where: "state = 'waiting'", by: "not_before"))),
    new AS (\(steps("new", through: "webhook_event", where: "delivery_id IS NULL", by: "event_id")))
    SELECT DISTINCT w.customer_id, w.webhook_id
      FROM (SELECT customer_id, webhook_id, false AS is_new FROM waiting WHERE not_before <= now()
             UNION ALL
            SELECT customer_id, webhook_id, true FROM new) AS one
     CROSS JOIN LATERAL (SELECT customer_id, webhook_id FROM webhook
                          WHERE customer_id = one.customer_id AND webhook_id = one.webhook_id AND enabled OFFSET 0) AS w
     WHERE NOT one.is_new OR \(room(of: "w.customer_id")) > 0
    """)

  /// The first row of each webhook, in steps of a recursive expression: by an index whose last column is `column`.
  private static func steps(
    _ name: String, through table: String, where condition: String, by column: String
  ) -> String {
    """
    (SELECT customer_id, webhook_id, \(column) FROM \(table)
        WHERE \(condition)
        ORDER BY customer_id, webhook_id, \(column) LIMIT 1)
      UNION ALL
      SELECT next.*
        FROM \(name)
       CROSS JOIN LATERAL (
         SELECT t.customer_id, t.webhook_id, t.\(column) FROM \(table) AS t
          WHERE t.\(condition) AND (t.customer_id, t.webhook_id) > (\(name).customer_id, \(name).webhook_id)
          ORDER BY t.customer_id, t.webhook_id, t.\(column) LIMIT 1) AS next
    """
  }

  /// Where a webhook is posted to, the secrets that sign, the moment, and how many deliveries may be put together.
  static let target = Statement(
    "webhook.target", .read,
    """
    SELECT w.url, w.form, w.secret, CASE WHEN w.former_until > now() THEN w.former_secret END, now(),
           \(room(of: "$1::bigint"))
      FROM webhook AS w
     WHERE w.customer_id = $1::bigint AND w.webhook_id = $2::bigint AND w.enabled
    """)

  /// No other hub posts what one has begun before that.
  private static let lost = "interval '\(RetryPolicy.lostPosts.components.seconds) seconds'"

  /// Begins up to `$3` deliveries that are due. Skips those that others have locked. It says twice that they are due, as by their numbers alone a plan
  /// that was made for a small table reads all of the webhook's.
  static let begin = Statement(
    "webhook.begin", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT delivery_id, now() + \(lost) AS until, now() AS at FROM webhook_delivery
       WHERE \(one) AND state = 'waiting' AND not_before <= now()
       ORDER BY not_before LIMIT $3::bigint
         FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE webhook_delivery AS d
       SET attempts = d.attempts + 1, not_before = due.until, tried_at = due.at
      FROM due
     WHERE d.customer_id = $1::bigint AND d.webhook_id = $2::bigint AND d.delivery_id = due.delivery_id
       AND d.state = 'waiting' AND d.not_before <= due.at
    RETURNING d.delivery_id, d.message_id::text, d.event, d.attempts, d.created_at
    """)

  /// Puts the oldest event and those of its kind behind it into the delivery `$3`, and begins that: up to
  /// 500 items, or one event of a kind that is told alone (`$4` are the others). It looks at the oldest events only. Locks those that it
  /// takes, and skips what others have locked or put into a delivery meanwhile. Within the bounds of their numbers it reads few others, whatever the
  /// planner knows of the table.
  static let assemble = Statement(
    "webhook.assemble", .write,
    """
    WITH first AS MATERIALIZED (
      SELECT event_id, event, coalesce(cardinality(push_nos), 1) AS items FROM webhook_event
       WHERE \(one) AND delivery_id IS NULL
       ORDER BY event_id LIMIT \(WebhookEvent.mostItems)),
    kind AS MATERIALIZED (SELECT event FROM first ORDER BY event_id LIMIT 1),
    wanted AS MATERIALIZED (
      SELECT event_id
        FROM (SELECT event_id, event, items, sum(items) OVER earlier AS sum, row_number() OVER earlier AS place
                FROM first WHERE event = (SELECT event FROM kind)
              WINDOW earlier AS (ORDER BY event_id)) AS one
       WHERE place = 1 OR sum <= \(WebhookEvent.mostItems) AND event = ANY ($4::text[])),
    picked AS MATERIALIZED (
      SELECT event_id, event, coalesce(cardinality(push_nos), 1) AS items FROM webhook_event
       WHERE \(one) AND event_id = ANY (ARRAY(SELECT event_id FROM wanted)) AND \(within("event_id", of: "wanted"))
         AND delivery_id IS NULL
       ORDER BY event_id
         FOR NO KEY UPDATE SKIP LOCKED),
    made AS (
      INSERT INTO webhook_delivery (customer_id, webhook_id, message_id, event, items, attempts, not_before, tried_at)
      SELECT $1::bigint, $2::bigint, $3::uuid, min(event), sum(items), 1, now() + \(lost), now()
        FROM picked HAVING count(*) > 0
      RETURNING delivery_id, message_id, event, attempts, created_at),
    told AS (
      UPDATE webhook_event AS e SET delivery_id = made.delivery_id
        FROM made
       WHERE e.customer_id = $1::bigint AND e.webhook_id = $2::bigint
         AND e.event_id = ANY (ARRAY(SELECT event_id FROM picked)) AND \(within("e.event_id", of: "picked")))
    SELECT delivery_id, message_id::text, event, attempts, created_at FROM made
    """)

  private static func within(_ column: String, of rows: String) -> String {
    "\(column) BETWEEN (SELECT min(event_id) FROM \(rows)) AND (SELECT max(event_id) FROM \(rows))"
  }

  /// The events of the deliveries `$3`, each looked up by itself, whatever the planner knows of the table.
  static let events = Statement(
    "webhook.events", .read,
    """
    SELECT e.delivery_id, e.event_id, e.sendout_id, e.push_nos, e.contact_id, e.subject_id, e.reason, e.at
      FROM unnest($3::bigint[]) AS told (delivery_id)
     CROSS JOIN LATERAL (SELECT * FROM webhook_event WHERE \(one) AND webhook_event.delivery_id = told.delivery_id OFFSET 0) AS e
     ORDER BY e.delivery_id, e.event_id
    """)

  /// The delivery `$3` was taken, and so its webhook takes what it is told.
  static let taken = Statement(
    "webhook.taken", .write,
    """
    WITH settled AS (
      UPDATE webhook_delivery SET state = 'delivered', settled_at = now(), status = NULL, problem = NULL
       WHERE \(one) AND delivery_id = $3::bigint)
    UPDATE webhook SET first_failed_at = NULL WHERE \(one) AND first_failed_at IS NOT NULL
    """)

  /// The delivery `$3` has nothing to tell. It is forgotten, or given up for the reason `$4` if it was begun before. Nobody was asked, so that says
  /// nothing of its webhook.
  static let empty = Statement(
    "webhook.empty", .write,
    """
    WITH gone AS (
      DELETE FROM webhook_delivery WHERE \(one) AND delivery_id = $3::bigint AND attempts = 1 RETURNING delivery_id),
    events_gone AS (
      DELETE FROM webhook_event WHERE \(one) AND delivery_id = $3::bigint AND EXISTS (SELECT FROM gone))
    UPDATE webhook_delivery SET state = 'failed', settled_at = now(), status = NULL, problem = $4::text
     WHERE \(one) AND delivery_id = $3::bigint AND attempts > 1
    """)

  private static let aDay = "interval '\(RetryPolicy.webhooks.giveUpAfter.components.seconds) seconds'"

  private static let moment = """
    (SELECT now() AS at, now() + make_interval(secs => $6::float8) AS next, now() - \(aDay) AS given_up OFFSET 0) AS moment
    """

  /// Whether the delivery `d` of the webhook `w` has waited for a day, and others were taken meanwhile. The hour tells that: where none is taken
  /// the first failure follows within minutes. A person who changes or enables the webhook lets all that waits begin anew.
  private static let isGivenUp = """
    NOT $7::bool AND greatest(d.created_at, w.updated_at) < moment.given_up
                  AND coalesce(w.an_hour_before > greatest(d.created_at, w.updated_at), true)
    """

  /// The delivery `$3` was not taken, by the status `$4`, for the reason `$5`. It is posted again in `$6` seconds, but at the latest when its
  /// webhook has taken nothing for a day. A webhook that has taken nothing for so long, or is gone, which `$7` says, is disabled for the reason
  /// `$8`; what waits is posted once somebody enables it. Returns whether it was disabled,
  /// whether the delivery alone was given up, and whether the webhook is gone.
  static let failed = Statement(
    "webhook.failed", .write,
    """
    WITH tried AS (
      UPDATE webhook_delivery AS d
         SET state = CASE WHEN \(isGivenUp) THEN 'failed' ELSE 'waiting' END, settled_at = CASE WHEN \(isGivenUp) THEN moment.at END,
             not_before = least(moment.next, w.last_try), status = $4::int4, problem = $5::text, unmade = 0
        FROM \(moment), (SELECT updated_at, first_failed_at + \(aDay) AS last_try, first_failed_at - interval '1 hour' AS an_hour_before
                         FROM webhook WHERE \(one) OFFSET 0) AS w
       WHERE d.customer_id = $1::bigint AND d.webhook_id = $2::bigint AND d.delivery_id = $3::bigint AND d.state = 'waiting'
      RETURNING d.state),
    changed AS (
      UPDATE webhook AS w
         SET first_failed_at = least(w.first_failed_at, moment.at),
             enabled = NOT ($7::bool OR coalesce(w.first_failed_at < moment.given_up, false)),
             disabled_reason = CASE WHEN $7::bool OR w.first_failed_at < moment.given_up THEN $8::text END
        FROM \(moment)
       WHERE w.customer_id = $1::bigint AND w.webhook_id = $2::bigint AND w.enabled
      RETURNING w.enabled)
    SELECT coalesce((SELECT NOT enabled FROM changed), false), coalesce((SELECT state = 'failed' FROM tried), false),
           NOT EXISTS (SELECT FROM webhook WHERE \(one))
    """)

  /// The body of the delivery `$3` could not be made, for the reason `$4`. It is tried again in `$5` seconds, and given up with the failure `$6` in
  /// a row. Nobody was asked, so that says nothing of its webhook. Returns whether it is given up.
  static let unmade = Statement(
    "webhook.unmade", .write,
    """
    UPDATE webhook_delivery AS d
       SET unmade = d.unmade + 1, state = CASE WHEN d.unmade + 1 >= $6::int4 THEN 'failed' ELSE 'waiting' END,
           settled_at = CASE WHEN d.unmade + 1 >= $6::int4 THEN moment.at END, not_before = moment.next, status = NULL, problem = $4::text
      FROM (SELECT now() AS at, now() + make_interval(secs => $5::float8) AS next OFFSET 0) AS moment
     WHERE d.customer_id = $1::bigint AND d.webhook_id = $2::bigint AND d.delivery_id = $3::bigint AND d.state = 'waiting'
    RETURNING d.state = 'failed'
    """)

  /// The delivery `$3` was not tried, and is posted in `$4` seconds.
  static let postpone = Statement(
    "webhook.postpone", .write,
    """
    UPDATE webhook_delivery SET attempts = attempts - 1, not_before = now() + make_interval(secs => $4::float8)
     WHERE \(one) AND delivery_id = $3::bigint AND state = 'waiting'
    """)
}
