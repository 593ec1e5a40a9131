import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// One HTTP/1.1 connection on its event loop: hands its requests to a task and writes what comes back.
///
/// Hummingbird's own channel passes every piece of a request and of a reply through two asynchronous sequences, each with
/// locks of its own and a change of thread; that costs more than most of the hub's requests themselves. Here a request is
/// handed over once, with its body when that came along, and its reply comes back once.
final class Connection: ChannelInboundHandler, ChannelOutboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// How long what a client still sends after its last reply is thrown away.
  private static let farewell = TimeAmount.seconds(5)

  private let inbox: RequestInbox
  private let idleTime: TimeAmount
  private var state = ConnectionState<HTTPRequest>()
  private var context: ChannelHandlerContext?
  private var body: IncomingBody.Parts.Source?
  /// Its reader has more of the body than it takes.
  private var isBodyFull = false
  private var isReadHeld = false
  /// A reply is on its way to a client that has not taken all of it.
  private var isReplyStuck = false
  private var lastHeard = NIODeadline.now()
  private var timer: Scheduled<Void>?

  init(inbox: RequestInbox, idleTime: TimeAmount) {
    self.inbox = inbox
    self.idleTime = idleTime
  }
}

// MARK: - Reading

extension Connection {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part: ConnectionState<HTTPRequest>.Part
    switch unwrapInboundIn(data) {
    case .head(let head):
      lastHeard = .now()
      let request = try? HTTPRequest(head, secure: false, splitCookie: false)
      part = request.map { .head($0, RequestFraming(of: head)) } ?? .garbage
    case .body(let bytes):
      lastHeard = .now()
      part = .body(bytes)
    case .end: part = .end
    }
    perform(state.read(part))
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    perform(state.readEnded())
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    perform(error is HTTPParserError ? state.read(.garbage) : state.close())
  }

  func read(context: ChannelHandlerContext) {
    isReadHeld = isBodyFull || !state.hasRoom
    if !isReadHeld { context.read() }
  }

  /// The reader of a body takes more of it, or has left.
  func bodyWanted() {
    isBodyFull = false
    readOn()
  }

  private func readOn() {
    guard isReadHeld, !isBodyFull, state.hasRoom else { return }
    isReadHeld = false
    context?.read()
  }

  private func perform(_ action: ConnectionState<HTTPRequest>.Action) {
    switch action {
    case .none: break
    case .answer(let head, let body): inbox.put(Request(head: head, body: RequestBody(buffer: body)))
    case .answerStream(let head, let beginning): stream(head, beginning)
    case .answerBroken(let head, let beginning):
      stream(head, beginning)
      endBody(IncomingBody.BrokeOff())
    case .feed(let bytes):
      if case .stopProducing? = body?.yield(bytes) { isBodyFull = true }
    case .endBody: endBody()
    case .breakBody: endBody(IncomingBody.BrokeOff())
    case .refuse: refuse()
    case .leave: leave()
    case .close: context?.close(promise: nil)
    }
  }

  private func stream(_ head: HTTPRequest, _ beginning: ByteBuffer) {
    guard let context else { return }
    let this = NIOLoopBound(self, eventLoop: context.eventLoop)
    let expectsContinue = head.headerFields[.expect]?.lowercased() == "100-continue"
    let (parts, source) = IncomingBody.make(for: this) {
      if expectsContinue { this.execute { $0.askForBody() } }
    }
    body = source
    if beginning.readableBytes > 0 { _ = source.yield(beginning) }
    inbox.put(Request(head: head, body: RequestBody(asyncSequence: parts)))
  }

  private func endBody(_ error: (any Error)? = nil) {
    if let error { body?.finish(error) } else { body?.finish() }
    body = nil
    isBodyFull = false
  }
}

// MARK: - Writing

extension Connection {
  /// Writes a piece of the reply.
  /// - Parameters:
  ///   - head: with the first piece.
  ///   - isEnd: with the last one.
  ///   - written: completes once the client, or the system for it, has taken `bytes`.
  func write(_ head: HTTPResponse?, _ bytes: ByteBuffer?, isEnd: Bool, written: EventLoopPromise<Void>? = nil) {
    guard let context else { return written?.fail(ChannelError.ioOnClosedChannel) ?? () }
    if var head {
      if state.replyBegins() { head.headerFields[.connection] = "close" }
      context.write(wrapOutboundOut(.head(HTTPResponseHead(head))), promise: nil)
    }
    if let bytes { context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: written) }
    guard isEnd else { return context.flush() }
    isReplyStuck = true
    let this = NIOLoopBound(self, eventLoop: context.eventLoop)
    let done = context.eventLoop.makePromise(of: Void.self)
    done.futureResult.whenComplete { _ in this.value.replyWritten() }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
  }

  /// The reply cannot be finished.
  func abort() {
    perform(state.close())
  }

  private func replyWritten() {
    isReplyStuck = false
    lastHeard = .now()
    endBody()
    perform(state.replyEnded())
    while let action = state.goOn() { perform(action) }
    readOn()
  }

  /// Answers what is no request.
  private func refuse() {
    var head = JSONReply.make(Refusal.notHTTP).head
    head.headerFields[.date] = HTTPDate.now
    write(head, JSONReply.bytes(of: .notHTTP), isEnd: true)
  }

  /// Asks for a body that its sender holds back, unless the reply came first.
  private func askForBody() {
    guard body != nil, state.awaitsClient else { return }
    context?.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }

  private func leave() {
    context?.close(mode: .output, promise: nil)
    schedule(in: Self.farewell) { $0.abort() }
  }
}

// MARK: - Life

extension Connection {
  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    watch(for: idleTime)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed? = event as? ChannelEvent { perform(state.inputEnded()) }
    if event is ChannelShouldQuiesceEvent { perform(state.quiesce()) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  private func end() {
    _ = state.close()
    timer?.cancel()
    endBody(IncomingBody.BrokeOff())
    inbox.close()
    context = nil
  }

  /// Closes the connection once the client has let the hub wait for too long.
  private func watch(for time: TimeAmount) {
    schedule(in: time) { this in
      let rest = this.lastHeard + this.idleTime - .now()
      guard this.state.awaitsClient || this.isReplyStuck else { return this.watch(for: this.idleTime) }
      if rest > .zero { this.watch(for: rest) } else { this.abort() }
    }
  }

  private func schedule(in time: TimeAmount, _ body: @escaping (Connection) -> Void) {
    timer?.cancel()
    timer = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { body(self) }
  }
}

@available(*, unavailable)
extension Connection: Sendable {}

extension RequestFraming {
  init(of head: HTTPRequestHead) {
    keepsAlive = head.isKeepAlive
    if head.headers.contains(name: "Transfer-Encoding") {
      bodyBytes = nil
    } else {
      bodyBytes = head.headers.first(name: "Content-Length").map { Int($0) } ?? 0
    }
  }
}
