import Hummingbird
import Hybrid
import Operations
import Registry
import Wire

/// `/api/v1/hybrid`: apps of CM Hybrid Messaging.
struct HybridAppRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let apps: HybridApps
  let cache: HybridAppCache
  let vault: Vault

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).namedPage()
    return try endpoint.reply(page.slice(of: try await apps.all(access.customer), by: \.appId), to: access)
  }

  func enable(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let response = try await endpoint.respond(to: request, context, body: HybridAppRequest.self) {
      [vault] change, body in
      IdempotentEndpoint.Reply(status: .created, body: try await change.enableHybrid(body, vault: vault))
    }
    cache.flush()
    return response
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    return try endpoint.reply(try await apps.find(access.customer, appID: try context.part("appId")), to: access)
  }

  func phones(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let query = try QueryParameters(request, known: ["after", "limit", "number"])
    let number = try query.value("number").map { text in
      guard let number = PhoneNumber(text) else {
        throw HTTPErrorResponse.noNumber
      }
      return number
    }
    return try endpoint.reply(
      try await apps.phones(
        access.customer, appID: try context.part("appId"), number: number, try query.page(RegistrationID.self)),
      to: access)
  }

  func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let appID = try context.part("appId")
    let body = try await request.json(HybridAppChangeRequest.self)
    let response = try await endpoint.change(access, context) { change in
      try await change.changeHybrid(appID, body)
    }
    cache.flush()
    return response
  }

  func rotate(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let appID = try context.part("appId")
    let response = try await endpoint.respond(to: request, context) { [vault] change in
      IdempotentEndpoint.Reply(status: .created, body: try await change.rotateHybrid(appID, vault: vault))
    }
    cache.flush()
    return response
  }
}

extension HTTPErrorResponse {
  static let noNumber = badRequest("number must be a telephone number \(PhoneNumber.form).")
}
