import FoundationEssentials
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One client's connection: assembles requests from frames and carries out the replies.
final class APNsServerHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private struct Incoming {
    var headers: HPACKHeaders
    var body = ByteBuffer()
  }

  private let apns: SimulatedAPNs
  private let environment: SimulatedAPNs.Environment
  private let number: Int
  private var authentication = ConnectionAuthentication()
  private var incoming: [Int: Incoming] = [:]
  /// Requests without a reply so far.
  private var ignored: [Int: APNsRequest] = [:]
  private var lastStream = 0
  private var hasRaisedLimit = false
  private var hasSentGoAway = false
  private var context: ChannelHandlerContext?

  init(_ apns: SimulatedAPNs, environment: SimulatedAPNs.Environment) {
    self.apns = apns
    self.environment = environment
    number = apns.nextConnectionNumber()
  }

  func channelActive(context: ChannelHandlerContext) {
    self.context = context
    apns.opened(
      number, LiveConnection(loop: context.eventLoop, handler: NIOLoopBound(self, eventLoop: context.eventLoop)))
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    apns.closed(number)
    context.fireChannelInactive()
  }

  /// NIOHTTP2 itself refuses streams beyond the limit. Any other error closes the connection.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // After a GOAWAY, NIOHTTP2 reports frames of unprocessed streams as errors; the client closes when it has all replies.
    if error is NIOHTTP2Errors.StreamError || hasSentGoAway { return }
    context.flush()
    context.close(promise: nil)
  }
}

// MARK: - Requests

extension APNsServerHandler {
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

  private static let bodyLimit = 32 << 10

  private func finish(_ stream: Int, _ incoming: Incoming) {
    let request = APNsRequest(
      incoming.headers, payload: Array(incoming.body.readableBytesView), environment: environment)
    let reply = apns.reply(to: request, on: &authentication)
    raiseLimit()
    apns.log.append(
      SimulatedAPNs.ReceivedRequest(
        environment: environment, connection: number, stream: stream, at: Date(), token: request.token,
        payload: request.payload, reply: reply, headers: request.headers))
    carryOut(reply, request, stream)
  }

  /// APNs allows one stream until it has accepted a provider token.
  private func raiseLimit() {
    guard !hasRaisedLimit, authentication.accepted != nil else { return }
    hasRaisedLimit = true
    announce(limit: apns.streamLimit)
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

  private static let connectionWindow = 1 << 24
  /// What every stream begins with.
  private static let streamWindow = 65_535
}

// MARK: - Replies

extension APNsServerHandler {
  private func carryOut(_ reply: SimulatedAPNs.Reply, _ request: APNsRequest, _ stream: Int) {
    switch reply {
    case .accept: respond(to: request, on: stream, status: 200)
    case .refuse(let status, let reason, let since):
      respond(to: request, on: stream, status: status, body: Self.body(reason, since: since))
    case .after(let delay, let then):
      context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
        self.carryOut(then, request, stream)
        self.context?.flush()
      }
    case .ignore: ignored[stream] = request
    case .refuseStream: send(.rstStream(.refusedStream), on: stream)
    case .resetStream: send(.rstStream(.internalError), on: stream)
    case .goAway(let reason): goAway(lastStream: max(0, stream - 2), reason: reason)
    case .cut: cut()
    }
  }

  private func respond(to request: APNsRequest, on stream: Int, status: Int, body: String? = nil) {
    var headers = HPACKHeaders()
    headers.reserveCapacity(3)
    headers.add(name: ":status", value: status == 200 ? "200" : String(status))
    headers.add(name: "apns-id", value: request.id ?? UUID().uuidString, indexing: .nonIndexable)
    if environment == .sandbox, status == 200 {
      headers.add(name: "apns-unique-id", value: UUID().uuidString, indexing: .nonIndexable)
    }
    send(.headers(.init(headers: headers, endStream: body == nil)), on: stream)
    if let body { send(.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: stream) }
  }

  private static func body(_ reason: String, since: Date?) -> String {
    guard let since else { return #"{"reason":"\#(reason)"}"# }
    return #"{"reason":"\#(reason)","timestamp":\#(Int64((since.timeIntervalSince1970 * 1000).rounded(.down)))}"#
  }

  private func send(_ payload: HTTP2Frame.FramePayload, on stream: Int) {
    context?.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload)), promise: nil)
  }
}

// MARK: - Orders

extension APNsServerHandler {
  func goAway(lastStream: Int?, reason: String?) {
    hasSentGoAway = true
    let last = HTTP2StreamID(lastStream ?? self.lastStream)
    let debugData = reason.map { ByteBuffer(string: Self.body($0, since: nil)) }
    send(.goAway(lastStreamID: last, errorCode: .noError, opaqueData: debugData), on: 0)
    ignored = ignored.filter { $0.key <= Int(last) }
    context?.flush()
  }

  func cut() {
    context?.close(promise: nil)
  }

  func limitStreams(to limit: Int) {
    announce(limit: limit)
    for stream in ignored.keys.sorted().dropFirst(limit) {
      ignored[stream] = nil
      send(.rstStream(.refusedStream), on: stream)
    }
    context?.flush()
  }

  func answerIgnored() {
    let answered = ignored
    ignored = [:]
    for (stream, request) in answered.sorted(by: { $0.key < $1.key }) {
      respond(to: request, on: stream, status: 200)
    }
    context?.flush()
  }
}
