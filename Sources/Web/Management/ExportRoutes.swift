import DataInOut
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

/// Exports, whose replies are made while their clients take them.
struct ExportRoutes: RouteSet {
  let authenticator: Authenticator
  let endpoint: IdempotentEndpoint
  let exports: Exports

  func addRoutes(to routes: RouteTable) {
    for subject in ExportRequest.Subject.allCases {
      routes.add(.get, RouterPath("/api/v1/exports/\(subject.rawValue)"), bound: .refused) { request, context in
        try await export(subject, request, context)
      }
    }
  }

  private func export(
    _ subject: ExportRequest.Subject, _ request: Request, _ context: WebRequestContext
  ) async throws -> Response {
    let access = try await authenticator.access(request, needs: .admin)
    let query = try QueryParameters(request, known: ["filter", "sendout", "columns", "format", "exact"])
    let pages = try await exports.begin(access.customer, try ExportRequest(subject, query))
    // The line is written before the first row leaves.
    _ = try await endpoint.change(access, context) { change in
      try await change.record(.other(.export), subject.rawValue, after: pages.audited)
      return pages.audited
    }
    return pages.reply(of: subject)
  }
}

extension ExportPages {
  /// The file as a reply that is made while its client takes it.
  func reply(of subject: ExportRequest.Subject) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: format.mediaType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        .contentDisposition: "attachment; filename=\"\(subject.rawValue).\(format.rawValue)\"",
      ],
      body: ResponseBody { writer in
        for try await page in self { try await writer.write(ByteBuffer(bytes: page)) }
        try await writer.finish(nil)
      })
  }
}

extension ExportRequest {
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter; `JSONProblem`.
  fileprivate init(_ subject: Subject, _ query: QueryParameters) throws {
    self.init(subject)
    filter = try query.filter("filter")
    sendout = try query.integer("sendout", in: 1...Int64.max).map { SendoutID($0) }
    columns = query.value("columns").map { $0.split(atEach: ",").map(String.init) }
    format = try query.choice("format") ?? .csv
    isExact = try query.flag("exact") ?? false
  }
}
