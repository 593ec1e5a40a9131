import Delivery
import HTTPTypes
import Hummingbird
import Operations
import Registry
import Wire

/// `/api/v1/apps`.
struct AppRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let apps: PushApps
  let cache: PushAppCache
  let vault: Vault
  let credentials: CredentialCheck

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(PushAppID.self)
    let all = try await apps.list(access.customer).map { PushAppReply($0) }
    return try endpoint.reply(page.slice(of: all, by: \.pushAppId), to: access)
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let response = try await endpoint.respond(to: request, context, body: PushAppRequest.self) { [vault] change, body in
      IdempotentEndpoint.Reply(
        status: .created, body: try await change.addApp(NewPushApp(body), voipAppID: body.voipAppId, vault: vault))
    }
    cache.flush()
    return response
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    return try endpoint.reply(PushAppReply(try await find(access, try context.number("id"))), to: access)
  }

  /// A change counts here as soon as it is answered; other hubs are notified.
  func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let id: PushAppID = try context.number("id")
    let update = PushAppUpdate(try await request.json(PushAppChangeRequest.self))
    let response = try await endpoint.change(access, context) { [vault] change in
      try await change.changeApp(id, update, vault: vault)
    }
    cache.flush()
    return response
  }

  func rotateIdentity(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let id: PushAppID = try context.number("id")
    let response = try await endpoint.respond(to: request, context) { [vault] change in
      IdempotentEndpoint.Reply(status: .created, body: try await change.rotateIdentity(of: id, vault: vault))
    }
    cache.flush()
    return response
  }

  func revokePreviousIdentity(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let id: PushAppID = try context.number("id")
    let response = try await endpoint.change(access, context) { [vault] change in
      try await change.revokePreviousIdentity(of: id, vault: vault)
    }
    cache.flush()
    return response
  }

  /// The push service is asked before the transaction begins, so that no transaction waits for it.
  func check(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let app = try await find(access, try context.number("id"))
    let bytes = try await request.bytes()
    guard let reply = try await credentials.check(app) else { throw HTTPErrorResponse.noCredentials(of: app) }
    return try await endpoint.respondOnce(to: request, context, bytes, access) { _ in
      IdempotentEndpoint.Reply(body: reply)
    }
  }

  private func find(_ access: Access, _ id: PushAppID) async throws -> PushApp {
    guard let app = try await apps.find(access.customer, id) else { throw RegistryError.pushAppUnknown(id) }
    return app
  }
}
