import Hummingbird
import Operations
import Registry
import Wire

/// `/api/v1/audit`.
struct AuditRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let log: AuditLog

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(AuditEntryID.self)
    return try endpoint.reply(try await log.list(access.customer, page), to: access)
  }
}

/// `/api/v1/customer`: the customer of the access key.
struct CustomerRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let customers: Customers

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    guard let customer = try await customers.find(access.customer) else {
      throw RegistryError.customerUnknown(access.customer)
    }
    return try endpoint.reply(CustomerReply(customer), to: access)
  }

  func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let body = try await request.json(CustomerChangeRequest.self)
    return try await endpoint.change(access, context) { change in try await change.changeCustomer(body) }
  }
}
