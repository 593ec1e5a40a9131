import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import Providers

/// A session and a server, which is NIOHTTP2, without a network between them.
private final class Peers {
  let session = HTTP2Session(authority: "push.example:443")
  let server = EmbeddedChannel()
  var events: [HTTP2Session.Event] = []

  /// - Parameter limit: SETTINGS_MAX_CONCURRENT_STREAMS of the server.
  init(limit: Int = 100, streamWindow: Int = 65_535) throws {
    let settings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: limit),
      HTTP2Setting(parameter: .initialWindowSize, value: streamWindow),
    ]
    try server.pipeline.syncOperations.addHandler(NIOHTTP2Handler(mode: .server, initialSettings: settings))
    try server.connect(to: .init(unixDomainSocketPath: "/server")).wait()
    try exchange()
  }

  /// Moves bytes both ways until there are none.
  func exchange() throws {
    while true {
      var buffer = ByteBuffer()
      events += try session.send { buffer.writeBytes($0) }
      let isIdle = buffer.readableBytes == 0
      if !isIdle { try server.writeInbound(buffer) }
      let answer = try server.readOutbound(as: ByteBuffer.self)
      if let answer {
        events += try answer.withUnsafeReadableBytes { try session.receive($0) }
      }
      if isIdle, answer == nil { return }
    }
  }

  func frames() throws -> [HTTP2Frame] {
    var frames: [HTTP2Frame] = []
    while let frame = try server.readInbound(as: HTTP2Frame.self) { frames.append(frame) }
    return frames
  }

  func answer(_ stream: Int, _ payload: HTTP2Frame.FramePayload) throws {
    try server.writeOutbound(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload))
    try exchange()
  }

  func submit(_ id: String = "1", body: Int = 10, authorization: String? = "bearer x") throws -> Int {
    var headers = RequestHeaders()
    headers.add(":path", "/3/device/\(id)", .changing)
    headers.add("apns-topic", "com.acme.app")
    headers.add("apns-id", id, .changing)
    let request = PushRequest(headers: headers, body: Array(repeating: 7, count: body))
    return try session.submit(request, Authorization(value: authorization))
  }
}

@Suite struct `HTTP/2 session` {
  @Test func `A request arrives whole, and is told as sent`() throws {
    let peers = try Peers()
    let stream = try peers.submit("a1", body: 300)
    #expect(stream == 1)
    try peers.exchange()
    #expect(peers.events.contains(.sent(stream: 1)))
    var fields: [(String, String)] = []
    var body = 0
    for frame in try peers.frames() {
      switch frame.payload {
      case .headers(let head): fields = head.headers.map { ($0.name, $0.value) }
      case .data(let data):
        if case .byteBuffer(let bytes) = data.data { body += bytes.readableBytes }
        #expect(data.endStream)
      default: break
      }
    }
    #expect(
      fields.map { "\($0.0): \($0.1)" } == [
        ":method: POST", ":scheme: https", ":authority: push.example:443", ":path: /3/device/a1",
        "apns-topic: com.acme.app", "apns-id: a1", "authorization: bearer x",
      ])
    #expect(body == 300)
  }

  @Test func `A request without authorization and body ends with its head`() throws {
    let peers = try Peers()
    _ = try peers.submit(body: 0, authorization: nil)
    try peers.exchange()
    let heads = try peers.frames().compactMap { frame -> HTTP2Frame.FramePayload.Headers? in
      if case .headers(let head) = frame.payload { return head }
      return nil
    }
    #expect(heads.count == 1 && heads[0].endStream && !heads[0].headers.contains(name: "authorization"))
    #expect(peers.events.contains(.sent(stream: 1)))
  }

  @Test func `Only a connection's first request indexes what changes, and authorization is never indexed`() throws {
    let peers = try Peers()
    func indexing(_ id: String) throws -> [String: HPACKIndexing] {
      _ = try peers.submit(id)
      try peers.exchange()
      for case .headers(let head) in try peers.frames().map(\.payload) {
        return Dictionary(head.headers.map { ($0.name, $0.indexable) }) { first, _ in first }
      }
      return [:]
    }
    let first = try indexing("a")
    let later = try indexing("b")
    #expect(first[":path"] == .neverIndexed && later[":path"] == .neverIndexed)
    #expect(first["authorization"] == .neverIndexed && later["authorization"] == .neverIndexed)
    #expect(first["apns-id"] == .indexable && later["apns-id"] == .neverIndexed)
    #expect(first["apns-topic"] == .indexable && later["apns-topic"] == .indexable)
  }

  @Test func `A response is told with its status, retry-after and body`() throws {
    let peers = try Peers()
    _ = try peers.submit()
    try peers.exchange()
    peers.events = []
    try peers.answer(1, .headers(.init(headers: [":status": "429", "retry-after": "7"])))
    try peers.answer(1, .data(.init(data: .byteBuffer(ByteBuffer(string: "busy")), endStream: true)))
    #expect(
      peers.events == [
        .head(stream: 1, status: 429, retryAfter: "7", isEnd: false), .body(stream: 1, Array("busy".utf8)),
        .end(stream: 1),
      ])
  }

  @Test func `A response without a body ends with its head, and the next one has no retry-after of another`() throws {
    let peers = try Peers()
    for _ in 0..<2 { _ = try peers.submit() }
    try peers.exchange()
    peers.events = []
    try peers.answer(1, .headers(.init(headers: [":status": "503", "retry-after": "7"], endStream: true)))
    try peers.answer(3, .headers(.init(headers: [":status": "200"], endStream: true)))
    #expect(
      peers.events == [
        .head(stream: 1, status: 503, retryAfter: "7", isEnd: true),
        .head(stream: 3, status: 200, retryAfter: nil, isEnd: true),
      ])
  }

  @Test func `A body larger than the server's window is told as sent only when all of it is written`() throws {
    let peers = try Peers(streamWindow: 1000)
    _ = try peers.submit(body: 2500)
    try peers.exchange()
    #expect(!peers.events.contains(.sent(stream: 1)))
    try peers.answer(1, .windowUpdate(windowSizeIncrement: 2000))
    #expect(peers.events.contains(.sent(stream: 1)))
  }

  @Test func `RST_STREAM is told with its code, and again as the end of its stream`() throws {
    let peers = try Peers()
    _ = try peers.submit()
    try peers.exchange()
    peers.events = []
    try peers.answer(1, .rstStream(.refusedStream))
    #expect(peers.events == [.reset(stream: 1, code: HTTP2Session.refusedStream), .failed(stream: 1)])
  }

  @Test func `GOAWAY is told before the streams that it turns back`() throws {
    let peers = try Peers()
    for _ in 0..<3 { _ = try peers.submit() }
    try peers.exchange()
    peers.events = []
    try peers.answer(0, .goAway(lastStreamID: 1, errorCode: .noError, opaqueData: ByteBuffer(string: "bye")))
    #expect(peers.events.first == .goAway(lastStream: 1, code: 0, debugData: Array("bye".utf8)))
    #expect(Set(peers.events.dropFirst()) == [.failed(stream: 3), .failed(stream: 5)])
  }

  @Test func `A lower stream limit is told`() throws {
    let peers = try Peers(limit: 7)
    #expect(peers.events.contains(.settings(maxConcurrentStreams: 7)))
    peers.events = []
    try peers.answer(0, .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: 1)])))
    #expect(peers.events == [.settings(maxConcurrentStreams: 1)])
  }

  @Test func `Bytes that are no HTTP/2 end the session`() throws {
    let session = HTTP2Session(authority: "push.example")
    _ = try session.send { _ in }
    let nonsense = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
    do {
      _ = try nonsense.withUnsafeBytes { try session.receive($0) }
      _ = try session.send { _ in }
      #expect(session.isOver)
    } catch let failure as HTTP2Session.Failure {
      #expect(!failure.description.isEmpty)
    }
  }
}
