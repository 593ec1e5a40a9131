import Postgres

/// The role that reports are read as. Migrations make it, unless the database's user may not make roles.
enum ReportRole {
  /// What has to be run so that the role can read the reports; nil if it can.
  static func remedy(_ pool: Pool) async throws -> String? {
    let admit = "SELECT report.admit('pushcart_report');"
    switch try await pool.query(mayRead).first?.decode(Bool.self) {
    case true?: return nil
    case false?: return admit
    case nil: return "CREATE ROLE pushcart_report NOLOGIN; \(admit)"
    }
  }

  /// No row if there is no such role.
  static let mayRead = Statement(
    "report_role.may_read", .read,
    "SELECT has_schema_privilege(oid, 'report', 'USAGE') FROM pg_roles WHERE rolname = 'pushcart_report'")
}
