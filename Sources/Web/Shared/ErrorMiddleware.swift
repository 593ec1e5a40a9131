import HTTPTypes
import Hummingbird
import Logging

/// Stands before every route, and before the absence of one: turns errors into replies and leaves one line of log and one
/// measurement behind. The line of a 5xx is a warning at least, so that the id in the reply leads somewhere.
///
/// Neither paths nor headers are logged, only the route's pattern: paths carry original ids, headers carry keys.
final class ErrorMiddleware: RouterMiddleware {
  typealias Context = WebRequestContext

  /// One request on its way through the site.
  struct Visit: Sendable {
    let start = ContinuousClock.now
    let method: HTTPRequest.Method
  }

  private let routes: [RouteTable.Entry]
  private let logLevel: Logger.Level
  private let logger: Logger
  private let timers = RouteTimers()

  init(routes: [RouteTable.Entry], logLevel: Logger.Level, logger: Logger) {
    self.routes = routes
    self.logLevel = logLevel
    self.logger = logger
  }

  func handle(
    _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
  ) async throws -> Response {
    let visit = Visit(method: request.method)
    let result: Result<Response, any Error>
    do {
      result = .success(try await next(request, context))
    } catch let error as HTTPError where error.status == .notFound && context.endpointPath == "NotFound" {
      let methods = routes.methods(at: request.uri.path)
      result = .failure(methods.isEmpty ? error : HTTPErrorResponse.methodNotAllowed(methods))
    } catch {
      result = .failure(error)
    }
    return reply(to: visit, context.requestID, at: context.endpointPath ?? "NotFound", result)
  }

  /// What a visitor gets for the outcome of a request.
  /// - Parameters:
  ///   - id: of the request, as the reply's `X-Request-Id` has it.
  ///   - route: its pattern, such as `/c/{token}`; `NotFound` if there is none for it.
  func reply(
    to visit: Visit, _ id: String, at route: String, _ result: Result<Response, any Error>
  ) -> Response {
    var response: Response
    switch result {
    case .success(let success): response = success
    case .failure(let error): response = JSONReply.make(refusal(for: error, visit, id, route))
    }
    // A body would be taken for the beginning of the next reply (RFC 9110, section 9.3.2).
    if visit.method == .head { response = response.createHeadResponse() }
    let duration = visit.start.duration(to: .now)
    timers.record(method: visit.method, route: route, status: response.status, duration)
    logger.log(
      response.status.kind == .serverError ? max(logLevel, .warning) : logLevel, "answered", of: id,
      [
        "method": "\(visit.method.rawValue)", "route": "\(route)", "status": "\(response.status.code)",
        "microseconds": "\(duration / .microseconds(1))",
      ])
    return response
  }

  private func refusal(for error: any Error, _ visit: Visit, _ id: String, _ route: String) -> HTTPErrorResponse {
    if let refusal = ErrorReplies.refusal(for: error) { return refusal }
    logger.log(
      .error, "failed", of: id,
      ["method": "\(visit.method.rawValue)", "route": "\(route)", "error": "\(error)"])
    return .internalError(requestID: id)
  }
}
