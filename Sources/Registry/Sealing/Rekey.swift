public import Postgres
package import Wire

/// Seals everything under the current master key, so that older ones can be dropped.
public struct Rekey: Sendable {
  /// How far it is.
  public struct Progress: Sendable, Equatable {
    /// Sealed again by this run.
    public var resealed = 0
    /// Sealed under the current key already.
    public var current = 0
    /// Left as they were, since no known master key opens them; each named by its place.
    public var unreadable: [String] = []

    public init() {}
  }

  private let database: any Querying
  private let vault: Vault
  private let user: String

  /// - Parameter user: who does it at the command line, for the audit log of each customer.
  public init(_ database: any Querying, vault: Vault, by user: String) {
    self.database = database
    self.vault = vault
    self.user = user
  }

  /// Goes over all sealed values, each on its own, so that it may be stopped and started at any time.
  /// - Parameters:
  ///   - trial: whether only to look what a run would do.
  ///   - report: called after the hub's own secrets and after every customer.
  public func run(
    trial: Bool = false, _ report: @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Progress {
    var progress = Progress()
    for row in try await database.query(RekeyQueries.secrets) {
      let (name, bytes, key) = try row.decode(String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      guard let new = try renew(sealed, HubSecrets.context(name), &progress), !trial else { continue }
      try await database.query(RekeyQueries.replaceSecret, name, bytes, Bytes(new.bytes), new.masterKeyID)
    }
    report(progress)
    for customer in try await Customers(database).all() {
      try await run(customer.id, &progress, trial)
      report(progress)
    }
    return progress
  }

  private func run(_ customer: CustomerID, _ progress: inout Progress, _ trial: Bool) async throws {
    for row in try await database.query(RekeyQueries.credentials, customer.rawValue) {
      let (app, kind, bytes, key) = try row.decode(Int64.self, String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      let context = PushCredential.context(customer, PushAppID(app), kind)
      guard let new = try renew(sealed, context, &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceCredential, customer.rawValue, app, kind, bytes, Bytes(new.bytes), new.masterKeyID, user,
        AuditAction.rekey.rawValue, "app \(app)")
    }
    for row in try await database.query(RekeyQueries.replies, customer.rawValue) {
      let (key, body) = try row.decode(String.self, Bytes.self)
      let context = IdempotentReplies.context(customer, key)
      guard let new = try renew(Sealed(joined: body.bytes), context, &progress), !trial else { continue }
      try await database.query(RekeyQueries.replaceReply, customer.rawValue, key, body, Bytes(new.joined))
    }
    for row in try await database.query(RekeyQueries.tokens, customer.rawValue) {
      let (key, bytes, masterKey) = try row.decode(String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: masterKey)
      let context = ProviderTokenVault.context(customer, key)
      guard let new = try renew(sealed, context, &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceToken, customer.rawValue, key, bytes, Bytes(new.bytes), new.masterKeyID)
    }
    for row in try await database.query(RekeyQueries.hybridSecrets, customer.rawValue) {
      let (appID, isPrevious, bytes) = try row.decode(String.self, Bool.self, Bytes.self)
      let context = Self.hybridContext(customer, appID: appID)
      guard let new = try renew(Sealed(joined: bytes.bytes), context, &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceHybridSecret, customer.rawValue, appID, isPrevious, bytes, Bytes(new.joined))
    }
    try await runDatasync(customer, &progress, trial)
  }

  /// What data trees have sealed: keys of subscriptions, and settings of webhooks.
  private func runDatasync(_ customer: CustomerID, _ progress: inout Progress, _ trial: Bool) async throws {
    for row in try await database.query(RekeyQueries.subscriptions, customer.rawValue) {
      let (id, bytes, key) = try row.decode(Int64.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      let context = DatasyncSealing.subscription(customer, SubscriptionID(id))
      guard let new = try renew(sealed, context, &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceSubscription, customer.rawValue, id, bytes, Bytes(new.bytes), new.masterKeyID)
    }
    for row in try await database.query(RekeyQueries.webhooks, customer.rawValue) {
      let (app, bytes, key) = try row.decode(String.self, Bytes.self, String.self)
      let sealed = Sealed(bytes: bytes.bytes, masterKeyID: key)
      guard let new = try renew(sealed, DatasyncSealing.webhooks(customer, app), &progress), !trial else { continue }
      try await database.query(
        RekeyQueries.replaceWebhooks, customer.rawValue, app, bytes, Bytes(new.bytes), new.masterKeyID)
    }
  }

  /// The place of the secrets of an app of CM Hybrid Messaging.
  package static func hybridContext(_ customer: CustomerID, appID: String) -> String {
    "hybrid_app/\(customer)/\(appID)"
  }

  /// The value, sealed again; `nil` when it needs no sealing or cannot be opened.
  private func renew(_ sealed: Sealed, _ context: String, _ progress: inout Progress) throws -> Sealed? {
    guard sealed.masterKeyID != vault.currentID else {
      progress.current += 1
      return nil
    }
    guard let secret = try? vault.open(sealed, context: context) else {
      progress.unreadable.append(context)
      return nil
    }
    progress.resealed += 1
    return try vault.seal(secret, context: context)
  }
}

/// Statements that `Rekey` reads and replaces sealed values with.
///
/// Each replaces a value only if it still is what was read, so a credential that is saved meanwhile is never overwritten.
enum RekeyQueries {
  /// The credentials of one customer.
  static let credentials = Statement(
    "rekey.credentials", .read,
    """
    SELECT push_app_id, kind, sealed, master_key_id FROM push_credential
    WHERE customer_id = $1::bigint ORDER BY push_app_id, kind
    """)

  /// Together with the line of the audit log: `$7` did the action `$8` to the target `$9`.
  static let replaceCredential = Statement(
    "rekey.replace_credential", .write,
    """
    WITH replaced AS (
      UPDATE push_credential SET sealed = $5::bytea, master_key_id = $6::text
      WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND kind = $3::text AND sealed = $4::bytea
      RETURNING customer_id
    )
    INSERT INTO audit_log (customer_id, os_user, action, target, after)
    SELECT $1::bigint, $7::text, $8::text, $9::text, json_build_object('kind', $3::text, 'masterKeyId', $6::text)
    FROM replaced
    """)

  /// The replies of one customer that still answer a repeated request.
  static let replies = Statement(
    "rekey.replies", .read,
    """
    SELECT idempotency_key, body FROM idempotent_reply
    WHERE customer_id = $1::bigint AND created_at >= now() - interval '24 hours' AND body <> ''
    ORDER BY idempotency_key
    """)

  static let replaceReply = Statement(
    "rekey.replace_reply", .write,
    """
    UPDATE idempotent_reply SET body = $4::bytea
    WHERE customer_id = $1::bigint AND idempotency_key = $2::text AND body = $3::bytea
    """)

  /// The tokens of one customer that can still be used. The next one is sealed under the current key.
  static let tokens = Statement(
    "rekey.tokens", .read,
    """
    SELECT signing_key, sealed, master_key_id FROM provider_token
    WHERE customer_id = $1::bigint AND issued_at > now() - interval '1 hour' ORDER BY signing_key
    """)

  static let replaceToken = Statement(
    "rekey.replace_token", .write,
    """
    UPDATE provider_token SET sealed = $4::bytea, master_key_id = $5::text
    WHERE customer_id = $1::bigint AND signing_key = $2::text AND sealed = $3::bytea
    """)

  /// Each app's secret of one customer, and the one before it.
  static let hybridSecrets = Statement(
    "rekey.hybrid_secrets", .read,
    """
    SELECT app_id, s.previous, s.sealed
    FROM hybrid_app CROSS JOIN LATERAL (VALUES (false, secret), (true, previous_secret)) AS s (previous, sealed)
    WHERE customer_id = $1::bigint AND s.sealed IS NOT NULL ORDER BY app_id, s.previous
    """)

  static let replaceHybridSecret = Statement(
    "rekey.replace_hybrid_secret", .write,
    """
    UPDATE hybrid_app SET secret = CASE WHEN $3::bool THEN secret ELSE $5::bytea END,
      previous_secret = CASE WHEN $3::bool THEN $5::bytea ELSE previous_secret END
    WHERE customer_id = $1::bigint AND app_id = $2::text
      AND CASE WHEN $3::bool THEN previous_secret ELSE secret END = $4::bytea
    """)

  static let subscriptions = Statement(
    "rekey.subscriptions", .read,
    """
    SELECT subscription_id, sealed_key, master_key_id FROM datasync_subscription
    WHERE customer_id = $1::bigint AND sealed_key IS NOT NULL ORDER BY subscription_id
    """)

  static let replaceSubscription = Statement(
    "rekey.replace_subscription", .write,
    """
    UPDATE datasync_subscription SET sealed_key = $4::bytea, master_key_id = $5::text
    WHERE customer_id = $1::bigint AND subscription_id = $2::bigint AND sealed_key = $3::bytea
    """)

  static let webhooks = Statement(
    "rekey.webhooks", .read,
    """
    SELECT app_id, webhooks, master_key_id FROM datasync_app
    WHERE customer_id = $1::bigint AND webhooks IS NOT NULL ORDER BY app_id
    """)

  static let replaceWebhooks = Statement(
    "rekey.replace_webhooks", .write,
    """
    UPDATE datasync_app SET webhooks = $4::bytea, master_key_id = $5::text
    WHERE customer_id = $1::bigint AND app_id = $2::text AND webhooks = $3::bytea
    """)

  static let secrets = Statement(
    "rekey.secrets", .read, "SELECT name, sealed, master_key_id FROM hub_secret ORDER BY name")

  static let replaceSecret = Statement(
    "rekey.replace_secret", .write,
    "UPDATE hub_secret SET sealed = $3::bytea, master_key_id = $4::text WHERE name = $1::text AND sealed = $2::bytea")

  static let all: [Statement] = [
    credentials, replaceCredential, replies, replaceReply, tokens, replaceToken, hybridSecrets, replaceHybridSecret,
    subscriptions, replaceSubscription, webhooks, replaceWebhooks, secrets, replaceSecret,
  ]
}

/// The places that values of data trees are sealed for.
package enum DatasyncSealing {
  /// Of the key that a subscription's notifications are encrypted with.
  package static func subscription(_ customer: CustomerID, _ id: SubscriptionID) -> String {
    "datasync_subscription/\(customer)/\(id)"
  }

  /// Of the settings of an app's webhooks.
  package static func webhooks(_ customer: CustomerID, _ app: String) -> String { "datasync_app/\(customer)/\(app)" }
}
