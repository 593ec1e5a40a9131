import Postgres

/// Statements on `hybrid_registration` and the tables of PINs. `$1` is the customer, `$2` the registration and `$3` its app, unless a
/// statement says otherwise.
enum PhoneRegistrationQueries {
  static let all: [Statement] = [
    find, ofPhone, list, add, change, issuePIN, tryPIN, called, setDevice, noteSignature, takeRate, waitForRate,
    takeShare, waitForShare, returnShare, remove, forgetUnverified, forgetRates, forgetSignatures, forgetEvents,
  ]

  private static let columns = """
    registration_no, platform, user_agent, number, status, push_token, sandbox, notifications, pin_nonce, pin_tries,
    device_number, device_token, created_at
    """
  private static let one = "customer_id = $1::bigint AND registration_no = $2::bigint AND app_id = $3::text"
  /// The database's clock, apart from the rows that are changed: on Citus it is read once.
  private static let clock = "(SELECT now() AS at OFFSET 0) AS clock"

  static let find = Statement(
    "hybrid_registration.find", .read, "SELECT \(columns) FROM hybrid_registration WHERE \(one)")

  /// The registration that a phone's id of the hash `$2` opens.
  static let ofPhone = Statement(
    "hybrid_registration.of_phone", .read,
    """
    SELECT \(columns) FROM hybrid_registration
    WHERE customer_id = $1::bigint AND device_hash = $2::bytea AND app_id = $3::text
    """)

  /// Registrations of the app `$2` with numbers above `$3`, at most `$4`; only of the telephone number `$5` unless that is NULL.
  static let list = Statement(
    "hybrid_registration.list", .read,
    """
    SELECT registration_no, platform, user_agent, number, status, verified_at, push_token IS NOT NULL, device_token IS NOT NULL,
      token_changed_at, token_changed_from, created_at, changed_at
    FROM hybrid_registration
    WHERE customer_id = $1::bigint AND app_id = $2::text AND registration_no > coalesce($3::bigint, 0)
      AND ($5::text IS NULL OR number = $5::text)
    ORDER BY registration_no
    LIMIT $4::bigint
    """)

  /// `$2` is the hash of the phone's id.
  static let add = Statement(
    "hybrid_registration.add", .write,
    """
    INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, push_token, sandbox, notifications)
    VALUES ($1::bigint, $2::bytea, $3::text, $4::text, $5::text, $6::text, $7::bool, $8::bool)
    RETURNING \(columns)
    """)

  /// NULL leaves a column as it is. `$8` is the client's address.
  static let change = Statement(
    "hybrid_registration.change", .write,
    """
    UPDATE hybrid_registration
    SET push_token = coalesce($4::text, push_token), sandbox = coalesce($5::bool, sandbox),
      notifications = coalesce($6::bool, notifications), user_agent = $7::text,
      token_changed_at = CASE WHEN push_token <> $4::text THEN clock.at ELSE token_changed_at END,
      token_changed_from = CASE WHEN push_token <> $4::text THEN $8::text ELSE token_changed_from END,
      changed_at = clock.at
    FROM \(clock)
    WHERE \(one)
    RETURNING \(columns)
    """)

  /// Starts the verification of the number `$4` over. Locks the registration.
  static let issuePIN = Statement(
    "hybrid_registration.issue_pin", .write,
    """
    WITH issued AS (
      UPDATE hybrid_registration
      SET number = $4::text, status = 'WaitingForPin', verified_at = NULL, pin_nonce = $5::bytea, pin_hash = $6::bytea,
        pin_expires_at = now() + make_interval(secs => $7::int4), pin_tries = 0,
        changed_at = now()
      WHERE \(one)
      RETURNING \(columns)
    ),
    event AS (
      INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_no, kind)
      SELECT $1::bigint, number, $3::text, registration_no, 'sent' FROM issued
    )
    SELECT \(columns) FROM issued
    """)

  /// Compares the hash `$4` with that of the PIN, if fewer than `$5` codes were tried for it. A try counts before its result is known.
  static let tryPIN = Statement(
    "hybrid_registration.try_pin", .write,
    """
    WITH tried AS (
      UPDATE hybrid_registration
      SET pin_tries = pin_tries + 1,
        status = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN 'PinVerified'
                      ELSE 'LastPinVerificationFailed' END,
        verified_at = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN clock.at END,
        pin_nonce = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN NULL ELSE pin_nonce END,
        pin_hash = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN NULL ELSE pin_hash END
      FROM \(clock)
      WHERE \(one) AND pin_hash IS NOT NULL AND pin_tries < $5::int2
      RETURNING \(columns)
    ),
    event AS (
      INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_no, kind)
      SELECT $1::bigint, number, $3::text, registration_no, CASE WHEN status = 'PinVerified' THEN 'verified' ELSE 'failed' END
      FROM tried
    )
    SELECT \(columns) FROM tried
    """)

  /// Notes a call, if the PIN of the nonce `$4` is still good. Locks the registration.
  static let called = Statement(
    "hybrid_registration.called", .write,
    """
    WITH called AS (
      UPDATE hybrid_registration SET pin_nonce = pin_nonce
      WHERE \(one) AND pin_nonce = $4::bytea AND pin_expires_at > now()
      RETURNING registration_no, number
    )
    INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_no, kind)
    SELECT $1::bigint, number, $3::text, registration_no, 'called' FROM called
    RETURNING event_no
    """)

  /// Only of a registration that still is as `$6` to `$12` say, since the device follows from that.
  static let setDevice = Statement(
    "hybrid_registration.set_device", .write,
    """
    UPDATE hybrid_registration SET device_number = $4::text, device_token = $5::text
    WHERE \(one) AND number IS NOT DISTINCT FROM $6::text AND status = $7::text AND push_token IS NOT DISTINCT FROM $8::text
      AND sandbox = $9::bool AND notifications = $10::bool
      AND device_number IS NOT DISTINCT FROM $11::text AND device_token IS NOT DISTINCT FROM $12::text
    RETURNING \(columns)
    """)

  /// Gives the hash of the body that the signature `$3` came with first. Gives nothing, and notes nothing, if a thousand others of the
  /// registration are kept: a phone may change itself as often as it likes, but not fill a table.
  static let noteSignature = Statement(
    "hybrid_registration.note_signature", .write,
    """
    INSERT INTO hybrid_signature AS s (customer_id, registration_no, signature, body_hash)
    SELECT $1::bigint, $2::bigint, $3::bytea, $4::bytea
    WHERE (SELECT count(*) FROM (SELECT FROM hybrid_signature
                                  WHERE customer_id = $1::bigint AND registration_no = $2::bigint
                                    AND signature <> $3::bytea
                                  LIMIT 1000) AS kept) < 1000
    ON CONFLICT (customer_id, registration_no, signature) DO UPDATE SET body_hash = s.body_hash
    RETURNING body_hash
    """)

  /// Notes that the subject `$2` gets a PIN now, unless it got `$3` in the last hour or `$4` in the last day. Locks its row.
  static let takeRate = Statement(
    "hybrid_registration.take_rate", .write,
    """
    INSERT INTO hybrid_rate AS r (customer_id, subject, sent_at)
    VALUES ($1::bigint, $2::text, ARRAY[now()])
    ON CONFLICT (customer_id, subject) DO UPDATE SET sent_at = (array_cat(excluded.sent_at, r.sent_at))[1:20]
      WHERE (r.sent_at[$3::int4] IS NULL OR excluded.sent_at[1] - r.sent_at[$3::int4] >= interval '1 hour')
        AND (r.sent_at[$4::int4] IS NULL OR excluded.sent_at[1] - r.sent_at[$4::int4] >= interval '1 day')
    RETURNING 1
    """)

  /// Seconds until the subject `$2` may get a PIN again, by the same limits.
  static let waitForRate = Statement(
    "hybrid_registration.wait_for_rate", .read,
    """
    SELECT ceil(extract(epoch FROM greatest(sent_at[$3::int4] + interval '1 hour', sent_at[$4::int4] + interval '1 day') - now()))::int8
    FROM hybrid_rate WHERE customer_id = $1::bigint AND subject = $2::text
    """)

  /// Spends one of the subject `$2`, of which there are `$3` in `$4` seconds, unless nothing is left. Locks its row.
  ///
  /// A moment is allowed beyond, since parts of a time are rounded.
  static let takeShare = Statement(
    "hybrid_registration.take_share", .write,
    """
    INSERT INTO hybrid_rate AS r (customer_id, subject, sent_at, spent)
    VALUES ($1::bigint, $2::text, ARRAY[now()], make_interval(secs => $4::int4) / $3::int4)
    ON CONFLICT (customer_id, subject) DO UPDATE
      SET sent_at = excluded.sent_at,
          spent = greatest(r.spent - (excluded.sent_at[1] - r.sent_at[1]), interval '0') + excluded.spent
      WHERE greatest(r.spent - (excluded.sent_at[1] - r.sent_at[1]), interval '0') + excluded.spent
        <= make_interval(secs => $4::int4) + least(excluded.spent / 2, interval '1 second')
    RETURNING 1
    """)

  /// Seconds until there is one again, by the same limit.
  static let waitForShare = Statement(
    "hybrid_registration.wait_for_share", .read,
    """
    SELECT ceil(extract(epoch FROM spent - (now() - sent_at[1]) + make_interval(secs => $4::int4) / $3::int4
      - make_interval(secs => $4::int4)))::int8
    FROM hybrid_rate WHERE customer_id = $1::bigint AND subject = $2::text
    """)

  /// Gives back what `takeShare` has spent.
  static let returnShare = Statement(
    "hybrid_registration.return_share", .write,
    """
    UPDATE hybrid_rate SET spent = spent - make_interval(secs => $4::int4) / $3::int4
    WHERE customer_id = $1::bigint AND subject = $2::text
    """)

  static let remove = Statement(
    "hybrid_registration.remove", .write, "DELETE FROM hybrid_registration WHERE \(one)")

  /// Deletes registrations with neither a verified number nor a token that did not change for 30 days.
  static let forgetUnverified = Statement(
    "hybrid_registration.forget_unverified", .write,
    Portions.delete(
      from: "hybrid_registration", by: "changed_at", before: "now() - interval '30 days'",
      "AND status <> 'PinVerified' AND device_token IS NULL"))

  static let forgetRates = Statement(
    "hybrid_registration.forget_rates", .write,
    Portions.delete(from: "hybrid_rate", by: "sent_at[1]", before: "now() - interval '1 day'"))

  static let forgetSignatures = Statement(
    "hybrid_registration.forget_signatures", .write,
    Portions.delete(from: "hybrid_signature", by: "at", before: "now() - interval '1 day'"))

  /// Deletes events of registrations that are older than `$2` days.
  static let forgetEvents = Statement(
    "hybrid_registration.forget_events", .write,
    Portions.delete(from: "hybrid_pin_event", by: "at", before: "now() - make_interval(days => $2::int4)", limit: "$3"))
}
