import Hummingbird
import NIOCore
import NIOHTTP1

/// One HTTP/1.1 connection on its event loop: has its requests answered there, and writes what comes back.
///
/// Hummingbird's own channel passes every piece of a request and of a reply through two asynchronous sequences, each with
/// locks of its own and a change of thread; that costs more than most of the hub's requests themselves. Here a request is
/// handed over once, with its body when that came along, answered on the thread that read it, and its reply leaves as one
/// buffer.
final class HTTP1Connection: ChannelInboundHandler, ChannelOutboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = Never
  typealias OutboundOut = IOData

  /// How long what a client still sends after its last reply is thrown away.
  private static let farewell = TimeAmount.seconds(5)

  let requestHandler: RequestHandler
  private let idleTime: TimeAmount
  private var state = HTTP1ConnectionState<RequestHandler.Head>()
  private var encoder = ReplyEncoder()
  private var context: ChannelHandlerContext?
  private var body: IncomingBody.Parts.Source?
  /// What answers the request, unless it is a quick one.
  private(set) var answering: Task<Void, Never>?
  /// Its reader has more of the body than it takes.
  private var isBodyFull = false
  private var isReadHeld = false
  /// A reply is on its way to a client that has not taken all of it.
  private var isReplyStuck = false
  /// What waits in the backlog is being taken up.
  private var isGoingOn = false
  private var lastHeard = NIODeadline.now()
  private var timer: Scheduled<Void>?

  init(_ requestHandler: RequestHandler, idleTime: TimeAmount) {
    self.requestHandler = requestHandler
    self.idleTime = idleTime
  }
}

// MARK: - Reading

extension HTTP1Connection {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part: HTTP1ConnectionState<RequestHandler.Head>.Part
    switch unwrapInboundIn(data) {
    case .head(let head):
      lastHeard = .now()
      let framing = RequestFraming(of: head)
      part = requestHandler.read(head, framing).map { .head($0, framing) } ?? .garbage
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

  private func perform(_ action: HTTP1ConnectionState<RequestHandler.Head>.Action) {
    switch action {
    case .none: break
    case .answer(let head, let body): answer(head, RequestBody(buffer: body))
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

  private func answer(_ head: RequestHandler.Head, _ body: RequestBody) {
    guard let context else { return }
    let this = NIOLoopBound(self, eventLoop: context.eventLoop)
    requestHandler.answer(head, body, from: context.channel, on: this)
  }

  /// Runs what answers the request: at once, on this thread, until it has to wait for something.
  func run(_ answer: @escaping @Sendable () async -> Void) {
    answering = Task.immediate { await answer() }
  }

  private func stream(_ head: RequestHandler.Head, _ beginning: ByteBuffer) {
    guard let context else { return }
    let this = NIOLoopBound(self, eventLoop: context.eventLoop)
    let expectsContinue = head.expectsContinue
    let (parts, source) = IncomingBody.make(for: this) {
      if expectsContinue { this.execute { $0.askForBody() } }
    }
    body = source
    if beginning.readableBytes > 0 { _ = source.yield(beginning) }
    answer(head, RequestBody(asyncSequence: parts))
  }

  private func endBody(_ error: (any Error)? = nil) {
    if let error { body?.finish(error) } else { body?.finish() }
    body = nil
    isBodyFull = false
  }
}

// MARK: - Writing

extension HTTP1Connection {
  /// Writes a piece of the reply, with its head if it is the first.
  /// - Parameter written: completes once the client, or the system for it, has taken the piece.
  func write(_ head: ReplyHead?, _ bytes: ByteBuffer, written: EventLoopPromise<Void>) {
    guard let context else { return written.fail(ChannelError.ioOnClosedChannel) }
    var buffer = buffer(head, bytes, in: context)
    encoder.write(bytes, into: &buffer)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: written)
  }

  /// Writes the last piece of the reply, or all of it.
  func finish(_ head: ReplyHead?, _ bytes: ByteBuffer?) {
    guard let context else { return }
    var buffer = buffer(head, bytes, in: context)
    if let bytes { encoder.write(bytes, into: &buffer) }
    encoder.end(into: &buffer)
    isReplyStuck = true
    let done = context.eventLoop.makePromise(of: Void.self)
    done.futureResult.assumeIsolated().whenComplete { _ in self.replyWritten() }
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: done)
  }

  private func buffer(_ head: ReplyHead?, _ bytes: ByteBuffer?, in context: ChannelHandlerContext) -> ByteBuffer {
    var buffer = context.channel.allocator.buffer(capacity: (head == nil ? 16 : 512) + (bytes?.readableBytes ?? 0))
    if let head { encoder.begin(head, state.replyBegins(saysLength: head.saysLength), into: &buffer) }
    return buffer
  }

  /// The reply cannot be finished.
  func abort() {
    perform(state.close())
  }

  private func replyWritten() {
    isReplyStuck = false
    answering = nil
    lastHeard = .now()
    endBody()
    perform(state.replyEnded())
    goOn()
    readOn()
  }

  private func goOn() {
    guard !isGoingOn else { return }
    isGoingOn = true
    while let action = state.goOn() { perform(action) }
    isGoingOn = false
  }

  /// Answers what is no request.
  private func refuse() {
    finish(ReplyHead(JSONReply.make(HTTPErrorResponse.notHTTP)), JSONReply.bytes(of: .notHTTP))
  }

  /// Asks for a body that its sender holds back, unless the reply came first.
  private func askForBody() {
    guard body != nil, state.awaitsClient, let context else { return }
    let line = ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(line)), promise: nil)
  }

  private func leave() {
    context?.close(mode: .output, promise: nil)
    schedule(in: Self.farewell) { $0.abort() }
  }
}

// MARK: - Life

extension HTTP1Connection {
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

  private func schedule(in time: TimeAmount, _ body: @escaping (HTTP1Connection) -> Void) {
    timer?.cancel()
    timer = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { body(self) }
  }
}

@available(*, unavailable)
extension HTTP1Connection: Sendable {}

extension RequestFraming {
  init(of head: HTTPRequestHead) {
    keepsAlive = head.isKeepAlive
    takesChunks = head.version != .http1_0
    if head.headers.contains(name: "Transfer-Encoding") {
      bodyBytes = nil
    } else {
      bodyBytes = head.headers.first(name: "Content-Length").map { Int($0) } ?? 0
    }
  }
}
