import HTTPTypes
import Hummingbird
import Registry
import Wire

/// `/api/v1/lists`.
struct ListRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let lists: ContactLists

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let page = try PageQuery(request, knows: ["after", "limit"]).page(ListID.self)
    let all = try await lists.all(access.customer).map { ListReply($0) }
    return try JSONReply.make(.ok, page.cut(all, by: \.listId))
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.post(request, ListRequest.self) { access, body, transaction in
      let list = try await ContactLists(transaction).add(access.customer, name: body.name, id: body.listId)
      return IdempotentEndpoint.Answer(status: .created, body: ListReply(list))
    }
  }
}
