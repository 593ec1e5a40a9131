import FoundationEssentials
import Postgres
import Wire

/// Statements on `access_key`.
enum AccessKeyQueries {
  private static let columns = "access_key_id, customer_id, name, scope, created_at, revoked_at"

  static let add = Statement(
    "access_key.add", .write,
    """
    INSERT INTO access_key (customer_id, name, scope, token_hash)
    VALUES ($1::bigint, $2::text, $3::text, $4::bytea)
    RETURNING \(columns)
    """)

  static let list = Statement(
    "access_key.list", .read,
    "SELECT \(columns) FROM access_key WHERE customer_id = $1::bigint ORDER BY access_key_id")

  /// Locks the one key's row. A key revoked before keeps its moment.
  static let revoke = Statement(
    "access_key.revoke", .write,
    """
    UPDATE access_key SET revoked_at = least(revoked_at, now())
    WHERE customer_id = $1::bigint AND access_key_id = $2::bigint
    RETURNING \(columns)
    """)

  static let authenticate = Statement(
    "access_key.authenticate", .read,
    """
    SELECT access_key_id, scope FROM access_key
    WHERE customer_id = $1::bigint AND token_hash = $2::bytea AND revoked_at IS NULL
    """)

  static let all: [Statement] = [add, list, revoke, authenticate]
}

extension AccessKey {
  init(_ row: Row) throws {
    let (id, customer, name, scope, createdAt, revokedAt) = try row.decode(
      Int64.self, Int64.self, String.self, String.self, Date.self, Date?.self)
    self.init(
      id: AccessKeyID(id), customer: CustomerID(customer), name: name, scope: try AccessScope(stored: scope),
      createdAt: createdAt, revokedAt: revokedAt)
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
