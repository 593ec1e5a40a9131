import Postgres

/// Statements on `datasync_subscription` that requests need. `$1` is the customer, `$2` the app.
enum SubscriptionQueries {
  static let all: [Statement] = [add, list, seal, remove, notify]

  private static let columns =
    "subscription_id, path, event, added, changed, removed, service, target, sealed_key IS NOT NULL, expires_at"

  private static let hasEnded =
    "(datasync_subscription.revoked IS NOT NULL OR datasync_subscription.expires_at <= excluded.created_at)"
  private static let isIdle = "(datasync_subscription.pending IS NULL AND datasync_subscription.sending IS NULL)"

  /// The same subscription again gets the new settings, and what was pending stays. One that had ended begins anew: no notification of its
  /// end is left, and a hub that sends one settles nothing.
  static let add = Statement(
    "subscription.add", .write,
    """
    INSERT INTO datasync_subscription
      (customer_id, app_id, path_key, path, event, added, changed, removed, service, target, target_key, expires_at, due_at)
    SELECT $1::bigint, $2::text, $3::bytea, $4::text, $5::text, $6::bool, $7::bool, $8::bool, $9::text, $10::text, $11::bytea,
           expiry, expiry
      FROM (SELECT coalesce(now() + make_interval(secs => $12::float8), 'infinity') AS expiry OFFSET 0) AS moment
    ON CONFLICT (customer_id, app_id, path_key, target_key, event) DO UPDATE
      SET added = excluded.added, changed = excluded.changed, removed = excluded.removed, expires_at = excluded.expires_at,
          created_at = excluded.created_at, revoked = NULL, sealed_key = NULL, master_key_id = NULL,
          pending = CASE WHEN \(hasEnded) THEN NULL ELSE datasync_subscription.pending END,
          sending = CASE WHEN \(hasEnded) THEN NULL ELSE datasync_subscription.sending END,
          hub_id = CASE WHEN \(hasEnded) THEN NULL ELSE datasync_subscription.hub_id END,
          lease_until = CASE WHEN \(hasEnded) THEN NULL ELSE datasync_subscription.lease_until END,
          attempts = CASE WHEN \(hasEnded) OR \(isIdle) THEN 0 ELSE datasync_subscription.attempts END,
          first_failed_at = CASE WHEN \(hasEnded) OR \(isIdle) THEN NULL ELSE datasync_subscription.first_failed_at END,
          due_at = CASE WHEN \(hasEnded) OR \(isIdle) THEN excluded.due_at ELSE datasync_subscription.due_at END
    RETURNING \(columns)
    """)

  static let list = Statement(
    "subscription.list", .read,
    """
    SELECT \(columns) FROM datasync_subscription
     WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id > $3::bigint
       AND revoked IS NULL AND expires_at > now()
     ORDER BY subscription_id LIMIT $4::bigint
    """)

  /// Stores the sealed key `$4` of subscription `$3`.
  static let seal = Statement(
    "subscription.seal", .write,
    """
    UPDATE datasync_subscription SET sealed_key = $4::bytea, master_key_id = $5::text
     WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id = $3::bigint
    RETURNING \(columns)
    """)

  static let remove = Statement(
    "subscription.remove", .write,
    """
    DELETE FROM datasync_subscription
     WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id = $3::bigint AND revoked IS NULL
    RETURNING \(columns)
    """)

  /// Tells hubs that notifications are due.
  static let notify = Statement("subscription.notify", .write, "SELECT pg_notify($1::text, $2::text)")
}
