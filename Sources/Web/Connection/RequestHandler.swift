import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Answers the requests of connections, by quick routes or by the tree of all others.
///
/// A class, so that what waits for an answer holds one object and not all of these: counting who holds what all requests share
/// goes from core to core.
final class RequestHandler: Sendable {
  let responder: RouterResponder<WebRequestContext>
  let quickRoutes: QuickRoutes
  let errorMiddleware: ErrorMiddleware
  let logger: Logger

  init(
    responder: RouterResponder<WebRequestContext>, quickRoutes: QuickRoutes, errorMiddleware: ErrorMiddleware,
    logger: Logger
  ) {
    self.responder = responder
    self.quickRoutes = quickRoutes
    self.errorMiddleware = errorMiddleware
    self.logger = logger
  }

  /// A request's head, with as much made of it as its answer needs.
  enum Head: Sendable {
    case quick(QuickRoutes.Route, QuickRequest, HTTPRequestHead)
    case other(HTTPRequest)

    var expectsContinue: Bool {
      guard case .other(let head) = self else { return false }
      return head.headerFields[.expect]?.lowercased() == "100-continue"
    }
  }

  /// - Returns: nil for what is no request.
  func read(_ head: HTTPRequestHead, _ framing: RequestFraming) -> Head? {
    if let (route, request) = quickRoutes.find(head, framing) { return .quick(route, request, head) }
    return HTTPRequest(head).map(Head.other)
  }

  /// To be called on the connection's event loop.
  func answer(
    _ head: Head, _ body: RequestBody, from channel: any Channel, on connection: NIOLoopBound<HTTP1Connection>
  ) {
    switch head {
    case .other(let head): answer(Request(head: head, body: body), from: channel, on: connection)
    case .quick(let route, let request, let head):
      guard !answer(request, at: route, on: connection) else { return }
      guard let head = HTTPRequest(head) else { return connection.value.abort() }
      answer(Request(head: head, body: body), from: channel, on: connection)
    }
  }

  private func answer(
    _ request: QuickRequest, at route: QuickRoutes.Route, on connection: NIOLoopBound<HTTP1Connection>
  ) -> Bool {
    let visit = ErrorMiddleware.Visit(method: request.method)
    return route.answer(request) { reply in
      connection.execute { this in
        this.requestHandler.finish(visit, at: route, reply, on: connection)
      }
    }
  }

  private func finish(
    _ visit: ErrorMiddleware.Visit, at route: QuickRoutes.Route, _ reply: QuickReply,
    on connection: NIOLoopBound<HTTP1Connection>
  ) {
    let id = RequestID().description
    let response = errorMiddleware.reply(to: visit, id, at: route.pattern, Result(catching: reply))
    let head = ReplyHead(response, requestID: id)
    guard response.body.contentLength != 0 else { return connection.value.finish(head, nil) }
    connection.value.run { [self] in await send(head, response.body, on: connection) }
  }

  private func answer(_ request: Request, from channel: any Channel, on connection: NIOLoopBound<HTTP1Connection>) {
    connection.value.run { [self] in
      let context = WebRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
      do {
        let response = try await responder.respond(to: request, context: context)
        await send(ReplyHead(response, requestID: context.requestID), response.body, on: connection)
      } catch {
        giveUp(on: connection, error)
      }
    }
  }

  private func send(_ head: ReplyHead, _ body: ResponseBody, on connection: NIOLoopBound<HTTP1Connection>) async {
    do {
      try await body.write(ReplyWriter(head, to: connection))
    } catch {
      giveUp(on: connection, error)
    }
  }

  private func giveUp(on connection: NIOLoopBound<HTTP1Connection>, _ error: any Error) {
    logger.debug("a reply was not finished", metadata: ["error": "\(error)"])
    connection.execute { $0.abort() }
  }
}

extension HTTPRequest {
  /// - Returns: nil for what is no request.
  fileprivate init?(_ head: HTTPRequestHead) {
    guard head.uri.utf8.first == UInt8(ascii: "/"), let method = try? Method(head.method) else {
      // A target that is not a path, such as a whole URL, has to be taken apart.
      guard let request = try? HTTPRequest(head, secure: false, splitCookie: false) else { return nil }
      self = request
      return
    }
    self.init(
      method: method, scheme: "http", authority: head.headers.first(name: "Host"), path: head.uri,
      headerFields: HTTPFields(head.headers, splitCookie: false))
  }
}
