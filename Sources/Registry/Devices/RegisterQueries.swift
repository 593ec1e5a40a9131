import Postgres
import Wire

/// The statement that registers any number of requests of one customer, each a contact and its devices. It is all
/// or none, but for requests that name an unknown list or too many devices. These are left out and remarked. An unknown
/// app leaves all of them out.
///
/// Of a request with a device key (`$30`), an unknown list and `properties` that would not fit are dropped right here.
/// Such a key must not learn what is stored, neither by a refusal nor by the time of a second try.
///
/// Within it no contact and no token may come twice (`RegistrationBatcher` sees to that by conflict keys). Rows are locked
/// contacts first, then devices, each kind in one order, so that statements of several hubs do not deadlock in ordinary
/// company. Contacts that do not change are not written; devices always are, since `registered_at` moves. Joining or leaving a list is a
/// change of the contact, whose row is locked by then.
///
/// It has four forms: each part of a statement costs time before the first row, and most batches need only some of them.
///
/// What a device was is read from its locked row. A contact or token that somebody else adds after this statement has looked
/// fails it (`contact_original_id_key`, `device_token_key`): run again, it finds them. A contact that got a device and was erased
/// meanwhile is remarked: run again, the device goes to a new one. So is a device that somebody else writes meanwhile.
///
/// What each part costs stands in docs/design/registration.md. Every column of every step costs time before the first row is read, so
/// there are few steps, and a contact's texts travel as one array. Look-ups stand in LATERAL … LIMIT 1. By a unique index,
/// the planner can only answer that row by row, whatever size it believes the tables to have. Contacts are updated by
/// the same index, whose pages are at hand by then. Devices are looked up and updated by their contact's index, which is not
/// unique: while the table has no statistics, the planner may scan more of it. Nothing joins more than it must. The planner takes
/// every array for ten elements, and a nested loop over 256 by 256 rows costs more than all the rest.
enum RegisterQueries {
  private static let fields = ContactField.allCases
  private static let columns = fields.map(\.column).joined(separator: ", ")

  /// - Parameters:
  ///   - returnsContacts: whether a request asks for its contact.
  ///   - changesLists: whether a request names a list, or says that its contact is on none.
  static func statement(returnsContacts: Bool, changesLists: Bool) -> Statement {
    switch (returnsContacts, changesLists) {
    case (false, false): register
    case (false, true): registerOnLists
    case (true, false): registerReturning
    case (true, true): registerOnListsReturning
    }
  }

  private static let register = plain("device.register", changesLists: false)
  private static let registerOnLists = plain("device.register_on_lists", changesLists: true)
  private static let registerReturning = returning("device.register_returning", changesLists: false)
  private static let registerOnListsReturning = returning(
    "device.register_on_lists_returning", changesLists: true)

  /// Returns only requests with a remark: their ordinals, the `ContactRow.Remark`, and the contact's number. The ordinal 0
  /// stands for one of them, and `raced` means that somebody else wrote its device meanwhile.
  private static func plain(_ name: String, changesLists: Bool) -> Statement {
    Statement(
      name, .write,
      """
      WITH \(steps(returnsContacts: false, changesLists))
      SELECT ordinal, remark, NULL::bigint FROM request WHERE remark <> 0
      UNION ALL
      \(overLimit)
      UNION ALL
      SELECT 0::bigint, \(ContactRow.Remark.raced.rawValue)::int2, NULL::bigint
      WHERE (SELECT count(*) FROM updated) < (SELECT count(known_device_id) FROM wanted)
      """)
  }

  /// Also returns contacts and the devices that the requests name, each with the request's ordinal. If a request asks for them, the
  /// contact's other devices in the apps `$19` follow, with ordinal 0. A request that was taken and has fewer devices
  /// in the answer than it names is to run again: somebody else wrote the device meanwhile.
  private static func returning(_ name: String, changesLists: Bool) -> Statement {
    Statement(
      name, .write,
      """
      WITH \(steps(returnsContacts: true, changesLists)),
      other AS (\(other))
      SELECT ordinal, remark, contact_id, CASE WHEN unchanged THEN original_id END, list_shown, known_date_of_birth,
        known_properties, known_texts, \(ContactColumns.noDevice)
      FROM request WHERE unchanged OR remark <> 0
      UNION ALL
      SELECT ordinal, 0::int2, contact_id, original_id, lists_shown[ordinal], date_of_birth, properties, texts,
        \(ContactColumns.noDevice)
      FROM (
        SELECT c.*, o.lists_shown, array_position(o.contact_ids, c.contact_id)::bigint AS ordinal
        FROM (SELECT * FROM changed UNION ALL SELECT * FROM fresh) c, owner o
        OFFSET 0
      ) c
      UNION ALL
      SELECT c.*, NULL, NULL, NULL, NULL, NULL, \(ContactColumns.noDevice) FROM (\(overLimit)) c
      UNION ALL
      SELECT ordinal, 0::int2, contact_id, NULL, NULL, NULL, NULL, NULL, \(ContactColumns.device("updated")) FROM updated
      UNION ALL
      SELECT ordinal, 0::int2, contact_id, NULL, NULL, NULL, NULL, NULL, \(ContactColumns.device("w"))
      FROM (SELECT *, now() AS registered_at FROM wanted WHERE known_device_id IS NULL) w
      UNION ALL
      SELECT 0::bigint, 0::int2, contact_id, NULL, NULL, NULL, NULL, NULL, \(ContactColumns.device("other")) FROM other
      """)
  }

  /// Retires the valid devices that each contact of `$2` has too many of, those registered the longest time ago, in the name
  /// of its key in `$3`. Returns rows of devices as `registerReturning` does.
  ///
  /// Telephone numbers make no way: an SMS is what is left when phones fail, and a number registers once only.
  ///
  /// What another hub adds meanwhile is not counted. The next device counts all. Only what still is as it was seen makes way:
  /// a device that moved or was registered anew meanwhile is somebody's latest one.
  static let retireSurplus = Statement(
    "device.retire_surplus", .write,
    """
    WITH surplus AS MATERIALIZED (
      SELECT c.contact_id, c.access_key_id, d.device_id, d.registered_at
      FROM unnest($2::bigint[], $3::bigint[]) AS c(contact_id, access_key_id)
      CROSS JOIN LATERAL (
        SELECT device_id, registered_at FROM device
        WHERE customer_id = $1::bigint AND contact_id = c.contact_id AND invalidated_at IS NULL
          AND push_app_id <> ALL (ARRAY(
            SELECT push_app_id FROM push_app WHERE customer_id = $1::bigint AND app_type = \(AppType.sms.rawValue)))
        ORDER BY registered_at DESC, device_id DESC OFFSET (\(devicesPerContact))
      ) d
    ), retired AS (
      UPDATE device d
      SET invalidated_at = now(), invalidation_type = 1, invalidation_reason = '\(Device.gaveWay)'
      FROM (SELECT * FROM surplus ORDER BY device_id) s
      WHERE d.customer_id = $1::bigint AND d.device_id = s.device_id AND d.invalidated_at IS NULL
        AND d.contact_id = s.contact_id AND d.registered_at = s.registered_at
      RETURNING s.access_key_id, d.contact_id, \(ContactColumns.device("d"))
    ), event AS (
      INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
      SELECT $1::bigint, device_id, contact_id, 'invalidated', '\(Device.gaveWay)', access_key_id FROM retired
      RETURNING device_id, contact_id, kind, reason
    ),
    told AS (\(DeviceQueries.invalidated))
    SELECT 0::bigint, 0::int2, contact_id, NULL::text, NULL::bigint, NULL::date, NULL::json, NULL::text[],
      \(ContactColumns.device("d"))
    FROM retired d
    """)

  /// What all forms do.
  private static func steps(returnsContacts: Bool, _ changesLists: Bool) -> String {
    let list = changesLists ? "r.list_id" : "NULL::bigint"
    return """
      app AS MATERIALIZED (\(app)),
      request AS MATERIALIZED (\(request(returnsContacts: returnsContacts, changesLists))),
      owner AS MATERIALIZED (\(owner(returnsContacts: returnsContacts))),
      changed AS (\(changed) RETURNING \(returnsContacts ? ContactColumns.contact("c", list: list) : changesLists ? "c.contact_id, r.list_id" : "c.contact_id")),
      fresh AS (\(fresh) RETURNING \(returnsContacts ? ContactColumns.contact("contact", list: "NULL::bigint") : "1")),
      \(changesLists ? "joined AS (\(joined)),\nleft_all AS (\(leftAll))," : "")
      looked_up AS MATERIALIZED (\(lookedUp)),
      wanted AS MATERIALIZED (\(wanted)),
      updated AS (\(updated) RETURNING \(returnsContacts ? "w.ordinal, d.contact_id, \(ContactColumns.device("d"))" : "d.device_id")),
      added AS (\(added)),
      event AS (\(event) RETURNING device_id, contact_id, kind, reason),
      told AS (\(DeviceQueries.invalidated)),
      contacts_told AS (\(EventSQL.note(.contactUpdated, of: "changed", contact: "contact_id")))
      """
  }

  /// How many of the apps `$19` there are, and the limit. A foreign key would lock the same row of app and customer anew for every device.
  /// So an app can be removed while somebody registers with it; housekeeping deletes such devices (`PushApps.removeOrphans`).
  private static let app = """
    SELECT (SELECT count(*) FROM push_app WHERE customer_id = $1::bigint AND push_app_id = ANY ($19::bigint[])) AS count,
      (\(devicesPerContact)) AS devices_per_contact
    """

  /// The requests, what is known of their contacts, whether anything of that would change, and what is to be remarked.
  private static func request(returnsContacts: Bool, _ changesLists: Bool) -> String {
    let known = """
      , \(ContactColumns.lowestList("c")) AS known_list_id, c.date_of_birth AS known_date_of_birth,
            c.properties AS known_properties, \(ContactColumns.texts("c")) AS known_texts
      """
    let shown =
      changesLists
      ? "CASE WHEN i.list_id IS NULL THEN c.known_list_id ELSE nullif(i.list_id, 0) END" : "c.known_list_id"
    let listLookUp = """
      LEFT JOIN LATERAL (
          SELECT list_id FROM list WHERE customer_id = $1::bigint AND list_id = i.sent_list_id LIMIT 1
        ) l ON true
      """
    let listNamed = """
      ,
          CASE WHEN l.list_id IS NULL AND i.sent_list_id <> 0 AND i.of_device_key THEN NULL
            ELSE i.sent_list_id END AS list_id,
          l.list_id IS NULL AND i.sent_list_id <> 0 AND NOT i.of_device_key AS lacks_list
      """
    return """
      SELECT i.ordinal, i.original_id, i.date_of_birth, i.wants_contact, i.texts,
        \(changesLists ? "i.list_id, " : "")CASE WHEN \(fits) THEN i.properties END AS properties,
        c.contact_id, c.unchanged\(returnsContacts ? ", \(shown) AS list_shown, c.known_date_of_birth, c.known_properties, c.known_texts" : ""),
        (CASE WHEN app.count < cardinality($19::bigint[]) THEN \(ContactRow.Remark.appUnknown.rawValue)
          WHEN i.valid_devices > app.devices_per_contact THEN -app.devices_per_contact
          \(changesLists ? "WHEN i.lacks_list THEN \(ContactRow.Remark.listUnknown.rawValue)" : "")
          WHEN NOT \(fits) THEN \(ContactRow.Remark.propertiesDropped.rawValue)
          ELSE 0 END)::int2 AS remark
      FROM (
        SELECT i.*, ($7::text[])[(i.ordinal::int4 - 1) * \(fields.count) + 1 : i.ordinal::int4 * \(fields.count)] AS texts
          \(changesLists ? listNamed : "")
        FROM unnest($2::text[], $3::bigint[], $4::date[], $5::json[], $6::bool[], $21::bool[], $22::bigint[])
          WITH ORDINALITY
          AS i(original_id, sent_list_id, date_of_birth, properties, wants_contact, of_device_key, valid_devices, ordinal)
        \(changesLists ? listLookUp : "")
        OFFSET 0
      ) i
      CROSS JOIN app
      LEFT JOIN LATERAL (
        SELECT c.contact_id, \(changesLists ? "\(listUnchanged) AND " : "")\(unchanged) AS unchanged, \(fitsInContact) AS fits\(returnsContacts ? known : "")
        FROM contact c WHERE c.customer_id = $1::bigint AND c.original_id = i.original_id LIMIT 1
      ) c ON true
      """
  }

  /// Whether the contact is on the list that the request names, or on none if it says so: one look into an index.
  private static let listUnchanged = """
    (i.list_id IS NULL OR CASE WHEN i.list_id = 0
        THEN (SELECT true FROM list_member WHERE customer_id = $1::bigint AND contact_id = c.contact_id LIMIT 1) IS NULL
        ELSE (
          SELECT true FROM list_member
          WHERE customer_id = $1::bigint AND list_id = i.list_id AND contact_id = c.contact_id LIMIT 1
        ) IS NOT NULL END)
    """

  /// Most send the properties that are there. To compare them costs less than to call the function that does.
  private static let unchanged = """
    (i.date_of_birth IS NULL OR i.date_of_birth = coalesce(c.date_of_birth, 'infinity'))
      \(fields.map { "AND (\(text($0, of: "i")) IS NULL OR \(text($0, of: "i")) = coalesce(c.\($0.column), ''))" }
        .joined(separator: "\n  "))
      AND (i.properties IS NULL OR i.properties::text = c.properties::text
        OR merged_properties(c.properties, i.properties)::text = c.properties::text OR NOT \(fitsInContact))
    """

  private static func text(_ field: ContactField, of alias: String) -> String {
    "\(alias).texts[\(field.rawValue + 1)]"
  }

  private static let devicesPerContact = "SELECT devices_per_contact FROM customer WHERE customer_id = $1::bigint"

  /// Whether the contact has room for the properties that a device key sends. The constraint `contact_properties_size` refuses those of others.
  private static let fitsInContact = """
    (i.properties IS NULL OR NOT i.of_device_key OR i.properties::text = c.properties::text
      OR octet_length(merged_properties(c.properties, i.properties)::text) <= \(Contact.maximumPropertiesSize))
    """

  /// As `fitsInContact`, and for contacts that are not there yet.
  private static let fits = """
    CASE WHEN c.contact_id IS NOT NULL THEN c.fits
      WHEN i.properties IS NULL OR NOT i.of_device_key THEN true
      ELSE octet_length(i.properties::text) <= \(Contact.maximumPropertiesSize) END
    """

  private static let isTaken = "remark IN (0, \(ContactRow.Remark.propertiesDropped.rawValue))"

  /// The contact of every ordinal: a number of its own for a new one, and NULL for requests that are left out. It is an array, as
  /// looking into that costs the same whatever the planner thinks. It is a step of its own, since Citus sends no statement to a
  /// shard that takes a number as it reads.
  private static func owner(returnsContacts: Bool) -> String {
    """
    SELECT array_agg(CASE WHEN \(isTaken) THEN coalesce(contact_id, nextval('contact_contact_id_seq')) END ORDER BY ordinal)
        AS contact_ids,
      array_agg(contact_id IS NOT NULL ORDER BY ordinal) AS were_known
      \(returnsContacts ? ", array_agg(list_shown ORDER BY ordinal) AS lists_shown" : "")
    FROM request
    """
  }

  /// Merges with the row as it is by then, not as it was looked up: another hub may have changed other fields of it.
  private static let changed = """
    UPDATE contact c SET
      date_of_birth = CASE WHEN isfinite(coalesce(r.date_of_birth, c.date_of_birth))
        THEN coalesce(r.date_of_birth, c.date_of_birth) END,
      properties = CASE WHEN r.properties IS NULL THEN c.properties
        ELSE merged_properties(c.properties, r.properties) END,
      \(fields.map { "\($0.column) = nullif(coalesce(\(text($0, of: "r")), c.\($0.column)), '')" }.joined(separator: ", ")),
      updated_at = now()
    FROM (
      SELECT * FROM request WHERE contact_id IS NOT NULL AND NOT unchanged AND \(isTaken) ORDER BY original_id COLLATE "C"
    ) r
    WHERE c.customer_id = $1::bigint AND c.original_id = r.original_id
    """

  /// Contacts that were not there, once all of `changed` is done: nothing else would keep the two in order. Only a property that is null has to
  /// be left out.
  private static let fresh = """
    INSERT INTO contact (customer_id, contact_id, original_id, date_of_birth, properties, \(columns))
    SELECT $1::bigint, o.contact_ids[r.ordinal], r.original_id, nullif(r.date_of_birth, 'infinity'),
      CASE WHEN r.properties IS NULL THEN '{}' WHEN position(':null' IN r.properties::text) = 0 THEN r.properties
        ELSE merged_properties('{}', r.properties) END, \(fields.map { "nullif(\(text($0, of: "r")), '')" }.joined(separator: ", "))
    FROM request r, owner o
    WHERE r.contact_id IS NULL AND \(isTaken) AND (SELECT count(*) FROM changed) >= 0
    ORDER BY r.original_id COLLATE "C"
    """

  /// The memberships of contacts that were changed or made, on the lists that their requests name.
  private static let joined = """
    INSERT INTO list_member (customer_id, list_id, contact_id)
    SELECT $1::bigint, list_id, contact_id
    FROM (
      SELECT list_id, contact_id FROM changed
      UNION ALL
      SELECT r.list_id, o.contact_ids[r.ordinal] FROM request r, owner o WHERE r.contact_id IS NULL AND \(isTaken)
    ) j
    WHERE list_id > 0
    ON CONFLICT DO NOTHING
    """

  /// Takes contacts off all lists whose requests say so.
  private static let leftAll = """
    DELETE FROM list_member m USING changed c
    WHERE m.customer_id = $1::bigint AND m.contact_id = c.contact_id AND c.list_id = 0
    """

  /// The devices, and what is known of them, each locked as it is looked up, once all contacts are written.
  ///
  /// Most are their contact's already. They are looked for among the contact's devices, whose index pages `other` needs too, and
  /// by their token only if they are not there. Where a request has several devices, all are looked up by token: a
  /// contact may have thousands. `IS TRUE` keeps the planner from the tokens' index.
  private static let lookedUp = """
    SELECT i.*, d.device_id AS known_device_id, d.contact_id AS known_contact_id,
      d.sandbox AS known_sandbox, d.invalidation_type AS known_type, d.invalidation_reason AS known_reason,
      d.invalidated_at AS known_at, d.manufacturer AS known_manufacturer, d.model AS known_model,
      d.os_version AS known_os_version, d.country AS known_country, d.time_zone AS known_time_zone, d.locale AS known_locale
    FROM (
      SELECT i.*, o.contact_ids[i.ordinal] AS contact_id
      FROM owner o, unnest($8::bigint[], $9::bigint[], $10::text[], $11::bytea[], $12::bool[], $13::text[], $14::text[],
          $15::text[], $16::text[], $17::int2[], $18::timestamptz[], $23::text[], $24::text[])
        AS i(ordinal, push_app_id, token, token_key, sandbox, manufacturer, model, os_version, country, type, at, time_zone, locale)
      WHERE o.contact_ids[i.ordinal] IS NOT NULL AND (SELECT count(*) FROM fresh) >= 0
      ORDER BY i.push_app_id, i.token_key
    ) i
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT \(known) FROM device
        WHERE customer_id = $1::bigint
          AND contact_id = CASE WHEN cardinality($8::bigint[]) = cardinality($2::text[]) THEN i.contact_id END
          AND (push_app_id = i.push_app_id AND token_key = i.token_key) IS TRUE
        LIMIT 1 FOR NO KEY UPDATE
      ) of_contact
      UNION ALL
      SELECT * FROM (
        SELECT \(known) FROM device
        WHERE customer_id = $1::bigint AND push_app_id = i.push_app_id AND token_key = i.token_key
        LIMIT 1 FOR NO KEY UPDATE
      ) of_token
      LIMIT 1
    ) d ON true
    """

  private static let known = """
    device_id, contact_id, sandbox, invalidation_type, invalidation_reason, invalidated_at, manufacturer, model, os_version,
      country, time_zone, locale
    """

  /// The devices as they are to be, each numbered, in a step of its own as `owner` is.
  ///
  /// A telephone number that has opted out stays so.
  private static let wanted = """
    SELECT ordinal, push_app_id, contact_id, token, token_key, sandbox, type AS invalidation_type, known_contact_id, known_sandbox, known_type,
      known_device_id, coalesce(known_device_id, nextval('device_device_id_seq')) AS device_id,
      nullif(coalesce(manufacturer, known_manufacturer), '') AS manufacturer,
      nullif(coalesce(model, known_model), '') AS model,
      nullif(coalesce(os_version, known_os_version), '') AS os_version,
      nullif(coalesce(country, known_country), '') AS country,
      nullif(coalesce(time_zone, known_time_zone), '') AS time_zone,
      nullif(coalesce(locale, known_locale), '') AS locale,
      CASE WHEN type <> 0 THEN coalesce(at, known_at, now()) END AS invalidated_at,
      CASE WHEN type = 0 THEN NULL WHEN type = known_type THEN known_reason ELSE 'app' END AS invalidation_reason
    FROM (
      SELECT ordinal, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model, os_version, country, time_zone, locale, at,
        known_contact_id, known_sandbox, known_type, known_device_id, known_manufacturer, known_model, known_os_version,
        known_country, known_time_zone, known_locale, known_at, known_reason,
        CASE WHEN known_type = \(InvalidationType.optedOut.rawValue) THEN known_type ELSE type END AS type
      FROM looked_up
    ) looked_up
    """

  /// By the index of contacts, whose pages are at hand: `IS TRUE` keeps the planner from the primary key. If another statement moved the
  /// device after this one began, this one finds nothing, and leaves it as it is.
  private static let updated = """
    UPDATE device d SET
      contact_id = w.contact_id, token = w.token, sandbox = w.sandbox, manufacturer = w.manufacturer, model = w.model,
      os_version = w.os_version, country = w.country, time_zone = w.time_zone, locale = w.locale, registered_at = now(), invalidation_type = w.invalidation_type,
      invalidated_at = w.invalidated_at, invalidation_reason = w.invalidation_reason
    FROM wanted w
    WHERE w.known_device_id IS NOT NULL AND d.customer_id = $1::bigint AND d.contact_id = w.known_contact_id
      AND (d.device_id = w.known_device_id) IS TRUE
    """

  /// In the order in which `wanted` gives them.
  private static let added = """
    INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model,
      os_version, country, time_zone, locale, registered_at, invalidation_type, invalidated_at, invalidation_reason)
    SELECT $1::bigint, device_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model,
      os_version, country, time_zone, locale, now(), invalidation_type, invalidated_at, invalidation_reason
    FROM wanted WHERE known_device_id IS NULL
    """

  /// What changed, a row for each kind of change; nothing of a device that `updated` has left as it is.
  private static let event = """
    INSERT INTO device_event (customer_id, device_id, contact_id, kind, reason, access_key_id)
    SELECT $1::bigint, device_id, contact_id, kind, CASE WHEN kind = 'invalidated' THEN 'app' END, ($20::bigint[])[ordinal]
    FROM (
      SELECT ordinal, device_id, contact_id, unnest(ARRAY[
        \([
          ("registered", "known_device_id IS NULL"),
          ("moved", "known_contact_id <> contact_id"),
          ("environment", "known_sandbox <> sandbox"),
          ("revived", "known_type <> 0 AND invalidation_type = 0"),
          ("invalidated", "coalesce(known_type, 0) = 0 AND invalidation_type <> 0"),
        ].map { kind, happened in "CASE WHEN \(happened) THEN '\(kind)' END" }.joined(separator: ", "))
      ]) AS kind
      FROM wanted
      WHERE known_device_id IS NULL
        OR (known_contact_id <> contact_id OR known_sandbox <> sandbox OR (known_type = 0) <> (invalidation_type = 0))
          AND known_device_id IN (SELECT device_id FROM updated)
    ) e
    WHERE kind IS NOT NULL
    """

  /// The known contacts that got a further device and may have too many by now, or were erased since they were looked up. Telephone numbers
  /// count here, since it costs less; `retireSurplus` leaves them out.
  ///
  /// This stands for a foreign key, which would look after new contacts too, one by one. Whoever erases a contact locks
  /// its row first and deletes its devices then. So either this waits for that and finds the contact gone, or it is the other way
  /// round and the device goes with the contact. Whom `changed` wrote is locked by that. The lock here passes over them, as over all rows
  /// that the same statement has written.
  private static let overLimit = """
    SELECT w.ordinal, (CASE WHEN c.contact_id IS NULL THEN \(ContactRow.Remark.raced.rawValue)
      ELSE \(ContactRow.Remark.mayHaveTooMany.rawValue) END)::int2, w.contact_id
    FROM wanted w
    CROSS JOIN owner o
    CROSS JOIN app
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT contact_id FROM contact WHERE customer_id = $1::bigint AND contact_id = w.contact_id LIMIT 1 FOR KEY SHARE
      ) held
      UNION ALL
      SELECT w.contact_id WHERE w.contact_id IN (SELECT contact_id FROM changed)
      LIMIT 1
    ) c ON true
    WHERE o.were_known[w.ordinal]
      AND (w.known_device_id IS NULL OR w.known_contact_id <> w.contact_id OR w.known_type <> 0)
      AND (c.contact_id IS NULL OR w.invalidation_type = 0 AND ($22::bigint[])[w.ordinal] + (
        SELECT count(*) FROM device
        WHERE customer_id = $1::bigint AND contact_id = w.contact_id AND invalidated_at IS NULL
      ) > app.devices_per_contact)
    """

  /// The contacts' devices that no request speaks of.
  private static let other = """
    SELECT d.contact_id, \(ContactColumns.device("d"))
    FROM request r
    CROSS JOIN LATERAL (
      SELECT * FROM device
      WHERE customer_id = $1::bigint AND contact_id = r.contact_id AND push_app_id = ANY ($19::bigint[])
      LIMIT \(Device.maximumOfContact)
    ) d
    WHERE r.wants_contact AND \(isTaken)
      AND d.device_id NOT IN (SELECT known_device_id FROM looked_up WHERE known_device_id IS NOT NULL)
    """

  /// What a run fails by when the list was erased, or the contact or a token added, after the run had looked.
  static let racedConstraints: Set<String> = [
    "list_member_list_id_fkey", "contact_original_id_key", "device_token_key",
  ]

  static let all: [Statement] = [
    register, registerOnLists, registerReturning, registerOnListsReturning, retireSurplus,
  ]
}
