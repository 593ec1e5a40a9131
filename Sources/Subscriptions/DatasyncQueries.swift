package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum SubscriptionsStatements {
  package static let all: [Statement] = DatasyncQueries.all + SubscriptionQueries.all + NotificationQueue.all
}

/// Statements on `datasync_app` and `datasync_node`. `$1` is the customer, `$2` the app.
///
/// What begins with a path is looked for in the index by the first 500 characters, between `lower` and `upper`.
enum DatasyncQueries {
  static let all: [Statement] = [
    enable, list, lock, settings, saveSettings, size, leaves, leavesBelow, above, remove, put, match,
  ]

  static let enable = Statement(
    "datasync.enable", .write,
    """
    INSERT INTO datasync_app (customer_id, app_id) VALUES ($1::bigint, $2::text)
    ON CONFLICT (customer_id, app_id) DO NOTHING
    """)

  static let list = Statement(
    "datasync.list", .read,
    "SELECT app_id, created_at FROM datasync_app WHERE customer_id = $1::bigint ORDER BY app_id")

  /// Locks the tree against other writes until the transaction ends.
  static let lock = Statement(
    "datasync.lock", .write,
    "SELECT 1 FROM datasync_app WHERE customer_id = $1::bigint AND app_id = $2::text FOR NO KEY UPDATE")

  static let settings = Statement(
    "datasync.settings", .read,
    """
    SELECT webhooks, master_key_id FROM datasync_app WHERE customer_id = $1::bigint AND app_id = $2::text
    """)

  static let saveSettings = Statement(
    "datasync.save_settings", .write,
    """
    UPDATE datasync_app SET webhooks = $3::bytea, master_key_id = $4::text
    WHERE customer_id = $1::bigint AND app_id = $2::text
    """)

  /// That a leaf is at or below a place whose stored path is `prefix`.
  private static func isBelow(_ prefix: String, _ lower: String, _ upper: String) -> String {
    """
    left(node.path, 500) >= \(lower) AND left(node.path, 500) < \(upper) AND starts_with(node.path, \(prefix))
    """
  }

  /// The number of leaves at or below a place and their bytes, of `$6` leaves at most.
  static let size = Statement(
    "datasync.size", .read,
    """
    SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM (
      SELECT octet_length(value) + octet_length(path) - octet_length($3::text) AS bytes FROM datasync_node AS node
       WHERE customer_id = $1::bigint AND app_id = $2::text AND \(isBelow("$3::text", "$4::text", "$5::text"))
       LIMIT $6::bigint) AS leaf
    """)

  static let leaves = Statement(
    "datasync.leaves", .read,
    """
    SELECT path, value FROM datasync_node AS node
     WHERE customer_id = $1::bigint AND app_id = $2::text AND \(isBelow("$3::text", "$4::text", "$5::text"))
    """)

  /// The leaves at or below several places.
  static let leavesBelow = Statement(
    "datasync.leaves_below", .read,
    """
    SELECT node.path, node.value
      FROM unnest($3::text[], $4::text[], $5::text[]) AS place (path, lower, upper)
      JOIN datasync_node AS node ON node.customer_id = $1::bigint AND node.app_id = $2::text
       AND \(isBelow("place.path", "place.lower COLLATE \"C\"", "place.upper COLLATE \"C\""))
    """)

  /// Of the places `$3` above a write: which has leaves other than those at or below the places `$6`, which are written, and those at
  /// the places `$7`, which a write below replaces; and which is itself such a leaf.
  static let above = Statement(
    "datasync.above", .read,
    """
    SELECT place.path,
           EXISTS (SELECT FROM datasync_node AS node
                    WHERE node.customer_id = $1::bigint AND node.app_id = $2::text
                      AND \(isBelow("place.path", "place.lower COLLATE \"C\"", "place.upper COLLATE \"C\""))
                      AND node.path_key <> ALL ($7::bytea[])
                      AND NOT EXISTS (SELECT FROM unnest($6::text[]) AS written (path)
                                       WHERE starts_with(node.path, written.path))),
           (SELECT node.value FROM datasync_node AS node
             WHERE node.customer_id = $1::bigint AND node.app_id = $2::text AND node.path_key = place.path_key)
      FROM unnest($3::text[], $4::text[], $5::text[], $7::bytea[]) AS place (path, lower, upper, path_key)
    """)

  static let remove = Statement(
    "datasync.remove", .write,
    """
    DELETE FROM datasync_node
    WHERE customer_id = $1::bigint AND app_id = $2::text AND path_key = ANY ($3::bytea[])
    """)

  static let put = Statement(
    "datasync.put", .write,
    """
    INSERT INTO datasync_node (customer_id, app_id, path_key, path, value)
    SELECT $1::bigint, $2::text, path_key, path, value
      FROM unnest($3::bytea[], $4::text[], $5::text[]) AS leaf (path_key, path, value)
    ON CONFLICT (customer_id, app_id, path_key) DO UPDATE SET value = excluded.value
    """)

  /// Notes what a write changed at the places `$4` in their subscriptions: one lookup for each place, whatever number of
  /// subscriptions there is. `$5`, `$6` and `$7` are the names of children that were added, changed and removed, each with
  /// whether it was there before. What was noted before stays: it says what the last notification knew.
  static let match = Statement(
    "datasync.match", .write,
    """
    WITH matched AS MATERIALIZED (
      SELECT s.subscription_id, s.pending, s.attempts,
             CASE WHEN s.event <> 'child' THEN '{}'::jsonb
                  ELSE CASE WHEN s.added THEN place.added::jsonb ELSE '{}'::jsonb END
                    || CASE WHEN s.changed THEN place.changed::jsonb ELSE '{}'::jsonb END
                    || CASE WHEN s.removed THEN place.removed::jsonb ELSE '{}'::jsonb END END AS news
        FROM unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[])
               AS place (path_key, path, added, changed, removed)
        JOIN datasync_subscription AS s
          ON s.customer_id = $1::bigint AND s.app_id = $2::text AND s.path_key = place.path_key AND s.path = place.path
       WHERE s.revoked IS NULL AND s.expires_at > now()
         AND (s.event <> 'child' OR s.added AND place.added <> '{}' OR s.changed AND place.changed <> '{}'
              OR s.removed AND place.removed <> '{}')
       ORDER BY s.subscription_id
         FOR NO KEY UPDATE OF s),
    noted AS (
      UPDATE datasync_subscription AS s
         SET pending = CASE WHEN octet_length((matched.news || coalesce(matched.pending, '{}'::jsonb))::text) > 65536
                            THEN '{"": true}'::jsonb
                            ELSE matched.news || coalesce(matched.pending, '{}'::jsonb) END,
             due_at = CASE WHEN matched.attempts = 0 THEN '-infinity' ELSE s.due_at END
        FROM matched
       WHERE s.customer_id = $1::bigint AND s.subscription_id = matched.subscription_id
      RETURNING 1)
    SELECT count(*) FROM noted
    """)
}
