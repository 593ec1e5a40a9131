package import Postgres
package import Registry

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum SubscriptionsStatements {
  package static let all: [Statement] =
    DataTreeQueries.all + SubscriptionQueries.all + NotificationQueue.all
    + SealedColumn.dataTrees.flatMap(\.statements)
}

extension SealedColumn {
  package static let dataTrees = [subscriptionKey, webhooks]

  /// Keys that notifications of subscriptions are encrypted with.
  static let subscriptionKey = SealedColumn(
    "data_tree_subscription", "sealed_key", key: ["subscription_id": "bigint"])
  /// The settings of apps' webhooks.
  static let webhooks = SealedColumn("data_tree_app", "webhooks", key: ["app_id": "text"])
}

/// Statements on `data_tree_app` and `data_tree_node`. `$1` is the customer, `$2` the app.
///
/// What begins with a path is looked for in the index by the first 500 characters, between `lower` and `upper` (`DataTree.Range`).
enum DataTreeQueries {
  static let all: [Statement] = [
    enable, list, lock, lockAlone, lengthenClaims, share, shareKey, isFree, settings, saveSettings, denormalized, sizes,
    leaves, page, present, known, remove, put, match,
  ]

  static let enable = Statement(
    "data_tree.enable", .write,
    """
    INSERT INTO data_tree_app (customer_id, app_id) VALUES ($1::bigint, $2::text)
    ON CONFLICT (customer_id, app_id) DO NOTHING
    """)

  static let list = Statement(
    "data_tree.list", .read,
    "SELECT app_id, created_at FROM data_tree_app WHERE customer_id = $1::bigint ORDER BY app_id")

  /// Locks the app's row, and fails after two seconds: a large write may have it for much longer, and who waits holds one of the few
  /// connections that transactions of all customers share.
  private static func brief(_ lock: String) -> String {
    """
    WITH limited AS MATERIALIZED (
      SELECT current_setting('lock_timeout') AS former, set_config('lock_timeout', '2s', true)),
    held AS MATERIALIZED (
      SELECT limited.former FROM limited CROSS JOIN data_tree_app AS app
       WHERE app.customer_id = $1::bigint AND app.app_id = $2::text
         \(lock) OF app)
    SELECT set_config('lock_timeout', former, true) FROM held
    """
  }

  /// Locks the tree against other writes until the transaction ends. Subscriptions are locked after it, in the order of their numbers.
  static let lock = Statement("data_tree.lock", .write, brief("FOR NO KEY UPDATE"))

  /// Locks the tree against whatever waits for its subscriptions, too: a write that matches several times locks them in no order.
  /// Tells since when.
  static let lockAlone = Statement(
    "data_tree.lock_alone", .write,
    """
    WITH app AS MATERIALIZED (
      SELECT FROM data_tree_app WHERE customer_id = $1::bigint AND app_id = $2::text FOR UPDATE)
    SELECT clock_timestamp() FROM app
    """)

  /// Lengthens all claims that were valid when the write got the tree for itself at `$3`, by `$4` seconds: no hub could extend or settle them
  /// since. What was accepted meanwhile would be sent again.
  static let lengthenClaims = Statement(
    "data_tree.lengthen_claims", .write,
    """
    WITH claim AS MATERIALIZED (
      SELECT subscription_id, lease_until + make_interval(secs => $4::float8) AS lease_until FROM data_tree_due
       WHERE customer_id = $1::bigint AND app_id = $2::text AND lease_until > $3::timestamptz
       ORDER BY subscription_id
         FOR NO KEY UPDATE)
    UPDATE data_tree_due AS d SET lease_until = claim.lease_until FROM claim
     WHERE d.customer_id = $1::bigint AND d.subscription_id = claim.subscription_id
    """)

  /// Keeps the tree as it is until the transaction ends. Subscriptions are locked after it.
  static let share = Statement("data_tree.share", .write, brief("FOR SHARE"))

  /// Keeps writes that have the tree for themselves out until the transaction ends. Subscriptions are locked after it.
  static let shareKey = Statement("data_tree.share_key", .write, brief("FOR KEY SHARE"))

  /// Fails while a write has the tree for itself.
  static let isFree = Statement(
    "data_tree.is_free", .write,
    "SELECT 1 FROM data_tree_app WHERE customer_id = $1::bigint AND app_id = $2::text FOR KEY SHARE NOWAIT")

  static let settings = Statement(
    "data_tree.settings", .read,
    """
    SELECT webhooks, master_key_id FROM data_tree_app WHERE customer_id = $1::bigint AND app_id = $2::text
    """)

  static let saveSettings = Statement(
    "data_tree.save_settings", .write,
    """
    UPDATE data_tree_app SET webhooks = $3::bytea, master_key_id = $4::text
    WHERE customer_id = $1::bigint AND app_id = $2::text
    """)

  /// One of these texts that is not in Unicode's form NFC, if there is one: by the same tables as the constraints of paths.
  static let denormalized = Statement(
    "data_tree.denormalized", .read,
    "SELECT 1 FROM unnest($1::text[]) AS place (path) WHERE path IS NOT NFC NORMALIZED LIMIT 1")

  /// That a leaf is at or below a place. It is looked up by `data_tree_node_path`.
  private static let isBelow = """
    node.customer_id = $1::bigint AND node.app_id = $2::text AND left(node.path, 500) >= place.lower COLLATE "C"
       AND left(node.path, 500) < place.upper COLLATE "C" AND starts_with(node.path, place.path)
    """
  private static let places =
    "unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS place (path, lower, upper, number)"

  /// Of each place the number of leaves at or below it, of `$6` at most, and the bytes of their values and of their paths from there.
  static let sizes = Statement(
    "data_tree.sizes", .read,
    """
    SELECT size.leaves, size.value_bytes, size.path_bytes
      FROM \(places)
     CROSS JOIN LATERAL (
       SELECT count(*) AS leaves, coalesce(sum(leaf.value_bytes), 0)::bigint AS value_bytes,
              coalesce(sum(leaf.path_bytes), 0)::bigint AS path_bytes
         FROM (SELECT octet_length(node.value) AS value_bytes, octet_length(node.path) - octet_length(place.path) AS path_bytes
                 FROM data_tree_node AS node WHERE \(isBelow) LIMIT $6::bigint) AS leaf) AS size
     ORDER BY place.number
    """)

  /// The leaves at or below each place, by its number from 1 and their paths from there, in the order of these.
  static let leaves = Statement(
    "data_tree.leaves", .read,
    """
    SELECT place.number, substr(node.path, char_length(place.path) + 1), node.value
      FROM \(places)
      JOIN data_tree_node AS node ON \(isBelow)
     ORDER BY place.number, node.path COLLATE "C"
    """)

  /// The paths of leaves at or below places, `$8` at most. Those of one place come in the order of the index, from behind the
  /// leaf whose first 500 characters are `$6` and whose key is `$7`.
  static let page = Statement(
    "data_tree.page", .read,
    """
    SELECT leaf.path, leaf.path_key
      FROM \(places)
     CROSS JOIN LATERAL (
       SELECT node.path, node.path_key FROM data_tree_node AS node
        WHERE \(isBelow) AND (left(node.path, 500), node.path_key) > ($6::text COLLATE "C", $7::bytea)
        ORDER BY left(node.path, 500), node.path_key LIMIT $8::bigint) AS leaf
     LIMIT $8::bigint
    """)

  /// The numbers, from 1, of those places that have leaves at or below them.
  static let present = Statement(
    "data_tree.present", .read,
    """
    SELECT place.number FROM \(places)
     CROSS JOIN LATERAL (SELECT FROM data_tree_node AS node WHERE \(isBelow) LIMIT 1) AS leaf
    """)

  /// Of the leaves with the keys `$3` those that are there, by their numbers from 1, and whether their values are written like `$4`. One
  /// that is not may be the same number in other digits, or an array of such: it comes with its value.
  static let known = Statement(
    "data_tree.known", .read,
    """
    SELECT leaf.number, node.value = leaf.value,
           CASE WHEN node.value <> leaf.value AND node.value ~ '^[-0-9[]' AND leaf.value ~ '^[-0-9[]' THEN node.value END
      FROM unnest($3::bytea[], $4::text[]) WITH ORDINALITY AS leaf (path_key, value, number)
      JOIN data_tree_node AS node
        ON node.customer_id = $1::bigint AND node.app_id = $2::text AND node.path_key = leaf.path_key
    """)

  static let remove = Statement(
    "data_tree.remove", .write,
    """
    DELETE FROM data_tree_node
    WHERE customer_id = $1::bigint AND app_id = $2::text AND path_key = ANY ($3::bytea[])
    """)

  static let put = Statement(
    "data_tree.put", .write,
    """
    INSERT INTO data_tree_node (customer_id, app_id, path_key, path, value)
    SELECT $1::bigint, $2::text, path_key, path, value
      FROM unnest($3::bytea[], $4::text[], $5::text[]) AS leaf (path_key, path, value)
    ON CONFLICT (customer_id, app_id, path_key) DO UPDATE SET value = excluded.value
    """)

  /// Notes what a write changed at the places `$4` for their subscriptions: one lookup for each place, whatever number of
  /// subscriptions there is. `$5`, `$6` and `$7` are the names of children that were added, changed and removed, each with
  /// whether it was there before. What was noted before stays: it says what the last notification knew. It gets the two hours that the
  /// newest change has, since both leave together.
  static let match = Statement(
    "data_tree.match", .write,
    """
    WITH noted AS (
      INSERT INTO data_tree_due AS d (customer_id, subscription_id, app_id, service, webhook, expires_at, due_at, pending)
      SELECT $1::bigint, s.subscription_id, $2::text, s.service, CASE WHEN s.service = 'webhook' THEN s.target ELSE '' END, s.expires_at,
             now(),
             CASE WHEN s.event <> 'child' THEN '{}'::jsonb
                  ELSE \(bounded(changedNames)) END
        FROM unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[])
               AS place (path_key, path, added, changed, removed)
        JOIN data_tree_subscription AS s
          ON s.customer_id = $1::bigint AND s.app_id = $2::text AND s.path_key = place.path_key AND s.path = place.path
       WHERE s.expires_at > now()
         AND (s.event <> 'child' OR s.added AND place.added <> '{}' OR s.changed AND place.changed <> '{}'
              OR s.removed AND place.removed <> '{}')
       ORDER BY s.subscription_id
      ON CONFLICT (customer_id, subscription_id) DO UPDATE
        SET pending = \(bounded("excluded.pending || coalesce(d.pending, '{}'::jsonb)")),
            due_at = CASE WHEN d.attempts = 0 THEN excluded.due_at ELSE d.due_at END, first_failed_at = NULL
      WHERE d.revoked IS NULL
      RETURNING 1)
    SELECT count(*) FROM noted
    """)

  /// The names that are reported to a subscription to children.
  private static let changedNames = """
    (CASE WHEN s.added THEN place.added::jsonb ELSE '{}'::jsonb END
       || CASE WHEN s.changed THEN place.changed::jsonb ELSE '{}'::jsonb END
       || CASE WHEN s.removed THEN place.removed::jsonb ELSE '{}'::jsonb END)
    """

  /// Names of children, or that they are too many.
  private static func bounded(_ names: String) -> String {
    "CASE WHEN octet_length((\(names))::text) > 65536 THEN '{\"\": true}'::jsonb ELSE \(names) END"
  }
}
