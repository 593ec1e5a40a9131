import FoundationEssentials
import Postgres
import Registry
import Wire

/// The notifications that are due, and what became of those that were sent.
///
/// A subscription's row has at most one on its way. What changes meanwhile is noted beside it and sent next.
struct NotificationQueue: Sendable {
  let database: any Querying
  /// One run of a hub: the owner of claims.
  let run: UUID
  let lease: Duration

  static let channel = "pushcart_datasync"
  /// How long after its first failure a notification is dropped.
  static let timeout = Duration.seconds(2 * 60 * 60)

  /// What is sent as a whole: an app's subscriptions of one service.
  struct Lane: Sendable, Hashable {
    let customer: CustomerID
    let app: String
    let service: String
  }

  /// A subscription that this run has claimed.
  struct Claimed: Sendable {
    let id: SubscriptionID
    /// Stored.
    let path: String
    let event: SubscribedEvent
    let tells: (added: Bool, changed: Bool, removed: Bool)
    let target: String
    let key: Sealed?
    /// Why it has ended; nil while it is valid.
    let revoked: String?
    /// What changed, as `datasync_subscription.pending`; nil if it is due because it has expired.
    let changes: JSONValue?
    let attempts: Int
  }

  /// What is written of a claimed subscription.
  struct Settlement: Sendable {
    enum Next: String, Sendable {
      /// The notification is done.
      case done
      /// It is sent again after `delay`.
      case retry
      /// It is sent again once its lane is open. No attempt is counted.
      case blocked
      /// The subscription ends, and is told so.
      case revoke
      /// The subscription has ended.
      case remove
    }

    var id: SubscriptionID
    var next: Next
    var delay: Duration = .zero
    var event: String?
    /// As the log has it; nil for no line.
    var outcome: String?
    var reason: String?
  }

  /// Everything that is due now, of all customers.
  func due() async throws -> [Lane] {
    try await database.query(Self.dueLanes).map { row in
      let (customer, app, service) = try row.decode(Int64.self, String.self, String.self)
      return Lane(customer: CustomerID(customer), app: app, service: service)
    }
  }

  /// Claims what is due in a lane: the write-ahead mark, since nothing of it leaves before this is committed.
  func claim(_ lane: Lane, upTo limit: Int) async throws -> [Claimed] {
    try await database.query(
      Self.claimDue, lane.customer.rawValue, lane.app, lane.service, Int64(limit), lease / .seconds(1), run
    ).map { row in
      let (id, path, event, added, changed, removed, target) = try row.decode(
        Int64.self, String.self, String.self, Bool.self, Bool.self, Bool.self, String.self)
      let (key, masterKey): (Bytes?, String?) = (try row.get("sealed_key"), try row.get("master_key_id"))
      let changes: JSONB? = try row.get("sending")
      return Claimed(
        id: SubscriptionID(id), path: path, event: SubscribedEvent(rawValue: event) ?? .value,
        tells: (added, changed, removed), target: target,
        key: key.flatMap { bytes in masterKey.map { Sealed(bytes: bytes.bytes, masterKeyID: $0) } },
        revoked: try row.get("revoked"),
        changes: try changes.map { try JSONValue(json: Array($0.text.utf8)) },
        attempts: Int(try row.get("attempts") as Int32))
    }
  }

  /// Writes what became of claimed subscriptions, with a line in the log for each attempt.
  func settle(_ settlements: [Settlement], of lane: Lane) async throws {
    guard !settlements.isEmpty else { return }
    try await database.query(
      Self.settleClaimed, lane.customer.rawValue, lane.app, lane.service, settlements.map(\.id.rawValue),
      settlements.map(\.next.rawValue), settlements.map { $0.delay / .seconds(1) }, settlements.map(\.event),
      settlements.map(\.outcome), settlements.map(\.reason), run, Self.timeout / .seconds(1))
  }

  /// Extends claims.
  func extend(_ ids: [SubscriptionID], of customer: CustomerID) async throws {
    guard !ids.isEmpty else { return }
    try await database.query(
      Self.extendClaims, customer.rawValue, ids.map(\.rawValue), run, lease / .seconds(1))
  }

  /// Ends all subscriptions of a token that its messaging service calls dead, but those that were made after `moment`.
  func revoke(_ token: String, of lane: Lane, reason: String, before moment: Date) async throws {
    try await database.query(
      Self.revokeTarget, lane.customer.rawValue, lane.app, Bytes(TreeChange.key("\(lane.service)|\(token)")), reason,
      moment)
  }

  /// Deletes lines of the log that are older than 30 days, some at a time.
  func prune(_ customer: CustomerID) async throws {
    try await database.query(Self.pruneLog, customer.rawValue)
  }

  // MARK: Statements

  static let all: [Statement] = [dueLanes, claimDue, settleClaimed, extendClaims, revokeTarget, pruneLog]

  static let dueLanes = Statement(
    "notification.due", .read,
    """
    SELECT DISTINCT customer_id, app_id, service FROM datasync_subscription
     WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now())
    """)

  /// The claim of a run that stopped is logged as uncertain: its notification may have arrived, and is sent again.
  static let claimDue = Statement(
    "notification.claim", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT subscription_id, lease_until IS NOT NULL AS is_lost FROM datasync_subscription
       WHERE customer_id = $1::bigint AND app_id = $2::text AND service = $3::text
         AND due_at <= now() AND (lease_until IS NULL OR lease_until < now())
       ORDER BY due_at LIMIT $4::bigint
         FOR NO KEY UPDATE SKIP LOCKED),
    lost AS (
      INSERT INTO datasync_notification (customer_id, app_id, subscription_id, service, event, outcome, reason)
      SELECT $1::bigint, $2::text, subscription_id, $3::text, '', 'uncertain', 'hub_stopped' FROM due WHERE is_lost)
    UPDATE datasync_subscription AS s
       SET lease_until = now() + make_interval(secs => $5::float8), hub_id = $6::uuid,
           sending = CASE WHEN s.sending IS NULL THEN s.pending WHEN s.pending IS NULL THEN s.sending
                          ELSE s.pending || s.sending END,
           pending = NULL
      FROM due
     WHERE s.customer_id = $1::bigint AND s.subscription_id = due.subscription_id
    RETURNING s.subscription_id, s.path, s.event, s.added, s.changed, s.removed, s.target, s.sealed_key, s.master_key_id,
              s.revoked, s.sending, s.attempts
    """)

  /// A hub whose claim another one has taken over changes nothing, but tells what it knows.
  static let settleClaimed = Statement(
    "notification.settle", .write,
    """
    WITH outcome AS MATERIALIZED (
      SELECT subscription_id, next, event, outcome, reason, now() AS moment,
             now() + make_interval(secs => delay) AS due, now() + make_interval(secs => delay - $11::float8) AS oldest
        FROM unnest($4::bigint[], $5::text[], $6::float8[], $7::text[], $8::text[], $9::text[])
               AS outcome (subscription_id, next, delay, event, outcome, reason)),
    gone AS (
      DELETE FROM datasync_subscription AS s USING outcome
       WHERE s.customer_id = $1::bigint AND s.subscription_id = outcome.subscription_id AND s.hub_id = $10::uuid
         AND outcome.next = 'remove'),
    settled AS (
      UPDATE datasync_subscription AS s
         SET lease_until = NULL, hub_id = NULL, sending = NULL,
             pending = CASE
               WHEN outcome.next = 'revoke' THEN '{}'::jsonb
               WHEN outcome.next = 'done' OR outcome.next = 'retry' AND s.first_failed_at < outcome.oldest THEN s.pending
               WHEN s.sending IS NULL THEN s.pending
               WHEN s.pending IS NULL THEN s.sending ELSE s.pending || s.sending END,
             revoked = CASE WHEN outcome.next = 'revoke' THEN outcome.reason ELSE s.revoked END,
             attempts = CASE WHEN outcome.next = 'blocked' THEN s.attempts
                             WHEN outcome.next = 'retry' AND NOT coalesce(s.first_failed_at < outcome.oldest, false)
                             THEN s.attempts + 1 ELSE 0 END,
             first_failed_at = CASE WHEN outcome.next = 'blocked' THEN s.first_failed_at
                                    WHEN outcome.next = 'retry' AND NOT coalesce(s.first_failed_at < outcome.oldest, false)
                                    THEN least(s.first_failed_at, outcome.moment) END,
             due_at = CASE
               WHEN outcome.next = 'retry' AND NOT coalesce(s.first_failed_at < outcome.oldest, false) THEN outcome.due
               WHEN outcome.next IN ('blocked', 'revoke') OR s.pending IS NOT NULL THEN '-infinity'::timestamptz
               ELSE s.expires_at END
        FROM outcome
       WHERE s.customer_id = $1::bigint AND s.subscription_id = outcome.subscription_id AND s.hub_id = $10::uuid
         AND outcome.next <> 'remove'
      RETURNING s.subscription_id, outcome.next = 'retry' AND s.first_failed_at IS NULL AS is_over)
    INSERT INTO datasync_notification (customer_id, app_id, subscription_id, service, event, outcome, reason)
    SELECT $1::bigint, $2::text, outcome.subscription_id, $3::text, coalesce(outcome.event, ''),
           CASE WHEN settled.is_over THEN 'expired' ELSE outcome.outcome END, outcome.reason
      FROM outcome LEFT JOIN settled ON settled.subscription_id = outcome.subscription_id
     WHERE outcome.outcome IS NOT NULL
    """)

  static let extendClaims = Statement(
    "notification.extend", .write,
    """
    UPDATE datasync_subscription SET lease_until = now() + make_interval(secs => $4::float8)
     WHERE customer_id = $1::bigint AND subscription_id = ANY ($2::bigint[]) AND hub_id = $3::uuid
    """)

  static let revokeTarget = Statement(
    "notification.revoke_target", .write,
    """
    UPDATE datasync_subscription SET revoked = $4::text, pending = '{}'::jsonb, due_at = '-infinity', attempts = 0,
           first_failed_at = NULL
     WHERE customer_id = $1::bigint AND app_id = $2::text AND target_key = $3::bytea AND created_at <= $5::timestamptz
       AND revoked IS NULL AND lease_until IS NULL
    """)

  static let pruneLog = Statement(
    "notification.prune", .write,
    """
    DELETE FROM datasync_notification
     WHERE customer_id = $1::bigint AND at < now() - interval '30 days'
    """)
}
