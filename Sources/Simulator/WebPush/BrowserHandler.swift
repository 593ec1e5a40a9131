import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Wire

/// A browser's connection to its push service: Mozilla's protocol, in JSON over WebSocket.
///
/// The browser says `hello`, and then `register`, `unregister`, `ack`, `nack` and `{}` to see whether the service is there.
final class BrowserHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let webPush: SimulatedWebPush
  private let number: Int
  /// The browser's id, from `hello` on.
  private var agent: String?

  init(_ webPush: SimulatedWebPush, number: Int) {
    self.webPush = webPush
    self.number = number
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .text: receive(frame.unmaskedData, context)
    case .ping: send(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData), context)
    case .connectionClose:
      send(WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData), context)
      context.close(promise: nil)
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let agent { webPush.disconnect(agent, number) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private struct Message: Decodable {
    struct Update: Decodable {
      var version: String
      var code: Int?
    }
    var messageType: String?
    var uaid: String?
    var channelID: String?
    var key: String?
    var updates: [Update]?
    var version: String?
  }

  private func receive(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    guard let message = try? JSONCoding.decode(Message.self, from: bytes.readableBytesView) else {
      return context.close(promise: nil)
    }
    guard let agent else {
      guard message.messageType == "hello" else { return context.close(promise: nil) }
      return welcome(message.uaid.flatMap(BrowserAddress.validAgent) ?? BrowserAddress.newAgent(), context)
    }
    switch message.messageType {
    case nil, "ping": say("{}", context)
    case "register": say(registered(message, agent), context)
    case "unregister":
      let address = message.channelID.flatMap { BrowserAddress(agent: agent, channel: $0) }
      if let address { webPush.unsubscribe(address) }
      say(reply("unregister", message, status: address == nil ? 401 : 200), context)
    case "ack":
      for update in message.updates ?? [] { webPush.acknowledge(agent, update.version, code: update.code ?? 100) }
    case "nack": webPush.acknowledge(agent, message.version ?? "", code: 301)
    case "broadcast_subscribe": break
    default: context.close(promise: nil)
    }
  }

  private func welcome(_ agent: String, _ context: ChannelHandlerContext) {
    self.agent = agent
    say(#"{"messageType":"hello","uaid":"\#(agent)","status":200,"use_webpush":true,"broadcasts":{}}"#, context)
    let (loop, bound) = (
      context.eventLoop, NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
    )
    let link = BrowserLink(
      number: number,
      send: { text in loop.execute { bound.value.handler.say(text, bound.value.context) } },
      close: { loop.execute { bound.value.context.close(promise: nil) } })
    for push in webPush.connect(agent, link) { say(push.message, context) }
  }

  private func registered(_ message: Message, _ agent: String) -> String {
    guard let address = message.channelID.flatMap({ BrowserAddress(agent: agent, channel: $0) }) else {
      return reply("register", message, status: 401)
    }
    // Firefox pads it.
    let key = Base64URL.decode((message.key ?? "").utf8.filter { $0 != UInt8(ascii: "=") })
    guard let key, key.count == 65 else { return reply("register", message, status: 400) }
    let endpoint = webPush.register(address, senderKey: key)
    return reply("register", message, status: 200, more: #","pushEndpoint":"\#(endpoint)""#)
  }

  private func reply(_ type: String, _ message: Message, status: Int, more: String = "") -> String {
    let channel = String(decoding: JSONText.quoted(message.channelID ?? ""), as: UTF8.self)
    return #"{"messageType":"\#(type)","channelID":\#(channel),"status":\#(status)\#(more)}"#
  }

  private func say(_ text: String, _ context: ChannelHandlerContext) {
    send(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)), context)
  }

  private func send(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }
}

extension BrowserHandler {
  /// Most bytes of a message; a browser's are short.
  private static let limit = 1 << 16

  /// Has a connection of HTTP/1.1 upgraded to WebSocket, and answers all else with 426.
  static func configure(_ channel: any Channel, for webPush: SimulatedWebPush) throws {
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: limit,
      shouldUpgrade: { channel, head in
        // Firefox asks for `push-notification`.
        let name = head.headers.first(name: "sec-websocket-protocol")
        return channel.eventLoop.makeSucceededFuture(
          HTTPHeaders(name.map { [("sec-websocket-protocol", $0)] } ?? []))
      },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 16, maxAccumulatedFrameSize: limit),
            BrowserHandler(webPush, number: webPush.nextBrowserNumber()))
        }
      })
    let other = UpgradeRequired()
    let bound = NIOLoopBound(other, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in context.pipeline.syncOperations.removeHandler(bound.value, promise: nil) }
      ))
    try channel.pipeline.syncOperations.addHandler(other)
  }
}

/// Answers what is no WebSocket handshake.
private final class UpgradeRequired: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    let text = ByteBuffer(string: "Browsers connect here by WebSocket. Pushes come by HTTP/2.\n")
    let headers: HTTPHeaders = [
      "upgrade": "websocket", "connection": "close", "content-length": "\(text.readableBytes)",
    ]
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .upgradeRequired, headers: headers))),
      promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
  }
}
