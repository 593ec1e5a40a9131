import Operations
import Wire
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Answers the requests of all connections: fast routes on the event loop, all others through the router.
///
/// A class, so that a waiting request holds one object instead of all of these. Reference counts that all requests
/// share would move from core to core.
final class RequestHandler: Sendable {
  private let responder: RouterResponder<WebRequestContext>
  private let fastRoutes: FastRoutes
  private let errorMiddleware: ErrorMiddleware
  private let addressRate: RateLimit<IPAddress>
  private let trustedProxies: TrustedProxies
  let logger: Logger

  init(
    responder: RouterResponder<WebRequestContext>, fastRoutes: FastRoutes, errorMiddleware: ErrorMiddleware,
    addressRate: RateLimit<IPAddress>, trustedProxies: TrustedProxies, logger: Logger
  ) {
    self.responder = responder
    self.fastRoutes = fastRoutes
    self.errorMiddleware = errorMiddleware
    self.addressRate = addressRate
    self.trustedProxies = trustedProxies
    self.logger = logger
  }

  /// The fast route of a request; nil if it has none.
  func route(of head: HTTPRequestHead) -> FastRoutes.Match? { fastRoutes.match(head) }

  /// The reply to a request whose collected body broke off.
  func refuseBrokenBody(of head: HTTPRequestHead, from peer: IPAddress) -> Response {
    refuse(head, addressRate.refusal(of: address(of: head, from: peer).client) ?? .brokenBody)
  }

  private func refuse(_ head: HTTPRequestHead, _ error: HTTPErrorResponse) -> Response {
    let started = ErrorMiddleware.Started(
      method: HTTPRequest.Method(head.method.rawValue) ?? .get, isFromPage: head.headers.contains(name: "origin"))
    return errorMiddleware.reply(to: started, RequestID().description, at: ErrorMiddleware.noRoute, .failure(error))
  }

  private func address(of head: HTTPRequestHead, from peer: IPAddress) -> IPAddress {
    trustedProxies.client(of: peer, head.headers["x-forwarded-for"])
  }

  /// Answers a fast route, or refuses a client that asks too often. To be called on the connection's event loop.
  /// - Parameters:
  ///   - route: its fast route; nil if it has none.
  ///   - body: all of it, if it was collected.
  /// - Returns: whether the connection gets the reply from here; else the request has to go through the router.
  func answer(
    _ head: HTTPRequestHead, _ framing: RequestFraming, _ route: FastRoutes.Match?, _ body: ByteBuffer?,
    from peer: IPAddress, on connection: NIOLoopBound<ConnectionHandler>
  ) -> Bool {
    let address = address(of: head, from: peer)
    if let error = addressRate.refusal(of: address.client) {
      connection.value.reply(refuse(head, error))
      return true
    }
    guard let route, var request = FastRoutes.request(route, head, framing, body, from: address) else { return false }
    let started = ErrorMiddleware.Started(method: request.method, isFromPage: head.headers.contains(name: "origin"))
    request.answer(by: route.route.attempt) { [pattern = route.route.pattern] reply in
      connection.execute { this in
        let id = RequestID().description
        let middleware = this.requestHandler.errorMiddleware
        this.reply(middleware.reply(to: started, id, at: pattern, Result(catching: reply)))
      }
    }
    return true
  }

  /// Answers a request through the router. The connection gets the reply in one piece, but for an export.
  func respond(to request: Request, on channel: any Channel) async throws {
    var context = WebRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
    context.clientAddress = trustedProxies.client(
      of: IPAddress(channel.remoteAddress), request.headers[values: .forwardedFor])
    var request = request
    if request.headers[.expect]?.lowercasedASCII == "100-continue" {
      request.body = RequestBody(asyncSequence: HeldBackBody(body: request.body, channel: channel))
    }
    let response = try await responder.respond(to: request, context: context)
    // Only a body that is made piece by piece does not know its length.
    if response.body.contentLength == nil { return try await StreamedReply.send(response, on: channel) }
    channel.triggerUserOutboundEvent(try await WholeReply(response), promise: nil)
  }
}

/// A body that its client sends once it is asked to, which the first read does. Hummingbird does not look at `Expect`.
private struct HeldBackBody: AsyncSequence, Sendable {
  let body: RequestBody
  let channel: any Channel

  struct Iterator: AsyncIteratorProtocol {
    var parts: RequestBody.AsyncIterator

    mutating func next() async throws -> ByteBuffer? { try await parts.next() }
  }

  func makeAsyncIterator() -> Iterator {
    channel.triggerUserOutboundEvent(ConnectionHandler.BodyWanted(), promise: nil)
    return Iterator(parts: body.makeAsyncIterator())
  }
}
