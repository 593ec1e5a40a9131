import FoundationEssentials
import Postgres
import Wire

/// Statements on `access_key`. `$1` is the customer. Columns have the names of the reply's fields.
enum AccessKeyQueries {
  private static let columns = """
    access_key_id AS key_id, name, scope, app_id, created_by, created_at, expires_at, last_used_at, revoked_at
    """

  /// A key expires no later than the one that creates it: `least` ignores NULL.
  static let add = Statement(
    "access_key.add", .write,
    """
    INSERT INTO access_key (customer_id, name, scope, token_hash, app_id, expires_at, created_by)
    SELECT $1::bigint, $2::text, $3::text, $4::bytea, $5::text,
      least($6::timestamptz, (
        SELECT creator.expires_at FROM access_key AS creator
        WHERE creator.customer_id = $1::bigint AND creator.access_key_id = $7::bigint)),
      $7::bigint
    RETURNING \(columns)
    """)

  /// Locks the key's row until the transaction ends, if the key is valid: whoever revokes it waits, and then sees what it created.
  /// A transaction that revoked the key itself may end: it wrote its own moment.
  static let holdValid = Statement(
    "access_key.hold_valid", .write,
    """
    SELECT 1 FROM access_key
    WHERE customer_id = $1::bigint AND access_key_id = $2::bigint
      AND (revoked_at IS NULL OR revoked_at = now()) AND (expires_at IS NULL OR expires_at > now())
    FOR SHARE
    """)

  static let list = Statement(
    "access_key.list", .read,
    "SELECT \(columns) FROM access_key WHERE customer_id = $1::bigint ORDER BY access_key_id")

  /// Locks all rows, in the order of `list`, so that nobody else revokes one meanwhile.
  static let lock = Statement(
    "access_key.lock", .write,
    """
    SELECT \(columns) FROM access_key WHERE customer_id = $1::bigint ORDER BY access_key_id FOR NO KEY UPDATE
    """)

  /// Locks the keys' rows. A key that was revoked before keeps its moment.
  static let revoke = Statement(
    "access_key.revoke", .write,
    """
    UPDATE access_key SET revoked_at = least(revoked_at, now())
    WHERE customer_id = $1::bigint AND access_key_id = ANY ($2::bigint[])
    RETURNING \(columns)
    """)

  static let authenticate = Statement(
    "access_key.authenticate", .read,
    """
    SELECT access_key_id, scope, app_id, expires_at FROM access_key
    WHERE customer_id = $1::bigint AND token_hash = $2::bytea AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > now())
    """)

  /// Notes when the keys `$2` were last used, by the moments `$3`. Several hubs together write a key once a minute at most.
  static let noteUse = Statement(
    "access_key.note_use", .write,
    """
    UPDATE access_key SET last_used_at = used.at
    FROM unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[]) AS used(access_key_id, at, minute_before)
    WHERE customer_id = $1::bigint AND access_key.access_key_id = used.access_key_id
      AND (last_used_at IS NULL OR last_used_at <= used.minute_before)
    """)

  static let all: [Statement] = [add, holdValid, list, lock, revoke, authenticate, noteUse]
}

extension AccessScope {
  /// Reads the scope's name, which a constraint of the table holds to the known ones.
  init(stored name: String) throws(PostgresError) {
    guard let scope = AccessScope(rawValue: name) else {
      throw .decoding(statement: "access_key", column: "scope", .format("no access scope: \(name)"))
    }
    self = scope
  }
}
