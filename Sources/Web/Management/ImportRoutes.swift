import DataInOut
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

/// The files of imports on their way in, and what was rejected of them on its way out.
struct ImportRoutes: RouteSet {
  let authenticator: Authenticator
  let endpoint: IdempotentEndpoint
  let database: Database
  let upload: ImportUpload

  func addRoutes(to routes: RouteTable) {
    routes.add(.put, "/api/v1/imports/{id}/file", bound: .refused, use: receive)
    routes.add(.get, "/api/v1/imports/{id}/rejects", bound: .refused, use: rejects)
  }

  /// The key is checked before the file is read, and again before its rows count.
  private func receive(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, needs: .admin)
    let number: ImportID = try context.number("id")
    guard let type = request.headers[.contentType], Self.isFile(type) else { throw HTTPErrorResponse.notCSV }
    let file = try await upload.receive(
      access.customer, number, FileChunks(body: request.body), length: FileChunks.length(of: request))
    var response = try await endpoint.change(access, context) { change in
      let reply = try await Imports(change.transaction).finish(change.customer, file)
      try await change.record(.other(.receiveImport), "import \(number)", after: reply.audited)
      return reply
    }
    response.status = .accepted
    return response
  }

  /// What files are sent as. A packed file is known by its first bytes, whatever its sender says.
  private static func isFile(_ type: String) -> Bool {
    let name = type.lowercasedASCII.prefix { $0 != ";" && $0 != " " }
    return ["text/csv", "application/csv", "text/plain", "application/gzip", "application/octet-stream"].contains(name)
  }

  private func rejects(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, needs: .admin)
    let after: Int64? = try QueryParameters(request, known: ["after"]).integer("after", in: 0...Int64.max)
    let (csv, next) = try await Imports(database).rejects(access.customer, try context.number("id"), after: after ?? 0)
    var response = try authenticator.reply(ByteBuffer(bytes: csv), to: access)
    response.headers[.contentType] = "text/csv; charset=utf-8"
    response.headers[.contentDisposition] = "attachment; filename=\"rejects.csv\""
    if let next { response.headers[.nextRow] = "\(next)" }
    return response
  }

}

/// The pieces of a request's body as they arrive.
struct FileChunks: AsyncSequence {
  let body: RequestBody

  /// How long the body is, as far as its head says.
  static func length(of request: Request) -> Int64? { request.headers[.contentLength].flatMap { Int64($0) } }

  struct AsyncIterator: AsyncIteratorProtocol {
    var parts: RequestBody.AsyncIterator

    mutating func next() async throws -> [UInt8]? {
      do {
        return try await parts.next().map { Array($0.readableBytesView) }
      } catch  where !(error is CancellationError) {
        throw DataInOutError.brokenOff
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts: body.makeAsyncIterator()) }
}
