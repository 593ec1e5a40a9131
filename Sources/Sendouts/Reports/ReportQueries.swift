import Postgres
import Wire

/// Statements on the views of schema `report`, one a report; each row comes as a JSON object. `$1` is the customer, `$2` the
/// count of rows, `$3` what the report is narrowed to, if it can be.
enum ReportQueries {
  static let all = Report.allCases.map(statement)

  static func statement(_ report: Report) -> Statement {
    let view = ReportView.of(report)
    let members = view.columns.map { "'\($0.name)', \($0.sql)" }.joined(separator: ", ")
    let scope =
      switch view.scope {
      case .customer: ""
      case .sendout: "AND ($3::bigint IS NULL OR sendout_id = $3::bigint)"
      case .contact: "AND original_id = $3::text"
      }
    return Statement(
      "report.\(report.rawValue)", .read,
      """
      SELECT jsonb_build_object(\(members)) FROM report.\(view.view)
       WHERE customer_id = $1::bigint \(scope)
       ORDER BY \(view.order)
       LIMIT $2::bigint
      """)
  }
}
