import Delivery
import FoundationEssentials
package import Postgres
import Registry
import Wire

/// Statements on `sendout`. `$1` is the customer; where one sendout is meant, `$2` is its number.
enum SendoutQueries {
  static let all: [Statement] = [
    create, rewrite, find, lock, list, change, halt, lockFreeze, freezable, frozen, finish, freezing, settled, stream,
    openStream, reserve, requireRange, ofSegment, ofApp, daysOfTrigger, tests, copy, startedSince,
  ]

  static let columns = """
    customer_id, sendout_id, push_app_ids, name, state, halt_reason, audience, message, template_name, template_version,
    unknown_ids, on_uncertain, created_at, started_at, changed_at, frozen_at, finished_at, expired_at, kind, state_changes,
    id_fields, fallback_app_id, written_by, purpose, \(campaignColumns)
    """
  /// Times, limits, variants and series.
  private static let campaignColumns = """
    campaign, start_at, local_time, end_at, scheduled_at, next_at, series_id, series_no, rules, maximum_contacts,
    everyone, people, winner_no, winner_by, winner_at, test_of
    """

  /// SQL of a campaign without some of its members. Not by `jsonb`, which refuses numbers that a variant's message may have, such as 1e200000: one
  /// sendout would keep all of a customer's from being listed.
  private static func campaign(without members: String...) -> String {
    """
    (SELECT coalesce(json_object_agg(key, value), '{}') FROM json_each(campaign)
              WHERE key NOT IN (\(members.map { "'\($0)'" }.joined(separator: ", "))))
    """
  }

  static let create = Statement(
    "sendout.create", .write,
    """
    INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, template_name, template_version,
                         unknown_ids, on_uncertain, written_by, purpose, campaign, start_at, local_time, end_at, started_at, changed_at)
    VALUES ($1::bigint, $2::bigint[], $3::text, $4::text, $5::jsonb, $6::json, $7::text, $8::int4, $9::int4, $10::text, $11::bigint,
            $12::text, $13::json, $14::timestamptz, $15::text::timestamp, $16::timestamptz,
            CASE WHEN $4::text = 'freezing' THEN now() END, CASE WHEN $4::text = 'freezing' THEN now() END)
    RETURNING \(columns)
    """)

  /// Replaces what the draft says: its apps `$3`, name `$4`, audience `$5`, message `$6`, template `$7` in its version `$8`, count of unknown
  /// ids `$9`, policy `$10` and purpose `$12`, its campaign `$13` with the times `$14`, `$15` and `$16`, and by whom `$11` it is written.
  static let rewrite = Statement(
    "sendout.rewrite", .write,
    """
    UPDATE sendout
       SET push_app_ids = $3::bigint[], name = $4::text, audience = $5::jsonb, message = $6::json, template_name = $7::text,
           template_version = $8::int4, unknown_ids = $9::int4, on_uncertain = $10::text, written_by = $11::bigint,
           purpose = $12::text, campaign = $13::json, start_at = $14::timestamptz, local_time = $15::text::timestamp,
           end_at = $16::timestamptz
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(columns)
    """)

  /// Makes a draft of what the sendout says, without its times: for the audience `$3`, or its own if that is NULL, with its template in the
  /// version `$4`, written by `$5`.
  static let copy = Statement(
    "sendout.copy", .write,
    """
    INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, template_name, template_version, unknown_ids,
                         on_uncertain, written_by, purpose, campaign)
    SELECT customer_id, push_app_ids, name, 'draft', coalesce($3::jsonb, audience), message, template_name,
           coalesce($4::int4, template_version), CASE WHEN $3::jsonb IS NULL THEN unknown_ids END, on_uncertain, $5::bigint, purpose,
           \(campaign(without: "startAt", "localTime", "endAt", "onMissed", "repeat"))
      FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(columns)
    """)

  /// The first sendout or stream of messages that names the app `$2`, and whether it is a stream.
  static let ofApp = Statement(
    "sendout.of_app", .read,
    """
    SELECT sendout_id, kind = 'stream' FROM sendout
     WHERE customer_id = $1::bigint AND ($2::bigint = ANY (push_app_ids) OR fallback_app_id = $2::bigint)
     ORDER BY sendout_id LIMIT 1
    """)

  /// A sendout whose audience is not frozen yet and names the segment `$2`.
  static let ofSegment = Statement(
    "sendout.of_segment", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND kind = 'broadcast' AND frozen_at IS NULL AND state IN ('draft', 'scheduled', 'freezing', 'paused')
       AND (jsonb_path_exists(audience, '$.segmentId ? (@ == $number)', jsonb_build_object('number', $2::bigint))
            OR jsonb_path_exists(audience, '$.**.segment ? (@ == $number)', jsonb_build_object('number', $2::bigint)))
     ORDER BY sendout_id LIMIT 1
    """)

  /// The last `$3` days with the streams of the trigger `$2`, and whether retention has deleted messages of one of them. A stream's name
  /// begins with its day.
  static let daysOfTrigger = Statement(
    "sendout.days_of_trigger", .read,
    """
    SELECT to_char(d.day, 'YYYY-MM-DD'), array_remove(array_agg(s.sendout_id ORDER BY s.sendout_id), NULL),
           coalesce(bool_or(s.is_expired), false)
      FROM generate_series((now() AT TIME ZONE 'UTC')::date::timestamp - make_interval(days => $3::int4 - 1),
                           (now() AT TIME ZONE 'UTC')::date::timestamp, interval '1 day') AS d (day)
      LEFT JOIN (SELECT sendout_id, left(stream, 10)::date AS day, expired_at IS NOT NULL AS is_expired
                   FROM sendout
                  WHERE customer_id = $1::bigint AND kind = 'stream' AND stream LIKE '% trigger/' || $2::bigint::text
                    AND started_at > now() - make_interval(days => $3::int4 + 1)) AS s
        ON s.day = d.day::date
     GROUP BY d.day
     ORDER BY d.day
    """)

  static let find = Statement(
    "sendout.find", .read,
    "SELECT \(columns) FROM sendout WHERE customer_id = $1::bigint AND sendout_id = $2::bigint")

  /// Locks the sendout until the transaction ends, against other changes of its row. A freeze can go on meanwhile.
  static let lock = Statement(
    "sendout.lock", .write,
    "SELECT \(columns) FROM sendout WHERE customer_id = $1::bigint AND sendout_id = $2::bigint FOR NO KEY UPDATE")

  /// The newest first, after `$2`: those in the states `$4`, of the kind `$5`, and with names that begin with `$6` in lower case, NULL for
  /// all. Audience, message and variants are left out: they may be long, and a list does not show them.
  static let list = Statement(
    "sendout.list", .read,
    """
    SELECT customer_id, sendout_id, push_app_ids, name, state, halt_reason, '{"all":true}'::jsonb, '{}'::json,
           template_name, template_version, unknown_ids, on_uncertain, created_at, started_at, changed_at, frozen_at, finished_at, expired_at, kind,
           state_changes, id_fields, fallback_app_id, written_by, purpose,
           \(campaignColumns.replacing("campaign,", with: "\(campaign(without: "variants", "winner")) AS campaign,"))
      FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id < coalesce($2::bigint, \(Int64.max))
       AND ($4::text[] IS NULL OR state = ANY ($4::text[])) AND ($5::text IS NULL OR kind = $5::text)
       AND ($6::text IS NULL OR starts_with(lower(name), lower($6::text)))
     ORDER BY sendout_id DESC
     LIMIT $3::bigint
    """)

  /// Writes the new state `$3` with its moments, the template's version `$4` unless that is NULL, and the most contacts `$5` likewise. A sendout
  /// that was started before keeps its start. One that was to start at a moment is planned for this one when somebody starts it. Citus
  /// accepts no `now()` within a CASE of SET, and OFFSET 0 keeps the planner from moving it there.
  static let change = Statement(
    "sendout.change", .write,
    """
    WITH changed AS (UPDATE sendout
       SET state = $3::text, state_changes = state_changes + 1, changed_at = now(), halt_reason = NULL,
           template_version = coalesce($4::int4, template_version),
           maximum_contacts = coalesce($5::int4, maximum_contacts), started_at = least(started_at, moment.of_start),
           start_at = CASE WHEN start_at IS NULL THEN NULL ELSE coalesce(moment.of_start, start_at) END,
           next_at = CASE WHEN $3::text IN ('running', 'paused') THEN next_at END,
           finished_at = moment.of_end
      FROM (SELECT CASE WHEN $3::text = 'freezing' THEN now() END AS of_start,
                   CASE WHEN $3::text = 'cancelled' THEN now() END AS of_end
            OFFSET 0) AS moment
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING \(columns)), \(SendoutEventSQL.told) SELECT \(columns) FROM changed
    """)

  /// Pauses the sendout on the hub's own behalf, for the reason `$3`, unless its state has changed since the count `$4`: whoever
  /// resumed it may have corrected the reason.
  static let halt = Statement(
    "sendout.halt", .write,
    """
    WITH changed AS (UPDATE sendout
       SET state = 'paused', state_changes = state_changes + 1, changed_at = now(), halt_reason = $3::text
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('freezing', 'running') AND state_changes = $4::int4
    RETURNING \(columns)), \(SendoutEventSQL.told) SELECT sendout_id FROM changed
    """)

  /// Whether this transaction is the one that freezes the sendout `$1`. It locks no row, so that the sendout can be paused and
  /// cancelled during a freeze, however long that takes.
  static let lockFreeze = Statement(
    "sendout.lock_freeze", .write,
    "SELECT pg_try_advisory_xact_lock(hashtextextended('pushcart freeze ' || $1::text, 0))")

  /// The sendout, if it is to be frozen.
  static let freezable = Statement(
    "sendout.freezable", .read,
    """
    SELECT \(columns) FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'freezing'
    """)

  /// Ends the freeze: with `$3` unknown ids, the rules `$4`, NULL for none, and of its contacts `$5` in the audience and `$6` left. Its variants
  /// are decided about `$8` minutes after the first planned moment `$7`, NULL for now. It pauses for the reason `$9`, if there is one. Returns the
  /// state: `paused` too if it was paused meanwhile, and nothing if it was cancelled.
  static let frozen = Statement(
    "sendout.frozen", .write,
    """
    WITH changed AS (UPDATE sendout
       SET state = CASE WHEN state = 'freezing' AND $9::text IS NULL THEN 'running' ELSE 'paused' END,
           halt_reason = coalesce($9::text, halt_reason), frozen_at = now(), unknown_ids = $3::int4, rules = $4::jsonb,
           everyone = $5::int4, people = $6::int4, next_at = least(moment.of_decision, end_at),
           changed_at = coalesce(moment.of_pause, changed_at)
      FROM (SELECT coalesce($7::timestamptz, now()) + make_interval(mins => $8::int4) AS of_decision,
                   CASE WHEN $9::text IS NOT NULL THEN now() END AS of_pause
            OFFSET 0) AS moment
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state IN ('freezing', 'paused')
    RETURNING \(columns)), \(SendoutEventSQL.toldOfFreeze) SELECT state FROM changed
    """)

  /// A stream ends once its day is surely over for every hub. Nothing is due at a sendout's end any more: hubs ask each second for what is.
  static let finish = Statement(
    "sendout.finish", .write,
    """
    WITH changed AS (UPDATE sendout
       SET state = 'finished', finished_at = now(), next_at = NULL
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'running'
       AND (kind = 'broadcast' OR started_at < now() - interval '30 hours')
    RETURNING \(columns)), \(SendoutEventSQL.told) SELECT sendout_id FROM changed
    """)

  /// The sendouts of all customers that are to be frozen.
  static let freezing = Statement(
    "sendout.freezing", .read, "SELECT customer_id, sendout_id FROM sendout WHERE state = 'freezing'")

  /// The running sendouts of all customers that have nothing left to send, as after a hub stopped just before it could say so.
  static let settled = Statement(
    "sendout.settled", .read,
    """
    SELECT customer_id, sendout_id FROM sendout
     WHERE state = 'running' AND (kind = 'broadcast' OR started_at < now() - interval '30 hours')
       AND NOT \(PushBatchCondition.isUnsettled("sendout.customer_id", "sendout.sendout_id"))
    """)

  /// The stream `$2`.
  static let stream = Statement(
    "sendout.stream", .read, "SELECT \(columns) FROM sendout WHERE customer_id = $1::bigint AND stream = $2::text")

  /// Opens the stream `$2` of the apps `$3`, named `$4`, with the template `$5` in its version `$6`; nothing if another hub has. `$7` says
  /// what becomes of uncertain pushes, `$8` are the fields of tracked messages with their ids, NULL for others, `$9` is the app of
  /// their fallbacks, and `$10` the purpose. `$11` is the sendout that its messages test, NULL for others; days do not count those.
  static let openStream = Statement(
    "sendout.open_stream", .write,
    """
    INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message, template_name,
                         template_version, started_at, changed_at, frozen_at, on_uncertain, id_fields, fallback_app_id,
                         purpose, test_of, all_counted)
    VALUES ($1::bigint, 'stream', $2::text, $3::bigint[], $4::text, 'running', '{"all":true}', '{}', $5::text, $6::int4,
            now(), now(), now(), $7::text, $8::text[], $9::bigint, $10::text, $11::bigint, $11::bigint IS NOT NULL)
    ON CONFLICT DO NOTHING
    RETURNING \(columns)
    """)

  /// The sendouts that were started since `$2`, the newest first, at most `$3`. Streams of messages are none.
  static let startedSince = Statement(
    "sendout.started_since", .read,
    """
    SELECT sendout_id FROM sendout
     WHERE customer_id = $1::bigint AND kind = 'broadcast' AND started_at > $2::timestamptz
     ORDER BY sendout_id DESC LIMIT $3::bigint
    """)

  /// The streams that tested the sendout `$2`, the oldest first.
  static let tests = Statement(
    "sendout.tests", .read,
    """
    SELECT \(columns) FROM sendout
     WHERE customer_id = $1::bigint AND test_of = $2::bigint
     ORDER BY sendout_id
    """)

  /// Makes the partitions that the sendout `$1` needs once it has started, unless they are there: a function of the schema's owner. It
  /// fails with `ServerError.lockNotAvailable` after a second if it has to wait for others.
  static let requireRange = Statement("sendout.require_range", .write, "SELECT require_sendout_range($1::bigint)")

  /// Reserves `$3` numbers of messages, `$4` of pushes and `$5` of batches of a stream. Returns the first of each.
  static let reserve = Statement(
    "sendout.reserve", .write,
    """
    UPDATE sendout
       SET next_message = next_message + $3::int4, next_push = next_push + $4::int4, next_batch = next_batch + $5::int4
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND state = 'running' AND kind = 'stream'
    RETURNING next_message - $3::int4, next_push - $4::int4, next_batch - $5::int4
    """)
}

extension ChangeChannel {
  /// Changes of sendouts, and new pushes of them; payloads are a `SendoutKey`.
  static let sendout = ChangeChannel("pushcart_sendout")
}

/// Every statement of this room but those of numbered stores, so that a test can prepare each of them on a real server.
package enum SendoutStatements {
  package static let all: [Statement] =
    SendoutQueries.all + ScheduleQueries.all + SeriesQueries.all + WinnerQueries.all + TemplateUseQueries.all
    + ReportQueries.all + RetentionQueries.all + EventBodyQueries.all + SendoutsPersonalTables.statements
    + CalendarQueries.all
}
