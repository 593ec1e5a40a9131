import FoundationEssentials
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS

/// One connection: carries out what its `HTTP2ConnectionState` decides. Belongs to the pool's event loop.
///
/// It works on frames, without a stream multiplexer. Only frames tell a push that was certainly not processed from one
/// that is uncertain. Besides, a channel for each stream costs more than the push itself.
final class HTTP2Connection: ChannelInboundHandler, NIOHTTP2FrameDelegate {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  let serial: Int
  private let pool: HTTP2ConnectionPool
  private var state: HTTP2ConnectionState<PushJob>
  private var context: ChannelHandlerContext?
  private var timer: (at: NIODeadline, task: Scheduled<Void>)?
  private var isFirst = true
  private var mustFlush = false
  private var lastError: String?

  /// - Parameter window: see `HTTP2ConnectionState`.
  init(_ serial: Int, pool: HTTP2ConnectionPool, timeouts: HTTP2ConnectionTimeouts, window: Int) {
    self.serial = serial
    self.pool = pool
    state = HTTP2ConnectionState(
      timeouts, startsWithOneStream: pool.service.startsWithOneStream, window: window, now: .now())
  }

  /// Requests that wait for a response.
  var openStreams: Int { state.openStreams }

  /// Sends waiting pushes, at most `slice`, as far as the server and the socket allow.
  /// - Returns: whether it sent any.
  func sendWaiting(slice: Int, _ authorization: Authorization) -> Bool {
    guard let context, context.channel.isWritable else { return false }
    let now = NIODeadline.now()
    let probe = state.probe(now: now)
    if !probe.isEmpty {
      perform(probe)
      flush()
      arm()
    }
    guard state.room > 0 else { return false }
    let sentAt = pool.now
    var count = 0
    while count < slice, state.room > 0, var job = pool.next() {
      job.authorization = authorization
      let stream = HTTP2StreamID(state.begin(job, sentAt: sentAt, now: now))
      write(job.request, authorization, on: stream, context)
      count += 1
    }
    guard count > 0 else { return false }
    context.flush()
    arm()
    return true
  }

  private func write(
    _ request: PushRequest, _ authorization: Authorization, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    let headers = pool.block.headers(of: request, authorization, isFirst: isFirst)
    isFirst = false
    let hasBody = !request.body.isEmpty
    send(.headers(.init(headers: headers, endStream: !hasBody)), on: stream, context)
    if hasBody {
      send(.data(.init(data: .byteBuffer(ByteBuffer(bytes: request.body)), endStream: true)), on: stream, context)
    }
  }

  private func send(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  /// NIOHTTP2 holds DATA back while flow control forbids it; this is called when a frame is really written.
  func wroteFrame(_ frame: HTTP2Frame) {
    switch frame.payload {
    case .data(let data) where data.endStream: state.sent(Int(frame.streamID))
    case .headers(let headers) where headers.endStream: state.sent(Int(frame.streamID))
    default: break
    }
  }

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
    arm()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let stream = Int(frame.streamID)
    switch frame.payload {
    case .headers(let head): receive(head, on: stream)
    case .data(let data):
      if case .byteBuffer(let bytes) = data.data {
        perform(state.body(stream, bytes.readableBytesView, isEnd: data.endStream))
      }
    case .rstStream(let code):
      perform(state.reset(stream, refused: code == .refusedStream, code: "RST_STREAM: \(code)"))
    case .goAway(let lastStream, let code, let debugData):
      let reason = debugData.flatMap { pool.service.goAwayReason(Array($0.readableBytesView)) }
      pool.logger.info("received GOAWAY", metadata: ["code": "\(code)", "reason": "\(reason ?? "none")"])
      pool.retiring(self)
      let actions = state.goAway(lastStream: Int(lastStream), reason: reason)
      if let processed = state.processedBeforeGoAway { pool.turnedBack(after: processed) }
      perform(actions)
    case .settings(.settings(let settings)):
      let isFirst = state.phase == .connecting
      state.settings(maxConcurrentStreams: settings.last { $0.parameter == .maxConcurrentStreams }?.value)
      if isFirst { pool.opened(self) }
    default: break
    }
  }

  private func receive(_ head: HTTP2Frame.FramePayload.Headers, on stream: Int) {
    guard let status = head.headers.first(name: ":status").flatMap({ Int($0) }) else { return }
    let retryAfter =
      status == 200 ? nil : head.headers.first(name: "retry-after").flatMap { RetryAfter.duration($0, now: pool.now) }
    perform(state.head(stream, status: status, retryAfter: retryAfter, isEnd: head.endStream))
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
    case let event as NIOHTTP2WindowUpdatedEvent where event.streamID == .rootStream: widenWindow(event, context)
    case TLSUserEvent.handshakeCompleted(let negotiated) where negotiated != "h2": close(reason: "NoHTTP2")
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  /// Widens the connection's window when half of it is used. Streams need no such: a response is shorter than their window.
  private func widenWindow(_ event: NIOHTTP2WindowUpdatedEvent, _ context: ChannelHandlerContext) {
    guard let size = event.inboundWindowSize, size < Self.window / 2 else { return }
    send(.windowUpdate(windowSizeIncrement: Self.window - size), on: .rootStream, context)
    mustFlush = true
  }

  private static let window = 1 << 24

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? NIOHTTP2Errors.StreamError {
      perform(state.reset(Int(error.streamID), refused: false, code: "StreamError"))
      return
    }
    // Once it is being closed, whatever still comes on it is of no meaning.
    guard lastError == nil else { return }
    pool.logger.warning("\(pool.service.name) connection failed", metadata: ["error": "\(error)"])
    close(reason: HTTP2ConnectionFailure.reason(error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.task.cancel()
    timer = nil
    self.context = nil
    let reason = lastError ?? "ConnectionClosed"
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
        guard let context else { continue }
        send(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
        mustFlush = true
      case .ping:
        guard let context else { continue }
        send(.ping(HTTP2PingData(), ack: false), on: .rootStream, context)
        mustFlush = true
      case .close(let reason): close(reason: reason)
      }
    }
  }

  /// Flushes, sends further pushes and sets the timer, after anything happened.
  private func finishTurn() {
    flush()
    pool.pump()
    arm()
  }

  private func flush() {
    guard mustFlush else { return }
    mustFlush = false
    context?.flush()
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
