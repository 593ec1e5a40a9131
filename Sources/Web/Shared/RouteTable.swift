public import HTTPTypes
public import Hummingbird

/// Every route of the site, as the faces add them: what Hummingbird routes by, and what 405 and the API's description
/// are answered from. What answers GET answers HEAD too, so nobody need add that.
public final class RouteTable: RouterMethods {
  public typealias Context = WebRequestContext

  /// One route.
  public struct Entry: Sendable, Hashable {
    public var method: HTTPRequest.Method
    public var path: RouterPath
    public static func == (left: Entry, right: Entry) -> Bool { left.method == right.method && left.path == right.path }
    public func hash(into hasher: inout Hasher) {
      hasher.combine(method)
      hasher.combine(path.description)
    }
  }

  public private(set) var entries: [Entry] = []
  private(set) var quickRoutes: [QuickRoutes.Route] = []
  private var steps: [(Router<WebRequestContext>) -> Void] = []

  init(_ faces: [any RouteSet]) {
    for face in faces { face.addRoutes(to: self) }
  }

  /// Adds a route for GET and HEAD that is answered with the least there is to do for each request.
  /// - Parameters:
  ///   - pattern: such as `/c/{token}`.
  ///   - answer: must not keep its thread.
  public func quick(_ pattern: String, answer: @escaping @Sendable (QuickRequest, @escaping QuickAnswer) -> Void) {
    quickRoutes.append(
      QuickRoutes.Route(pattern, [.get, .head]) {
        answer($0, $1)
        return true
      })
    let path = RouterPath(pattern)
    let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
    for method in [HTTPRequest.Method.get, .head] {
      on(path, method: method) { request, context in
        let words = names.compactMap { context.parameters[$0] }
        return try await withCheckedThrowingContinuation { continuation in
          answer(QuickRequest(request, words: words)) { continuation.resume(with: Result(catching: $0)) }
        }
      }
    }
  }

  /// Adds a quicker way to answer a GET that has a route, for when all that is needed first is at hand.
  /// - Parameters:
  ///   - pattern: the path of that route.
  ///   - answer: gives `false`, having done nothing, when the request has to go the long way. Must not keep its thread.
  public func shortcut(
    _ pattern: String, answer: @escaping @Sendable (QuickRequest, @escaping QuickAnswer) -> Bool
  ) {
    quickRoutes.append(QuickRoutes.Route(pattern, [.get], answer: answer))
  }

  /// The router over all routes, with `first` standing before each of them and before the absence of one.
  func router(behind first: some RouterMiddleware<WebRequestContext>) -> Router<WebRequestContext> {
    let router = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: first)
    for step in steps { step(router) }
    return router
  }

  @discardableResult
  public func on<Responder: HTTPResponder>(_ path: RouterPath, method: HTTPRequest.Method, responder: Responder) -> Self
  where Responder.Context == WebRequestContext {
    entries.append(Entry(method: method, path: path))
    steps.append { $0.on(path, method: method, responder: responder) }
    return self
  }

  @discardableResult
  public func add(middleware: any MiddlewareProtocol<Request, Response, WebRequestContext>) -> Self {
    steps.append { $0.add(middleware: middleware) }
    return self
  }
}

extension [RouteTable.Entry] {
  /// The methods that this path does answer; empty when there is nothing at it.
  func methods(at path: String) -> [HTTPRequest.Method] {
    let parts = path.split(separator: "/")
    let found = filter { entry in
      entry.path.count == parts.count && zip(entry.path, parts).allSatisfy { $0 ~= $1 }
    }
    let methods = Set(found.map(\.method))
    return [HTTPRequest.Method](methods.contains(.get) ? methods.union([.head]) : methods)
  }
}
