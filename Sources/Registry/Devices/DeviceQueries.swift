import Postgres
import Wire

/// Statements on `device` that are not part of a registration.
enum DeviceQueries {
  /// Tells the invalidations among the rows of `event`, which is what a statement has added to `device_event`.
  static let invalidated = EventSQL.note(
    .deviceInvalidated, of: "event", where: "kind = 'invalidated'", contact: "contact_id", subject: "device_id",
    reason: "reason")

  /// Invalidates the pairs of the contact `$2` and the tokens `$3`, `$4` (app and key). `$5` are the types, `$6` the
  /// moments, `$7` is the access key. It is all or none, or with `$8` those that there are. Gives the ordinals of the
  /// pairs that are not registered. Locks the devices in the order in which a registration does, and goes by what the
  /// locked rows say.
  static let invalidate = Statement(
    "device.invalidate", .write,
    """
    WITH pair AS MATERIALIZED (
      SELECT i.*, d.device_id, d.invalidation_type AS known_type, d.invalidation_reason AS known_reason,
        d.invalidated_at AS known_at, coalesce(i.at, d.invalidated_at, now()) AS invalidated_at
      FROM (
        SELECT i.*, c.contact_id
        FROM unnest($3::bigint[], $4::bytea[], $5::int2[], $6::timestamptz[]) WITH ORDINALITY
          AS i(push_app_id, token_key, type, at, ordinal)
        LEFT JOIN LATERAL (
          SELECT contact_id FROM contact WHERE customer_id = $1::bigint AND original_id = $2::text LIMIT 1
        ) c ON true
        ORDER BY i.push_app_id, i.token_key
      ) i
      LEFT JOIN LATERAL (
        SELECT * FROM device
        WHERE customer_id = $1::bigint AND push_app_id = i.push_app_id AND token_key = i.token_key
        LIMIT 1 FOR NO KEY UPDATE
      ) d ON d.contact_id = i.contact_id
    ),
    changed AS (
      UPDATE device d SET
        invalidated_at = p.invalidated_at,
        invalidation_reason = CASE WHEN p.known_type = p.type THEN p.known_reason ELSE 'app' END,
        invalidation_type = p.type
      FROM pair p
      WHERE d.customer_id = $1::bigint AND d.device_id = p.device_id
        AND ($8::bool OR NOT EXISTS (SELECT FROM pair WHERE device_id IS NULL))
        AND (p.known_type <> p.type OR p.at IS NOT NULL AND p.at <> p.known_at)
      RETURNING d.device_id, d.contact_id, p.known_type
    ),
    event AS (
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
      SELECT $1::bigint, device_id, contact_id, 'invalidated', 'app', $7::bigint FROM changed WHERE known_type = 0
      RETURNING device_id, contact_id, kind, reason
    ),
    told AS (\(invalidated))
    SELECT ordinal FROM pair WHERE device_id IS NULL ORDER BY ordinal
    """)

  /// Makes the device of the token's key `$3` in the app `$2` valid again, if it is a telephone number that has opted out. Gives it, and when and why
  /// it had. `$4` is the access key. Locks the device.
  static let allow = Statement(
    "device.allow", .write,
    """
    WITH allowed AS (
      UPDATE device d SET
        registered_at = now(), invalidated_at = NULL, invalidation_type = 0, invalidation_reason = NULL
      FROM (
        SELECT device_id, invalidated_at, invalidation_reason FROM device
        WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND token_key = $3::bytea
          AND invalidation_type = \(InvalidationType.optedOut.rawValue)
        LIMIT 1 FOR NO KEY UPDATE
      ) known
      WHERE d.customer_id = $1::bigint AND d.device_id = known.device_id
      RETURNING d.device_id, d.contact_id, known.invalidated_at, known.invalidation_reason
    ),
    event AS (
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, access_key_id)
      SELECT $1::bigint, device_id, contact_id, 'revived', $4::bigint FROM allowed
    )
    SELECT device_id, invalidated_at, invalidation_reason FROM allowed
    """)

  /// Retires the devices `$2` in the environments `$6`, for the reasons `$4` and with the types `$5`. A device
  /// registered after its moment of `$3`, to the millisecond, is kept. Gives each device with what became of it. Locks
  /// the devices in the order of their ids.
  static let retire = Statement(
    "device.retire", .write,
    """
    WITH verdict AS MATERIALIZED (
      SELECT * FROM unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::int2[], $6::boolean[])
        AS v(device_id, moment, reason, type, sandbox)
    ),
    retired AS (
      UPDATE device d SET invalidated_at = v.moment, invalidation_type = v.type, invalidation_reason = v.reason
      FROM (SELECT * FROM verdict ORDER BY device_id) v
      WHERE d.customer_id = $1::bigint AND d.device_id = v.device_id AND d.invalidated_at IS NULL
        AND d.sandbox = v.sandbox AND date_bin('1 ms', d.registered_at, '2000-01-01 UTC') <= v.moment
      RETURNING d.device_id, d.contact_id, d.invalidation_reason
    ),
    event AS (
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason)
      SELECT $1::bigint, device_id, contact_id, 'invalidated', invalidation_reason FROM retired
      RETURNING device_id, contact_id, kind, reason
    ),
    told AS (\(invalidated))
    SELECT v.device_id, r.device_id IS NOT NULL, d.device_id IS NOT NULL AND d.invalidated_at IS NULL
    FROM verdict v
    LEFT JOIN retired r ON r.device_id = v.device_id
    LEFT JOIN LATERAL (
      SELECT device_id, invalidated_at FROM device WHERE customer_id = $1::bigint AND device_id = v.device_id LIMIT 1
    ) d ON true
    """)

  /// The devices `$2` with what is asked for of them and their contacts, in no order; those that are not there are left out. Contacts of
  /// which nothing is asked for are not looked up. The devices are a list of numbers, and the contacts have a LIMIT, so that both are
  /// looked up in the primary keys. With what suppressions stop, `$3` and `$4` are the pads of their key.
  static let recipients = RecipientStatement { columns in
    let namesContact = !columns.fields.isDisjoint(with: [.contact, .spokenLanguage])
    let contact = """
      CROSS JOIN LATERAL (
        SELECT \(columns.ofContactRow("contact")) FROM contact
        WHERE customer_id = $1::bigint AND contact_id = d.contact_id LIMIT 1
      ) c
      """
    let asksSuppression = columns.fields.contains(.suppression)
    let suppressed = """
      (SELECT device.*\(columns.andSuppression(ofDevice: "device", key: 3))
         FROM device
        WHERE device.customer_id = $1::bigint AND device.device_id = ANY ($2::bigint[])) d
      """
    return Statement(
      asksSuppression ? "device.recipients" : "device.readers", .read,
      """
      SELECT \(columns.all(contact: namesContact ? "c" : "d", device: "d"))
      FROM \(asksSuppression ? suppressed : "device d")
      \(namesContact ? contact : "")
      \(asksSuppression ? "" : "WHERE d.customer_id = $1::bigint AND d.device_id = ANY ($2::bigint[])")
      """)
  }

  /// The device of the app `$2` and the token `$3` with its contact.
  static let ofToken = Statement(
    "device.of_token", .read,
    """
    SELECT \(RecipientColumns(.all).all(contactRow: "c", device: "d"))
    FROM device d
    JOIN contact c ON c.customer_id = d.customer_id AND c.contact_id = d.contact_id
    WHERE d.customer_id = $1::bigint AND c.customer_id = $1::bigint AND d.push_app_id = $2::bigint
      AND d.token_key = $3::bytea
    """)

  /// The devices of the contact `$2` in the apps `$3`, with what has happened to them.
  static let histories = Statement(
    "device.histories", .read,
    """
    SELECT d.device_id, greatest(d.created_at, e.moved_at), d.registered_at, d.invalidated_at, d.invalidation_reason
    FROM device d
    LEFT JOIN LATERAL (
      SELECT max(at) AS moved_at FROM device_event
      WHERE customer_id = $1::bigint AND contact_id = $2::bigint AND device_id = d.device_id AND kind = 'moved'
    ) e ON true
    WHERE d.customer_id = $1::bigint AND d.contact_id = $2::bigint AND d.push_app_id = ANY ($3::bigint[])
    ORDER BY d.device_id + 0 LIMIT \(Device.maximumOfContact)
    """)

  /// Tells the planner how large the tables have become, if one has more than doubled since it last looked. There are `$1` devices at
  /// least; PostgreSQL's own count comes later. A smaller change makes no other plan, and looking takes seconds.
  static let analyze = Statement(
    "device.analyze", .write,
    """
    SELECT refresh_statistics('contact', 'list_member', 'device', 'device_event')
    WHERE (SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'device'::regclass) < $1::bigint / 2
       OR EXISTS (SELECT FROM pg_stat_user_tables JOIN pg_class ON oid = relid
                   WHERE relid IN ('contact'::regclass, 'device'::regclass) AND n_live_tup > 2 * reltuples + 500)
    """)

  /// Of events of customer `$1` that are older than `$3` days: the highest contact of the next piece, after contact `$2`; NULL if
  /// there are none.
  static let expiredEvents = Statement(
    "device.expired_events", .read,
    """
    SELECT max(contact_id) FROM (
      SELECT contact_id FROM device_event
       WHERE customer_id = $1::bigint AND contact_id > $2::bigint AND at < now() - make_interval(days => $3::int4)
       ORDER BY contact_id LIMIT 10000) AS piece
    """)

  /// Deletes those events of the contacts after `$2`, up to `$4`.
  static let deleteEvents = Statement(
    "device.delete_events", .write,
    """
    DELETE FROM device_event
     WHERE customer_id = $1::bigint AND contact_id > $2::bigint AND contact_id <= $4::bigint
       AND at < now() - make_interval(days => $3::int4)
    """)

  /// Of the apps `$2` the valid devices among the first `$3`, and whether there are more devices than these; and the last `$4` days as a JSON
  /// array, the oldest first. By the order, devices of other apps are not read.
  static let counts = Statement(
    "device.counts", .read,
    """
    SELECT app.push_app_id, live.devices, live.are_more, past.days
    FROM unnest($2::bigint[]) AS app (push_app_id)
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE known.invalidated_at IS NULL) AS devices, count(*) >= $3::bigint AS are_more
      FROM (
        SELECT invalidated_at FROM device
        WHERE customer_id = $1::bigint AND push_app_id = app.push_app_id
        ORDER BY token_key LIMIT $3::bigint) AS known
    ) AS live
    CROSS JOIN LATERAL (
      SELECT coalesce(
        json_agg(json_build_object('day', day, 'devices', devices, 'sandboxDevices', sandbox_devices) ORDER BY day), '[]') AS days
      FROM device_day
      WHERE customer_id = $1::bigint AND push_app_id = app.push_app_id
        AND day > (now() AT TIME ZONE 'UTC')::date - $4::int4
    ) AS past
    ORDER BY app.push_app_id
    """)

  /// That the day is counted.
  static let isCounted = Statement(
    "device.is_counted", .read,
    "SELECT 1 FROM device_day WHERE customer_id = $1::bigint AND day = (now() AT TIME ZONE 'UTC')::date LIMIT 1")

  /// Counts the valid devices of each app, for the day; an app without any has 0. Of two hubs that do so at once, one
  /// writes.
  static let countDay = Statement(
    "device.count_day", .write,
    """
    INSERT INTO device_day (customer_id, push_app_id, day, devices, sandbox_devices)
    SELECT $1::bigint, app.push_app_id, (now() AT TIME ZONE 'UTC')::date, coalesce(counted.devices, 0),
      coalesce(counted.sandbox_devices, 0)
    FROM push_app AS app
    LEFT JOIN (
      SELECT push_app_id, count(*) FILTER (WHERE NOT sandbox) AS devices,
        count(*) FILTER (WHERE sandbox) AS sandbox_devices
      FROM device
      WHERE customer_id = $1::bigint AND invalidated_at IS NULL
      GROUP BY push_app_id) AS counted ON counted.push_app_id = app.push_app_id
    WHERE app.customer_id = $1::bigint
    ON CONFLICT (customer_id, push_app_id, day) DO NOTHING
    """)

  /// Forgets days that are older than `$2` days.
  static let forgetDays = Statement(
    "device.forget_days", .write,
    """
    DELETE FROM device_day
    WHERE customer_id = $1::bigint AND day < (now() AT TIME ZONE 'UTC')::date - $2::int4
    """)

  /// Removes the devices of the app `$2`. Their events stay until retention deletes them.
  static let removeOfApp = Statement(
    "device.remove_of_app", .write,
    "DELETE FROM device WHERE customer_id = $1::bigint AND push_app_id = $2::bigint")

  /// The numbers of apps that devices have and that are not there. It reads one device of each app.
  static let orphanedApps = Statement(
    "device.orphaned_apps", .read,
    """
    WITH RECURSIVE app (push_app_id) AS (
      (SELECT push_app_id FROM device WHERE customer_id = $1::bigint ORDER BY push_app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT push_app_id FROM device
               WHERE customer_id = $1::bigint AND push_app_id > app.push_app_id ORDER BY push_app_id LIMIT 1)
        FROM app WHERE app.push_app_id IS NOT NULL
    )
    SELECT push_app_id FROM app
    WHERE push_app_id IS NOT NULL
      AND push_app_id NOT IN (SELECT push_app_id FROM push_app WHERE customer_id = $1::bigint)
    """)

  /// Removes `$3` devices of the app `$2`.
  static let removePortionOfApp = Statement(
    "device.remove_portion_of_app", .write,
    """
    DELETE FROM device
    WHERE customer_id = $1::bigint AND device_id = ANY (ARRAY(
      SELECT device_id FROM device WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
      ORDER BY token_key LIMIT $3::bigint))
    """)

  static let removeDays = Statement(
    "device.remove_days", .write,
    "DELETE FROM device_day WHERE customer_id = $1::bigint AND push_app_id = $2::bigint")

  static let all: [Statement] = [
    counts, isCounted, countDay, forgetDays, removeOfApp, orphanedApps, removePortionOfApp, removeDays, invalidate,
    retire, allow, recipients.reading(RecipientColumns(.all)), recipients.reading(RecipientColumns(.toSend)), ofToken,
    histories, analyze, expiredEvents,
    deleteEvents,
  ]
}
