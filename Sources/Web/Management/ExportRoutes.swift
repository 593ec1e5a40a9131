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
      try await change.record(.export, subject.rawValue, after: pages.audited)
      return pages.audited
    }
    return Response(
      status: .ok,
      headers: [
        .contentType: pages.format.mediaType, .cacheControl: "no-store",
        .contentDisposition: "attachment; filename=\"\(subject.rawValue).\(pages.format.rawValue)\"",
      ],
      body: ResponseBody { writer in
        for try await page in pages { try await writer.write(ByteBuffer(bytes: page)) }
        try await writer.finish(nil)
      })
  }
}

extension ExportRequest {
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter; `DataInOutError.invalid`.
  fileprivate init(_ subject: Subject, _ query: QueryParameters) throws {
    self.init(subject)
    if let text = query.value("filter") {
      do {
        filter = try Filter(text: text)
      } catch {
        throw DataInOutError.invalid(field: "filter", problem: "is wrong \(error)")
      }
    }
    sendout = try query.integer("sendout", in: 1...Int64.max).map { SendoutID($0) }
    columns = query.value("columns").map { $0.split(atEach: ",").map(String.init) }
    format = try query.choice("format") ?? .csv
    isExact = try query.flag("exact") ?? false
  }
}
