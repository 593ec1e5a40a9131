import Retrying
import FoundationEssentials
import Postgres
import Wire

/// Where an app's status reports go.
struct StatusAddress: Sendable {
  /// An app of Hybrid Messaging.
  struct App: Sendable, Hashable {
    let customer: CustomerID
    let appID: String
  }

  let app: App
  let url: String
}

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
  /// Why it was not delivered, as the provider or push service said; nil if that is not known.
  let reason: String?
}

/// The outbox of status reports.
struct HybridReports: Sendable {
  let database: any Querying

  init(_ database: any Querying) { self.database = database }

  /// The addresses that have reports to be posted now.
  func due() async throws -> [StatusAddress] {
    try await database.query(HybridReportQueries.due).map { row in
      let (customer, appID, url) = try row.decode(Int64.self, String.self, String.self)
      return StatusAddress(app: StatusAddress.App(customer: CustomerID(customer), appID: appID), url: url)
    }
  }

  /// Begins some reports of an app; no other hub posts them for a minute.
  func begin(_ address: StatusAddress) async throws -> [HybridReport] {
    try await database.query(
      HybridReportQueries.begin, address.app.customer.rawValue, address.app.appID, address.url
    ).compactMap { row in
      let (sendout, message, status, at, attempts, number, reference, reason) = try row.decode(
        Int64.self, Int32.self, String.self, Date.self, Int32.self, String.self, String?.self, String?.self)
      guard let number = PhoneNumber(number) else { return nil }
      return HybridReport(
        sendout: sendout, message: message, status: status, at: at, attempts: Int(attempts), number: number,
        reference: reference, reason: reason)
    }
  }

  /// A report was taken.
  func end(_ report: HybridReport, of customer: CustomerID) async throws {
    try await database.query(
      HybridReportQueries.end, customer.rawValue, report.sendout, report.message, report.status)
  }

  /// Deletes what waits for an app that has no address any more.
  func delete(_ customer: CustomerID, _ appID: String) async throws {
    try await database.query(HybridReportQueries.delete, customer.rawValue, appID)
  }

  /// A report was not taken: it is posted again after `delay`.
  func postpone(_ report: HybridReport, of customer: CustomerID, for delay: Duration) async throws {
    try await database.query(
      HybridReportQueries.postpone, customer.rawValue, report.sendout, report.message, report.status,
      delay / .seconds(1))
  }

  /// Deletes what was not taken for 7 days, whether or not there is an address for it.
  func deleteExpired(_ customer: CustomerID) async throws {
    try await database.deleteInPortions(HybridReportQueries.deleteExpired, customer.rawValue)
  }
}

/// Statements on `hybrid_report` from its claim on. `$1` is the customer; of one report `$2` is the sendout, `$3` the message and `$4` the
/// status.
enum HybridReportQueries {
  static let all: [Statement] = [due, begin, end, postpone, delete, deleteExpired]

  /// Apps of all customers that have an address and reports that are due.
  static let due = Statement(
    "hybrid.due_reports", .read,
    """
    SELECT a.customer_id, a.app_id, a.status_url
      FROM hybrid_app a
     WHERE a.status_url IS NOT NULL
       AND EXISTS (SELECT FROM hybrid_report r
                    WHERE r.customer_id = a.customer_id AND r.app_id = a.app_id AND r.not_before <= now())
    """)

  /// Begins up to 16 reports of the app `$2`, if `$3` still is its address. Skips those that others have locked. The last column says why a
  /// message was not delivered: by its SMS, or without one by its first push.
  static let begin = Statement(
    "hybrid.begin_reports", .write,
    """
    WITH due AS MATERIALIZED (
      SELECT sendout_id, message_no, status, now() + interval '1 minute' AS until
        FROM hybrid_report
       WHERE customer_id = $1::bigint AND app_id = $2::text AND not_before <= now()
         AND EXISTS (SELECT FROM hybrid_app
                      WHERE customer_id = $1::bigint AND app_id = $2::text AND status_url = $3::text)
       ORDER BY not_before
       LIMIT 16
         FOR NO KEY UPDATE SKIP LOCKED),
    begun AS (
      UPDATE hybrid_report AS r
         SET attempts = r.attempts + 1, not_before = due.until
        FROM due
       WHERE r.customer_id = $1::bigint AND r.sendout_id = due.sendout_id AND r.message_no = due.message_no
         AND r.status = due.status
      RETURNING r.sendout_id, r.message_no, r.status, r.created_at, r.attempts)
    SELECT begun.sendout_id, begun.message_no, begun.status, begun.created_at, begun.attempts, h.recipient, h.reference, p.reason
      FROM begun
     CROSS JOIN LATERAL (SELECT recipient, reference, coalesce(fallback_no, push_nos[1]) AS push_no FROM tracked_message
                          WHERE customer_id = $1::bigint AND sendout_id = begun.sendout_id
                            AND message_no = begun.message_no
                         OFFSET 0) AS h
      LEFT JOIN LATERAL (SELECT coalesce(push.delivery_reason, push.reason) AS reason FROM push
                          WHERE push.customer_id = $1::bigint AND push.sendout_id = begun.sendout_id
                            AND push.push_no = h.push_no AND begun.status IN ('Rejected', 'Failed')
                         OFFSET 0) AS p ON true
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

  /// Deletes all reports of the app `$2`.
  static let delete = Statement(
    "hybrid.delete_reports", .write, "DELETE FROM hybrid_report WHERE customer_id = $1::bigint AND app_id = $2::text")

  /// Deletes all reports that are 7 days old.
  static let deleteExpired = Statement(
    "hybrid.delete_expired_reports", .write,
    Portions.delete(
      from: "hybrid_report", by: "created_at",
      before: "now() - interval '\(RetryPolicy.statusReports.giveUpAfter.components.seconds) seconds'"))
}
