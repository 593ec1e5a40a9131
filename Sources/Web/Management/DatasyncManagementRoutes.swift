import Hummingbird
import Operations
import Registry
import Subscriptions
import Wire

/// `/api/v1/datasync`.
struct DatasyncManagementRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let apps: DatasyncApps

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).namedPage()
    return try endpoint.reply(page.slice(of: try await apps.list(access.customer), by: \.app), to: access)
  }

  func enable(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.respond(to: request, context, body: DatasyncRequest.self) { change, body in
      IdempotentEndpoint.Reply(status: .created, body: try await change.enableDatasync(body))
    }
  }
}
