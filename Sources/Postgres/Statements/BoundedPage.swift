/// Pages of rows that can be long: a page ends once its rows have many bytes, however many were asked for.
package enum BoundedPage {
  /// So many bytes end a page. The row that reaches it is its last.
  package static let bytes = 2 << 20

  /// SQL that returns the rows of `query` which are on its page, and one more if there is one: see `Row.isBeyondPage`.
  /// - Parameters:
  ///   - query: of as many rows as are asked for, and one more.
  ///   - size: of a row, in bytes, from the columns of `query`.
  ///   - order: of `query`.
  package static func rows(of query: String, size: String, order: String) -> String {
    func reached(before count: Int) -> String {
      "sum(\(size)) OVER (page ROWS BETWEEN UNBOUNDED PRECEDING AND \(count) PRECEDING) >= \(bytes)"
    }
    return """
      SELECT * FROM (SELECT found.*,
                            (CASE WHEN \(reached(before: 2)) THEN 2 WHEN \(reached(before: 1)) THEN 1 ELSE 0 END)::int2 AS page_part
                       FROM (\(query)) AS found
                     WINDOW page AS (ORDER BY \(order))) AS bounded
       WHERE page_part < 2
       ORDER BY \(order)
      """
  }
}

extension Row {
  /// Of a statement with a bounded page: whether the row is beyond it, and only shows that there is a further page.
  package var isBeyondPage: Bool { get throws { try get("page_part", as: Int16.self) > 0 } }
}
