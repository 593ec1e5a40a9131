import FoundationEssentials
import Postgres
import Wire

/// Statements on `push_app` and `push_credential`.
enum PushAppQueries {
  /// The app's own columns, then its credentials as five arrays of one order. `$1` is the customer.
  private static let columns = """
    app.push_app_id, app.customer_id, app.app_id, app.app_type, app.kind, app.name, app.team_id, app.key_id,
    app.contact, app.identity_required, app.device_fields, app.alarm, app.alarm_at, app.sandbox_alarm,
    app.sandbox_alarm_at, app.checks, app.checked_at, app.created_at, app.updated_at,
    \(credentials("kind")), \(credentials("fingerprint")), \(credentials("account")), \(credentials("not_after")),
    \(credentials("updated_at"))
    """

  private static func credentials(_ column: String) -> String {
    """
    ARRAY(
      SELECT \(column) FROM push_credential AS credential
      WHERE credential.customer_id = $1::bigint AND credential.push_app_id = app.push_app_id ORDER BY kind)
    """
  }

  /// An app's number is needed before its row, because its credentials are sealed for it.
  static let number = Statement(
    "push_app.number", .write, "SELECT nextval(pg_get_serial_sequence('push_app', 'push_app_id'))")

  /// Credentials as parallel arrays from `$n` on: kinds, sealed bytes, their master keys, fingerprints, accounts and ends.
  private static func credentials(from n: Int) -> String {
    """
    unnest($\(n)::text[], $\(n + 1)::bytea[], $\(n + 2)::text[], $\(n + 3)::text[], $\(n + 4)::text[],
        $\(n + 5)::timestamptz[]) AS new (kind, sealed, master_key_id, fingerprint, account, not_after)
    """
  }

  /// Inserts the app and its credentials from `$12` on, together.
  static let add = Statement(
    "push_app.add", .write,
    """
    WITH app AS (
      INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name, team_id, key_id, identity_required,
        device_fields, contact, kind)
      VALUES ($1::bigint, $2::bigint, $3::text, $4::int2, $5::text, $6::text, $7::text, $8::bool,
        nullif($9::text[], '{all}'), $10::text, $11::text)
    )
    INSERT INTO push_credential (customer_id, push_app_id, kind, sealed, master_key_id, fingerprint, account, not_after)
    SELECT $1::bigint, $2::bigint, new.kind, new.sealed, new.master_key_id, new.fingerprint, new.account, new.not_after
    FROM \(credentials(from: 12))
    """)

  /// The next `updated_at`, which always grows. It takes the way by UTC because a sum of `timestamptz` is not immutable.
  private static let laterMoment =
    "greatest(now(), (updated_at AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC')"

  /// New credentials in `$4`, `$5` or `$9` end an alarm and what the push service said, which may have been about the old ones.
  private static let keptAlarms = [
    "alarm", "alarm_at", "sandbox_alarm", "sandbox_alarm_at", "checks", "checked_at",
  ].map { column in
    "\(column) = CASE WHEN $4::text IS NULL AND $5::text IS NULL AND cardinality($9::text[]) = 0 THEN \(column) END"
  }.joined(separator: ", ")

  /// Changes the app, and stores its credentials from `$9` on over those of their kinds. Locks the rows of both.
  static let update = Statement(
    "push_app.update", .write,
    """
    WITH app AS (
      UPDATE push_app SET
        name = coalesce($3::text, name),
        team_id = coalesce($4::text, team_id),
        key_id = coalesce($5::text, key_id),
        identity_required = coalesce($6::bool, identity_required),
        device_fields = nullif(coalesce($7::text[], device_fields), '{all}'),
        contact = coalesce($8::text, contact),
        \(keptAlarms), updated_at = \(laterMoment)
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
      RETURNING customer_id, push_app_id
    )
    INSERT INTO push_credential (customer_id, push_app_id, kind, sealed, master_key_id, fingerprint, account, not_after,
      updated_at)
    SELECT $1::bigint, $2::bigint, new.kind, new.sealed, new.master_key_id, new.fingerprint, new.account, new.not_after,
      now()
    FROM app CROSS JOIN \(credentials(from: 9))
    ON CONFLICT (customer_id, push_app_id, kind) DO UPDATE SET
      sealed = excluded.sealed, master_key_id = excluded.master_key_id, fingerprint = excluded.fingerprint,
      account = excluded.account, not_after = excluded.not_after, updated_at = excluded.updated_at
    """)

  /// Saves one credential over the one of its kind, and changes the app's `updated_at`, which caches go by.
  static let storeCredential = Statement(
    "push_app.store_credential", .write,
    """
    WITH app AS (
      UPDATE push_app SET updated_at = \(laterMoment)
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
      RETURNING customer_id
    )
    INSERT INTO push_credential (customer_id, push_app_id, kind, sealed, master_key_id, fingerprint, updated_at)
    SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, $5::text, $6::text, now() FROM app
    ON CONFLICT (customer_id, push_app_id, kind) DO UPDATE SET
      sealed = excluded.sealed, master_key_id = excluded.master_key_id, fingerprint = excluded.fingerprint,
      updated_at = excluded.updated_at
    """)

  /// Of the apps `$2`, the current ones, and for 30 days after a rotation those before them.
  static let identitySecrets = Statement(
    "push_app.identity_secrets", .read,
    """
    SELECT push_app_id, kind, sealed, master_key_id FROM push_credential
    WHERE customer_id = $1::bigint AND push_app_id = ANY ($2::bigint[])
      AND (kind = 'identity_secret'
        OR kind = 'previous_identity_secret' AND updated_at > now() - interval '30 days')
    """)

  /// Together with the app's `updated_at`, which caches go by.
  static let deletePreviousIdentity = Statement(
    "push_app.delete_previous_identity", .write,
    """
    WITH app AS (
      UPDATE push_app SET updated_at = \(laterMoment)
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
    )
    DELETE FROM push_credential
    WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND kind = 'previous_identity_secret'
    """)

  static let list = Statement(
    "push_app.list", .read,
    "SELECT \(columns) FROM push_app AS app WHERE app.customer_id = $1::bigint ORDER BY app.push_app_id")

  static let find = Statement(
    "push_app.find", .read,
    "SELECT \(columns) FROM push_app AS app WHERE app.customer_id = $1::bigint AND app.push_app_id = $2::bigint")

  static let lock = Statement(
    "push_app.lock", .write,
    """
    SELECT 1 FROM push_app WHERE customer_id = $1::bigint AND push_app_id = $2::bigint FOR NO KEY UPDATE
    """)

  static let resolve = Statement(
    "push_app.resolve", .read,
    """
    SELECT \(columns) FROM push_app AS app
    WHERE app.customer_id = $1::bigint AND app.app_id = $2::text ORDER BY app.app_type
    """)

  /// What authenticates the app to its push service: all that is stored but identity secrets.
  static let sending = Statement(
    "push_app.sending", .read,
    """
    SELECT app.team_id, app.key_id, app.contact, credential.kind, credential.sealed, credential.master_key_id
    FROM push_app AS app JOIN push_credential AS credential
      ON credential.customer_id = app.customer_id AND credential.push_app_id = app.push_app_id
    WHERE app.customer_id = $1::bigint AND app.push_app_id = $2::bigint
      AND credential.customer_id = $1::bigint AND credential.kind NOT IN ('identity_secret', 'previous_identity_secret')
    """)

  /// Locks the app's row. An alarm raised before keeps its moment.
  static let raiseAlarm = raise("push_app.raise_alarm", "alarm")
  /// Raises the alarm of the sandbox, which production's does not touch.
  static let raiseSandboxAlarm = raise("push_app.raise_sandbox_alarm", "sandbox_alarm")
  static let clearAlarm = clear("push_app.clear_alarm", "alarm")
  static let clearSandboxAlarm = clear("push_app.clear_sandbox_alarm", "sandbox_alarm")

  private static func raise(_ name: String, _ alarm: String) -> Statement {
    Statement(
      name, .write,
      """
      WITH first AS MATERIALIZED (
        SELECT push_app_id FROM push_app
        WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND \(alarm) IS NULL
      ),
      told AS (\(EventSQL.note(.appRefused, of: "first", subject: "push_app_id", reason: "$3::text")))
      UPDATE push_app SET \(alarm) = $3::text, \(alarm)_at = least(\(alarm)_at, now())
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
      """)
  }

  private static func clear(_ name: String, _ alarm: String) -> Statement {
    Statement(
      name, .write,
      """
      UPDATE push_app SET \(alarm) = NULL, \(alarm)_at = NULL
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND \(alarm) IS NOT NULL
      """)
  }

  /// Keeps what the push service said, `$3`, of the credentials that the app has since `$4`.
  static let noteChecks = Statement(
    "push_app.note_checks", .write,
    """
    UPDATE push_app SET checks = $3::json, checked_at = now()
    WHERE customer_id = $1::bigint AND push_app_id = $2::bigint
      AND date_bin('1 ms', updated_at, '2000-01-01 UTC') <= $4::timestamptz
    """)

  /// Locks the app against everybody, for its removal.
  static let lockWhole = Statement(
    "push_app.lock_whole", .write,
    "SELECT 1 FROM push_app WHERE customer_id = $1::bigint AND push_app_id = $2::bigint FOR UPDATE")

  /// Credentials go with their app.
  static let remove = Statement(
    "push_app.remove", .write, "DELETE FROM push_app WHERE customer_id = $1::bigint AND push_app_id = $2::bigint")

  static let all: [Statement] = [
    number, add, update, storeCredential, identitySecrets, deletePreviousIdentity, list, find, lock, resolve, sending,
    raiseAlarm, raiseSandboxAlarm, clearAlarm, clearSandboxAlarm, noteChecks, lockWhole, remove,
  ]
}

extension PushApp {
  init(_ row: Row) throws {
    let (
      id, customer, appID, type, kind, name, teamID, keyID, contact, identityRequired, deviceFields, alarm, alarmAt,
      sandboxAlarm, sandboxAlarmAt, checks, checkedAt, createdAt,
      updatedAt, kinds, prints, accounts, ends, dates
    ) =
      try row.decode(
        Int64.self, Int64.self, String.self, Int16.self, String.self, String.self, String?.self, String?.self,
        String?.self,
        Bool.self,
        [String]?.self, String?.self, Date?.self, String?.self, Date?.self, JSONDocument?.self, Date?.self, Date.self,
        Date.self, [String].self,
        [String].self, [String?].self,
        [Date?].self, [Date].self)
    guard let type = AppType(rawValue: type) else {
      throw PostgresError.decoding(statement: "push_app", column: "app_type", .format("no platform: \(type)"))
    }
    self.init(
      id: PushAppID(id), customer: CustomerID(customer), appID: appID, type: type,
      kind: PushAppKind(rawValue: kind) ?? .app, name: name, teamID: teamID,
      keyID: keyID, contact: contact, identityRequired: identityRequired,
      deviceFields: deviceFields.map { DeviceKeyFields(stored: $0) },
      credentials: kinds.indices.compactMap { index in
        PushCredential.Kind(rawValue: kinds[index]).map {
          PushCredential(
            kind: $0, fingerprint: prints[index], account: accounts[index], notAfter: ends[index],
            updatedAt: dates[index])
        }
      },
      raisedAlarm: alarm.flatMap { reason in alarmAt.map { Alarm(reason: reason, since: $0) } },
      raisedSandboxAlarm: sandboxAlarm.flatMap { reason in sandboxAlarmAt.map { Alarm(reason: reason, since: $0) } },
      lastCheck: try checks.flatMap { checks in
        try checkedAt.map { at in
          .init(
            at: Timestamp(at), checks: try JSONCoding.decode([PushAppCheckReply.Check].self, from: checks.text.utf8))
        }
      },
      createdAt: createdAt, updatedAt: updatedAt)
  }
}
