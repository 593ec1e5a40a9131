import Postgres

/// The one statement that registers: any number of requests of one customer, each a contact and its devices, all or none
/// but for requests that name an unknown list, which are left out and told so.
///
/// Within it no contact and no token may come twice (`RegistrationBatcher` sees to that by conflict keys). Rows are locked contacts first, then
/// devices, each kind in one order, so that statements of several hubs do not deadlock in ordinary company. Contacts that
/// do not change are not written; devices always are, since `registered_at` moves.
///
/// What a device was is read from its locked row. A contact or token that somebody else adds after this statement has looked
/// fails it (`contact_original_id_key`, `device_token_key`): run again, it finds them.
///
/// Lookups stand in LATERAL … LIMIT 1, which the planner can only answer row by row from the unique index, whatever it
/// believes the size of the tables to be.
enum RegisterQueries {
  private static let fields = ContactField.allCases
  private static let columns = fields.map(\.column).joined(separator: ", ")

  /// Tells only of the requests that were left out.
  static let register = Statement(
    "device.register", .write,
    """
    WITH request AS MATERIALIZED (\(request(telling: false))),
    changed AS (\(changed) RETURNING 1),
    fresh AS (\(fresh) RETURNING contact_id, original_id),
    owner AS MATERIALIZED (
      SELECT r.ordinal, coalesce(r.contact_id, f.contact_id) AS contact_id
      FROM request r
      LEFT JOIN fresh f ON f.original_id = r.original_id
      WHERE NOT r.list_unknown
    ),
    looked_up AS MATERIALIZED (\(lookedUp)),
    wanted AS MATERIALIZED (\(wanted)),
    written AS (\(written)),
    event AS (\(event))
    SELECT ordinal FROM request WHERE list_unknown
    """)

  /// Tells also of the contacts of the requests that ask for it, with all their devices in the apps `$28`.
  static let registerAndTell = Statement(
    "device.register_and_tell", .write,
    """
    WITH request AS MATERIALIZED (\(request(telling: true))),
    changed AS (\(changed) RETURNING r.ordinal, c AS contact),
    fresh AS (\(fresh) RETURNING contact_id, original_id, contact),
    owner AS MATERIALIZED (
      SELECT r.ordinal, coalesce(r.contact_id, f.contact_id) AS contact_id,
        coalesce(c.contact, f.contact, r.known) AS contact
      FROM request r
      LEFT JOIN changed c ON c.ordinal = r.ordinal
      LEFT JOIN fresh f ON f.original_id = r.original_id
      WHERE NOT r.list_unknown
    ),
    looked_up AS MATERIALIZED (\(lookedUp)),
    wanted AS MATERIALIZED (\(wanted)),
    written AS (\(written) RETURNING *),
    event AS (\(event)),
    other AS (\(other))
    SELECT r.ordinal, r.list_unknown, \(ContactColumns.sql(contact: "(o.contact)", device: "d"))
    FROM request r
    LEFT JOIN owner o ON o.ordinal = r.ordinal
    LEFT JOIN (SELECT * FROM written UNION ALL SELECT * FROM other) d ON d.contact_id = o.contact_id
    WHERE r.tells OR r.list_unknown
    ORDER BY r.ordinal, d.device_id
    """)

  /// The requests, what is known of their contacts, and whether anything of that would change.
  private static func request(telling: Bool) -> String {
    """
    SELECT i.*, c.*, coalesce(i.list_id > 0, false) AND l.list_id IS NULL AS list_unknown
    FROM unnest($2::text[], $3::bigint[], $4::date[], $5::jsonb[], $6::bool[],
      \(fields.map { "$\($0.rawValue + 7)::text[]" }.joined(separator: ", "))) WITH ORDINALITY
      AS i(original_id, list_id, date_of_birth, properties, tells, \(columns), ordinal)
    LEFT JOIN LATERAL (
      SELECT contact_id, \(unchanged) AS unchanged\(telling ? ", c AS known" : "")
      FROM contact c WHERE c.customer_id = $1::bigint AND c.original_id = i.original_id LIMIT 1
    ) c ON true
    LEFT JOIN LATERAL (
      SELECT list_id FROM list WHERE customer_id = $1::bigint AND list_id = i.list_id LIMIT 1
    ) l ON true
    """
  }

  private static let unchanged = """
    (i.list_id IS NULL OR i.list_id = coalesce(c.list_id, 0))
      AND (i.date_of_birth IS NULL OR i.date_of_birth = coalesce(c.date_of_birth, 'infinity'))
      AND (i.properties IS NULL OR jsonb_strip_nulls(c.properties || i.properties) = c.properties)
      \(fields.map { "AND (i.\($0.column) IS NULL OR i.\($0.column) = coalesce(c.\($0.column), ''))" }
        .joined(separator: "\n  "))
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
      SELECT * FROM request WHERE contact_id IS NOT NULL AND NOT unchanged AND NOT list_unknown ORDER BY contact_id
    ) r
    WHERE c.customer_id = $1::bigint AND c.contact_id = r.contact_id
    """

  /// Contacts that were not there, once all of `changed` is done: nothing else would keep the two in order.
  private static let fresh = """
    INSERT INTO contact (customer_id, original_id, list_id, date_of_birth, properties, \(columns))
    SELECT $1::bigint, original_id, nullif(list_id, 0), nullif(date_of_birth, 'infinity'),
      coalesce(jsonb_strip_nulls(properties), '{}'), \(fields.map { "nullif(\($0.column), '')" }.joined(separator: ", "))
    FROM request WHERE contact_id IS NULL AND NOT list_unknown AND (SELECT count(*) FROM changed) >= 0
    ORDER BY original_id COLLATE "C"
    """

  /// The devices, each numbered. A step of its own: Citus sends no statement to a shard that takes a number as it reads.
  private static let wanted = """
    SELECT *, coalesce(known_device_id, nextval('device_device_id_seq')) AS device_id, known_device_id IS NULL AS is_new
    FROM looked_up
    """

  /// The devices, and what is known of them, each locked as it is looked up.
  private static let lookedUp = """
    SELECT i.*, d.device_id AS known_device_id, d.contact_id AS known_contact_id, d.sandbox AS known_sandbox,
      d.invalidation_type AS known_type, d.invalidation_reason AS known_reason, d.invalidated_at AS known_at, d.manufacturer AS known_manufacturer,
      d.model AS known_model, d.os_version AS known_os_version, d.country AS known_country
    FROM (
      SELECT i.*, o.contact_id
      FROM unnest($17::bigint[], $18::bigint[], $19::text[], $20::bytea[], $21::bool[], $22::text[], $23::text[],
          $24::text[], $25::text[], $26::int2[], $27::timestamptz[])
        AS i(ordinal, push_app_id, token, token_key, sandbox, manufacturer, model, os_version, country, type, at)
      JOIN owner o ON o.ordinal = i.ordinal
      ORDER BY i.push_app_id, i.token_key
    ) i
    LEFT JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND push_app_id = i.push_app_id AND token_key = i.token_key
      LIMIT 1 FOR NO KEY UPDATE
    ) d ON true
    """

  /// In the order in which `wanted` gives them.
  private static let written = """
    INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model,
      os_version, country, registered_at, invalidation_type, invalidated_at, invalidation_reason)
    SELECT $1::bigint, device_id, push_app_id, contact_id, token, token_key, sandbox,
      nullif(coalesce(manufacturer, known_manufacturer), ''), nullif(coalesce(model, known_model), ''),
      nullif(coalesce(os_version, known_os_version), ''), nullif(coalesce(country, known_country), ''),
      now(), type, CASE WHEN type <> 0 THEN coalesce(at, known_at, now()) END,
      CASE WHEN type <> 0 THEN CASE WHEN known_type = type THEN known_reason ELSE 'app' END END
    FROM wanted
    ON CONFLICT (customer_id, device_id) DO UPDATE SET
      contact_id = excluded.contact_id, token = excluded.token, sandbox = excluded.sandbox,
      manufacturer = excluded.manufacturer, model = excluded.model, os_version = excluded.os_version,
      country = excluded.country, invalidation_type = excluded.invalidation_type,
      invalidated_at = excluded.invalidated_at, invalidation_reason = excluded.invalidation_reason,
      registered_at = excluded.registered_at
    """

  private static let event = """
    INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason)
    SELECT $1::bigint, w.device_id, w.contact_id, e.kind, CASE e.kind WHEN 'invalidated' THEN 'app' END
    FROM wanted w
    CROSS JOIN LATERAL (VALUES
      ('registered', w.is_new),
      ('moved', w.known_contact_id <> w.contact_id),
      ('environment', w.known_sandbox <> w.sandbox),
      ('revived', w.known_type <> 0 AND w.type = 0),
      ('invalidated', coalesce(w.known_type, 0) = 0 AND w.type <> 0)
    ) AS e(kind, happened)
    WHERE e.happened
    """

  /// The contacts' devices that these requests do not speak of. The sum in ORDER BY keeps the planner from reading all of the
  /// customer's devices in the order of the primary key.
  private static let other = """
    SELECT d.*
    FROM request r
    CROSS JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = r.contact_id AND push_app_id = ANY ($28::bigint[])
      ORDER BY device_id + 0 LIMIT \(Device.maximumOfContact)
    ) d
    WHERE r.tells AND NOT r.list_unknown AND NOT EXISTS (
      SELECT FROM wanted w WHERE w.push_app_id = d.push_app_id AND w.token_key = d.token_key
    )
    """

  /// What a run fails by when the contact was erased, or the contact or a token added, after the run had looked.
  static let racedConstraints: Set<String> = ["device_contact_id_fkey", "contact_original_id_key", "device_token_key"]

  static let all: [Statement] = [register, registerAndTell]
}
