package import Postgres
package import Wire

/// A column whose values are sealed with the master key. Each room lists its own, and `Rekey` seals them anew.
package struct SealedColumn: Sendable {
  package let table: String
  package let column: String
  /// Whether each value is a customer's.
  let isTenants: Bool
  /// Whether the audit log has a line of each value that is sealed anew.
  let isAudited: Bool
  /// Reads each value's key, the value, and its master key's id; NULL if that stands before the value. `$1` is the customer, if any.
  let read: Statement
  /// Replaces a value only if it still is what was read, so one that is saved meanwhile is never overwritten. The parameters are customer,
  /// key, old value, new one, and the master key's id if a column has it. With a line in the audit log, its user and action follow.
  let replace: Statement

  /// - Parameters:
  ///   - key: the columns that name a value besides the customer, and their types.
  ///   - isTenants: whether the table has `customer_id`.
  ///   - isJoined: whether the master key's id stands before the value, rather than in `master_key_id`.
  ///   - isUsed: SQL of what is still used; the rest is left as it is.
  ///   - audit: SQL of the target and the change that the audit log names, from the columns of the key.
  package init(
    _ table: String, _ column: String, key: KeyValuePairs<String, String>, isTenants: Bool = true,
    isJoined: Bool = false,
    isUsed: String? = nil, audit: (target: String, after: String)? = nil
  ) {
    self.table = table
    self.column = column
    self.isTenants = isTenants
    isAudited = audit != nil
    let names = key.map(\.key)
    // Parameters of the key, the values and what follows.
    let first = isTenants ? 2 : 1
    let customer = isTenants ? ["customer_id = $1::bigint"] : []
    let wanted = customer + ["\(column) IS NOT NULL"] + (isUsed.map { [$0] } ?? [])
    read = Statement(
      "rekey.read_\(table)_\(column)", .read,
      """
      SELECT ARRAY[\(names.map { "\($0)::text" }.joined(separator: ", "))], \(column),
             \(isJoined ? "NULL::text" : "master_key_id")
        FROM \(table) WHERE \(wanted.joined(separator: " AND ")) ORDER BY \(names.joined(separator: ", "))
      """)
    let own = key.enumerated().map { "\($1.key) = ($\(first)::text[])[\($0 + 1)]::\($1.value)" }
    let known = customer + own + ["\(column) = $\(first + 1)::bytea"]
    let update = """
      UPDATE \(table) SET \(column) = $\(first + 2)::bytea\(isJoined ? "" : ", master_key_id = $\(first + 3)::text")
       WHERE \(known.joined(separator: " AND "))
      """
    let audited = audit.map { target, after in
      """
      WITH replaced AS (\(update) RETURNING \(names.joined(separator: ", ")), master_key_id)
      INSERT INTO audit_log (customer_id, os_user, action, target, after)
      SELECT $1::bigint, $6::text, $7::text, \(target), \(after) FROM replaced
      """
    }
    replace = Statement("rekey.replace_\(table)_\(column)", .write, audited ?? update)
  }

  package var statements: [Statement] { [read, replace] }

  /// The place that a value is sealed for.
  /// - Parameter customer: nil for a value that is no customer's.
  package func place(_ customer: CustomerID?, _ key: [String]) -> String {
    ([table] + (customer.map { ["\($0)"] } ?? []) + key).joined(separator: "/")
  }

  package func place(_ customer: CustomerID?, _ key: String...) -> String { place(customer, key) }
}

extension SealedColumn {
  package static let registry = [hubSecret, credential, reply, providerToken, totp]

  static let hubSecret = SealedColumn("hub_secret", "sealed", key: ["name": "text"], isTenants: false)
  static let credential = SealedColumn(
    "push_credential", "sealed", key: ["push_app_id": "bigint", "kind": "text"],
    audit: ("'app ' || push_app_id", "json_build_object('kind', kind, 'masterKeyId', master_key_id)"))
  /// Those that still answer a repeated request.
  static let reply = SealedColumn(
    "idempotent_reply", "body", key: ["idempotency_key": "text"], isJoined: true,
    isUsed: "created_at >= now() - interval '24 hours' AND body <> ''")
  /// Those that can still be used. The next one is sealed under the current key.
  static let providerToken = SealedColumn(
    "provider_token", "sealed", key: ["signing_key": "text"], isUsed: "issued_at > now() - interval '1 hour'")
  static let totp = SealedColumn(
    "console_user", "totp_secret", key: ["user_id": "bigint"], isTenants: false, isJoined: true)
}
