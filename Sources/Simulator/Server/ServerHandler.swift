import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One client's connection: assembles requests from frames and carries out the replies.
final class ServerHandler<Connection: ServiceConnection>: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame
  private typealias Answer = SimulatedAnswer<Connection.Refusal>

  private struct Incoming {
    var headers: HPACKHeaders
    var body = ByteBuffer()
  }

  private let number: Int
  private let connections: ConnectionTable
  private var connection: Connection
  /// The limit of streams that the service announced last.
  private var streamLimit: Int
  private var incoming: [Int: Incoming] = [:]
  /// Answers to requests without a reply so far.
  private var ignored: [Int: Answer] = [:]
  private var lastStream = 0
  private var hasSentGoAway = false
  private var context: ChannelHandlerContext?

  init(_ connection: Connection, number: Int, in connections: ConnectionTable) {
    self.connection = connection
    self.number = number
    self.connections = connections
    streamLimit = connection.streamLimit
  }

  /// The client's certificate and its issuers; the handshake goes on whatever it is worth.
  func present(_ certificates: [NIOSSLCertificate]) {
    guard let leaf = try? certificates.first?.toDERBytes() else { return }
    connection.present(leaf)
    announceNewLimit()
  }

  /// After ALPN the connection is active already.
  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { activate(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    if self.context == nil { activate(context) }
    context.fireChannelActive()
  }

  private func activate(_ context: ChannelHandlerContext) {
    self.context = context
    let loop = context.eventLoop
    let handler = NIOLoopBound(self, eventLoop: loop)
    connections.add(number) { order in loop.execute { handler.value.carryOut(order) } }
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    connections.remove(number)
    context.fireChannelInactive()
  }

  /// Errors of a stream end that stream alone. Any other error closes the connection; NIOHTTP2 makes a stream beyond the limit one of these.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is NIOHTTP2Errors.MaxStreamsViolation { connections.countStreamBeyondLimit() }
    // After a GOAWAY, NIOHTTP2 reports frames of unprocessed streams as errors; the client closes when it has all replies.
    if error is NIOHTTP2Errors.StreamError || hasSentGoAway { return }
    context.flush()
    context.close(promise: nil)
  }
}

// MARK: - Requests

extension ServerHandler {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let stream = Int(frame.streamID)
    switch frame.payload {
    case .headers(let head):
      lastStream = max(lastStream, stream)
      if head.endStream { return finish(stream, Incoming(headers: head.headers)) }
      incoming[stream] = Incoming(headers: head.headers)
    case .data(let data):
      guard case .byteBuffer(var bytes) = data.data, var request = incoming.removeValue(forKey: stream) else { return }
      // Far beyond any limit, further bytes make no difference.
      if request.body.readableBytes <= Self.bodyLimit { request.body.writeBuffer(&bytes) }
      if data.endStream { return finish(stream, request) }
      incoming[stream] = request
    case .rstStream:
      incoming[stream] = nil
      ignored[stream] = nil
    default: break
    }
  }

  /// A request can have 1,000 tokens of some kilobytes each.
  private static var bodyLimit: Int { 5 << 20 }

  private func finish(_ stream: Int, _ incoming: Incoming) {
    let answer = connection.receive(
      IncomingRequest(
        headers: incoming.headers, body: Array(incoming.body.readableBytesView), connection: number, stream: stream))
    announceNewLimit()
    carryOut(answer.reply, answer, stream)
  }

  private func announceNewLimit() {
    guard connection.streamLimit != streamLimit else { return }
    streamLimit = connection.streamLimit
    announce(limit: streamLimit)
  }

  private func announce(limit: Int) {
    let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)
    send(.settings(.settings([setting])), on: 0)
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard let event = event as? NIOHTTP2WindowUpdatedEvent, let size = event.inboundWindowSize else {
      return context.fireUserInboundEventTriggered(event)
    }
    let window = event.streamID == .rootStream ? Self.connectionWindow : Self.streamWindow
    guard size < window / 2 else { return }
    send(.windowUpdate(windowSizeIncrement: window - size), on: Int(event.streamID))
  }

  private static var connectionWindow: Int { 1 << 24 }
  /// What every stream begins with.
  private static var streamWindow: Int { 65_535 }
}

// MARK: - Replies

extension ServerHandler {
  /// - Parameter reply: the answer's, or what is left of it after a delay.
  private func carryOut(_ reply: SimulatedReply<Connection.Refusal>, _ answer: Answer, _ stream: Int) {
    switch reply {
    case .accept: respond(answer.response(nil), on: stream)
    case .refuse(let refusal): respond(answer.response(refusal), on: stream)
    case .after(let delay, let then):
      context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
        self.carryOut(then, answer, stream)
        self.context?.flush()
      }
    case .ignore: ignored[stream] = answer
    case .refuseStream: send(.rstStream(.refusedStream), on: stream)
    case .resetStream: send(.rstStream(.internalError), on: stream)
    case .goAway(let reason): goAway(lastStream: max(0, stream - 2), reason: reason)
    case .cut: cut()
    }
  }

  private func respond(_ response: SimulatedResponse, on stream: Int) {
    var headers = HPACKHeaders()
    headers.reserveCapacity(3)
    headers.add(name: ":status", value: response.status == 200 ? "200" : String(response.status))
    for (name, value) in response.headers { headers.add(name: name, value: value, indexing: .nonIndexable) }
    send(.headers(.init(headers: headers, endStream: response.body == nil)), on: stream)
    guard let body = response.body else { return }
    send(.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: stream)
  }

  private func send(_ payload: HTTP2Frame.FramePayload, on stream: Int) {
    context?.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload)), promise: nil)
  }
}

// MARK: - Orders

extension ServerHandler {
  func carryOut(_ order: ConnectionOrder) {
    switch order {
    case .goAway(let lastStream, let reason): goAway(lastStream: lastStream, reason: reason)
    case .cut: cut()
    case .limitStreams(let limit): limitStreams(to: limit)
    case .answerIgnored: answerIgnored()
    }
  }

  private func goAway(lastStream: Int?, reason: String?) {
    hasSentGoAway = true
    let last = HTTP2StreamID(lastStream ?? self.lastStream)
    let debugData = reason.map { ByteBuffer(string: connection.debugData($0)) }
    send(.goAway(lastStreamID: last, errorCode: .noError, opaqueData: debugData), on: 0)
    ignored = ignored.filter { $0.key <= Int(last) }
    context?.flush()
  }

  private func cut() {
    context?.close(promise: nil)
  }

  private func limitStreams(to limit: Int) {
    announce(limit: limit)
    for stream in ignored.keys.sorted().dropFirst(limit) {
      ignored[stream] = nil
      send(.rstStream(.refusedStream), on: stream)
    }
    context?.flush()
  }

  private func answerIgnored() {
    let answered = ignored
    ignored = [:]
    for (stream, answer) in answered.sorted(by: { $0.key < $1.key }) {
      respond(answer.response(nil), on: stream)
    }
    context?.flush()
  }
}
