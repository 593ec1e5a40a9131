import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import Operations

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Serves one HTTP/1.1 connection on its event loop. It stands before Hummingbird's channel.
///
/// Fast routes are answered here, without a task. All other requests are passed on, one at a time, and their replies come back as
/// events, each whole but for exports. Here, too, heads are checked, stalled clients are cut off, and the last reply reaches its reader. What
/// Hummingbird and NIO have of this, and what they lack, is in docs/design/http.md.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  typealias Head = (head: HTTPRequestHead, framing: RequestFraming)

  struct BodyBrokeOff: Error {}
  /// Sent outwards by whoever begins to read a body that its client holds back (`Expect: 100-continue`).
  struct BodyWanted {}
  /// Sent outwards to close the connection at once, whatever is on its way.
  struct Abort {}

  /// The request that is being answered.
  private struct Current {
    var isHTTP10: Bool
    /// The request, its fast route and what has arrived of its body, if it may be answered from here once all of it is there.
    var collected: (request: Head, route: FastRoutes.Match, body: ByteBuffer)?
    /// Whether Hummingbird's channel answers it.
    var isForwarded = false
    /// Whether its reply is made as the client takes it.
    var isStreamed = false
    /// What a large reply holds until its client has taken it, and until when that has to be.
    var memory: (held: any AnyObject & Sendable, until: NIODeadline)?
  }

  let requestHandler: RequestHandler
  /// The other end of the connection, which may be a proxy's.
  let peer: IPAddress
  private let limits: ConnectionLimits
  private var state = ConnectionState<Head>()
  private var monitor: ProgressMonitor
  private var chunkFraming = ChunkFraming()
  private var context: ChannelHandlerContext?
  private var current: Current?
  private var isReadHeld = false
  /// The channel was asked for more input and has not delivered any.
  private var isReading = false
  /// A reply is written to the channel, whose client has not taken enough of it yet.
  private var isReplyHeld = false
  /// Completes once the system has taken all replies that were written.
  private var repliesTaken: EventLoopFuture<Void>?
  private var isResuming = false
  private var idleSince = NIODeadline.now()
  /// When the first byte of the next head arrived.
  private var headSince: NIODeadline?
  private var receivedBytes = 0
  private var writtenBytes = 0
  private var discardedBytes = 0
  private var timer: Scheduled<Void>?

  init(_ requestHandler: RequestHandler, peer: IPAddress, limits: ConnectionLimits) {
    self.requestHandler = requestHandler
    self.peer = peer
    self.limits = limits
    monitor = ProgressMonitor(limits)
  }
}

@available(*, unavailable)
extension ConnectionHandler: Sendable {}

// MARK: - Input

extension ConnectionHandler {
  /// Counts input before it is decoded.
  /// - Returns: whether it is to be decoded.
  func receive(_ bytes: Int) -> Bool {
    switch state.awaited {
    case .input:
      discardedBytes += bytes
      if discardedBytes > limits.lingerBytes { context?.close(promise: nil) }
      return false
    case .request: if headSince == nil { headSince = .now() }
    case .nothing: return false
    case .body, .reply: break
    }
    chunkFraming.receive(raw: bytes)
    return true
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isReading = false
    switch unwrapInboundIn(data) {
    case .head(let head):
      headSince = nil
      do {
        let framing = try RequestFraming.check(head)
        chunkFraming.begin(framing)
        perform(state.read(.head((head, framing), framing)))
      } catch {
        perform(state.read(.malformed(error)))
      }
    case .body(let bytes):
      receivedBytes += bytes.readableBytes
      chunkFraming.receive(payload: bytes.readableBytes)
      perform(state.read(.body(bytes)))
    case .end:
      chunkFraming.end()
      perform(state.read(.end))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    // Hummingbird's channel may want no more of the body, but the end of the input has to be seen.
    if case .input = state.awaited { return context.read() }
    if chunkFraming.isExcessive {
      chunkFraming.end()
      perform(state.read(.malformed(.brokenBody)))
    }
    context.fireChannelReadComplete()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case is HTTPParserError, is ByteToMessageDecoderError.PayloadTooLargeError:
      perform(state.read(.malformed(.notHTTP)))
    default: perform(state.close())
    }
  }

  func read(context: ChannelHandlerContext) {
    guard state.wantsInput else { return isReadHeld = true }
    isReading = true
    context.read()
  }

  private func perform(_ action: ConnectionState<Head>.Action) {
    guard let context else { return }
    switch action {
    case .none: break
    case .answer(let head): answer(head, context)
    case .body(let bytes):
      if let collected = current?.collected?.body.readableBytes {
        // Mostly there is one part, which needs no copy.
        if collected == 0 {
          current?.collected?.body = bytes
        } else {
          current?.collected?.body.writeImmutableBuffer(bytes)
        }
        break
      }
      if current?.isForwarded == true { context.fireChannelRead(wrapInboundOut(.body(bytes))) }
    case .endBody:
      if let (request, route, body) = current?.collected { return answer(request, route, body, context) }
      if current?.isForwarded == true { context.fireChannelRead(wrapInboundOut(.end(nil))) }
    case .breakBody:
      if let request = current?.collected?.request {
        return reply(requestHandler.refuseBrokenBody(of: request.head, from: peer))
      }
      if current?.isForwarded == true { context.fireErrorCaught(BodyBrokeOff()) }
    case .refuse(let error):
      current = Current(isHTTP10: false)
      reply(JSONReply.make(error))
    case .linger: afterReplies(context) { self.linger($0) }
    case .close: afterReplies(context) { $0.close(promise: nil) }
    }
  }

  private func answer(_ request: Head, _ context: ChannelHandlerContext) {
    let head = request.head
    current = Current(isHTTP10: head.version.minor == 0)
    let route = requestHandler.route(of: head)
    if let route, FastRoutes.takesBody(of: head, request.framing) {
      current?.collected = (request, route, ByteBuffer())
    } else {
      answer(request, route, nil, context)
    }
  }

  /// - Parameters:
  ///   - route: its fast route; nil if it has none.
  ///   - body: all of it, if it was collected.
  private func answer(
    _ request: Head, _ route: FastRoutes.Match?, _ body: ByteBuffer?, _ context: ChannelHandlerContext
  ) {
    current?.collected = nil
    let this = NIOLoopBound(self, eventLoop: context.eventLoop)
    if requestHandler.answer(request.head, request.framing, route, body, from: peer, on: this) { return }
    current?.isForwarded = true
    context.fireChannelRead(wrapInboundOut(.head(request.head)))
    guard let body else { return }
    context.fireChannelRead(wrapInboundOut(.body(body)))
    context.fireChannelRead(wrapInboundOut(.end(nil)))
  }

  /// Takes up what waits in the backlog.
  private func resume() {
    guard !isResuming else { return }
    isResuming = true
    var isForwarding = false
    while let action = state.resume() {
      perform(action)
      isForwarding = isForwarding || current?.isForwarded == true
    }
    isResuming = false
    if isForwarding { context?.fireChannelReadComplete() }
    guard isReadHeld, state.wantsInput, let context else { return }
    isReadHeld = false
    read(context: context)
  }
}

// MARK: - Replies

extension ConnectionHandler {
  /// Writes a reply that is made on this side of Hummingbird's channel.
  func reply(_ response: Response) {
    if let reply = WholeReply(withoutBody: response) { return write(reply) }
    Task.immediate { [this = context.map { NIOLoopBound(self, eventLoop: $0.eventLoop) }] in
      do {
        let reply = try await WholeReply(response)
        this?.execute { $0.write(reply) }
      } catch {
        this?.execute { $0.perform($0.state.close()) }
      }
    }
  }

  private func write(_ reply: WholeReply) {
    guard let context, state.takesReply, !isReplyHeld else { return }
    current?.memory = reply.memory.map { ($0, .now() + TimeAmount(limits.largeReply)) }
    let taken = context.eventLoop.makePromise(of: Void.self)
    repliesTaken = taken.futureResult
    context.write(wrapOutboundOut(.head(head(of: reply.head))), promise: reply.body == nil ? taken : nil)
    if let body = reply.body {
      writtenBytes += body.readableBytes
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: taken)
    }
    // Every reply says its length. So its end is no byte, and NIO would make an empty write of it for a promise.
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    // The next request waits until the channel can take its reply.
    if state.isLast || context.channel.isWritable { replyEnded() } else { isReplyHeld = true }
  }

  /// Writes a part of a reply whose length nobody knows. A client of HTTP/1.0 sees its end by that of the connection.
  private func write(_ part: StreamedReply, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    guard state.takesReply, !isReplyHeld, current?.isForwarded == true else {
      return promise?.fail(ChannelError.ioOnClosedChannel) ?? ()
    }
    switch part {
    case .head(let response):
      current?.isStreamed = true
      context.writeAndFlush(wrapOutboundOut(.head(head(of: response, isStreamed: true))), promise: promise)
    case .body(let bytes):
      writtenBytes += bytes.readableBytes
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
    case .end:
      let taken = promise ?? context.eventLoop.makePromise(of: Void.self)
      repliesTaken = taken.futureResult
      let isLast = current?.isHTTP10 == true
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: taken)
      if isLast { perform(state.close()) } else { replyEnded() }
    }
  }

  /// The head of a reply with what the connection has to say.
  private func head(of reply: HTTPResponse, isStreamed: Bool = false) -> HTTPResponseHead {
    var head = HTTPResponseHead(reply)
    head.headers.add(name: "Date", value: HTTPDate.now)
    if state.replyBegins() || isStreamed && current?.isHTTP10 == true {
      head.headers.add(name: "Connection", value: "close")
    } else if current?.isHTTP10 == true {
      head.headers.add(name: "Connection", value: "keep-alive")
    }
    return head
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if isReplyHeld, context.channel.isWritable {
      isReplyHeld = false
      replyEnded()
    }
    context.fireChannelWritabilityChanged()
  }

  private func replyEnded() {
    idleSince = .now()
    // Behind the last reply the connection is closed, once that has been taken.
    if !state.isLast { current?.memory = nil }
    perform(state.replyEnded())
    resume()
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    switch event {
    case is Abort: abort(context)
    case let reply as WholeReply: if current?.isForwarded == true { write(reply) }
    case let part as StreamedReply: return write(part, context, promise)
    case is BodyWanted:
      if case .body = state.awaited, state.takesReply, !isReplyHeld, current?.isForwarded == true {
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
      }
    default: return context.triggerUserOutboundEvent(event, promise: promise)
    }
    promise?.succeed()
  }
}

// MARK: - Life

extension ConnectionHandler {
  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    scheduleCheck(context)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Hummingbird's channel must not hear of these while requests are in flight or wait: the connection ends from here.
    if case .inputClosed? = event as? ChannelEvent { return perform(state.inputEnded()) }
    if event is ChannelShouldQuiesceEvent { return perform(state.quiesce()) }
    context.fireUserInboundEventTriggered(event)
  }

  /// Hummingbird's channel is done with the connection. Behind the last reply, the connection is closed from here.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if case .output = mode { return promise?.succeed() ?? () }
    switch state.awaited {
    case .input, .nothing: context.channel.closeFuture.cascade(to: promise)
    case .request, .body, .reply: context.close(mode: mode, promise: promise)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  private func end() {
    _ = state.close()
    timer?.cancel()
    current?.memory = nil
    context = nil
  }

  /// Does what is next once the system has taken all replies. NIO drops what it still holds when it closes a connection.
  private func afterReplies(_ context: ChannelHandlerContext, _ next: @escaping (ChannelHandlerContext) -> Void) {
    guard let repliesTaken else { return next(context) }
    repliesTaken.assumeIsolated().whenComplete { _ in self.context.map(next) }
  }

  private func linger(_ context: ChannelHandlerContext) {
    context.close(mode: .output, promise: nil)
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.linger)) {
      self.context?.close(promise: nil)
    }
    context.read()
  }

  private func scheduleCheck(_ context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: monitor.interval) { self.check() }
  }

  private func check() {
    guard let context else { return }
    let isOverdue = current?.memory.map { $0.until <= .now() } ?? false
    guard isOverdue || monitor.isStalled(wait(context), at: .now()) else { return scheduleCheck(context) }
    abort(context)
  }

  private func wait(_ context: ChannelHandlerContext) -> ProgressMonitor.Wait {
    let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    if buffered > 0 {
      let taken = writtenBytes - buffered
      return current?.isStreamed == true
        ? .stream(request: state.requests, taken: taken) : .reply(request: state.requests, taken: taken)
    }
    switch state.awaited {
    case .request: return headSince.map { .head(since: $0) } ?? .request(since: idleSince)
    case .body where isReading: return .body(request: state.requests, received: receivedBytes)
    case .body, .reply, .input, .nothing: return .none
    }
  }

  /// Closes the connection at once: what the system still holds for a client that does not read is dropped.
  private func abort(_ context: ChannelHandlerContext) {
    if let socket = context.channel as? any SocketOptionProvider {
      _ = socket.setSoLinger(SocketLinger(l_onoff: 1, l_linger: 0))
    }
    _ = state.close()
    context.close(promise: nil)
  }
}

private typealias SocketLinger = linger
