import HTTPTypes
import Hummingbird
import Logging

/// Stands before every route, and before the absence of one: turns errors into replies, names the request in its reply,
/// and leaves one line of log and one measurement behind. The line of a 5xx is a warning at least, so that the id in the reply
/// leads somewhere.
///
/// Neither paths nor headers are logged, only the route's pattern: paths carry original ids, headers carry keys.
struct Doorman: RouterMiddleware {
  typealias Context = SiteContext

  let routes: [RouteTable.Entry]
  let logLevel: Logger.Level
  let timers = RouteTimers()

  func handle(
    _ request: Request, context: SiteContext, next: (Request, SiteContext) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    var response: Response
    do {
      response = try await next(request, context)
    } catch {
      response = JSONReply.make(refusal(for: error, request, context))
    }
    // A body would be taken for the beginning of the next reply (RFC 9110, section 9.3.2).
    if request.method == .head { response = response.createHeadResponse() }
    response.headers[.requestID] = context.requestID
    let route = context.endpointPath ?? "NotFound"
    let duration = start.duration(to: .now)
    timers.record(method: request.method, route: route, status: response.status, duration)
    context.log(
      response.status.kind == .serverError ? max(logLevel, .warning) : logLevel, "answered",
      metadata: [
        "method": "\(request.method.rawValue)", "route": "\(route)", "status": "\(response.status.code)",
        "microseconds": "\(duration / .microseconds(1))",
      ])
    return response
  }

  private func refusal(for error: any Error, _ request: Request, _ context: SiteContext) -> Refusal {
    if let error = error as? HTTPError, error.status == .notFound, context.endpointPath == "NotFound" {
      let methods = routes.methods(at: request.uri.path)
      if !methods.isEmpty { return .methodNotAllowed(methods) }
    }
    if let refusal = ErrorReplies.refusal(for: error) { return refusal }
    context.log(
      .error, "failed",
      metadata: [
        "method": "\(request.method.rawValue)", "route": "\(context.endpointPath ?? "-")", "error": "\(error)",
      ])
    return .internalError(requestID: context.requestID)
  }
}
