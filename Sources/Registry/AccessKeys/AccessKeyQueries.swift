import FoundationEssentials
import Postgres
import Wire

/// Statements on `access_key`. `$1` is the customer.
enum AccessKeyQueries {
  private static let columns = """
    access_key_id, customer_id, name, scope, app_id, created_by, created_at, expires_at, last_used_at, revoked_at
    """

  static let add = Statement(
    "access_key.add", .write,
    """
    INSERT INTO access_key (customer_id, name, scope, token_hash, app_id, expires_at, created_by)
    VALUES ($1::bigint, $2::text, $3::text, $4::bytea, $5::text, $6::timestamptz, $7::bigint)
    RETURNING \(columns)
    """)

  static let list = Statement(
    "access_key.list", .read,
    "SELECT \(columns) FROM access_key WHERE customer_id = $1::bigint ORDER BY access_key_id")

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

  static let all: [Statement] = [add, list, revoke, authenticate, noteUse]
}

extension AccessKey {
  init(_ row: Row) throws {
    let (id, customer, name, scope, appID, createdBy, createdAt, expiresAt, lastUsedAt, revokedAt) = try row.decode(
      Int64.self, Int64.self, String.self, String.self, String?.self, Int64?.self, Date.self, Date?.self, Date?.self,
      Date?.self)
    self.init(
      id: AccessKeyID(id), customer: CustomerID(customer), name: name, scope: try AccessScope(stored: scope),
      appID: appID, createdBy: createdBy.map { AccessKeyID($0) }, createdAt: createdAt, expiresAt: expiresAt,
      lastUsedAt: lastUsedAt, revokedAt: revokedAt)
  }
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
