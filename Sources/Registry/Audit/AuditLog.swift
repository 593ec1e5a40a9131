public import Postgres
public import Wire

/// Reads the audit log; `ManagementChange` writes it.
public struct AuditLog: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Which lines are asked for; those of `nil` are not asked about.
  public struct Filter: Sendable, Hashable {
    public var key: AccessKeyID?
    public var user: UserID?
    /// What the action begins with, as in `sendout.`.
    public var action: String?
    public var since: Timestamp?

    public init(key: AccessKeyID? = nil, user: UserID? = nil, action: String? = nil, since: Timestamp? = nil) {
      self.key = key
      self.user = user
      self.action = action
      self.since = since
    }
  }

  /// The customer's management changes, the newest first. A page ends with 2 MiB of them.
  public func list(
    _ customer: CustomerID, _ page: PageRequest<AuditEntryID> = PageRequest(), where filter: Filter = Filter()
  ) async throws -> Page<AuditEntryReply, AuditEntryID> {
    // PostgreSQL would refuse U+0000, which no action has.
    if let action = filter.action, action.utf8.contains(0) { return Page(items: []) }
    let rows = try await database.query(
      AuditQueries.list, customer.rawValue, page.after?.rawValue, page.limit + 1, filter.key?.rawValue,
      filter.user?.rawValue, filter.action, filter.since?.date)
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

  /// The newest first, from behind `$2`: those of the key `$4`, of the user `$5`, of actions that begin with `$6`, since `$7`.
  static let list = Statement(
    "audit_log.list", .read,
    BoundedPage.rows(
      of: """
        SELECT audit_log_id AS audit_id, at, access_key_id AS key_id, user_id,
          (SELECT email FROM console_user WHERE console_user.user_id = audit_log.user_id) AS user_email,
          os_user, address, action, target, before, after
        FROM audit_log
        WHERE customer_id = $1::bigint AND audit_log_id < coalesce($2::bigint, \(Int64.max))
          AND ($4::bigint IS NULL OR access_key_id = $4::bigint) AND ($5::bigint IS NULL OR user_id = $5::bigint)
          AND ($6::text IS NULL OR starts_with(action, $6::text)) AND ($7::timestamptz IS NULL OR at >= $7::timestamptz)
        ORDER BY audit_log_id DESC
        LIMIT $3::bigint
        """, size: "coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)",
      order: "audit_id DESC"))

  static let all: [Statement] = [add, list]
}
