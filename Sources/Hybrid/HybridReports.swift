import FoundationEssentials
import Postgres
import Wire

/// A status that a customer has yet to get.
struct HybridReport: Sendable {
  let sendout: Int64
  let message: Int32
  let status: String
  let at: Date
  /// How often it was begun, this time included.
  let attempts: Int
  let number: PhoneNumber
  let reference: String?
  let appID: String
  let url: String
}

/// The outbox of status reports.
struct HybridReports: Sendable {
  let database: any Querying

  init(_ database: any Querying) { self.database = database }

  /// The customers that have reports to be posted now.
  func due() async throws -> [CustomerID] {
    try await database.query(HybridReportQueries.due).map { CustomerID(try $0.decode(Int64.self)) }
  }

  /// Begins some reports of a customer; no other hub posts them for a minute.
  func begin(_ customer: CustomerID) async throws -> [HybridReport] {
    try await database.query(HybridReportQueries.begin, customer.rawValue).compactMap { row in
      let (sendout, message, status, at, attempts, number, reference, appID, url) = try row.decode(
        Int64.self, Int32.self, String.self, Date.self, Int16.self, String.self, String?.self, String.self,
        String?.self)
      guard let number = PhoneNumber(number) else { return nil }
      return HybridReport(
        sendout: sendout, message: message, status: status, at: at, attempts: Int(attempts), number: number,
        reference: reference, appID: appID, url: url ?? "")
    }
  }

  /// A report was taken.
  func end(_ report: HybridReport, of customer: CustomerID) async throws {
    try await database.query(
      HybridReportQueries.end, customer.rawValue, report.sendout, report.message, report.status)
  }

  /// A report was not taken: it is posted again after `delay`, or dropped once it is 7 days old.
  func postpone(_ report: HybridReport, of customer: CustomerID, for delay: Duration) async throws {
    try await database.query(
      HybridReportQueries.postpone, customer.rawValue, report.sendout, report.message, report.status,
      delay / .seconds(1))
    try await database.query(
      HybridReportQueries.drop, customer.rawValue, report.sendout, report.message, report.status)
  }
}

/// Statements on `hybrid_report` from its claim on. `$1` is the customer; of one report `$2` is the sendout, `$3` the message and `$4` the
/// status.
enum HybridReportQueries {
  static let all: [Statement] = [due, begin, end, postpone, drop]

  /// Customers with reports that are due, of all customers. It goes by the index of due moments.
  static let due = Statement(
    "hybrid.due_reports", .read, "SELECT DISTINCT customer_id FROM hybrid_report WHERE not_before <= now()")

  /// Begins up to 100 reports. Skips those that others have locked.
  static let begin = Statement(
    "hybrid.begin_reports", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT sendout_id, message_no, status, now() + interval '1 minute' AS until
        FROM hybrid_report
       WHERE customer_id = $1::bigint AND not_before <= now()
       ORDER BY not_before
       LIMIT 100
         FOR NO KEY UPDATE SKIP LOCKED),
    begun AS (
      UPDATE hybrid_report AS r
         SET attempts = r.attempts + 1, not_before = due.until
        FROM due
       WHERE r.customer_id = $1::bigint AND r.sendout_id = due.sendout_id AND r.message_no = due.message_no
         AND r.status = due.status
      RETURNING r.sendout_id, r.message_no, r.status, r.created_at, r.attempts)
    SELECT begun.sendout_id, begun.message_no, begun.status, begun.created_at, begun.attempts, h.number, h.reference, h.app_id,
           a.status_url
      FROM begun
     CROSS JOIN LATERAL (SELECT number, reference, app_id FROM hybrid_message
                          WHERE customer_id = $1::bigint AND sendout_id = begun.sendout_id
                            AND message_no = begun.message_no
                         OFFSET 0) AS h
      LEFT JOIN LATERAL (SELECT status_url FROM hybrid_app
                          WHERE customer_id = $1::bigint AND app_id = h.app_id
                         OFFSET 0) AS a ON true
    """)

  static let end = Statement(
    "hybrid.end_report", .write,
    """
    DELETE FROM hybrid_report
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = $3::int4 AND status = $4::text
    """)

  /// Posts a report again in `$5` seconds.
  static let postpone = Statement(
    "hybrid.postpone_report", .write,
    """
    UPDATE hybrid_report SET not_before = now() + make_interval(secs => $5::float8)
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = $3::int4 AND status = $4::text
    """)

  /// Drops a report that is 7 days old.
  static let drop = Statement(
    "hybrid.drop_report", .write,
    """
    DELETE FROM hybrid_report
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND message_no = $3::int4 AND status = $4::text
       AND created_at < now() - interval '7 days'
    """)
}
