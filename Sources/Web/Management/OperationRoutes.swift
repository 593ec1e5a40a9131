import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

/// Routes of operations. The key is checked before the body is read, and again before a change is committed.
struct OperationRoutes: RouteSet {
  let operations: [AnyOperation]
  let authenticator: Authenticator
  let endpoint: IdempotentEndpoint
  let parts: OperationParts
  /// A change counts here as soon as it is answered; other hubs are notified.
  let forget: @Sendable (HubCache) async -> Void

  func addRoutes(to routes: RouteTable) {
    for operation in operations {
      let described = operation.description
      routes.add(described.method, RouterPath(described.path), bound: described.boundKeys) { request, context in
        try await answer(operation, request, context)
      }
    }
  }

  private func answer(
    _ operation: AnyOperation, _ request: Request, _ context: WebRequestContext
  ) async throws -> Response {
    let described = operation.description
    guard case .key(let scope) = described.security else { preconditionFailure("\(described.id) needs no key") }
    let access = try await authenticator.access(request, needs: scope)
    let values = try RequestValues(request, context, described)
    let bytes = try await body(of: request, described)
    let work = try operation.prepare(values, Array(bytes.readableBytesView))
    let status = described.responses[0].status
    let response: Response
    if operation.isReading {
      let call = OperationCall(reading: parts, of: access.customer, boundTo: access.appID)
      let reply = try await work(call)
      var response = try authenticator.reply(reply, to: access)
      if let reply = reply as? any UnfinishedReply, reply.isUnfinished { response.status = .accepted }
      return response
    }
    switch (described.method, operation.audit) {
    case (.post, nil):
      // Others are asked before the transaction begins, so that it does not wait for them; once for a key.
      let author = endpoint.author(access, context)
      let ask = { @Sendable in
        try await work(
          OperationCall(reading: parts, of: access.customer) {
            try await endpoint.replies.change(access.customer, by: author, $0)
          })
      }
      let reply = try await endpoint.isRepetition(request, access) ? nil : try await ask()
      response = try await endpoint.respondOnce(to: request, context, bytes, access, status: status) { _ in
        if let reply { reply } else { try await ask() }
      }
    case (.post, _):
      response = try await endpoint.respondOnce(
        to: request, context, bytes, access, status: status, statementTimeout: operation.statementLimit
      ) { change in try await work(OperationCall(change, parts)) }
    default:
      response = try await endpoint.change(access, context) { change in try await work(OperationCall(change, parts)) }
    }
    if let cache = operation.outdates { await forget(cache) }
    return response
  }

  /// A POST may have a body even where none is needed.
  private func body(of request: Request, _ described: APIOperation) async throws -> ByteBuffer {
    guard let content = described.requestBody else {
      return described.method == .post ? try await request.bytes() : ByteBuffer()
    }
    if content.isRequired { return try await request.jsonBytes(upTo: described.bodyLimit) }
    let bytes = try await request.bytes(upTo: described.bodyLimit)
    if bytes.readableBytes > 0 { try request.requireJSON() }
    return bytes
  }
}

extension APIOperation {
  /// A key of scope admin is bound to no app.
  fileprivate var boundKeys: RouteTable.BoundKeys {
    if case .key(.admin) = security { .refused } else { .ownApp }
  }
}

extension RequestValues {
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  fileprivate init(_ request: Request, _ context: WebRequestContext, _ operation: APIOperation) throws {
    func names(_ location: APIParameter.Location) -> [String] {
      operation.parameters.filter { $0.location == location }.map(\.name)
    }
    let path = try names(.path).map { ($0, try context.part($0)) }
    let query = names(.query)
    self.init(
      path: Dictionary(uniqueKeysWithValues: path),
      query: query.isEmpty ? QueryParameters() : try QueryParameters(request, known: query))
  }
}
