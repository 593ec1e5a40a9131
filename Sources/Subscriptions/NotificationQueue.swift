import Retrying
import FoundationEssentials
import Outbox
import Postgres
import Registry
import Wire

/// The notifications that are due, and what became of those that were sent.
///
/// A subscription has at most one on its way. What changes meanwhile is noted beside it and sent next.
struct NotificationQueue: Sendable {
  let database: any Querying
  /// One run of a hub: the owner of claims.
  let run: UUID
  let lease: Duration

  /// What is sent as a whole: an app's subscriptions of one messaging service, or of one webhook.
  struct Lane: DueLane {
    let customer: CustomerID
    let app: String
    let service: String
    /// The webhook's name; nil for a messaging service.
    var webhook: String?
  }

  /// A subscription that this run has claimed.
  struct Claimed: Sendable {
    let id: SubscriptionID
    /// Stored.
    let path: String
    let event: SubscribedEvent
    /// Whether added, changed and removed children are reported.
    let reported: [Bool]
    let target: String
    let key: Sealed?
    /// Why it has ended; nil while it is valid.
    let revoked: String?
    /// What changed, as `data_tree_due.pending`; nil if it is due because it was to expire.
    let changes: JSONValue?
    let attempts: Int

    let isExpired: Bool

    /// Whether it has ended. Its device gets one notification of that.
    var hasEnded: Bool { revoked != nil || changes == nil && isExpired }
  }

  /// What is written of a claimed subscription.
  struct Settlement: Sendable {
    enum Next: String, Sendable {
      /// The notification is done.
      case done
      /// It is sent again after `delay`.
      case retry
      /// It is sent again after `delay`, once its lane is open. No attempt is counted.
      case blocked
      /// The subscription ends, and its device is notified. If it was made again after `since`, it is `retry` instead.
      case revoke
      /// The subscription has ended.
      case remove
    }

    var id: SubscriptionID
    var next: Next
    var delay: Duration = .zero
    /// Until when its token was dead.
    var since: Date?
    var event: String?
    /// What the log of notifications says; nil for no line in it.
    var outcome: String?
    var reason: String?
  }

  /// Everything that is due now, of all customers.
  func due() async throws -> [Lane] {
    try await database.query(Self.dueLanes).map { row in
      let (customer, app, service, webhook) = try row.decode(Int64.self, String.self, String.self, String.self)
      return Lane(
        customer: CustomerID(customer), app: app, service: service, webhook: webhook.isEmpty ? nil : webhook)
    }
  }

  /// What a claim needs to look up suppressed tokens of an app.
  struct TokenSuppressions: Sendable {
    let key: SuppressionKey
    let app: PushAppID
    let type: AppType
  }

  /// Subscriptions that this run has claimed, with their events; nil for nothing.
  struct Group: Sendable {
    var items: [(claimed: Claimed, event: DataTreeEvent?)]
    /// When the claim may be over.
    let leaseEnd: ContinuousClock.Instant
    /// Where the lane's webhook leads; nil for a messaging service, and for a webhook that there is none of any more.
    var webhook: WebhookDestination?
    /// The subscriptions whose tokens are suppressed.
    var stopped: Set<SubscriptionID> = []
  }

  /// Claims what is due in a lane, and makes its events from the tree as it is at the claim: no write comes between. So a notification
  /// has the difference from the state that the one before reported, and later changes are noted for the next. Nor do the settings of
  /// webhooks change in between: nothing goes to one that was switched off before the claim. Without a master key that opens them nothing
  /// is claimed.
  /// - Parameter suppressions: of a messaging service's tokens; nil for a webhook, which nobody suppresses.
  /// - Throws: `PostgresError` with `ServerError.lockNotAvailable` while a large write has the tree for itself.
  func take(
    _ lane: Lane, upTo limit: Int, from pool: Pool, vault: Vault, suppressions: TokenSuppressions? = nil
  ) async throws -> Group {
    // Asked first on a shared connection: the app's lanes would wait on all those that transactions have.
    try await pool.query(DataTreeQueries.isFree, lane.customer.rawValue, lane.app)
    return try await pool.transaction(of: lane.customer.rawValue) { database in
      let queue = NotificationQueue(database: database, run: run, lease: lease)
      var asked = ContinuousClock.now
      try await database.query(Self.planOnce)
      try await database.query(DataTreeQueries.share, lane.customer.rawValue, lane.app)
      let claimed = try await queue.claim(lane, upTo: limit)
      let events = try await NotificationEvents(database: database, lane: lane).events(of: claimed)
      if ContinuousClock.now - asked > lease / 4 {
        asked = .now
        _ = try await queue.extend(claimed.map(\.id), of: lane)
      }
      var group = Group(items: Array(zip(claimed, events)), leaseEnd: asked + lease)
      if let webhook = lane.webhook, !group.items.isEmpty {
        let settings = try await WebhookStore(database, vault: vault).settings(lane.customer, app: lane.app)
        group.webhook = settings.destinations[webhook]
      }
      if let suppressions {
        let tokens = claimed.compactMap { one in
          (try? DeviceToken(one.target, type: suppressions.type, field: "token")).map { (id: one.id, token: $0) }
        }
        let stopped = try await Suppressions(database, key: suppressions.key).stopped(
          lane.customer, suppressions.app, tokens.map(\.token))
        group.stopped = Set(stopped.map { tokens[$0].id })
      }
      return group
    }
  }

  /// Names a push in the logs of its push service: the first bytes of the run, and the subscription, as a UUID of version 8 (RFC 9562,
  /// section 5.8).
  func pushID(of subscription: SubscriptionID) -> UUID {
    var bytes = run.uuid
    withUnsafeMutableBytes(of: &bytes) { bytes in
      bytes[6] = 0x80 | bytes[6] & 0xF
      let number = 0x8000_0000_0000_0000 | UInt64(bitPattern: subscription.rawValue) & 0x3FFF_FFFF_FFFF_FFFF
      bytes.storeBytes(of: number.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return UUID(uuid: bytes)
  }

  /// Claims what is due in a lane: the write-ahead mark, since nothing of it leaves before this is committed.
  func claim(_ lane: Lane, upTo limit: Int) async throws -> [Claimed] {
    try await database.query(
      Self.claimDue, lane.customer.rawValue, lane.app, lane.service, Int64(limit), lease / .seconds(1), run,
      lane.webhook ?? ""
    ).map { row in
      let (id, path, event, added, changed, removed, target) = try row.decode(
        Int64.self, String.self, String.self, Bool.self, Bool.self, Bool.self, String.self)
      let (key, masterKey): (Bytes?, String?) = (try row.get("sealed_key"), try row.get("master_key_id"))
      let changes: JSONB? = try row.get("sending")
      return Claimed(
        id: SubscriptionID(id), path: path, event: SubscribedEvent(rawValue: event) ?? .value,
        reported: [added, changed, removed], target: target,
        key: key.flatMap { bytes in masterKey.map { Sealed(bytes: bytes.bytes, masterKeyID: $0) } },
        revoked: try row.get("revoked"),
        changes: try changes.map { try JSONValue(json: Array($0.text.utf8), rules: DataTreePath.rules) },
        attempts: Int(try row.get("attempts") as Int32), isExpired: try row.get("is_expired"))
    }
  }

  /// Writes what became of claimed subscriptions, with a line in the log for each attempt.
  func settle(_ settlements: [Settlement], of lane: Lane) async throws {
    guard !settlements.isEmpty else { return }
    try await database.query(
      Self.settleClaimed, lane.customer.rawValue, lane.app, lane.service, settlements.map(\.id.rawValue),
      settlements.map(\.next.rawValue), settlements.map { $0.delay / .seconds(1) }, settlements.map(\.event),
      settlements.map(\.outcome), settlements.map(\.reason), run, RetryPolicy.notifications.giveUpAfter / .seconds(1),
      settlements.map(\.since))
  }

  /// Extends claims to the length of a lease from now on.
  /// - Returns: whether any is left that is neither settled nor over: a claim that is over is not extended, even if nobody has taken it.
  func extend(_ ids: [SubscriptionID], of lane: Lane) async throws -> Bool {
    guard !ids.isEmpty else { return false }
    return try await database.query(
      Self.extendClaims, lane.customer.rawValue, lane.app, ids.map(\.rawValue), run, lease / .seconds(1))[0].decode(
        Int.self) > 0
  }

  /// Ends all subscriptions of a token that its messaging service calls dead, but those that were made after `moment`.
  func revoke(_ token: String, of lane: Lane, reason: String, before moment: Date) async throws {
    try await database.query(
      Self.revokeTarget, lane.customer.rawValue, lane.app, Bytes(TreeChange.key("\(lane.service)|\(token)")), reason,
      moment)
  }

  // MARK: Statements
  //
  // Those that wait for what is due lock it in the order of its subscriptions' numbers, as `data_tree.match` does. Before it they lock the
  // subscriptions that may end, in the same order. Before all of these they share the app's row, which a write that matches several times
  // has for itself (`DataTreeQueries.lockAlone`). So none of them deadlocks.
  //
  // Such a write can take long, and statements of other customers may wait behind these on the same connection. So these do not wait for
  // it: they fail, and are repeated. Their claims last longer by as much.

  /// Shares the app's row, as `tree`, or fails.
  private static let tree = """
    tree AS MATERIALIZED (
      SELECT FROM data_tree_app WHERE customer_id = $1::bigint AND app_id = $2::text FOR KEY SHARE NOWAIT)
    """

  static let all: [Statement] = [
    planOnce, dueLanes, claimDue, settleClaimed, extendClaims, revokeTarget, pruneLog, failing,
  ]

  /// Until the transaction ends. A plan for a customer of whom nothing was due when statistics were taken reads all that is due now for
  /// each row.
  static let planOnce = Statement("notification.plan_once", .write, "SET LOCAL plan_cache_mode = force_generic_plan")

  /// Webhooks of the customer `$1` that have not taken a notification in three attempts, among the first 1000 that wait: how many, and
  /// since when.
  static let failing = Statement(
    "notification.failing", .read,
    """
    SELECT app_id, webhook, count(*), coalesce(min(first_failed_at), now())
      FROM (SELECT app_id, webhook, attempts, first_failed_at FROM data_tree_due
             WHERE customer_id = $1::bigint AND service = 'webhook'
             ORDER BY app_id, service, webhook, due_at LIMIT 1000) AS first
     WHERE attempts >= 3
     GROUP BY app_id, webhook
     ORDER BY app_id, webhook
    """)

  /// It steps through `data_tree_due_at` from one lane to the next: so it costs by their number, however much is due in each.
  static let dueLanes = Statement(
    "notification.due", .read,
    """
    WITH RECURSIVE lane AS (
      (SELECT customer_id, app_id, service, webhook FROM data_tree_due
        WHERE customer_id > 0 ORDER BY customer_id, app_id, service, webhook LIMIT 1)
      UNION ALL
      SELECT next.*
        FROM lane
       CROSS JOIN LATERAL (
         SELECT d.customer_id, d.app_id, d.service, d.webhook FROM data_tree_due AS d
          WHERE (d.customer_id, d.app_id, d.service, d.webhook) > (lane.customer_id, lane.app_id, lane.service, lane.webhook)
          ORDER BY d.customer_id, d.app_id, d.service, d.webhook LIMIT 1) AS next)
    SELECT lane.customer_id, lane.app_id, lane.service, lane.webhook
      FROM lane
     CROSS JOIN LATERAL (
       SELECT FROM data_tree_due AS d
        WHERE d.customer_id = lane.customer_id AND d.app_id = lane.app_id AND d.service = lane.service
          AND d.webhook = lane.webhook AND d.due_at <= now() AND (d.lease_until IS NULL OR d.lease_until < now())
        ORDER BY d.due_at LIMIT 1) AS due
    """)

  /// What was being sent, together with what has changed since. Of a child in both, what was being sent knows whether the device has it. If
  /// the device may have got that, it is unknown where the two differ: null.
  private static func merged(isUncertain: String) -> String {
    """
    CASE WHEN d.sending IS NULL THEN d.pending
         WHEN d.pending IS NULL THEN d.sending
         WHEN \(isUncertain) THEN (
           SELECT coalesce(jsonb_object_agg(name, CASE WHEN later.was_there <> sent.was_there THEN 'null'
                                                       ELSE coalesce(sent.was_there, later.was_there) END), '{}')
             FROM jsonb_each(d.sending) AS sent (name, was_there)
             FULL JOIN jsonb_each(d.pending) AS later (name, was_there) USING (name))
         ELSE d.pending || d.sending END
    """
  }

  /// The claim of a run that stopped is logged as uncertain: its notification may have arrived, and is sent again. An end that
  /// is past is read anew: a write may have noted the former one of a subscription that was made again meanwhile.
  static let claimDue = Statement(
    "notification.claim", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT d.subscription_id, d.lease_until IS NOT NULL AS is_lost, s.path, s.event, s.added, s.changed, s.removed, s.target,
             s.sealed_key, s.master_key_id, s.expires_at, now() AS now
        FROM data_tree_due AS d
        LEFT JOIN LATERAL (SELECT * FROM data_tree_subscription AS s
                            WHERE s.customer_id = $1::bigint AND s.subscription_id = d.subscription_id
                           OFFSET 0) AS s ON true
       WHERE d.customer_id = $1::bigint AND d.app_id = $2::text AND d.service = $3::text AND d.webhook = $7::text
         AND d.due_at <= now() AND (d.lease_until IS NULL OR d.lease_until < now())
       ORDER BY d.due_at LIMIT $4::bigint
         FOR NO KEY UPDATE OF d SKIP LOCKED),
    lost AS (
      INSERT INTO data_tree_notification (customer_id, app_id, subscription_id, service, event, outcome, reason)
      SELECT $1::bigint, $2::text, subscription_id, $3::text, '', 'uncertain', '\(HubReason.hubStopped.rawValue)' FROM due
       WHERE is_lost AND path IS NOT NULL),
    gone AS (
      DELETE FROM data_tree_due AS d USING due
       WHERE d.customer_id = $1::bigint AND d.subscription_id = due.subscription_id AND due.path IS NULL)
    UPDATE data_tree_due AS d
       SET lease_until = now() + make_interval(secs => $5::float8), hub_id = $6::uuid,
           sending = \(merged(isUncertain: "true")), pending = NULL,
           expires_at = CASE WHEN d.expires_at <= due.now THEN due.expires_at ELSE d.expires_at END
      FROM due
     WHERE d.customer_id = $1::bigint AND d.subscription_id = due.subscription_id AND due.path IS NOT NULL
    RETURNING due.subscription_id, due.path, due.event, due.added, due.changed, due.removed, due.target, due.sealed_key,
              due.master_key_id, d.revoked, d.sending, d.attempts, d.expires_at <= due.now AS is_expired
    """)

  /// A hub whose claim another one has taken over changes nothing, and logs what it knows. A row that nothing is left of is deleted. A service
  /// may ask for more time than a notification has: then the first failure is the last, and later changes are sent as usual.
  static let settleClaimed = Statement(
    "notification.settle", .write,
    """
    WITH outcome AS MATERIALIZED (
      SELECT subscription_id, next, event, outcome, reason, now() AS moment,
             now() + make_interval(secs => delay) AS due, now() + make_interval(secs => delay - $11::float8) AS oldest, since
        FROM unnest($4::bigint[], $5::text[], $6::float8[], $7::text[], $8::text[], $9::text[], $12::timestamptz[])
               AS outcome (subscription_id, next, delay, event, outcome, reason, since)),
    \(tree),
    ending AS MATERIALIZED (
      SELECT s.subscription_id, s.created_at
        FROM tree CROSS JOIN outcome
        JOIN data_tree_subscription AS s ON s.customer_id = $1::bigint AND s.subscription_id = outcome.subscription_id
       WHERE outcome.next IN ('revoke', 'remove')
       ORDER BY s.subscription_id
         FOR UPDATE OF s),
    held AS MATERIALIZED (
      SELECT d.subscription_id, fate.next, outcome.outcome, outcome.reason, outcome.moment, outcome.due,
             fate.next = 'retry' AND coalesce(d.first_failed_at, outcome.moment) < outcome.oldest AS is_over,
             d.pending IS NULL AND d.expires_at = 'infinity' AS is_last
        FROM tree CROSS JOIN (SELECT count(*) FROM ending) AS locked CROSS JOIN outcome
        LEFT JOIN ending ON ending.subscription_id = outcome.subscription_id
       CROSS JOIN LATERAL (
         SELECT CASE WHEN outcome.next = 'revoke' AND ending.created_at > outcome.since THEN 'retry' ELSE outcome.next END AS next
       ) AS fate
        JOIN data_tree_due AS d ON d.customer_id = $1::bigint AND d.subscription_id = outcome.subscription_id
       WHERE d.hub_id = $10::uuid
       ORDER BY d.subscription_id
         FOR UPDATE OF d),
    fate AS (
      SELECT *, next = 'remove' OR (next = 'done' OR is_over) AND is_last AS goes, next = 'retry' AND NOT is_over AS is_tried_again
        FROM held),
    done AS (
      DELETE FROM data_tree_due AS d USING fate
       WHERE d.customer_id = $1::bigint AND d.subscription_id = fate.subscription_id AND fate.goes),
    gone AS (
      DELETE FROM data_tree_subscription AS s USING fate
       WHERE s.customer_id = $1::bigint AND s.subscription_id = fate.subscription_id AND fate.next = 'remove'),
    settled AS (
      UPDATE data_tree_due AS d
         SET lease_until = NULL, hub_id = NULL, sending = NULL,
             pending = CASE
               WHEN fate.next = 'revoke' THEN '{}'::jsonb
               WHEN fate.next = 'done' OR fate.is_over THEN d.pending
               ELSE \(merged(isUncertain: "fate.outcome = 'uncertain'")) END,
             revoked = CASE WHEN fate.next = 'revoke' THEN fate.reason ELSE d.revoked END,
             attempts = CASE WHEN fate.next = 'blocked' THEN d.attempts WHEN fate.is_tried_again THEN d.attempts + 1 ELSE 0 END,
             first_failed_at = CASE WHEN fate.next = 'blocked' THEN d.first_failed_at
                                    WHEN fate.is_tried_again THEN least(d.first_failed_at, fate.moment) END,
             due_at = CASE WHEN fate.is_tried_again OR fate.next = 'blocked' THEN fate.due
                           WHEN fate.next = 'revoke' OR d.pending IS NOT NULL THEN fate.moment
                           ELSE d.expires_at END
        FROM fate
       WHERE d.customer_id = $1::bigint AND d.subscription_id = fate.subscription_id AND NOT fate.goes)
    INSERT INTO data_tree_notification (customer_id, app_id, subscription_id, service, event, outcome, reason)
    SELECT $1::bigint, $2::text, outcome.subscription_id, $3::text, coalesce(outcome.event, ''),
           CASE WHEN fate.is_over THEN 'expired' WHEN fate.next = 'retry' AND outcome.next = 'revoke' THEN 'retry'
                ELSE outcome.outcome END, outcome.reason
      FROM outcome LEFT JOIN fate ON fate.subscription_id = outcome.subscription_id
     WHERE outcome.outcome IS NOT NULL
    """)

  /// The transaction may have begun long ago, so the new end counts from the statement. Nobody sees its own claims before it commits.
  static let extendClaims = Statement(
    "notification.extend", .write,
    """
    WITH \(tree),
    held AS MATERIALIZED (
      SELECT d.subscription_id FROM tree CROSS JOIN data_tree_due AS d
       WHERE d.customer_id = $1::bigint AND d.subscription_id = ANY ($3::bigint[]) AND d.hub_id = $4::uuid
         AND d.lease_until > now()
       ORDER BY d.subscription_id
         FOR NO KEY UPDATE OF d),
    extended AS (
      UPDATE data_tree_due AS d SET lease_until = statement_timestamp() + make_interval(secs => $5::float8)
        FROM held
       WHERE d.customer_id = $1::bigint AND d.subscription_id = held.subscription_id
      RETURNING 1)
    SELECT count(*) FROM extended
    """)

  static let revokeTarget = Statement(
    "notification.revoke_target", .write,
    """
    WITH \(tree),
    ending AS MATERIALIZED (
      SELECT s.subscription_id, s.service, s.expires_at
        FROM tree CROSS JOIN data_tree_subscription AS s
       WHERE s.customer_id = $1::bigint AND s.app_id = $2::text AND s.target_key = $3::bytea
         AND s.created_at <= $5::timestamptz
       ORDER BY s.subscription_id
         FOR UPDATE OF s)
    INSERT INTO data_tree_due AS d (customer_id, subscription_id, app_id, service, expires_at, due_at, pending, revoked)
    SELECT $1::bigint, ending.subscription_id, $2::text, ending.service, ending.expires_at, now(), '{}'::jsonb, $4::text
      FROM (SELECT count(*) FROM ending) AS locked CROSS JOIN ending
     ORDER BY ending.subscription_id
    ON CONFLICT (customer_id, subscription_id) DO UPDATE
      SET revoked = excluded.revoked, pending = excluded.pending, due_at = excluded.due_at, attempts = 0, first_failed_at = NULL
    WHERE d.revoked IS NULL AND d.lease_until IS NULL
    """)

  static let pruneLog = Statement(
    "notification.prune", .write,
    Portions.delete(from: "data_tree_notification", by: "at", before: "now() - interval '30 days'"))
}

extension ChangeChannel {
  /// Changes of data trees that notifications are due for; payloads are the customer's number.
  static let dataTree = ChangeChannel("pushcart_data_tree")
}
