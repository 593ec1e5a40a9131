import Delivery
import HTTPTypes
import Hummingbird
import Operations
import Registry
import Sendouts
import Wire

/// `/api/v1/sendouts`.
struct SendoutRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let sendouts: SendoutStore

  /// The body's limit in bytes: it has room for the most original ids, long ones, and the message.
  static let bodyLimit = 4 * 1024 * 1024

  func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let page = try QueryParameters(request, known: ["after", "limit"]).page(SendoutID.self)
    return try endpoint.reply(try await sendouts.list(access.customer, page), to: access)
  }

  func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await endpoint.respond(to: request, context, body: SendoutRequest.self, limit: Self.bodyLimit) { change, body in
      IdempotentEndpoint.Reply(status: .created, body: try await change.addSendout(body))
    }
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    return try endpoint.reply(try await sendouts.find(access.customer, try context.number("id")), to: access)
  }

  func pushes(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let query = try QueryParameters(request, known: ["state", "after", "limit"])
    let pushes = try await sendouts.pushes(
      access.customer, try context.number("id"), state: try query.choice("state"), try query.page())
    return try endpoint.reply(pushes, to: access)
  }

  func why(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let query = try QueryParameters(request, known: ["originalId"])
    guard let originalID = query.value("originalId") else {
      throw SendoutError.invalid(field: "originalId", problem: "is missing: it says whom to tell about")
    }
    return try endpoint.reply(
      try await sendouts.why(access.customer, try context.number("id"), originalID: originalID), to: access)
  }

  /// The handler of one verb. It waits for no freeze. The more unsent pushes there are, the longer it takes to cancel them.
  func control(_ verb: SendoutVerb) -> @Sendable (Request, WebRequestContext) async throws -> Response {
    { [endpoint] request, context in
      let id: SendoutID = try context.number("id")
      return try await endpoint.respond(to: request, context, statementTimeout: Ledger.wholeSendoutLimit) { change in
        IdempotentEndpoint.Reply(body: try await change.apply(verb, to: id))
      }
    }
  }
}

/// `/api/v1/reports`.
struct ReportRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let reports: Reports

  static let unknown = HTTPErrorResponse.notFound(
    "There is no such report; there are \(Report.allCases.map(\.rawValue).joined(separator: ", ")).")

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    guard let report = Report(rawValue: try context.part("report")) else {
      throw Self.unknown
    }
    let query = try QueryParameters(request, known: ["sendout", "contact", "limit"])
    let reply = try await reports.read(
      report, access.customer, sendout: try query.integer("sendout", in: 1...Int64.max).map { SendoutID($0) },
      contact: query.value("contact"), limit: try query.integer("limit", in: Reports.limits) ?? Reports.usualLimit)
    return try endpoint.reply(reply, to: access)
  }
}
