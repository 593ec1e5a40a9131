public import Postgres
public import Wire

/// Reads the audit log; `ManagementChange` writes it.
public struct AuditLog: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The customer's management changes, the newest first. A page ends with 2 MiB of them.
  public func list(
    _ customer: CustomerID, _ page: PageRequest<AuditEntryID> = PageRequest()
  ) async throws -> Page<AuditEntryReply, AuditEntryID> {
    let rows = try await database.query(
      AuditQueries.list, customer.rawValue, page.after?.rawValue, page.limit + 1)
    return page.page(of: try rows.map { (try $0.reply(AuditEntryReply.self), try $0.isBeyondPage) }, cursor: \.auditId)
  }
}

/// Statements on `audit_log`. Columns have the names of the reply's fields.
enum AuditQueries {
  static let add = Statement(
    "audit_log.add", .write,
    """
    INSERT INTO audit_log (customer_id, access_key_id, user_id, os_user, address, action, target, before, after)
    VALUES ($1::bigint, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::json, $9::json)
    """)

  /// The newest first, from behind `$2`.
  static let list = Statement(
    "audit_log.list", .read,
    BoundedPage.rows(
      of: """
        SELECT audit_log_id AS audit_id, at, access_key_id AS key_id, user_id,
          (SELECT email FROM console_user WHERE console_user.user_id = audit_log.user_id) AS user_email,
          os_user, address, action, target, before, after
        FROM audit_log
        WHERE customer_id = $1::bigint AND audit_log_id < coalesce($2::bigint, \(Int64.max))
        ORDER BY audit_log_id DESC
        LIMIT $3::bigint
        """, size: "coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)",
      order: "audit_id DESC"))

  static let all: [Statement] = [add, list]
}
