public import HTTPTypes
public import Hummingbird

/// Every route of the site, as the faces add them: what Hummingbird routes by, and what 405 and the API's description
/// are answered from. What answers GET answers HEAD too, so nobody need add that.
public final class RouteTable: RouterMethods {
  public typealias Context = SiteContext

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
  private var steps: [(Router<SiteContext>) -> Void] = []

  init(_ faces: [any Face]) {
    for face in faces { face.addRoutes(to: self) }
  }

  /// Adds a route of `prefix` and one word after it, for GET and HEAD. It is answered with the least there is to do for each
  /// request, and `answer` must not keep its thread.
  /// - Parameters:
  ///   - prefix: such as `/r/`.
  ///   - name: of the word.
  public func quick(_ prefix: String, _ name: String, answer: @escaping QuickAnswer) {
    let pattern = "\(prefix){\(name)}"
    quickRoutes.append(QuickRoutes.Route(prefix: prefix, pattern: pattern, answer: answer))
    for method in [HTTPRequest.Method.get, .head] {
      on(RouterPath(pattern), method: method) { request, context in
        let word = try context.parameters.require(name)
        return try await withCheckedThrowingContinuation { continuation in
          answer(QuickRequest(method: request.method, word: word[...], headers: .fields(request.headers))) {
            continuation.resume(with: $0)
          }
        }
      }
    }
  }

  /// The router over all routes, with `first` standing before each of them and before the absence of one.
  func router(behind first: some RouterMiddleware<SiteContext>) -> Router<SiteContext> {
    let router = Router(context: SiteContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: first)
    for step in steps { step(router) }
    return router
  }

  @discardableResult
  public func on<Responder: HTTPResponder>(_ path: RouterPath, method: HTTPRequest.Method, responder: Responder) -> Self
  where Responder.Context == SiteContext {
    entries.append(Entry(method: method, path: path))
    steps.append { $0.on(path, method: method, responder: responder) }
    return self
  }

  @discardableResult
  public func add(middleware: any MiddlewareProtocol<Request, Response, SiteContext>) -> Self {
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
