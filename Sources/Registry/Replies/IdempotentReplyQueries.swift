import Postgres

/// Statements on `idempotent_reply`.
enum IdempotentReplyQueries {
  /// Takes the key for this request: inserts its row, or takes over one that has expired. Waits for a twin in flight, and gives
  /// no row when the twin committed. Locks the key's row until the transaction ends.
  static let take = Statement(
    "idempotent_reply.take", .write,
    """
    INSERT INTO idempotent_reply AS reply (customer_id, idempotency_key, fingerprint, status, body, created_at)
    VALUES ($1::bigint, $2::text, $3::bytea, 0, '', now())
    ON CONFLICT (customer_id, idempotency_key) DO UPDATE
      SET fingerprint = excluded.fingerprint, status = 0, body = '', created_at = excluded.created_at
      WHERE excluded.created_at - reply.created_at > interval '24 hours'
    RETURNING 1
    """)

  static let settle = Statement(
    "idempotent_reply.settle", .write,
    """
    UPDATE idempotent_reply SET status = $3::int2, body = $4::bytea
    WHERE customer_id = $1::bigint AND idempotency_key = $2::text
    """)

  static let find = Statement(
    "idempotent_reply.find", .read,
    """
    SELECT fingerprint, status, body FROM idempotent_reply
    WHERE customer_id = $1::bigint AND idempotency_key = $2::text
    """)

  static let forget = Statement(
    "idempotent_reply.forget", .write,
    """
    DELETE FROM idempotent_reply
    WHERE customer_id = $1::bigint AND created_at < now() - interval '24 hours'
    """)

  static let all: [Statement] = [take, settle, find, forget]
}
