package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum PushcartStatements {
  package static let all: [Statement] = HubQueries.all
}

/// Statements about the server, its roles, and the hubs that are connected to it.
enum HubQueries {
  static let all: [Statement] = [serving, nextSendout, server, replication, user, role]

  /// The application name of hubs, unless the database's address sets another.
  static let applicationName = "pushcart hub"

  /// A row if a hub with the application name `$1` is connected.
  static let serving = Statement(
    "hub.serving", .read,
    """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1::text LIMIT 1
    """)

  /// The number of the next sendout. A crash leaves gaps, so it can exceed the last number plus one.
  static let nextSendout = Statement(
    "hub.next_sendout", .read, "SELECT last_value + is_called::int FROM sendout_sendout_id_seq")

  /// The server's version as a number, as in 150008, and as text; whether the connection leaves this machine.
  static let server = Statement(
    "hub.server", .read,
    """
    SELECT current_setting('server_version_num')::int4, current_setting('server_version'),
           coalesce(NOT inet_server_addr() <<= '127.0.0.0/8' AND inet_server_addr() <> '::1', false)
    """)

  /// When a commit is acknowledged: `fsync`, `synchronous_commit`, `synchronous_standby_names`, and how many standbys are connected.
  static let replication = Statement(
    "hub.replication", .read,
    """
    SELECT current_setting('fsync')::bool, current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
           (SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup')
    """)

  /// The current user; whether it is a superuser, whether it owns the schema, and a table it cannot use (NULL: none).
  static let user = Statement(
    "hub.user", .read,
    """
    SELECT current_user::text, r.rolsuper, pg_has_role(m.relowner, 'USAGE'),
           (SELECT min(t.relname::text) FROM pg_class t
             WHERE t.relnamespace = m.relnamespace AND t.relkind IN ('r', 'p') AND t.oid <> m.oid
               AND NOT (has_table_privilege(t.oid, 'SELECT') AND has_table_privilege(t.oid, 'INSERT')))
      FROM pg_roles r, pg_class m
     WHERE r.rolname = current_user AND m.oid = 'schema_migration'::regclass
    """)

  /// Whether role `$1` has its privileges; no row if the role does not exist.
  static let role = Statement(
    "hub.role", .read,
    """
    SELECT CASE WHEN rolname = 'pushcart_serve' THEN has_table_privilege(oid, 'push', 'INSERT')
                        ELSE has_schema_privilege(oid, 'report', 'USAGE') END
      FROM pg_roles WHERE rolname = $1::text
    """)
}

/// The roles that share the database with its owner. Migrations create them if the owner may create roles.
enum DatabaseRole: String, CaseIterable {
  /// Reads and writes the hub's tables, and changes no schema.
  case serve = "pushcart_serve"
  /// Reads the views of schema `report`.
  case report = "pushcart_report"

  /// The SQL that gives the role its privileges; `nil` if it has them.
  func remedy(_ pool: Pool) async throws -> String? {
    let admit = self == .serve ? "SELECT admit_hub('\(rawValue)');" : "SELECT report.admit('\(rawValue)');"
    switch try await pool.query(HubQueries.role, rawValue).first?.decode(Bool.self) {
    case true?: return nil
    case false?: return admit
    case nil: return "CREATE ROLE \(rawValue) NOLOGIN; \(admit)"
    }
  }
}
