import Postgres

/// Statements that `Rekey` goes over sealed values with.
///
/// Each replaces a value only if it still is what was read, so a credential saved meanwhile is never overwritten.
enum RekeyQueries {
  /// Of one customer.
  static let credentials = Statement(
    "rekey.credentials", .read,
    """
    SELECT push_app_id, kind, sealed, master_key_id FROM push_credential
    WHERE customer_id = $1::bigint ORDER BY push_app_id, kind
    """)

  static let replaceCredential = Statement(
    "rekey.replace_credential", .write,
    """
    UPDATE push_credential SET sealed = $5::bytea, master_key_id = $6::text
    WHERE customer_id = $1::bigint AND push_app_id = $2::bigint AND kind = $3::text AND sealed = $4::bytea
    """)

  /// Of one customer, those that still answer a repeated request.
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

  static let secrets = Statement(
    "rekey.secrets", .read, "SELECT name, sealed, master_key_id FROM hub_secret ORDER BY name")

  static let replaceSecret = Statement(
    "rekey.replace_secret", .write,
    "UPDATE hub_secret SET sealed = $3::bytea, master_key_id = $4::text WHERE name = $1::text AND sealed = $2::bytea")

  static let all: [Statement] = [
    credentials, replaceCredential, replies, replaceReply, secrets, replaceSecret,
  ]
}
