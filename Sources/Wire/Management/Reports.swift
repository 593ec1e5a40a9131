/// A view of schema `report`, as the REST API and the command line call it.
public enum Report: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Devices by app, environment and state, as they are now.
  case devices
  /// What registrations changed, by day.
  case registrations
  /// Devices that became invalid, by day and reason.
  case invalidations
  /// Outcomes of each sendout's pushes.
  case sendouts
  /// From audience to open, four rows a sendout.
  case funnel
  /// Why pushes did not arrive, or have not yet.
  case failures
  /// When pushes were opened, by hour.
  case opens
  /// What happened with one contact.
  case timeline
  /// Subscriptions to data trees, as they are now.
  case subscriptions
  /// What became of notifications of data trees, by day and outcome.
  case notifications
  /// Messages to telephone numbers by push and by SMS, by day, app and type.
  case hybrid
  /// Who gets no marketing or nothing at all, by kind, scope and reason.
  case suppressions
  /// Contacts of each sendout's audience, and what its pushes came to.
  case campaigns
  /// What variants of sendouts came to, in contacts.
  case variants
  /// Contacts of sendouts by time zone.
  case localTimes = "local_times"
  /// Contacts that get nothing of a sendout, and why.
  case leftOut = "left_out"
  /// What caps let through and left out, by day.
  case caps
}

/// Reply of `GET /api/v1/reports/{report}`.
public struct ReportReply: APIObject, Equatable {
  public var report: Report
  public var rows: [Row]

  /// A row of the view, a field for each column.
  public typealias Row = [UTF8String: JSONValue]

  public init(report: Report, rows: [Row]) {
    self.report = report
    self.rows = rows
  }

  public static let schemaName: String? = "Report"
  public static let schemaDescription = "A report's rows, the newest first."
  public static let example = ReportReply(
    report: .failures, rows: [["sendoutId": 7, "state": "failed", "reason": "Unregistered", "pushes": 12]])

  public static let fieldTable: FieldTable = [
    "report": "The report's name.",
    "rows": "An object for each row of the view, with a field for each column.",
  ]
}
