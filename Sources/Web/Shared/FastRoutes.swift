public import HTTPTypes
public import Hummingbird
public import NIOCore
import NIOHTTP1

/// A request that is short and whole.
public struct FastRequest: Sendable {
  public let method: HTTPRequest.Method
  /// Path and query as they were sent.
  public let target: String
  /// The path's values for each `{name}` of the pattern, in their order and as they came.
  public let parameters: [Substring]
  /// Empty if there is none.
  public let body: ByteBuffer
  /// Whose request it is.
  let client: IPAddress
  fileprivate let headers: Headers

  /// A request's headers, in the form they were read in.
  fileprivate enum Headers {
    case fields(HTTPFields)
    case asRead(HTTPHeaders)
  }

  /// A header; the values of a repeated one joined by commas.
  public func header(_ name: HTTPField.Name) -> String? {
    switch headers {
    case .fields(let fields): return fields[name]
    case .asRead(let headers):
      let values = headers[name.rawName]
      return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
  }
}

extension FastRequest {
  /// A request without a body that goes through the router.
  init(_ request: Request, _ context: WebRequestContext, parameters: [Substring]) {
    self.init(
      method: request.method, target: request.uri.string, parameters: parameters, body: ByteBuffer(),
      client: context.clientAddress.client,
      headers: .fields(request.headers))
  }
}

/// Makes the reply to a fast request, on its connection's event loop. Its body must be there already.
public typealias FastReply = @Sendable () throws -> Response

/// Takes the reply to a fast request, now or later, from any thread, exactly once.
public typealias FastCompletion = @Sendable (@escaping FastReply) -> Void

/// Completes a fast request once a task has made its reply.
func completeLater(_ answer: @escaping FastCompletion, _ reply: @escaping @Sendable () async throws -> Response) {
  Task {
    let result: Result<Response, any Error>
    do { result = .success(try await reply()) } catch { result = .failure(error) }
    answer { try result.get() }
  }
}

/// Routes that are asked for by the thousand: each is found by its path alone and answered on the event loop, without a task.
struct FastRoutes: Sendable {
  final class Route: Sendable {
    /// Such as `/c/{token}`, as the table of routes has it.
    let pattern: String
    let methods: [HTTPRequest.Method]
    /// Whether it takes requests with a query. If not, they go through the router.
    let takesQuery: Bool
    /// Returns `false`, having done nothing, when the request has to go through the router.
    let answer: @Sendable (FastRequest, @escaping FastCompletion) -> Bool
    /// The pattern's bytes, each `{name}` of it as one 0.
    private let shape: [UInt8]

    init(
      _ pattern: String, _ methods: [HTTPRequest.Method], takesQuery: Bool = false,
      answer: @escaping @Sendable (FastRequest, @escaping FastCompletion) -> Bool
    ) {
      self.pattern = pattern
      self.methods = methods
      self.takesQuery = takesQuery
      self.answer = answer
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

  /// Whether the request's body is to be collected, and the request then answered here.
  func takesBody(of head: HTTPRequestHead, _ framing: RequestFraming) -> Bool {
    // A client that sends `Expect` waits to be asked for the body.
    guard let bytes = framing.bodyBytes, bytes > 0, bytes <= Self.largestBody, !head.headers.contains(name: "expect")
    else { return false }
    return route(of: head) != nil
  }

  /// The route of a request; nil if it has to go through the router.
  /// - Parameter body: all of it; nil if the request has none, or one that was not collected.
  func find(
    _ head: HTTPRequestHead, _ framing: RequestFraming, _ body: ByteBuffer?, from client: IPAddress
  ) -> (Route, FastRequest)? {
    guard framing.bodyBytes == body?.readableBytes ?? 0, let (route, method, parameters) = route(of: head) else {
      return nil
    }
    let request = FastRequest(
      method: method, target: head.uri, parameters: parameters, body: body ?? ByteBuffer(), client: client,
      headers: .asRead(head.headers))
    return (route, request)
  }

  private func route(of head: HTTPRequestHead) -> (Route, HTTPRequest.Method, [Substring])? {
    let method: HTTPRequest.Method
    switch head.method {
    case .GET: method = .get
    case .HEAD: method = .head
    case .PUT: method = .put
    case .POST: method = .post
    default: return nil
    }
    for route in routes where route.methods.contains(method) {
      if let parameters = route.parameters(in: head.uri) { return (route, method, parameters) }
    }
    return nil
  }
}
