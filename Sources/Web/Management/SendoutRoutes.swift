import Delivery
import HTTPTypes
import Hummingbird
import Registry
import Sendouts
import Wire

/// `/api/v1/sendouts`.
struct SendoutRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let sendouts: SendoutStore

  /// Bytes of a body: as many original ids as a sendout may name, long ones, and its message.
  static let limit = 4 * 1024 * 1024

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let page = try PageQuery(request, knows: ["after", "limit"]).page(SendoutID.self)
    return try JSONReply.make(.ok, try await sendouts.list(access.customer, page))
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.post(request, SendoutRequest.self, upTo: Self.limit) { access, body, transaction in
      let sendout = try await SendoutStore(within: transaction).create(access.customer, body)
      return IdempotentEndpoint.Answer(status: .created, body: sendout)
    }
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    return try JSONReply.make(.ok, try await sendouts.find(access.customer, try context.number("id")))
  }

  func pushes(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let query = try PageQuery(request, knows: ["state", "after", "limit"])
    let pushes = try await sendouts.pushes(
      access.customer, try context.number("id"), state: try query.word("state"), try query.page())
    return try JSONReply.make(.ok, pushes)
  }

  /// The handler that does one verb to a sendout, which takes the longer the larger it is.
  func does(
    _ verb: @escaping @Sendable (SendoutStore, CustomerID, SendoutID) async throws -> SendoutReply
  ) -> @Sendable (Request, WebRequestContext) async throws -> Response {
    { [endpoint] request, context in
      let id: SendoutID = try context.number("id")
      return try await endpoint.post(request, within: Ledger.wholeSendoutLimit) { access, transaction in
        IdempotentEndpoint.Answer(body: try await verb(SendoutStore(within: transaction), access.customer, id))
      }
    }
  }
}
