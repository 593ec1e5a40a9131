/// Reply of `GET /api/v1/reports/{report}`.
public struct ReportReply: Codable, Sendable, Equatable {
  public var report: Report
  /// An object a row; its members are the view's columns.
  public var rows: [JSONValue]

  public init(report: Report, rows: [JSONValue]) {
    self.report = report
    self.rows = rows
  }
}
