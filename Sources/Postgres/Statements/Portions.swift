/// Deletes that take a portion of what is old at a time, so that no statement takes long, however much there is.
package enum Portions {
  /// SQL that deletes the oldest rows of the customer `$1` in `table`: as many as `limit` says, and those that are as old as the last of
  /// these. An index has to begin with the customer and `age`.
  /// - Parameters:
  ///   - age: the column, or expression, that says how old a row is.
  ///   - end: the moment before which rows are deleted.
  ///   - condition: what else is true of them, beginning with AND.
  package static func delete(
    from table: String, by age: String, before end: String, _ condition: String = "", limit: String = "$2"
  ) -> String {
    """
    DELETE FROM \(table)
     WHERE customer_id = $1::bigint \(condition)
       AND \(age) <= (SELECT max(age) FROM (SELECT \(age) AS age FROM \(table)
                                             WHERE customer_id = $1::bigint AND \(age) < \(end) \(condition)
                                             ORDER BY 1 LIMIT \(limit)::bigint) AS oldest)
    """
  }
}

extension Querying {
  /// Runs a statement of `Portions` until nothing is left for it, each portion in a commit of its own.
  /// - Parameters:
  ///   - customer: its first parameter.
  ///   - days: its second parameter, if it has one beside the size of a portion.
  ///   - portion: the most rows that it takes at a time.
  /// - Returns: how many rows it deleted.
  @discardableResult
  package func deleteInPortions(
    _ statement: Statement, _ customer: Int64, olderThanDays days: Int32? = nil, portion: Int64 = 10_000
  ) async throws -> Int {
    var count = 0
    while true {
      try Task.checkCancellation()
      let rows =
        if let days {
          try await query(statement, customer, days, portion)
        } else {
          try await query(statement, customer, portion)
        }
      count += rows.affected
      if rows.affected < portion { return count }
    }
  }
}
