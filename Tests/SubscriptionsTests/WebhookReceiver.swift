import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Locking

@testable import Simulator

/// A customer's back end: a server of HTTPS that notes what it gets and answers as it is told.
final class WebhookReceiver: Sendable {
  struct Request: Sendable, Equatable {
    let line: String
    /// By their names in lower case.
    let headers: [String: String]
    let body: String
  }

  enum Answer: Sendable {
    case status(UInt, location: String? = nil)
    case silence
  }

  private struct State {
    var requests: [Request] = []
    var answers: [Answer] = []
    var isSilent = false
    var silentPath: String?
    var connections: [any Channel] = []
  }

  private let state = Mutex(State())
  private let channel = Mutex<(any Channel)?>(nil)

  /// Requests that were received completely.
  var requests: [Request] { state.withLock(\.requests) }

  /// `localhost:4711`, say.
  var authority: String { "localhost:\(channel.withLock { $0?.localAddress?.port } ?? 0)" }
  var url: String { "https://\(authority)" }

  /// How the next requests are answered; those after them get 204.
  func answer(_ answers: Answer...) { state.withLock { $0.answers = answers } }

  /// Answers nothing from now on, until it stops.
  func fallSilent() { state.withLock { $0.isSilent = true } }

  /// Answers nothing at this path from now on, until it stops.
  func fallSilent(at path: String) { state.withLock { $0.silentPath = path } }

  private func take(_ request: Request) -> Answer {
    state.withLock { state in
      state.requests.append(request)
      if state.isSilent || state.silentPath.map({ request.line == "POST \($0)" }) == true { return .silence }
      return state.answers.isEmpty ? .status(204) : state.answers.removeFirst()
    }
  }

  /// Listens on a free port, with a certificate of the Simulator's authority.
  func start(_ simulator: PushSimulator) async throws {
    let certificate = try CertificateAuthority.stored(in: simulator.caFile).serverContext(
      name: "localhost", protocols: ["http/1.1"])
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        self.state.withLock { $0.connections.append(channel) }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: certificate))
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(take: self.take))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    channel.withLock { $0 = listener }
  }

  func stop() async {
    try? await channel.withLock { $0 }?.close()
    for connection in state.withLock(\.connections) { try? await connection.close() }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let take: @Sendable (Request) -> Answer
    private var head: HTTPRequestHead?
    private var body = ""

    init(take: @escaping @Sendable (Request) -> Answer) { self.take = take }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, "")
      case .body(let bytes): body += String(buffer: bytes)
      case .end:
        guard let head else { return }
        let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
        let request = Request(line: "\(head.method.rawValue) \(head.uri)", headers: headers, body: body)
        guard case .status(let status, let location) = take(request) else { return }
        var response = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: Int(status)))
        if let location { response.headers.add(name: "location", value: location) }
        response.headers.add(name: "content-length", value: "0")
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
}
