import Postgres

/// Statements on `data_tree_subscription` that requests need. `$1` is the customer, `$2` the app.
///
/// Statements that change something run after `data_tree.share_key` in a transaction. A transaction that locks subscriptions and what is due of
/// them locks the subscriptions first, and both in the order of their numbers.
enum SubscriptionQueries {
  static let all: [Statement] = [hold, renew, add, list, seal, remove]

  private static let columns =
    "subscription_id, path, event, added, changed, removed, service, target, sealed_key IS NOT NULL, expires_at"

  /// Locks the subscription with the key `$3`, `$4`, `$5`, if there is one. So the next statement sees whether it has ended, and nobody ends
  /// it any more for what was before: that it is made again comes later.
  static let hold = Statement(
    "subscription.hold", .write,
    """
    SELECT 1 FROM data_tree_subscription AS s
     WHERE s.customer_id = $1::bigint AND s.app_id = $2::text AND s.path_key = $3::bytea AND s.target_key = $4::bytea
       AND s.event = $5::text
       FOR UPDATE
    """)

  /// Prepares what is due of the subscription with the key `$3`, `$4`, `$5` for new settings. What is pending stays, unless it has ended:
  /// no notification of its end is left then, and a hub that sends one settles nothing.
  static let renew = Statement(
    "subscription.renew", .write,
    """
    WITH held AS MATERIALIZED (
      SELECT d.subscription_id,
             d.revoked IS NOT NULL OR s.expires_at <= now() OR d.pending IS NULL AND d.sending IS NULL AS is_over
        FROM data_tree_subscription AS s
        JOIN data_tree_due AS d ON d.customer_id = $1::bigint AND d.subscription_id = s.subscription_id
       WHERE s.customer_id = $1::bigint AND s.app_id = $2::text AND s.path_key = $3::bytea AND s.target_key = $4::bytea
         AND s.event = $5::text
         FOR UPDATE OF d)
    DELETE FROM data_tree_due AS d USING held
     WHERE d.customer_id = $1::bigint AND d.subscription_id = held.subscription_id AND held.is_over
    """)

  /// The same subscription again gets the new settings.
  static let add = Statement(
    "subscription.add", .write,
    """
    WITH added AS (
      INSERT INTO data_tree_subscription
        (customer_id, app_id, path_key, path, event, added, changed, removed, service, target, target_key, expires_at)
      SELECT $1::bigint, $2::text, $3::bytea, $4::text, $5::text, $6::bool, $7::bool, $8::bool, $9::text, $10::text, $11::bytea,
             coalesce(now() + make_interval(secs => $12::float8), 'infinity')
      ON CONFLICT (customer_id, app_id, path_key, target_key, event) DO UPDATE
        SET added = excluded.added, changed = excluded.changed, removed = excluded.removed, expires_at = excluded.expires_at,
            created_at = excluded.created_at, sealed_key = NULL, master_key_id = NULL
      RETURNING subscription_id, path, event, added, changed, removed, service, target, sealed_key, expires_at),
    ending AS (
      INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, webhook, expires_at, due_at)
      SELECT $1::bigint, subscription_id, $2::text, service, CASE WHEN service = 'webhook' THEN target ELSE '' END, expires_at, expires_at
        FROM added WHERE expires_at < 'infinity'
      ON CONFLICT (customer_id, subscription_id) DO UPDATE SET expires_at = excluded.expires_at),
    lasting AS (
      UPDATE data_tree_due AS d SET expires_at = added.expires_at FROM added
       WHERE d.customer_id = $1::bigint AND d.subscription_id = added.subscription_id AND added.expires_at = 'infinity')
    SELECT \(columns) FROM added
    """)

  static let list = Statement(
    "subscription.list", .read,
    BoundedPage.rows(
      of: """
        SELECT \(columns) FROM data_tree_subscription AS s
         WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id > $3::bigint AND expires_at > now()
           AND NOT EXISTS (SELECT FROM data_tree_due AS d
                            WHERE d.customer_id = $1::bigint AND d.subscription_id = s.subscription_id AND d.revoked IS NOT NULL)
         ORDER BY subscription_id LIMIT $4::bigint
        """, size: "octet_length(path) + octet_length(target)", order: "subscription_id"))

  /// Stores the sealed key `$4` of subscription `$3`.
  static let seal = Statement(
    "subscription.seal", .write,
    """
    UPDATE data_tree_subscription SET sealed_key = $4::bytea, master_key_id = $5::text
     WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id = $3::bigint
    RETURNING \(columns)
    """)

  /// Removes a subscription that has not ended, and what is due of it. What a write notes meanwhile goes with the claim.
  static let remove = Statement(
    "subscription.remove", .write,
    """
    WITH held AS MATERIALIZED (
      SELECT subscription_id FROM data_tree_subscription
       WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id = $3::bigint
         FOR UPDATE),
    gone AS (
      DELETE FROM data_tree_due
       WHERE customer_id = $1::bigint AND revoked IS NULL AND subscription_id IN (SELECT subscription_id FROM held)
      RETURNING 1)
    DELETE FROM data_tree_subscription AS s
     WHERE customer_id = $1::bigint AND app_id = $2::text AND subscription_id = $3::bigint
       AND (EXISTS (SELECT FROM gone)
            OR NOT EXISTS (SELECT FROM data_tree_due AS d
                            WHERE d.customer_id = $1::bigint AND d.subscription_id = $3::bigint AND d.revoked IS NOT NULL))
    RETURNING \(columns)
    """)
}
