public import HTTPTypes
public import Hummingbird
import Operations

/// Every route of a listener: what the router is built from, and what 405 and the API's description rely on. What answers GET
/// answers HEAD, too.
public final class RouteTable: RouterMethods {
  public typealias Context = WebRequestContext

  /// One route.
  public struct Entry: Sendable, Hashable {
    public var method: HTTPRequest.Method
    public var path: RouterPath
    /// What keys can do here that are bound to an app.
    public var boundKeys: BoundKeys
    /// As in `/api/v1/keys/{id}`.
    var pattern: String { path.description }
    /// As in `GET`.
    var verb: String { method.rawValue }
    public static func == (left: Entry, right: Entry) -> Bool { left.method == right.method && left.path == right.path }
    public func hash(into hasher: inout Hasher) {
      hasher.combine(method)
      hasher.combine(path.description)
    }
  }

  /// What a key can do at a route that is bound to one app of its customer.
  public enum BoundKeys: Sendable, Hashable {
    /// The route takes no access key.
    case noKey
    /// Nothing: keys of the scope that it needs are bound to no app.
    case refused
    /// It sees and changes what is of its app. The rest is refused, or looks as if it were not there.
    case ownApp
  }

  public private(set) var entries: [Entry] = []
  private(set) var fastRoutes: [FastRoutes.Route] = []
  private var directories: Set<String> = []
  private var pagePaths: Set<String> = []
  private var strictPaths: [String: StrictRefusal] = [:]
  private var treePaths: [RouterPath] = []
  private var gatewayPaths: [RouterPath] = []
  private var errorPages: [(path: String, page: ErrorPage)] = []
  /// Of the route that is being added.
  private var bound = BoundKeys.noKey
  private var steps: [(Router<WebRequestContext>) -> Void] = []

  init(_ sets: [any RouteSet]) {
    for set in sets { set.addRoutes(to: self) }
  }

  /// The paths of all routes.
  var paths: RoutePaths {
    RoutePaths(
      entries: entries, directories: directories, pagePaths: pagePaths, strictPaths: strictPaths, treePaths: treePaths,
      gatewayPaths: gatewayPaths, errorPages: errorPages)
  }

  /// Lets a path be asked for with a slash at its end, too. All others match exactly.
  /// - Parameter path: with that slash, such as `/swagger/`.
  public func allowTrailingSlash(_ path: String) { directories.insert(path) }

  /// Lets pages of any site use PUT at a path.
  public func openToPages(_ path: RouterPath) { pagePaths.insert(path.description) }

  /// What a 400 says in place of a 405.
  public enum StrictRefusal: Sendable { case sentence, nothing }

  /// Answers methods that a path has no route for with 400 in place of 405, where the protocol of another vendor wants that.
  /// - Parameter path: a route's pattern.
  public func refuseOtherMethods(at path: String, with refusal: StrictRefusal = .sentence) {
    strictPaths[RouterPath(path).description] = refusal
  }

  /// Answers paths that have no route with 400 in place of 404, where a 404 means something else to clients. A slash at the end of a path is
  /// as good as none there.
  /// - Parameter path: what such paths begin with, slashes that follow each other being one.
  public func refuseUnknownPaths(below path: RouterPath) { gatewayPaths.append(path) }

  /// The reply to a request that was refused or failed.
  typealias ErrorPage = @Sendable (Request, WebRequestContext, HTTPErrorResponse) -> Response

  /// Shows errors at a path and below it as pages, in place of JSON. Paths without a route are among them.
  func showErrors(below path: String, as page: @escaping ErrorPage) { errorPages.append((path, page)) }

  /// Adds a route for all paths that begin with one. It reads what is behind it by itself, also where that is no usual path.
  /// - Parameter path: such as `/datasync/v2/{app}/data`; the route is listed as `…/{path}`.
  func tree(
    _ method: HTTPRequest.Method, _ path: String, bound: BoundKeys,
    use handler: @escaping @Sendable (Request, WebRequestContext) async throws -> Response
  ) {
    entries.append(Entry(method: method, path: RouterPath("\(path)/{path}"), boundKeys: bound))
    let root = RouterPath(path)
    if !treePaths.contains(where: { $0.description == root.description }) { treePaths.append(root) }
    steps.append { router in
      for path in [root, root.appendingPath("**")] { router.on(path, method: method, use: handler) }
    }
  }

  /// Adds a route.
  /// - Parameters:
  ///   - bound: what keys can do there that are bound to an app. Tests try it on every route.
  ///   - handler: answers it.
  public func add(
    _ method: HTTPRequest.Method, _ path: RouterPath, bound: BoundKeys,
    use handler: @escaping @Sendable (Request, WebRequestContext) async throws -> some ResponseGenerator
  ) {
    self.bound = bound
    on(path, method: method, use: handler)
  }

  /// Adds a route that is attempted on the event loop.
  /// - Parameters:
  ///   - method: GET or HEAD, or PUT and POST for bodies of which those up to `FastRoutes.largestBody` are there at once.
  ///   - pattern: such as `/c/{token}`.
  ///   - bound: as of `add`.
  ///   - takesQuery: whether requests with a query are attempted there, too. If not, they go through the router.
  public func fast(
    _ method: HTTPRequest.Method, _ pattern: String, bound: BoundKeys, takesQuery: Bool = false,
    use attempt: @escaping FastAttempt
  ) {
    fastPath(method, pattern, takesQuery: takesQuery, use: attempt)
    let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
    add(method, RouterPath(pattern), bound: bound) { request, context in
      var request = FastRequest(request, context, parameters: names.compactMap { context.parameters[$0] })
      return try await request.reply(by: attempt)
    }
  }

  /// Attempts short requests to a route on the event loop, in place of the route's own handler.
  func fastPath(
    _ method: HTTPRequest.Method, _ pattern: String, takesQuery: Bool = false, use attempt: @escaping FastAttempt
  ) {
    fastRoutes.append(FastRoutes.Route(method, pattern, takesQuery: takesQuery, attempt))
  }

  /// The router over all routes. Every request passes `first`, one that has no route, too.
  func router(behind first: some RouterMiddleware<WebRequestContext>) -> Router<WebRequestContext> {
    let router = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: first)
    for step in steps { step(router) }
    return router
  }

  @discardableResult
  public func on<Responder: HTTPResponder>(_ path: RouterPath, method: HTTPRequest.Method, responder: Responder) -> Self
  where Responder.Context == WebRequestContext {
    entries.append(Entry(method: method, path: path, boundKeys: bound))
    bound = .noKey
    steps.append { $0.on(path, method: method, responder: responder) }
    return self
  }

  @discardableResult
  public func add(middleware: any MiddlewareProtocol<Request, Response, WebRequestContext>) -> Self {
    steps.append { $0.add(middleware: middleware) }
    return self
  }
}

/// The paths that a listener answers, and the methods it answers there.
struct RoutePaths: Sendable {
  let entries: [RouteTable.Entry]
  /// Paths that may have a slash at their end.
  let directories: Set<String>
  /// Patterns at which pages of any site may use PUT.
  let pagePaths: Set<String>
  /// Patterns at which another method is a 400.
  let strictPaths: [String: RouteTable.StrictRefusal]
  /// Patterns below which every path has a route.
  let treePaths: [RouterPath]
  /// What paths begin with at which an unknown one is a 400.
  let gatewayPaths: [RouterPath]
  /// Paths below which errors are pages.
  let errorPages: [(path: String, page: RouteTable.ErrorPage)]

  /// How errors are shown at a path; `nil` for JSON.
  func errorPage(at path: String) -> RouteTable.ErrorPage? {
    errorPages.first { path == $0.path || path.hasPrefix($0.path + "/") }?.page
  }

  /// Whether the path is spelled as routes are, without empty segments. The router ignores those, but a proxy's rules do not.
  func isExact(_ path: String) -> Bool {
    if isInTree(path) { return true }
    var previous: UInt8?
    for byte in path.utf8 {
      if byte == UInt8(ascii: "/"), previous == byte { return false }
      previous = byte
    }
    return path.utf8.first == UInt8(ascii: "/")
      && (previous != UInt8(ascii: "/") || directories.contains(path) || isOfGateway(path))
  }

  private func isOfGateway(_ path: String) -> Bool {
    guard !gatewayPaths.isEmpty else { return false }
    let segments = path.split(separator: "/")
    return gatewayPaths.contains { base in
      base.count <= segments.count && zip(base, segments).allSatisfy { $0 ~= $1 }
    }
  }

  /// The reply to a path that has no route.
  func notFound(at path: String) -> any Error {
    isOfGateway(path) ? HTTPErrorResponse.unknownPath : HTTPError(.notFound)
  }

  /// Whether the path is at or below a tree's.
  private func isInTree(_ path: String) -> Bool {
    guard !treePaths.isEmpty else { return false }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    return treePaths.contains { tree in
      segments.count > tree.count && segments[0].isEmpty
        && zip(tree, segments.dropFirst()).allSatisfy { !$1.isEmpty && $0 ~= $1 }
    }
  }

  /// The pattern of a path at which pages may use PUT; nil for other paths.
  func openToPages(at path: String) -> String? {
    entries(at: path).first { isOpenToPages($0.method, $0.path.description) }?.path.description
  }

  /// - Parameter route: a path's pattern.
  func isOpenToPages(_ method: HTTPRequest.Method, _ route: String) -> Bool {
    (method == .put || method == .options) && pagePaths.contains(route)
  }

  /// The refusal of a method that this path has no route for; nil if there is nothing at it.
  func refusal(ofMethodAt path: String) -> HTTPErrorResponse? {
    let methods = methods(at: path)
    if methods.isEmpty { return nil }
    let refusal = HTTPErrorResponse.methodNotAllowed(methods)
    switch entries(at: path).lazy.compactMap({ strictPaths[$0.path.description] }).first {
    case nil: return refusal
    case .sentence: return .badRequest(refusal.sentence)
    case .nothing: return .badRequest("")
    }
  }

  /// The routes at a path. Where both a word and a parameter fit, the router takes the word and looks no further, so only its routes count.
  private func entries(at path: String) -> [RouteTable.Entry] {
    let segments = path.split(separator: "/")
    let isInTree = isInTree(path)
    var found = entries.filter { entry in
      (entry.path.count == segments.count || isInTree && entry.path.description.hasSuffix("/{path}"))
        && zip(entry.path, segments).allSatisfy { $0 ~= $1 }
    }
    for (place, segment) in segments.enumerated() {
      let named = found.filter { $0.path.dropFirst(place).first.map { $0 == segment } ?? false }
      if !named.isEmpty { found = named }
    }
    return found
  }

  /// The methods that this path answers; empty when there is nothing at it.
  func methods(at path: String) -> [HTTPRequest.Method] {
    let found = entries(at: path)
    let methods = Set(found.map(\.method))
    return [HTTPRequest.Method](methods.contains(.get) ? methods.union([.head]) : methods)
  }
}
