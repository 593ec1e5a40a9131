import Delivery
import HTTPTypes
import Hummingbird
import Registry
import Sendouts
import Wire

/// `/api/v1/sendouts`.
struct SendoutRoutes: Sendable {
  let desk: Desk
  let sendouts: SendoutStore

  /// Bytes of a body: as many original ids as a sendout may name, long ones, and its message.
  static let limit = 4 * 1024 * 1024

  func list(_ request: Request, _ context: SiteContext) async throws -> Response {
    let access = try await desk.access(request)
    let page = try PageQuery(request, knows: ["after", "limit"]).page(SendoutID.self)
    return try JSONReply.make(.ok, try await sendouts.list(access.customer, page))
  }

  func add(_ request: Request, _ context: SiteContext) async throws -> Response {
    try await desk.post(request, SendoutRequest.self, upTo: Self.limit) { access, body, unit in
      let sendout = try await SendoutStore(unit).create(access.customer, body)
      return Desk.Answer(status: .created, body: sendout)
    }
  }

  func show(_ request: Request, _ context: SiteContext) async throws -> Response {
    let access = try await desk.access(request)
    return try JSONReply.make(.ok, try await sendouts.find(access.customer, try context.number("id")))
  }

  func pushes(_ request: Request, _ context: SiteContext) async throws -> Response {
    let access = try await desk.access(request)
    let query = try PageQuery(request, knows: ["state", "after", "limit"])
    let pushes = try await sendouts.pushes(
      access.customer, try context.number("id"), state: try query.word("state"), try query.page())
    return try JSONReply.make(.ok, pushes)
  }

  /// The handler that does one verb to a sendout, which takes the longer the larger it is.
  func does(
    _ verb: @escaping @Sendable (SendoutStore, CustomerID, SendoutID) async throws -> SendoutReply
  ) -> @Sendable (Request, SiteContext) async throws -> Response {
    { [desk] request, context in
      let id: SendoutID = try context.number("id")
      return try await desk.post(request, within: Ledger.wholeSendoutLimit) { access, unit in
        Desk.Answer(body: try await verb(SendoutStore(unit), access.customer, id))
      }
    }
  }
}
