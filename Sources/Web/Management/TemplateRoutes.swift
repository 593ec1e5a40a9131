import Content
import Hummingbird
import Registry
import Wire

/// `/api/v1/templates`.
struct TemplateRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let templates: Templates

  /// The body's limit in bytes: the longest text, with every byte written as `\u0001`, and its frame.
  static let bodyLimit = 6 * PageTemplate.sizeLimit + 4096

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).namedPage()
    let all = try await templates.list(access.customer).map { TemplateReply($0) }
    return try endpoint.reply(page.slice(of: all, by: \.name), to: access)
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let version = try QueryParameters(request, known: ["version"]).integer("version", in: 1...Int32.max)
    let template = try await templates.get(access.customer, name: try context.part("name"), version: version)
    return try endpoint.reply(TemplateReply(template), to: access)
  }

  func save(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let name = try context.part("name")
    let body = try await request.json(TemplateRequest.self, upTo: Self.bodyLimit)
    return try await endpoint.change(access, context) { change in try await change.saveTemplate(name, body) }
  }
}
