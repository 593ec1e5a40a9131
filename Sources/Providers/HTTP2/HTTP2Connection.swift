import FoundationEssentials
import Logging
import NIOCore
import NIOTLS
import Wire

/// One connection: carries out what its `HTTP2ConnectionState` decides, through its session. Belongs to the pool's event loop.
///
/// It speaks HTTP/2, or HTTP/1.1 where the service allows it and the TLS handshake chooses it. With HTTP/2 it works on frames. Only
/// frames tell a push that was certainly not processed from one that is uncertain. Besides, a channel for each stream costs more than
/// the push itself.
final class HTTP2Connection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let serial: Int
  private let pool: HTTP2ConnectionPool
  /// Nil before the handshake, if that chooses the protocol.
  private var session: (any ConnectionSession)?
  /// The session, if it speaks HTTP/2.
  private var http2: HTTP2Session?
  private var state: HTTP2ConnectionState<PushJob>
  private var context: ChannelHandlerContext?
  private var timer: (at: NIODeadline, task: Scheduled<Void>)?
  private var mustFlush = false
  private var lastError: String?

  /// - Parameter window: see `HTTP2ConnectionState`.
  init(_ serial: Int, pool: HTTP2ConnectionPool, timeouts: HTTP2ConnectionTimeouts, window: Int) {
    self.serial = serial
    self.pool = pool
    state = HTTP2ConnectionState(
      timeouts, startsWithOneStream: pool.service.startsWithOneStream, window: window,
      longestBody: pool.service.longestBody, now: .now())
    if pool.service.http1Connections == 0 { startHTTP2() }
  }

  /// Requests that wait for a response.
  var openStreams: Int { state.openStreams }

  /// Whether it speaks HTTP/2.
  var hasStreams: Bool { state.hasStreams }

  /// Sends waiting pushes, at most `slice`, as far as the server and the socket allow.
  /// - Returns: whether it sent any.
  func sendWaiting(slice: Int, _ authorization: Authorization) -> Bool {
    guard let context, let session, context.channel.isWritable else { return false }
    let now = NIODeadline.now()
    let probe = state.probe(now: now)
    if !probe.isEmpty {
      perform(probe)
      flush()
      arm()
    }
    guard state.capacity > 0 else { return false }
    let sentAt = pool.now
    var count = 0
    while count < slice, state.capacity > 0, var job = pool.next() {
      job.authorization = authorization
      let stream = state.begin(job, sentAt: sentAt, now: now)
      do {
        let opened = try session.submit(job.request, authorization)
        assert(opened == stream, "the session counts streams as the state does")
      } catch {
        fail(error)
        break
      }
      count += 1
    }
    guard count > 0 else { return false }
    mustFlush = true
    flush()
    arm()
    return true
  }

  /// A response shows that the service takes the credentials.
  func proven() { state.proven() }

  /// Whether the service is still to show that it takes the credentials.
  var isUnproven: Bool { state.phase == .authenticating }

  /// Takes no more pushes, and closes when the open ones are answered.
  func retire() {
    perform(state.retire())
    finishTurn()
  }
}

// MARK: - Inbound

extension HTTP2Connection {
  func handlerAdded(context: ChannelHandlerContext) {
    // Closed while it was connecting; the pool has removed it.
    guard lastError == nil else { return context.close(promise: nil) }
    self.context = context
    mustFlush = true
    // Without TLS nothing chooses the protocol.
    if pool.isPlain { startHTTP1(context) }
    flush()
    arm()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let http2 else { return }
    let bytes = unwrapInboundIn(data)
    do {
      for event in try bytes.withUnsafeReadableBytes({ try http2.receive($0) }) { handle(event) }
      // Acknowledgements and window updates may have to leave.
      mustFlush = true
    } catch {
      fail(error)
    }
  }

  private func handle(_ event: HTTP2Session.Event) {
    switch event {
    case .head(let stream, let status, let retryAfter, let headers, let isEnd):
      let wait = status == 200 ? nil : retryAfter.flatMap { RetryAfter.duration($0, now: pool.now) }
      perform(state.head(stream, status: status, retryAfter: wait, headers: headers, isEnd: isEnd))
    case .body(let stream, let bytes): perform(state.body(stream, bytes, isEnd: false))
    case .end(let stream): perform(state.body(stream, [], isEnd: true))
    case .reset(let stream, let code):
      perform(state.reset(stream, refused: code == HTTP2Session.refusedStream, code: "RST_STREAM: \(code)"))
    case .failed(let stream): perform(state.reset(stream, refused: false, code: "StreamError"))
    case .sent: break  // noted by `flush`
    case .goAway(let lastStream, let code, let debugData): receiveGoAway(lastStream, code, debugData)
    case .settings(let maxConcurrentStreams):
      let isFirst = state.phase == .connecting
      state.settings(maxConcurrentStreams: maxConcurrentStreams)
      if isFirst { pool.opened(self) }
    case .isLastResponse:
      pool.retiring(self)
      perform(state.retire())
    }
  }

  private func receiveGoAway(_ lastStream: Int, _ code: UInt32, _ debugData: [UInt8]) {
    let reason = pool.service.goAwayReason(debugData)
    pool.logger.info("received GOAWAY", metadata: ["code": "\(code)", "reason": "\(reason ?? "none")"])
    pool.retiring(self)
    let actions = state.goAway(lastStream: lastStream, reason: reason)
    if let processed = state.processedBeforeGoAway { pool.turnedBack(after: processed) }
    perform(actions)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    state.received(now: .now())
    finishTurn()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { pool.pump() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case TLSUserEvent.handshakeCompleted("h2"):
      guard session == nil else { return }
      startHTTP2()
      finishTurn()
    case TLSUserEvent.handshakeCompleted(let negotiated):
      guard pool.service.http1Connections > 0, ["http/1.1", "", nil].contains(negotiated) else {
        return close(reason: .hub(.noHTTP2))
      }
      startHTTP1(context)
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  private func startHTTP2() {
    let http2 = HTTP2Session(authority: pool.authority, responseHeaders: pool.service.responseHeaders)
    (self.http2, session) = (http2, http2)
    mustFlush = true
  }

  private func startHTTP1(_ context: ChannelHandlerContext) {
    let http1 = HTTP1Session(authority: pool.authority, responseHeaders: pool.service.responseHeaders) {
      [unowned self] event in handle(event)
    }
    do {
      try context.pipeline.syncOperations.addHandlers(http1.handlers, position: .before(self))
    } catch {
      return fail(error)
    }
    session = http1
    state.openWithoutStreams()
    pool.opened(self)
    finishTurn()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fail(error)
  }

  private func fail(_ error: any Error) {
    // Whatever still comes on a closing connection is ignored.
    guard lastError == nil else { return }
    pool.logger.warning("\(pool.service.name) connection failed", metadata: ["error": "\(error)"])
    close(reason: HTTP2ConnectionFailure.reason(error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.task.cancel()
    timer = nil
    self.context = nil
    let reason = lastError ?? .hub(.connectionClosed)
    perform(state.closed(reason: reason))
    pool.closed(self, reason: reason)
  }
}

// MARK: - Actions

extension HTTP2Connection {
  private func perform(_ actions: [HTTP2ConnectionAction<PushJob>]) {
    for action in actions {
      switch action {
      case .settle(let job, let ending, let sentAt): pool.settle(job, ending, sentAt: sentAt, on: self)
      case .reset(let stream):
        http2?.reset(stream)
        mustFlush = true
      case .ping:
        http2?.ping()
        mustFlush = true
      case .close(let reason):
        if reason == HTTP2ConnectionState<PushJob>.idle { pool.retiring(self, byUs: true) }
        close(reason: reason)
      }
    }
  }

  /// Flushes, sends further pushes and sets the timer, after anything happened.
  private func finishTurn() {
    flush()
    pool.pump()
    arm()
  }

  /// Writes all that the session has, joined, so that it leaves as full TLS records.
  private func flush() {
    guard mustFlush, let context, let session else { return }
    mustFlush = false
    var buffer = ByteBuffer()
    do {
      let events = try session.send { bytes in
        if buffer.capacity == 0 { buffer = context.channel.allocator.buffer(capacity: max(bytes.count, 1 << 14)) }
        buffer.writeBytes(bytes)
      }
      // Before the write, which may end the connection at once: what may have left is never sent again as if it had not.
      for case .sent(let stream) in events { state.sent(stream) }
      if buffer.readableBytes > 0 {
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
      } else if http2 == nil {
        context.flush()
      }
      // After it, as handling them may write more.
      for event in events { handle(event) }
      if session.isOver { close(reason: .hub(.connectionFailed)) }
    } catch {
      fail(error)
    }
  }

  /// Stops sending first, since anything written to a closing socket would count as sent.
  func close(reason: String) {
    if lastError == nil { lastError = reason }
    if state.isReady { pool.retiring(self) }
    state.close()
    if let context { context.close(promise: nil) } else { pool.closed(self, reason: reason) }
  }

  /// Sets the timer to the earliest moment at which the state needs `wake`.
  private func arm() {
    guard let context else { return }
    let at = state.nextWake
    if let timer, timer.at <= at { return }
    timer?.task.cancel()
    timer = nil
    guard at != .distantFuture else { return }
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: at) {
      self.timer = nil
      self.perform(self.state.wake(now: .now()))
      if self.state.phase == .draining { self.pool.retiring(self) }
      self.finishTurn()
    }
    timer = (at, task)
  }
}
