package import Postgres

/// What a table holds of a person: how that is erased, and how it is shown. Each room says so of its own tables.
///
/// `$1` is the customer and `$2` the contact's number in all statements.
package struct PersonalTable: Sendable {
  package enum Erasure: Sendable {
    /// In the transaction that erases the contact.
    case atOnce(Statement)
    /// Later, in portions. `$3` are the person's names, `$4` is the cursor, two zeros at first, and `$5` the erasure. It returns a row with the
    /// cursor of the next portion, NULL behind the last one. A portion that is erased again does no harm.
    case inPortions(Statement)
    /// By the step of that table.
    case with(String)
    /// Nothing is erased, and why.
    case stays(String)
  }

  package let name: String
  package let erasure: Erasure
  /// `$3` are the person's names, and `$4` is how many rows there are at most. A bounded page.
  package let shown: Statement?

  /// - Parameters:
  ///   - rows: of the person, in their order, with the columns that are shown; `nil` if nothing is.
  package init(_ name: String, _ erasure: Erasure, showing rows: String? = nil) {
    self.name = name
    self.erasure = erasure
    shown = rows.map { rows in
      Statement(
        "personal.\(name)", .read,
        BoundedPage.rows(
          of: """
            SELECT row_number() OVER () AS place, to_json(one) AS shown
              FROM (\(rows)) AS one
             WHERE $2::bigint IS NOT NULL AND $3::text[] IS NOT NULL
             LIMIT $4::bigint
            """, size: "octet_length(shown::text)", order: "place"))
    }
  }

  /// That a statement has all parameters of `inPortions`, whichever it uses.
  package static let parameters =
    "$2::bigint IS NOT NULL AND $3::text[] IS NOT NULL AND $4::bigint[] IS NOT NULL AND $5::bigint IS NOT NULL"

  /// SQL of a step that deletes rows until there are none.
  /// - Parameters:
  ///   - key: of the table's primary key, the columns behind the customer.
  ///   - condition: whose rows they are; an index leads to them.
  package static func delete(from table: String, by key: String, where condition: String) -> String {
    """
    WITH gone AS (
      DELETE FROM \(table)
       WHERE customer_id = $1::bigint AND \(parameters) AND (\(key)) IN (
         SELECT \(key) FROM \(table) WHERE customer_id = $1::bigint AND \(condition) LIMIT \(portion))
      RETURNING 1)
    SELECT CASE WHEN (SELECT count(*) FROM gone) > 0 THEN $4::bigint[] END
    """
  }

  /// Rows of a portion.
  package static let portion = 2000

  package var statements: [Statement] {
    switch erasure {
    case .atOnce(let statement), .inPortions(let statement): [statement] + (shown.map { [$0] } ?? [])
    case .with, .stays: shown.map { [$0] } ?? []
    }
  }
}
