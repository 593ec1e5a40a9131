import FoundationEssentials
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
    return page.page(of: try rows.map { (try AuditEntryReply($0), try $0.isBeyondPage) }, cursor: \.auditId)
  }
}

/// Statements on `audit_log`.
enum AuditQueries {
  static let add = Statement(
    "audit_log.add", .write,
    """
    INSERT INTO audit_log (customer_id, access_key_id, os_user, address, action, target, before, after)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::json, $8::json)
    """)

  /// The newest first, from behind `$2`.
  static let list = Statement(
    "audit_log.list", .read,
    BoundedPage.rows(
      of: """
        SELECT audit_log_id, at, access_key_id, os_user, address, action, target, before, after FROM audit_log
        WHERE customer_id = $1::bigint AND audit_log_id < coalesce($2::bigint, \(Int64.max))
        ORDER BY audit_log_id DESC
        LIMIT $3::bigint
        """, size: "coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)",
      order: "audit_log_id DESC"))

  static let all: [Statement] = [add, list]
}

extension AuditEntryReply {
  fileprivate init(_ row: Row) throws {
    let (id, at, key, user, address, action, target, before, after) = try row.decode(
      Int64.self, Date.self, Int64?.self, String?.self, String?.self, String.self, String.self, JSONDocument?.self,
      JSONDocument?.self)
    func value(_ json: JSONDocument?) throws -> JSONValue? {
      try json.map { try JSONValue(json: Array($0.text.utf8), rules: .own) }
    }
    self.init(
      auditId: AuditEntryID(id), at: Timestamp(at), keyId: key.map { AccessKeyID($0) }, osUser: user, address: address,
      action: action, target: target, before: try value(before), after: try value(after))
  }
}
