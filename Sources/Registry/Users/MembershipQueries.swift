import Postgres

/// Statements on `membership`, a reference table. `$1` is the customer. Columns have the names of the reply's fields.
enum MembershipQueries {
  private static let select = """
    SELECT user_id, email, name, role, sees_personal, disabled_at IS NOT NULL AS disabled,
      password_hash IS NOT NULL AS has_password, totp_secret IS NOT NULL AS totp, oidc_subject IS NOT NULL AS single_sign_on,
      membership.created_at, last_sign_in_at,
      (SELECT made.created_at + interval '24 hours' FROM password_link AS made
       WHERE made.user_id = membership.user_id AND made.created_at > now() - interval '24 hours') AS link_expires_at
    FROM membership JOIN console_user USING (user_id)
    """

  /// By number, from behind `$2`.
  static let list = Statement(
    "membership.list", .read,
    "\(select) WHERE customer_id = $1::bigint AND user_id > $2::bigint ORDER BY user_id LIMIT $3::bigint")

  static let find = Statement(
    "membership.find", .read, "\(select) WHERE customer_id = $1::bigint AND user_id = $2::bigint")

  /// Locks the user as well.
  static let lock = Statement(
    "membership.lock", .write,
    "\(select) WHERE customer_id = $1::bigint AND user_id = $2::bigint FOR NO KEY UPDATE")

  /// No row if the user is the customer's already.
  static let add = Statement(
    "membership.add", .write,
    """
    INSERT INTO membership (customer_id, user_id, role, sees_personal)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::bool)
    ON CONFLICT (customer_id, user_id) DO NOTHING
    RETURNING 1
    """)

  /// Who is disabled already keeps the moment.
  static let change = Statement(
    "membership.change", .write,
    """
    UPDATE membership SET role = $3::text, sees_personal = $4::bool,
      disabled_at = CASE WHEN $5::bool THEN coalesce(disabled_at, now()) END
    WHERE customer_id = $1::bigint AND user_id = $2::bigint
    """)

  /// Locks what the OpenID provider's claim can change of the user `$1`, and what it leaves alone.
  static let lockAll = Statement(
    "membership.lock_all", .write,
    """
    SELECT customer_id, role, by_claim, disabled_at IS NOT NULL FROM membership WHERE user_id = $1::bigint
    ORDER BY customer_id FOR NO KEY UPDATE
    """)

  /// By a claim of the OpenID provider. No row if there is no such customer, or the user is its already.
  static let addByClaim = Statement(
    "membership.add_by_claim", .write,
    """
    INSERT INTO membership (customer_id, user_id, role, sees_personal, by_claim)
    SELECT customer_id, $2::bigint, $3::text, $4::bool, true FROM customer WHERE customer_id = $1::bigint
    ON CONFLICT (customer_id, user_id) DO NOTHING
    RETURNING 1
    """)

  static let setRole = Statement(
    "membership.set_role", .write,
    """
    UPDATE membership SET role = $3::text, sees_personal = $4::bool
    WHERE customer_id = $1::bigint AND user_id = $2::bigint
    """)

  static let remove = Statement(
    "membership.remove", .write, "DELETE FROM membership WHERE customer_id = $1::bigint AND user_id = $2::bigint")

  /// Whether the user belongs to another customer, too.
  static let isShared = Statement(
    "membership.is_shared", .read,
    "SELECT EXISTS (SELECT FROM membership WHERE customer_id <> $1::bigint AND user_id = $2::bigint)")

  /// Locks the user's membership until the transaction ends, if it has one of the roles `$3`.
  static let holdRole = Statement(
    "membership.hold_role", .write,
    """
    SELECT 1 FROM membership
    WHERE customer_id = $1::bigint AND user_id = $2::bigint AND role = ANY ($3::text[]) AND disabled_at IS NULL
    FOR SHARE
    """)

  static let all: [Statement] = [
    list, find, lock, add, change, lockAll, addByClaim, setRole, remove, isShared, holdRole,
  ]
}
