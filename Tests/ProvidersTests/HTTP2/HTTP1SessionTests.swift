import Retrying
import FoundationEssentials
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import Providers

/// HTTP/1.1 to a push service: its bytes, and what a connection decides without streams.
@Suite struct HTTP1SessionTests {
  /// A session in a channel without a socket.
  private final class Client {
    let channel = EmbeddedChannel()
    private(set) var session: HTTP1Session?
    private(set) var events: [SessionEvent] = []

    init() throws {
      let session = HTTP1Session(authority: "push.example:444", responseHeaders: ["x-wns-status"]) { [unowned self] in
        events.append($0)
      }
      self.session = session
      try channel.pipeline.syncOperations.addHandlers(session.handlers)
      try channel.connect(to: .init(unixDomainSocketPath: "/server")).wait()
    }

    /// What a request becomes.
    func send(_ body: String, to path: String = "/?token=a%2fb") throws -> String {
      var headers = RequestHeaders()
      headers.add(":path", path)
      headers.add("x-wns-type", "wns/raw")
      let session = try #require(session)
      _ = try session.submit(
        PushRequest(headers: headers, body: Array(body.utf8)), Authorization(value: "Bearer x"))
      events += session.send { _ in Issue.record("the channel has the bytes") }
      channel.flush()
      var text = ""
      while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
      return text
    }

    func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
  }

  @Test func `A request has its length and no chunks, and counts as a stream`() throws {
    let client = try Client()
    #expect(
      try client.send("Hällo")
        == "POST /?token=a%2fb HTTP/1.1\r\nhost: push.example:444\r\nx-wns-type: wns/raw\r\ncontent-length: 6\r\n"
        + "authorization: Bearer x\r\n\r\nHällo")
    try client.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(try client.send("").contains("content-length: 0\r\n"))
    #expect(
      client.events.filter { if case .sent = $0 { true } else { false } } == [.sent(stream: 1), .sent(stream: 3)])
  }

  @Test func `A response is told with the headers that are asked for, however it is cut and framed`() throws {
    for response in [
      "HTTP/1.1 404 Not Found\r\nX-WNS-Status: dropped\r\nX-Other: 1\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\ngone",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nx-wns-status: dropped\r\nretry-after: 7\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n2\r\ngo\r\n2;a=b\r\nne\r\n0\r\n\r\n",
    ] {
      let client = try Client()
      _ = try client.send("x")
      for byte in response { try client.receive(String(byte)) }
      #expect(
        client.events.dropFirst().first
          == .head(stream: 1, status: 404, retryAfter: "7", headers: ["x-wns-status": "dropped"], isEnd: false))
      let body = client.events.flatMap { event -> [UInt8] in
        if case .body(1, let bytes) = event { bytes } else { [] }
      }
      #expect(String(decoding: body, as: UTF8.self) == "gone")
      #expect(client.events.last == .end(stream: 1))
    }
  }

  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ])
  func `A server that will close the connection is told apart`(_ response: String) throws {
    let client = try Client()
    _ = try client.send("x")
    try client.receive(response)
    #expect(client.events.contains(.isLastResponse))
  }

  @Test(
    arguments: [
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "nonsense\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ])
  func `What is no response to the request breaks the connection`(_ response: String) throws {
    let client = try Client()
    _ = try client.send("x")
    #expect(throws: (any Error).self) {
      try client.receive(response)
      try client.channel.throwIfErrorCaught()
    }
  }

  // MARK: What a connection decides

  private typealias State = HTTP2ConnectionState<Int>
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private func state() -> State {
    State(
      HTTP2ConnectionTimeouts(
        settings: .seconds(10), request: .seconds(60), overtaken: .seconds(10), trust: .seconds(30), idle: .hours(1),
        silence: .seconds(2), ping: .seconds(5)), startsWithOneStream: false, now: start)
  }

  /// A connection with a request that has left.
  private func busy() -> State {
    var state = state()
    state.openWithoutStreams()
    _ = state.begin(7, sentAt: Date(timeIntervalSince1970: 0), now: start)
    state.sent(1)
    return state
  }

  private func endings(_ actions: [HTTP2ConnectionAction<Int>]) -> [RequestEnding] {
    actions.compactMap { if case .settle(_, let ending, _) = $0 { ending } else { nil } }
  }

  private func closes(_ actions: [HTTP2ConnectionAction<Int>]) -> Bool {
    actions.contains { if case .close = $0 { true } else { false } }
  }

  private func onlySettlesOrCloses(_ actions: [HTTP2ConnectionAction<Int>]) -> Bool {
    actions.allSatisfy {
      switch $0 {
      case .settle, .close: true
      case .ping, .reset: false
      }
    }
  }

  @Test func `Nothing leaves before the handshake, and then one request at a time`() {
    var state = state()
    #expect(state.capacity == 0)
    state.openWithoutStreams()
    #expect(state.capacity == 1)
    _ = state.begin(7, sentAt: Date(timeIntervalSince1970: 0), now: start)
    #expect(state.capacity == 0)
    state.sent(1)
    _ = state.head(1, status: 200, retryAfter: nil, isEnd: false)
    #expect(state.capacity == 0)
    #expect(endings(state.body(1, [], isEnd: true)).count == 1)
    #expect(state.capacity == 1)
  }

  @Test
  func `A request that left is uncertain if the connection closes before its response, and one that did not is unsent`()
  {
    var sent = busy()
    #expect(endings(sent.closed(reason: "ConnectionClosed")) == [.lost(reason: "ConnectionClosed")])
    var unsent = state()
    unsent.openWithoutStreams()
    _ = unsent.begin(7, sentAt: Date(timeIntervalSince1970: 0), now: start)
    #expect(endings(unsent.closed(reason: "ConnectionClosed")) == [.notProcessed(reason: "ConnectionClosed")])
    // The head of a refusal is a refusal, and that of an acceptance an acceptance.
    for (status, isAnswered) in [(200, true), (503, false)] {
      var begun = busy()
      _ = begun.head(1, status: status, retryAfter: nil, isEnd: false)
      let ending = endings(begun.closed(reason: "ConnectionClosed"))
      #expect(
        ending == [isAnswered ? .answered(ServiceResponse(status: 200)) : .notProcessed(reason: "ConnectionClosed")])
    }
  }

  @Test func `A request that times out ends the connection, which has no way to call it back`() {
    var state = busy()
    // No PING asks after it meanwhile.
    #expect(state.nextWake == start + .seconds(60))
    #expect(state.wake(now: start + .seconds(59)).isEmpty)
    let actions = state.wake(now: start + .seconds(60))
    #expect(endings(actions) == [.lost(reason: "RequestTimeout")])
    #expect(closes(actions) && onlySettlesOrCloses(actions))
    #expect(!state.isReady)
  }

  @Test func `A connection that is silent for long is closed and never used again`() {
    var state = busy()
    _ = state.head(1, status: 200, retryAfter: nil, isEnd: true)
    state.received(now: start)
    #expect(state.probe(now: start + .seconds(29)).isEmpty && state.capacity == 1)
    var other = state
    let probe = other.probe(now: start + .seconds(30))
    #expect(closes(probe) && onlySettlesOrCloses(probe) && other.capacity == 0)
    #expect(state.nextWake == start + .seconds(30))
    #expect(closes(state.wake(now: start + .seconds(30))) && state.capacity == 0)
  }

  @Test func `A retired connection, or one whose response is too large, closes after its response`() {
    var retired = busy()
    #expect(retired.retire().isEmpty && retired.capacity == 0)
    let last = retired.head(1, status: 200, retryAfter: nil, isEnd: true)
    #expect(endings(last).count == 1 && closes(last))
    var flooded = busy()
    _ = flooded.head(1, status: 400, retryAfter: nil, isEnd: false)
    let actions = flooded.body(1, Array(repeating: 7, count: 20_000), isEnd: false)
    #expect(endings(actions) == [.answered(ServiceResponse(status: 400))])
    #expect(closes(actions) && onlySettlesOrCloses(actions))
  }

  @Test func `A pool opens connections one by one up to its limit while requests wait`() {
    var pool = HTTP2PoolState(
      PoolSettings(
        size: 2, http1Size: 3, queueTimeout: .seconds(30), attempts: 4,
        reconnect: RetryPolicy(first: .seconds(1), longest: .seconds(60), jitter: .equal)))
    #expect(pool.review(waiting: 9, now: start) == [.open(1)])
    #expect(pool.review(waiting: 9, now: start).isEmpty)
    #expect(pool.opened(1, hasStreams: false).isEmpty)
    #expect(pool.review(waiting: 1, now: start) == [.open(2)])
    _ = pool.opened(2, hasStreams: false)
    #expect(pool.review(waiting: 0, now: start).isEmpty)
    #expect(pool.review(waiting: 1, now: start) == [.open(3)])
    _ = pool.opened(3, hasStreams: false)
    #expect(pool.review(waiting: 1000, now: start).isEmpty)
    // One that has answered may be closed by the server at any time, so that another replaces it without delay.
    pool.answered(on: 1, now: start)
    pool.closed(1, reason: "ConnectionClosed", jitter: 1, now: start)
    #expect(pool.review(waiting: 1, now: start) == [.open(4)])
    pool.closed(4, reason: "ConnectionRefused", jitter: 1, now: start)
    #expect(pool.review(waiting: 1, now: start).isEmpty)
  }
}
