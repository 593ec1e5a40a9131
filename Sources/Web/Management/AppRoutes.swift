import Delivery
import HTTPTypes
import Hummingbird
import Registry
import Wire

/// `/api/v1/apps`.
struct AppRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let apps: PushApps
  let vault: Vault
  let credentials: CredentialCheck

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let page = try PageQuery(request, knows: ["after", "limit"]).page(PushAppID.self)
    let all = try await apps.list(access.customer).map { PushAppReply($0) }
    return try JSONReply.make(.ok, page.cut(all, by: \.pushAppId))
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.post(request, PushAppRequest.self) { [vault] access, body, transaction in
      let app = try await PushApps(transaction, vault: vault).add(access.customer, NewPushApp(body))
      return IdempotentEndpoint.Answer(status: .created, body: PushAppReply(app))
    }
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    return try JSONReply.make(.ok, PushAppReply(try await find(access, try context.number("id"))))
  }

  func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let id: PushAppID = try context.number("id")
    let change = PushAppUpdate(try await request.json(PushAppChangeRequest.self))
    return try JSONReply.make(.ok, PushAppReply(try await apps.update(access.customer, id, change)))
  }

  /// Asks the push service before the transaction begins, so that none waits for it.
  func check(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.access(request)
    let app = try await find(access, try context.number("id"))
    let bytes = try await request.bytes()
    guard app.type == .ios else { throw HTTPErrorResponse.uncheckable }
    guard let reply = try await credentials.check(app) else { throw HTTPErrorResponse.noSigningKey }
    return try await endpoint.once(request, access, bytes) { _ in IdempotentEndpoint.Answer(body: reply) }
  }

  private func find(_ access: Access, _ id: PushAppID) async throws -> PushApp {
    guard let app = try await apps.find(access.customer, id) else { throw RegistryError.pushAppUnknown(id) }
    return app
  }
}
