import FoundationEssentials
public import Postgres
public import Wire

/// Reads the documented views of schema `report`, with the same numbers as psql.
///
/// A customer reads one report at a time, and its others wait: each may take long, and they share few connections with those of others.
public struct Reports: Sendable {
  private let database: any Querying
  private let permits = KeyedSemaphore<CustomerID>(1)

  public init(_ database: any Querying) { self.database = database }

  /// How many rows a report may have, and has by default.
  public static let limits = 1...1000
  public static let usualLimit = 100

  /// The report's rows, the newest first.
  /// - Parameters:
  ///   - sendout: limits the report to one sendout; `nil` for all.
  ///   - contact: original id of the contact whose timeline is read.
  /// - Throws: `SendoutError.invalid` when the report does not take the argument, or needs one that is missing.
  public func read(
    _ report: Report, _ customer: CustomerID, sendout: SendoutID? = nil, contact: String? = nil,
    limit: Int = usualLimit
  ) async throws -> ReportReply {
    let scope = ReportView.of(report).scope
    if sendout != nil, !scope.takesSendout { throw refuse("sendout", report) }
    if contact != nil, !scope.takesContact { throw refuse("contact", report) }
    let statement = ReportQueries.statement(report)
    let (key, limit) = (customer.rawValue, Int64(limit))
    let rows = try await permits.withPermit(customer) {
      switch scope {
      case .customer: try await database.query(statement, key, limit)
      case .sendout, .eachSendout: try await database.query(statement, key, limit, sendout?.rawValue)
      case .contact: try await database.query(statement, key, limit, try named(contact))
      }
    }
    return ReportReply(report: report, rows: try rows.map { try Self.row($0.decode(JSONB.self)) })
  }

  /// No contact can have an id with U+0000, and PostgreSQL would refuse it.
  private func named(_ contact: String?) throws -> String {
    guard let contact else {
      throw SendoutError.invalid(field: "contact", problem: "is missing: this report is about one contact")
    }
    return contact.utf8.contains(0) ? "" : contact
  }

  private static func row(_ jsonb: JSONB) throws -> ReportReply.Row {
    try JSONCoding.decode(ReportReply.Row.self, from: jsonb.text.utf8)
  }

  private func refuse(_ field: String, _ report: Report) -> SendoutError {
    .invalid(field: field, problem: "does not belong to the report \(report.rawValue)")
  }
}
