import HTTPTypes
import Hummingbird
import Registry
import Wire

/// `/api/v1/keys`.
struct KeyRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let keys: AccessKeys

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(AccessKeyID.self)
    let all = try await keys.list(access.customer).map { AccessKeyReply($0) }
    return try JSONReply.make(.ok, page.slice(of: all, by: \.keyId))
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.respond(to: request, body: AccessKeyRequest.self) { access, body, transaction in
      let new = try await AccessKeys(transaction).make(access.customer, name: body.name, scope: body.scope)
      return IdempotentEndpoint.Reply(status: .created, body: IssuedAccessKey(new))
    }
  }

  func revoke(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let key = try await keys.revoke(access.customer, try context.number("id"))
    endpoint.authenticator.forget()
    return try JSONReply.make(.ok, AccessKeyReply(key))
  }
}
