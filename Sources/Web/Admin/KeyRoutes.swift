import HTTPTypes
import Hummingbird
import Registry
import Wire

/// `/api/v1/keys`.
struct KeyRoutes: Sendable {
  let desk: Desk
  let keys: AccessKeys

  func list(_ request: Request, _ context: SiteContext) async throws -> Response {
    let access = try await desk.access(request)
    let page = try PageQuery(request, knows: ["after", "limit"]).page(AccessKeyID.self)
    let all = try await keys.list(access.customer).map { AccessKeyReply($0) }
    return try JSONReply.make(.ok, page.cut(all, by: \.keyId))
  }

  func add(_ request: Request, _ context: SiteContext) async throws -> Response {
    try await desk.post(request, AccessKeyRequest.self) { access, body, unit in
      let new = try await AccessKeys(unit).make(access.customer, name: body.name, scope: body.scope)
      return Desk.Answer(status: .created, body: IssuedAccessKey(new))
    }
  }

  func revoke(_ request: Request, _ context: SiteContext) async throws -> Response {
    let access = try await desk.access(request)
    let key = try await keys.revoke(access.customer, try context.number("id"))
    desk.authenticator.forget()
    return try JSONReply.make(.ok, AccessKeyReply(key))
  }
}
