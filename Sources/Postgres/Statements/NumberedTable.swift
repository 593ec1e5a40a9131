/// Statements on a tenant's table whose rows are numbered and have the times of their making and last change. `$1` is the customer, and `$2`
/// the row's number.
///
/// They return columns under the names that the table has for them, the number first.
package struct NumberedTable: Sendable {
  /// Adds a row with what follows the number, which is the next free one for NULL.
  package let add: Statement
  /// Replaces what follows the number; no row if all of it is as it was.
  package let change: Statement
  package let find: Statement
  /// As `find`; locks the row until the transaction ends.
  package let lock: Statement
  /// Removes the row and returns it.
  package let remove: Statement
  /// From behind the number `$2`, at most `$3`, as a bounded page.
  package let list: Statement

  package let name: String
  /// The columns that are set, in the order of the parameters of `add` and `change`, which begin with `$3`.
  package let columns: [String]

  package var all: [Statement] { [add, change, find, lock, remove, list] }

  /// - Parameters:
  ///   - name: of the table.
  ///   - id: the column of the number; by default the table's name with `_id` behind it.
  ///   - columns: those that are set, with their types.
  ///   - size: SQL of a row's bytes, by which pages end.
  package init(_ name: String, id: String? = nil, columns: KeyValuePairs<String, String>, size: String) {
    let id = id ?? "\(name)_id"
    let names = columns.map(\.key)
    (self.name, self.columns) = (name, names)
    let returned = ([id] + names + ["created_at", "updated_at"]).joined(separator: ", ")
    let values = columns.enumerated().map { "$\($0 + 3)::\($1.value)" }
    // JSON has no equality of its own.
    func compared(_ values: [String]) -> String {
      zip(values, columns).map { $1.value == "json" ? "\($0)::text" : $0 }.joined(separator: ", ")
    }
    let one = "customer_id = $1::bigint AND \(id) = $2::bigint"
    add = Statement(
      "\(name).add", .write,
      """
      INSERT INTO \(name) (customer_id, \(id), \(names.joined(separator: ", ")))
      VALUES ($1::bigint, coalesce($2::bigint, nextval('\(name)_\(id)_seq')), \(values.joined(separator: ", ")))
      RETURNING \(returned)
      """)
    change = Statement(
      "\(name).change", .write,
      """
      UPDATE \(name) SET \(zip(names, values).map { "\($0) = \($1)" }.joined(separator: ", ")), updated_at = now()
      WHERE \(one) AND (\(compared(names))) IS DISTINCT FROM (\(compared(values)))
      RETURNING \(returned)
      """)
    find = Statement("\(name).find", .read, "SELECT \(returned) FROM \(name) WHERE \(one)")
    lock = Statement("\(name).lock", .write, "SELECT \(returned) FROM \(name) WHERE \(one) FOR NO KEY UPDATE")
    remove = Statement("\(name).remove", .write, "DELETE FROM \(name) WHERE \(one) RETURNING \(returned)")
    list = Statement(
      "\(name).list", .read,
      BoundedPage.rows(
        of: """
          SELECT \(returned) FROM \(name) WHERE customer_id = $1::bigint AND \(id) > $2::bigint
          ORDER BY \(id) LIMIT $3::bigint
          """, size: size, order: id))
  }
}
