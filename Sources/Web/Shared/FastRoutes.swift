import HTTPTypes
import NIOCore
import NIOHTTP1

/// Routes that are asked for by the thousand: each is found by its path alone and attempted on the event loop, without a task.
struct FastRoutes: Sendable {
  final class Route: Sendable {
    let method: HTTPRequest.Method
    /// Such as `/c/{token}`, as the table of routes has it.
    let pattern: String
    /// Whether it takes requests with a query. If not, they go through the router.
    let takesQuery: Bool
    let attempt: FastAttempt
    /// The pattern's bytes, each `{name}` of it as one 0.
    private let shape: [UInt8]

    init(_ method: HTTPRequest.Method, _ pattern: String, takesQuery: Bool, _ attempt: @escaping FastAttempt) {
      self.method = method
      self.pattern = pattern
      self.takesQuery = takesQuery
      self.attempt = attempt
      let segments = pattern.split(separator: "/").map { $0.first == "{" ? "\0" : $0 }
      shape = Array("/\(segments.joined(separator: "/"))".utf8)
    }

    /// The values for each `{name}`, if the path is one of this pattern and has no query that the route does not take.
    func parameters(in path: String) -> [Substring]? {
      var parameters: [Substring] = []
      var rest = path.utf8[...]
      for byte in shape {
        guard byte == 0 else {
          guard rest.popFirst() == byte else { return nil }
          continue
        }
        let value = rest.prefix { $0 != UInt8(ascii: "/") }
        guard !value.isEmpty, !value.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
          return nil
        }
        parameters.append(Substring(value))
        rest = rest[value.endIndex...]
      }
      return rest.isEmpty || takesQuery && rest.first == UInt8(ascii: "?") ? parameters : nil
    }
  }

  private let routes: [Route]

  init(_ routes: [Route]) { self.routes = routes }

  /// Bytes of a body that is collected before its route is asked. A longer one goes to the router as it arrives.
  static let largestBody = 16 * 1024

  /// A request's route, and the values of its path.
  typealias Match = (route: Route, method: HTTPRequest.Method, parameters: [Substring])

  /// Whether a request's body is to be collected, so that its route can answer it then.
  static func takesBody(of head: HTTPRequestHead, _ framing: RequestFraming) -> Bool {
    // A client that sends `Expect` waits to be asked for the body.
    guard let bytes = framing.bodyBytes, bytes > 0, bytes <= largestBody else { return false }
    return !head.headers.contains(name: "expect")
  }

  /// The request as a route takes it; nil if it has to go through the router.
  /// - Parameter body: all of it; nil if the request has none, or one that was not collected.
  static func request(
    _ match: Match, _ head: HTTPRequestHead, _ framing: RequestFraming, _ body: ByteBuffer?, from address: IPAddress
  ) -> FastRequest? {
    guard framing.bodyBytes == body?.readableBytes ?? 0 else { return nil }
    return FastRequest(
      match.method, head.uri, head.headers, parameters: match.parameters, body: body ?? ByteBuffer(), from: address)
  }

  /// The route of a request; nil if there is none here.
  func match(_ head: HTTPRequestHead) -> Match? {
    let method: HTTPRequest.Method
    switch head.method {
    case .GET: method = .get
    case .HEAD: method = .head
    case .PUT: method = .put
    case .POST: method = .post
    default: return nil
    }
    for route in routes where route.method == method {
      if let parameters = route.parameters(in: head.uri) { return (route, method, parameters) }
    }
    return nil
  }
}
