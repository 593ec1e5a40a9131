import Hummingbird
import Registry
import Sendouts
import Wire

/// `/api/v1/reports`.
struct ReportRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let reports: Reports

  static let unknown = HTTPErrorResponse.notFound(
    "There is no such report; there are \(Report.allCases.map(\.rawValue).joined(separator: ", ")).")

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    guard let report = Report(rawValue: try context.part("report")) else {
      throw Self.unknown
    }
    let query = try PageQuery(request, knows: ["sendout", "contact", "limit"])
    let reply = try await reports.read(
      report, access.customer, sendout: try query.number("sendout", in: 1...Int64.max).map { SendoutID($0) },
      contact: query.value("contact"), limit: try query.number("limit", in: Reports.limits) ?? Reports.usualLimit)
    return try JSONReply.make(.ok, reply)
  }
}
