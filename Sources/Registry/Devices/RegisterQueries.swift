import Postgres

/// The one statement that registers any number of requests of one customer, each a contact and its devices. It is all
/// or none, but for requests that name an unknown list or too many devices. These are left out and told so. An unknown
/// app leaves all of them out.
///
/// Of a request with a device key (`$30`), an unknown list and `properties` that would not fit are dropped right here.
/// Such a key must not learn what is stored, neither by a refusal nor by the time of a second try.
///
/// Within it no contact and no token may come twice (`RegistrationBatcher` sees to that by conflict keys). Rows are locked
/// contacts first, then devices, each kind in one order, so that statements of several hubs do not deadlock in ordinary
/// company. Contacts that do not change are not written; devices always are, since `registered_at` moves.
///
/// What a device was is read from its locked row. A contact or token that somebody else adds after this statement has looked
/// fails it (`contact_original_id_key`, `device_token_key`): run again, it finds them. So does a contact erased meanwhile.
///
/// What each part costs is told in Tests/Bench/NOTES.md. Look-ups stand in LATERAL … LIMIT 1. The planner can only
/// answer that row by row from the unique index, whatever size it believes the tables to have. Nothing else joins more
/// than it must. The planner takes every array for ten elements, and a nested loop over 256 by 256 rows costs more than
/// all the rest.
enum RegisterQueries {
  private static let fields = ContactField.allCases
  private static let columns = fields.map(\.column).joined(separator: ", ")

  /// Tells only of the requests that were left out or lost their properties: their ordinals, and why (`ContactRow.Refusal`).
  static let register = Statement(
    "device.register", .write,
    """
    WITH app AS MATERIALIZED (\(app)),
    request AS MATERIALIZED (\(request(telling: false))),
    changed AS (\(changed) RETURNING 1),
    fresh AS (\(fresh) RETURNING contact_id, original_id),
    owner AS MATERIALIZED (\(owner)),
    looked_up AS MATERIALIZED (\(lookedUp)),
    wanted AS MATERIALIZED (\(wanted)),
    updated AS (\(updated)),
    added AS (\(added)),
    surplus AS MATERIALIZED (\(surplus)),
    dropped AS (\(dropped) RETURNING s.ordinal, d.contact_id, d.device_id),
    event AS (\(event))
    SELECT ordinal, refusal FROM request WHERE refusal <> 0
    UNION ALL
    SELECT ordinal, \(ContactRow.Refusal.propertiesDropped.rawValue)::int2 FROM request WHERE fits = false AND refusal = 0
    """)

  /// Also returns the contacts, each in a row with its ordinal, and their devices in the apps `$28`, with ordinal 0. Of
  /// requests that do not ask for it, only the devices they name are told.
  static let registerAndTell = Statement(
    "device.register_and_tell", .write,
    """
    WITH app AS MATERIALIZED (\(app)),
    request AS MATERIALIZED (\(request(telling: true))),
    changed AS (\(changed) RETURNING r.ordinal, \(ContactColumns.contact("c"))),
    fresh AS (\(fresh) RETURNING \(ContactColumns.contact("contact"))),
    owner AS MATERIALIZED (\(owner)),
    looked_up AS MATERIALIZED (\(lookedUp)),
    wanted AS MATERIALIZED (\(wanted)),
    updated AS (\(updated) RETURNING d.contact_id, \(ContactColumns.device("d"))),
    added AS (\(added) RETURNING contact_id, \(ContactColumns.device("device"))),
    surplus AS MATERIALIZED (\(surplus)),
    dropped AS (\(dropped) RETURNING s.ordinal, d.contact_id, \(ContactColumns.device("d"))),
    event AS (\(event)),
    other AS (\(other))
    SELECT ordinal, refusal, contact_id, original_id, known_list_id, known_date_of_birth, known_properties, known_texts,
      \(ContactColumns.noDevice)
    FROM request WHERE unchanged OR refusal <> 0
    UNION ALL
    SELECT ordinal, \(ContactRow.Refusal.propertiesDropped.rawValue)::int2, NULL, NULL, NULL, NULL, NULL, NULL,
      \(ContactColumns.noDevice)
    FROM request WHERE fits = false AND refusal = 0
    UNION ALL
    SELECT ordinal, 0::int2, \(ContactColumns.names), \(ContactColumns.noDevice) FROM changed
    UNION ALL
    SELECT r.ordinal, 0::int2, f.*, \(ContactColumns.noDevice)
    FROM fresh f JOIN request r ON r.original_id = f.original_id
    UNION ALL
    SELECT 0::bigint, 0::int2, contact_id, NULL, NULL, NULL, NULL, NULL, \(ContactColumns.device("d"))
    FROM (
      SELECT * FROM updated UNION ALL SELECT * FROM added UNION ALL SELECT * FROM other
      UNION ALL SELECT d.contact_id, \(ContactColumns.device("d")) FROM dropped d
    ) d
    """)

  /// How many of the apps `$28` there are. Customers and apps are not deleted while anybody registers with them; a foreign key
  /// would lock the same row of each anew for every device.
  private static let app = """
    SELECT count(*) AS count FROM push_app WHERE customer_id = $1::bigint AND push_app_id = ANY ($28::bigint[])
    """

  /// The requests, what is known of their contacts, and whether anything of that would change.
  private static func request(telling: Bool) -> String {
    let known = """
      , c.list_id AS known_list_id, c.date_of_birth AS known_date_of_birth, c.properties AS known_properties,
            \(ContactColumns.texts("c")) AS known_texts
      """
    return """
      SELECT i.ordinal, i.original_id, i.date_of_birth, i.tells, \(fields.map { "i.\($0.column)" }.joined(separator: ", ")),
        i.list_id, CASE WHEN \(fits) THEN i.properties END AS properties, \(fits) AS fits,
        c.contact_id, c.unchanged\(telling ? ", c.known_list_id, c.known_date_of_birth, c.known_properties, c.known_texts" : ""),
        (CASE WHEN (SELECT count FROM app) < cardinality($28::bigint[]) THEN \(ContactRow.Refusal.appUnknown.rawValue)
          WHEN i.valid_devices > (\(devicesPerContact)) THEN -(\(devicesPerContact))
          WHEN i.lacks_list THEN \(ContactRow.Refusal.listUnknown.rawValue)
          ELSE 0 END)::int2 AS refusal
      FROM (
        SELECT i.*, CASE WHEN l.list_id IS NULL AND i.sent_list_id <> 0 AND i.of_device_key THEN NULL
            ELSE i.sent_list_id END AS list_id,
          l.list_id IS NULL AND i.sent_list_id <> 0 AND NOT i.of_device_key AS lacks_list
        FROM unnest($2::text[], $3::bigint[], $4::date[], $5::jsonb[], $6::bool[],
          \(fields.map { "$\($0.rawValue + 7)::text[]" }.joined(separator: ", ")), $30::bool[], $31::bigint[]) WITH ORDINALITY
          AS i(original_id, sent_list_id, date_of_birth, properties, tells, \(columns), of_device_key, valid_devices, ordinal)
        LEFT JOIN LATERAL (
          SELECT list_id FROM list WHERE customer_id = $1::bigint AND list_id = i.sent_list_id LIMIT 1
        ) l ON true
      ) i
      LEFT JOIN LATERAL (
        SELECT c.contact_id, \(unchanged) AS unchanged, \(fitsInContact) AS fits\(telling ? known : "")
        FROM contact c WHERE c.customer_id = $1::bigint AND c.original_id = i.original_id LIMIT 1
      ) c ON true
      """
  }

  private static let unchanged = """
    (i.list_id IS NULL OR i.list_id = coalesce(c.list_id, 0))
      AND (i.date_of_birth IS NULL OR i.date_of_birth = coalesce(c.date_of_birth, 'infinity'))
      \(fields.map { "AND (i.\($0.column) IS NULL OR i.\($0.column) = coalesce(c.\($0.column), ''))" }
        .joined(separator: "\n  "))
      AND (i.properties IS NULL OR jsonb_strip_nulls(c.properties || i.properties) = c.properties OR NOT \(fitsInContact))
    """

  private static let devicesPerContact = "SELECT devices_per_contact FROM customer WHERE customer_id = $1::bigint"

  /// Whether the contact has room for the properties that a device key sends. Others are told by `contact_properties_size`.
  private static let fitsInContact = """
    (i.properties IS NULL OR NOT i.of_device_key
      OR pg_column_size(jsonb_strip_nulls(c.properties || i.properties)) <= \(Contact.maximumPropertiesSize))
    """

  /// As `fitsInContact`, and for contacts that are not there yet.
  private static let fits = """
    CASE WHEN c.contact_id IS NOT NULL THEN c.fits
      WHEN i.properties IS NULL OR NOT i.of_device_key THEN true
      ELSE pg_column_size(jsonb_strip_nulls(i.properties)) <= \(Contact.maximumPropertiesSize) END
    """

  /// Merges with the row as it is by then, not as it was looked up: another hub may have changed other fields of it.
  private static let changed = """
    UPDATE contact c SET
      list_id = nullif(coalesce(r.list_id, c.list_id), 0),
      date_of_birth = CASE WHEN isfinite(coalesce(r.date_of_birth, c.date_of_birth))
        THEN coalesce(r.date_of_birth, c.date_of_birth) END,
      properties = CASE WHEN r.properties IS NULL THEN c.properties
        ELSE jsonb_strip_nulls(c.properties || r.properties) END,
      \(fields.map { "\($0.column) = nullif(coalesce(r.\($0.column), c.\($0.column)), '')" }.joined(separator: ", ")),
      updated_at = now()
    FROM (
      SELECT * FROM request WHERE contact_id IS NOT NULL AND NOT unchanged AND refusal = 0 ORDER BY contact_id
    ) r
    WHERE c.customer_id = $1::bigint AND c.contact_id = r.contact_id
    """

  /// Contacts that were not there, once all of `changed` is done: nothing else would keep the two in order.
  private static let fresh = """
    INSERT INTO contact (customer_id, original_id, list_id, date_of_birth, properties, \(columns))
    SELECT $1::bigint, original_id, nullif(list_id, 0), nullif(date_of_birth, 'infinity'),
      coalesce(jsonb_strip_nulls(properties), '{}'), \(fields.map { "nullif(\($0.column), '')" }.joined(separator: ", "))
    FROM request WHERE contact_id IS NULL AND refusal = 0 AND (SELECT count(*) FROM changed) >= 0
    ORDER BY original_id COLLATE "C"
    """

  /// The contact of every ordinal, NULL for requests that are left out: an array, as looking into it costs the same whatever
  /// the planner thinks.
  private static let owner = """
    SELECT array_agg(contact_id ORDER BY ordinal) AS contact_ids FROM (
      SELECT ordinal, CASE WHEN refusal = 0 THEN contact_id END AS contact_id
      FROM request WHERE contact_id IS NOT NULL OR refusal <> 0
      UNION ALL
      SELECT r.ordinal, f.contact_id FROM fresh f JOIN request r ON r.original_id = f.original_id
    ) o
    """

  /// The devices, and what is known of them, each locked as it is looked up.
  private static let lookedUp = """
    SELECT i.*, d.device_id AS known_device_id, d.contact_id AS known_contact_id, d.sandbox AS known_sandbox,
      d.invalidation_type AS known_type, d.invalidation_reason AS known_reason, d.invalidated_at AS known_at,
      d.manufacturer AS known_manufacturer, d.model AS known_model, d.os_version AS known_os_version,
      d.country AS known_country
    FROM (
      SELECT i.*, owner.contact_ids[i.ordinal] AS contact_id
      FROM owner, unnest($17::bigint[], $18::bigint[], $19::text[], $20::bytea[], $21::bool[], $22::text[], $23::text[],
          $24::text[], $25::text[], $26::int2[], $27::timestamptz[])
        AS i(ordinal, push_app_id, token, token_key, sandbox, manufacturer, model, os_version, country, type, at)
      WHERE owner.contact_ids[i.ordinal] IS NOT NULL
      ORDER BY i.push_app_id, i.token_key
    ) i
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND push_app_id = i.push_app_id AND token_key = i.token_key
      LIMIT 1 FOR NO KEY UPDATE
    ) d ON true
    """

  /// The devices as they are to be, each numbered. A step of its own: Citus sends no statement to a shard that takes a number as
  /// it reads.
  private static let wanted = """
    SELECT ordinal, push_app_id, contact_id, token, token_key, sandbox, type, known_contact_id, known_sandbox, known_type,
      known_device_id, coalesce(known_device_id, nextval('device_device_id_seq')) AS device_id,
      nullif(coalesce(manufacturer, known_manufacturer), '') AS manufacturer,
      nullif(coalesce(model, known_model), '') AS model,
      nullif(coalesce(os_version, known_os_version), '') AS os_version,
      nullif(coalesce(country, known_country), '') AS country,
      CASE WHEN type <> 0 THEN coalesce(at, known_at, now()) END AS invalidated_at,
      CASE WHEN type = 0 THEN NULL WHEN type = known_type THEN known_reason ELSE 'app' END AS invalidation_reason
    FROM looked_up
    """

  private static let updated = """
    UPDATE device d SET
      contact_id = w.contact_id, token = w.token, sandbox = w.sandbox, manufacturer = w.manufacturer, model = w.model,
      os_version = w.os_version, country = w.country, registered_at = now(), invalidation_type = w.type,
      invalidated_at = w.invalidated_at, invalidation_reason = w.invalidation_reason
    FROM wanted w
    WHERE d.customer_id = $1::bigint AND d.device_id = w.known_device_id
    """

  /// In the order in which `wanted` gives them.
  private static let added = """
    INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model,
      os_version, country, registered_at, invalidation_type, invalidated_at, invalidation_reason)
    SELECT $1::bigint, device_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model,
      os_version, country, now(), type, invalidated_at, invalidation_reason
    FROM wanted WHERE known_device_id IS NULL
    """

  /// What changed, a row for each kind of change.
  private static let event = """
    INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
    \([
      ("registered", "known_device_id IS NULL"),
      ("moved", "known_contact_id <> contact_id"),
      ("environment", "known_sandbox <> sandbox"),
      ("revived", "known_type <> 0 AND type = 0"),
      ("invalidated", "coalesce(known_type, 0) = 0 AND type <> 0"),
    ].map { kind, happened in
      let reason = kind == "invalidated" ? "'app'" : "NULL"
      return """
        SELECT $1::bigint, device_id, contact_id, '\(kind)', \(reason), ($29::bigint[])[ordinal::int4]
        FROM wanted WHERE \(happened)
        """
    }.joined(separator: "\nUNION ALL\n"))
    UNION ALL
    SELECT $1::bigint, device_id, contact_id, 'invalidated', 'too_many_devices', ($29::bigint[])[ordinal::int4]
    FROM dropped
    """

  /// The valid devices that contacts have too many of by now, those registered the longest time ago. Looked for when a
  /// known contact gets a further one. Devices of the request stay: it names no more of them than a contact may have.
  ///
  /// These rows are read without a lock, as they were when the statement began. What another hub adds meanwhile is not counted,
  /// and locking the contact would not help: the statement would go on seeing its first snapshot. The next device counts all.
  private static let surplus = """
    SELECT n.ordinal, n.contact_id, x.device_id, x.registered_at
    FROM (
      SELECT w.ordinal, w.contact_id, count(*) FILTER (WHERE w.type = 0) AS named
      FROM wanted w
      JOIN request r ON r.ordinal = w.ordinal AND r.contact_id IS NOT NULL
      GROUP BY w.ordinal, w.contact_id
      HAVING bool_or(
        w.type = 0 AND (w.known_device_id IS NULL OR w.known_contact_id <> w.contact_id OR w.known_type <> 0))
    ) n
    CROSS JOIN LATERAL (
      SELECT d.device_id, d.registered_at, row_number() OVER (ORDER BY d.registered_at DESC, d.device_id DESC) AS place
      FROM (
        SELECT device_id, registered_at FROM device
        WHERE customer_id = $1::bigint AND contact_id = n.contact_id AND invalidated_at IS NULL
        ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
      ) d
      WHERE d.device_id NOT IN (SELECT known_device_id FROM looked_up WHERE known_device_id IS NOT NULL)
    ) x
    WHERE x.place > (\(devicesPerContact)) - n.named
    """

  /// Only what still is as `surplus` saw it: a device that moved or was registered anew meanwhile is somebody's latest one.
  private static let dropped = """
    UPDATE device d
    SET invalidated_at = now(), invalidation_type = 1, invalidation_reason = 'too_many_devices'
    FROM (SELECT ordinal, device_id, contact_id, registered_at FROM surplus ORDER BY device_id) s
    WHERE d.customer_id = $1::bigint AND d.device_id = s.device_id AND d.invalidated_at IS NULL
      AND d.contact_id = s.contact_id AND d.registered_at = s.registered_at
    """

  /// The contacts' devices that no request speaks of. The sum in ORDER BY keeps the planner from reading all of the customer's
  /// devices in the order of the primary key.
  private static let other = """
    SELECT d.contact_id, \(ContactColumns.device("d"))
    FROM request r
    CROSS JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = r.contact_id AND push_app_id = ANY ($28::bigint[])
      ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
    ) d
    WHERE r.tells AND r.refusal = 0
      AND d.device_id NOT IN (SELECT known_device_id FROM looked_up WHERE known_device_id IS NOT NULL)
      AND d.device_id NOT IN (SELECT device_id FROM dropped)
    """

  /// What a run fails by when the contact or the list was erased, or the contact or a token added, after the run had looked.
  static let racedConstraints: Set<String> = [
    "device_contact_id_fkey", "contact_list_id_fkey", "contact_original_id_key", "device_token_key",
  ]

  static let all: [Statement] = [register, registerAndTell]
}
