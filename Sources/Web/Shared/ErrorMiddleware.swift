import HTTPTypes
import Hummingbird
import Logging
import Metrics
import Locking
import Operations

/// Turns errors of all routes into replies, logs one line for each request and records how long it took. The line of a 5xx is
/// a warning at least, so that the id in the reply leads somewhere.
///
/// Neither paths nor headers are logged, only the route's pattern: paths carry original ids, headers carry keys.
final class ErrorMiddleware: RouterMiddleware {
  typealias Context = WebRequestContext

  /// A request that is being answered.
  struct Started: Sendable {
    let at = ContinuousClock.now
    let method: HTTPRequest.Method
    /// Whether a browser's page made it, of any site.
    let isFromPage: Bool
    /// How errors are shown; `nil` for JSON.
    var showError: (@Sendable (HTTPErrorResponse) -> Response)?
  }

  /// The route's name for requests without one.
  static let noRoute = "NotFound"

  private let routes: RoutePaths
  private let logLevel: Logger.Level
  private let logger: Logger
  private let timers = RouteTimers()

  init(routes: RoutePaths, logLevel: Logger.Level, logger: Logger) {
    self.routes = routes
    self.logLevel = logLevel
    self.logger = logger
  }

  func handle(
    _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
  ) async throws -> Response {
    var started = Started(method: request.method, isFromPage: request.headers[.origin] != nil)
    if let page = routes.errorPage(at: request.uri.path) {
      started.showError = { error in page(request, context, error) }
    }
    guard routes.isExact(request.uri.path) else {
      return reply(to: started, context.requestID, at: Self.noRoute, .failure(routes.notFound(at: request.uri.path)))
    }
    if request.method == .options, started.isFromPage, request.headers[.accessControlRequestMethod] != nil,
      let route = routes.openToPages(at: request.uri.path)
    {
      return reply(to: started, context.requestID, at: route, .success(PageAccess.preflightReply))
    }
    let result: Result<Response, any Error>
    do {
      result = .success(try await next(request, context))
    } catch let error as HTTPError where error.status == .notFound && context.endpointPath == Self.noRoute {
      result = .failure(routes.refusal(ofMethodAt: request.uri.path) ?? routes.notFound(at: request.uri.path))
    } catch {
      result = .failure(error)
    }
    return reply(to: started, context.requestID, at: context.endpointPath ?? Self.noRoute, result)
  }

  /// Makes the reply to a request from its result, logs it and records its duration.
  /// - Parameters:
  ///   - id: of the request, as the reply's `X-Request-Id` has it.
  ///   - route: its pattern, such as `/c/{token}`; `NotFound` if there is none for it.
  func reply(
    to request: Started, _ id: String, at route: String, _ result: Result<Response, any Error>
  ) -> Response {
    var response: Response
    switch result {
    case .success(let success): response = success
    case .failure(let error):
      let error = errorResponse(for: error, request, id, route)
      response = request.showError?(error) ?? JSONReply.make(error)
    }
    // The client would take a body for the beginning of the next reply (RFC 9110, sections 9.3.2, 15.3.5 and 15.4.5).
    if request.method == .head { response = response.createHeadResponse() }
    if response.status == .noContent || response.status == .notModified { response.body = ResponseBody() }
    if request.isFromPage, routes.isOpenToPages(request.method, route) { PageAccess.allow(&response) }
    response.headers[.requestID] = id
    let duration = request.at.duration(to: .now)
    timers.record(method: request.method, route: route, status: response.status, duration)
    logger.log(
      response.status.kind == .serverError ? max(logLevel, .warning) : logLevel, "request answered", of: id,
      [
        "method": "\(request.method.rawValue)", "route": "\(route)", "status": "\(response.status.code)",
        "microseconds": "\(duration / .microseconds(1))",
      ])
    return response
  }

  private func errorResponse(for error: any Error, _ request: Started, _ id: String, _ route: String)
    -> HTTPErrorResponse
  {
    if let error = error as? HTTPError { return HTTPErrorResponse(error) }
    if let response = ErrorReplies.response(for: error) { return response }
    logger.log(
      .error, "request failed with an unexpected error", of: id,
      ["method": "\(request.method.rawValue)", "route": "\(route)", "error": "\(error)"])
    return .internalError(requestID: id)
  }
}

extension HTTPErrorResponse {
  /// What the router or a reader of requests refuses.
  init(_ error: HTTPError) {
    self =
      error.status == .notFound
      ? .notFound("There is nothing at this path.")
      : HTTPErrorResponse(error.status, error.body ?? error.status.reasonPhrase, headers: error.headers)
  }
}

/// What lets pages of any site register their browsers (CORS, Fetch Standard, section 3.2). Requests are known by their key alone,
/// never by cookies, so a page can do no more than any other client with that key.
private enum PageAccess {
  static let preflightReply = Response(
    status: .noContent,
    headers: [
      .accessControlAllowMethods: "PUT", .accessControlMaxAge: "86400",
      .accessControlAllowHeaders: "Content-Type, Authorization, X-Carma-Authentication-Token, X-Pushcart-Identity",
    ])

  static func allow(_ response: inout Response) { response.headers[.accessControlAllowOrigin] = "*" }
}

/// One timer for each method, route and status that occurred; there are few.
private final class RouteTimers: Sendable {
  private struct Key: Hashable {
    var method: HTTPRequest.Method
    var route: String
    var status: Int
  }
  private let timers = Mutex<[Key: Timer]>([:])

  func record(method: HTTPRequest.Method, route: String, status: HTTPResponse.Status, _ duration: Duration) {
    let key = Key(method: route == ErrorMiddleware.noRoute ? .get : method, route: route, status: status.code)
    let timer = timers.withLock { timers in
      if let timer = timers[key] { return timer }
      let timer = Timer(
        label: "pushcart_http_request_seconds",
        dimensions: [("method", key.method.rawValue), ("route", key.route), ("status", String(key.status))])
      timers[key] = timer
      return timer
    }
    timer.recordNanoseconds(Int64(duration / .nanoseconds(1)))
  }
}
