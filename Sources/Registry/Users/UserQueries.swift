import Postgres

/// Statements on `console_user` and `password_link`, reference tables: they need no customer_id to be routed by.
enum UserQueries {
  /// Adds a user with the e-mail address `$1`; no row if there is one.
  static let add = Statement(
    "console_user.add", .write,
    """
    INSERT INTO console_user (email, name) VALUES ($1::text, $2::text)
    ON CONFLICT ((lower(email COLLATE "C"))) DO NOTHING
    RETURNING user_id
    """)

  /// Locks the user of an e-mail address.
  static let lockByEmail = Statement(
    "console_user.lock_by_email", .write,
    """
    SELECT user_id, password_hash IS NOT NULL, vouched, oidc_issuer, oidc_subject FROM console_user
    WHERE lower(email COLLATE "C") = lower($1::text COLLATE "C") FOR NO KEY UPDATE
    """)

  /// The user whom the OpenID provider `$1` calls `$2`.
  static let findBySubject = Statement(
    "console_user.find_by_subject", .read,
    "SELECT user_id FROM console_user WHERE oidc_issuer = $1::text AND oidc_subject = $2::text")

  /// From now on the user `$1` signs in by the OpenID provider `$2`, which calls them `$3`. Their link sets no password any more.
  static let setSubject = Statement(
    "console_user.set_subject", .write,
    """
    WITH person AS (
      UPDATE console_user SET oidc_issuer = $2::text, oidc_subject = $3::text WHERE user_id = $1::bigint RETURNING user_id
    )
    DELETE FROM password_link USING person WHERE password_link.user_id = person.user_id
    """)

  static let rename = Statement(
    "console_user.rename", .write, "UPDATE console_user SET name = $2::text WHERE user_id = $1::bigint")

  /// For a sign-in.
  static let find = Statement(
    "console_user.find", .read,
    """
    SELECT user_id, password_hash FROM console_user WHERE lower(email COLLATE "C") = lower($1::text COLLATE "C")
    """)

  /// What the user `$1` signs in with.
  static let factors = Statement(
    "console_user.factors", .read,
    """
    SELECT password_hash, totp_secret, totp_last_step, cardinality(recovery_hashes)
    FROM console_user WHERE user_id = $1::bigint
    """)

  /// With any change of what a user signs in with: their sessions end, also those that begin meanwhile, which the statement cannot see.
  private static let ending = "credential_no = credential_no + 1"

  /// Changes what the user `$1` signs in with. Every session of theirs ends but `$2`, whose token becomes `$3`: a copy of the one that it had
  /// opens nothing any more. So does a link that sets their password.
  private static func renewing(_ name: String, _ change: String) -> Statement {
    Statement(
      name, .write,
      """
      WITH person AS (
        UPDATE console_user SET \(change), \(ending) WHERE user_id = $1::bigint RETURNING user_id, credential_no
      ), ended AS (
        DELETE FROM console_session USING person
        WHERE console_session.user_id = person.user_id AND session_id IS DISTINCT FROM $2::bigint
      ), unlinked AS (
        DELETE FROM password_link USING person WHERE password_link.user_id = person.user_id
      )
      UPDATE console_session SET token_hash = $3::bytea, credential_no = person.credential_no FROM person
      WHERE console_session.user_id = person.user_id AND session_id = $2::bigint
      """)
  }

  static let setPassword = renewing("console_user.set_password", "password_hash = $4::text")

  /// Turns the authenticator app on, whose code of the step `$5` was right.
  static let turnOnTOTP = renewing(
    "console_user.turn_on_totp",
    "totp_secret = $4::bytea, totp_last_step = $5::bigint, recovery_hashes = $6::bytea[]")

  static let turnOffTOTP = renewing("console_user.turn_off_totp", "totp_secret = NULL, recovery_hashes = '{}'")

  /// Takes everything from the user `$1` that they sign in with, and ends their sessions.
  static let reset = Statement(
    "console_user.reset", .write,
    """
    WITH person AS (
      UPDATE console_user
      SET password_hash = NULL, vouched = false, totp_secret = NULL, recovery_hashes = '{}', oidc_issuer = NULL,
        oidc_subject = NULL, \(ending)
      WHERE user_id = $1::bigint RETURNING user_id
    )
    DELETE FROM console_session USING person WHERE console_session.user_id = person.user_id
    """)

  /// Takes the code of the step `$2`; no row if it, or a later one, was taken before.
  static let takeStep = Statement(
    "console_user.take_step", .write,
    """
    UPDATE console_user SET totp_last_step = $2::bigint WHERE user_id = $1::bigint AND totp_last_step < $2::bigint
    RETURNING 1
    """)

  /// Takes a recovery code; no row if there is none of this hash any more.
  static let takeRecoveryCode = Statement(
    "console_user.take_recovery_code", .write,
    """
    UPDATE console_user SET recovery_hashes = array_remove(recovery_hashes, $2::bytea)
    WHERE user_id = $1::bigint AND $2::bytea = ANY (recovery_hashes)
    RETURNING 1
    """)

  static let noteSignIn = Statement(
    "console_user.note_sign_in", .write, "UPDATE console_user SET last_sign_in_at = now() WHERE user_id = $1::bigint")

  /// Makes the link of the user `$1`, in place of the one before. `$3` tells whether the hub's operator makes it.
  static let addLink = Statement(
    "password_link.add", .write,
    """
    INSERT INTO password_link (user_id, token_hash, vouched) VALUES ($1::bigint, $2::bytea, $3::bool)
    ON CONFLICT (user_id) DO UPDATE
    SET token_hash = excluded.token_hash, vouched = excluded.vouched, created_at = excluded.created_at
    """)

  private static let isLinkValid = "token_hash = $1::bytea AND password_link.created_at > now() - interval '24 hours'"

  static let findLink = Statement(
    "password_link.find", .read,
    """
    SELECT user_id, email, name FROM password_link JOIN console_user USING (user_id) WHERE \(isLinkValid)
    """)

  /// Uses a link up: sets the password `$2`, and ends every session of its user. No row if it was used meanwhile.
  static let useLink = Statement(
    "password_link.use", .write,
    """
    WITH used AS (
      DELETE FROM password_link WHERE \(isLinkValid) RETURNING user_id, vouched
    ), ended AS (
      DELETE FROM console_session USING used WHERE console_session.user_id = used.user_id
    )
    UPDATE console_user SET password_hash = $2::text, vouched = used.vouched, \(ending)
    FROM used WHERE console_user.user_id = used.user_id RETURNING 1
    """)

  static let forgetLinks = Statement(
    "password_link.forget", .write,
    """
    DELETE FROM password_link WHERE user_id IN
      (SELECT user_id FROM password_link WHERE created_at <= now() - interval '24 hours' LIMIT $1::bigint)
    """)

  static let all: [Statement] = [
    add, lockByEmail, findBySubject, setSubject, rename, find, factors, setPassword, reset, turnOnTOTP, turnOffTOTP,
    takeStep, takeRecoveryCode, noteSignIn, addLink, findLink, useLink, forgetLinks,
  ]
}
