import Hummingbird
import Registry
import Sendouts
import Wire

/// `/api/v1/triggers`.
struct TriggerRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let triggers: Triggers

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(TriggerID.self)
    return try endpoint.reply(try await triggers.list(access.customer, page), to: access)
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.respond(to: request, context, body: TriggerRequest.self) { change, body in
      IdempotentEndpoint.Reply(status: .created, body: try await change.addTrigger(body))
    }
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    return try endpoint.reply(try await triggers.find(access.customer, try context.number("id")), to: access)
  }

  func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let id: TriggerID = try context.number("id")
    let body = try await request.json(TriggerChangeRequest.self)
    return try await endpoint.change(access, context) { change in try await change.changeTrigger(id, body) }
  }
}
