import FoundationEssentials
import NIOCore
import Testing

@testable import Providers

/// A connection's decisions, without a socket: requests are numbers, and the test sets the time.
@Suite struct ConnectionStateTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  private let sentAt = Date(timeIntervalSince1970: 1_800_000_000)

  private func state(firstStream: Int = 1) -> HTTP2ConnectionState<Int> {
    HTTP2ConnectionState(Self.timeouts, now: start, firstStream: firstStream)
  }

  private static let timeouts = HTTP2ConnectionTimeouts(
    settings: .seconds(10), request: .seconds(60), overtaken: .seconds(10), trust: .seconds(30), idle: .hours(1),
    silence: .seconds(15), ping: .seconds(5))

  /// A connection on which a first request was answered.
  private func open(streams limit: Int = 1000) -> HTTP2ConnectionState<Int> {
    var state = state()
    state.settings(maxConcurrentStreams: limit)
    let stream = begin(&state, 0)
    _ = state.head(stream, status: 200, retryAfter: nil, isEnd: true)
    state.proven()
    return state
  }

  /// Begins a request and sends it completely.
  private func begin(_ state: inout HTTP2ConnectionState<Int>, _ request: Int, at now: NIODeadline? = nil) -> Int {
    let stream = state.begin(request, sentAt: sentAt, now: now ?? start)
    state.sent(stream)
    return stream
  }

  private func endings(_ actions: [HTTP2ConnectionAction<Int>]) -> [Int: RequestEnding] {
    var endings: [Int: RequestEnding] = [:]
    for case .settle(let request, let ending, _) in actions { endings[request] = ending }
    return endings
  }

  private func closes(_ actions: [HTTP2ConnectionAction<Int>]) -> [String] {
    actions.compactMap { if case .close(let reason) = $0 { reason } else { nil } }
  }

  private func resets(_ actions: [HTTP2ConnectionAction<Int>]) -> [Int] {
    actions.compactMap { if case .reset(let stream) = $0 { stream } else { nil } }
  }

  private func pings(_ actions: [HTTP2ConnectionAction<Int>]) -> Int {
    actions.count { if case .ping = $0 { true } else { false } }
  }

  // MARK: Room

  @Test func `Nothing leaves before the server's SETTINGS`() {
    var state = state()
    #expect(state.capacity == 0)
    state.settings(maxConcurrentStreams: 1000)
    #expect(state.capacity == 1)
  }

  @Test func `A new connection sends one request at a time until one shows that the credentials are taken`() {
    var state = state()
    state.settings(maxConcurrentStreams: 1000)
    let stream = begin(&state, 7)
    #expect(stream == 1)
    #expect(state.capacity == 0)
    #expect(
      endings(state.head(1, status: 200, retryAfter: nil, isEnd: true)) == [7: .answered(ServiceResponse(status: 200))])
    #expect(state.capacity == 1)
    state.proven()
    #expect(state.capacity == 1000)
    #expect(begin(&state, 8) == 3)
  }

  @Test func `A connection to a service that does not ask for it begins with as many streams as the server allows`() {
    var state = HTTP2ConnectionState<Int>(Self.timeouts, startsWithOneStream: false, now: start)
    state.settings(maxConcurrentStreams: 1000)
    #expect(state.capacity == 1000)
  }

  @Test func `The server's limit is respected, even when it changes`() {
    var state = open(streams: 2)
    #expect(begin(&state, 1) == 3)
    #expect(state.capacity == 1)
    #expect(begin(&state, 2) == 5)
    #expect(state.capacity == 0)
    state.settings(maxConcurrentStreams: 3)
    #expect(state.capacity == 1)
    state.settings(maxConcurrentStreams: 1)
    #expect(state.capacity == 0)
    state.settings(maxConcurrentStreams: nil)
    #expect(state.capacity == 0)
  }

  @Test func `A limit of zero stops even the first request`() {
    var state = state()
    state.settings(maxConcurrentStreams: 0)
    #expect(state.capacity == 0)
  }

  @Test func `A server that announces no limit is given a hundred streams`() {
    var state = state()
    state.settings(maxConcurrentStreams: nil)
    let stream = begin(&state, 1)
    _ = state.head(stream, status: 410, retryAfter: nil, isEnd: true)
    state.proven()
    #expect(state.capacity == 100)
  }

  @Test func `The connection ends after the response on the last stream id`() {
    var state = state(firstStream: Int(Int32.max))
    state.settings(maxConcurrentStreams: 1000)
    let stream = begin(&state, 1)
    #expect(state.capacity == 0)
    let actions = state.head(stream, status: 200, retryAfter: nil, isEnd: true)
    #expect(endings(actions) == [1: .answered(ServiceResponse(status: 200))])
    #expect(closes(actions) == ["Drained"])
  }

  // MARK: Answers

  @Test func `A refusal is read from its body, in pieces`() {
    var state = open()
    let stream = begin(&state, 1)
    #expect(state.head(stream, status: 410, retryAfter: nil, isEnd: false).isEmpty)
    #expect(state.body(stream, Array(#"{"reason":"Unregis"#.utf8), isEnd: false).isEmpty)
    let actions = state.body(stream, Array(#"tered","timestamp":1700000000123}"#.utf8), isEnd: true)
    let answer = ServiceResponse(
      status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8))
    #expect(endings(actions) == [1: .answered(answer)])
  }

  @Test func `Any body is kept as it is`() {
    var state = open()
    let stream = begin(&state, 1)
    _ = state.head(stream, status: 502, retryAfter: .seconds(3), isEnd: false)
    let actions = state.body(stream, Array("<html>".utf8), isEnd: true)
    #expect(
      endings(actions) == [
        1: .answered(ServiceResponse(status: 502, body: Array("<html>".utf8), retryAfter: .seconds(3)))
      ])
  }

  @Test func `An endless body is dropped`() {
    var state = open()
    let stream = begin(&state, 1)
    _ = state.head(stream, status: 500, retryAfter: nil, isEnd: false)
    let actions = state.body(stream, [UInt8](repeating: 32, count: 17_000), isEnd: false)
    #expect(endings(actions) == [1: .answered(ServiceResponse(status: 500))])
    #expect(resets(actions) == [stream])
    #expect(state.body(stream, [1], isEnd: true).isEmpty)
  }

  @Test func `An interim response is ignored`() {
    var state = open()
    let stream = begin(&state, 1)
    #expect(state.head(stream, status: 103, retryAfter: nil, isEnd: false).isEmpty)
    #expect(state.openStreams == 1)
  }

  @Test func `A request that is answered early is not sent to its end`() {
    var state = open()
    let stream = state.begin(1, sentAt: sentAt, now: start)
    let actions = state.head(stream, status: 413, retryAfter: nil, isEnd: true)
    #expect(endings(actions) == [1: .answered(ServiceResponse(status: 413))])
    #expect(resets(actions) == [stream])
  }

  // MARK: Endings without an answer

  @Test func `GOAWAY tells unprocessed requests from the others`() {
    var state = open()
    for request in 1...5 { _ = begin(&state, request) }
    // Streams 3, 5, 7, 9 and 11.
    let unprocessed = state.goAway(lastStream: 7, reason: "Shutdown")
    #expect(endings(unprocessed) == [4: .notProcessed(reason: "Shutdown"), 5: .notProcessed(reason: "Shutdown")])
    #expect(closes(unprocessed).isEmpty)
    #expect(state.capacity == 0)

    #expect(
      endings(state.head(3, status: 200, retryAfter: nil, isEnd: true)) == [1: .answered(ServiceResponse(status: 200))])
    let lost = state.closed(reason: "ConnectionReset")
    #expect(endings(lost) == [2: .lost(reason: "Shutdown"), 3: .lost(reason: "Shutdown")])
  }

  @Test func `After GOAWAY the last response closes the connection`() {
    var state = open()
    let stream = begin(&state, 1)
    #expect(closes(state.goAway(lastStream: stream, reason: nil)).isEmpty)
    #expect(closes(state.head(stream, status: 200, retryAfter: nil, isEnd: true)) == ["Drained"])
  }

  @Test func `A second GOAWAY can lower the last stream`() {
    var state = open()
    for request in 1...3 { _ = begin(&state, request) }
    #expect(endings(state.goAway(lastStream: Int(Int32.max), reason: nil)).isEmpty)
    #expect(endings(state.goAway(lastStream: 5, reason: nil)) == [3: .notProcessed(reason: "GOAWAY")])
  }

  @Test func `A refused stream was not processed; another reset leaves that open`() {
    var state = open()
    for request in 1...2 { _ = begin(&state, request) }
    #expect(
      endings(state.reset(3, refused: true, code: "REFUSED_STREAM")) == [1: .notProcessed(reason: "REFUSED_STREAM")])
    #expect(endings(state.reset(5, refused: false, code: "INTERNAL_ERROR")) == [2: .lost(reason: "INTERNAL_ERROR")])
    #expect(state.reset(5, refused: false, code: "INTERNAL_ERROR").isEmpty)
  }

  @Test func `A reset after the response's head does not change it`() {
    var state = open()
    for request in 1...2 {
      let stream = begin(&state, request)
      _ = state.head(stream, status: request == 1 ? 200 : 403, retryAfter: nil, isEnd: false)
    }
    #expect(endings(state.reset(3, refused: false, code: "CANCEL")) == [1: .answered(ServiceResponse(status: 200))])
    // Refused, though nobody knows why: not delivered for certain, and worth asking again.
    #expect(endings(state.reset(5, refused: false, code: "CANCEL")) == [2: .notProcessed(reason: "CANCEL")])
  }

  @Test func `When the connection breaks, unsent requests were not processed`() {
    var state = open()
    _ = begin(&state, 1)
    _ = state.begin(2, sentAt: sentAt, now: start)
    let actions = state.closed(reason: "ConnectionReset")
    #expect(
      endings(actions) == [1: .lost(reason: "ConnectionReset"), 2: .notProcessed(reason: "ConnectionReset")])
    #expect(state.closed(reason: "again").isEmpty)
    #expect(state.phase == .closed)
  }

  @Test func `A closing connection begins no request, and open ones end with it`() {
    var state = open()
    _ = begin(&state, 1)
    #expect(state.isReady)
    state.close()
    #expect(!state.isReady)
    #expect(state.capacity == 0)
    #expect(endings(state.closed(reason: "HandshakeFailed")) == [1: .lost(reason: "HandshakeFailed")])
    state.close()
    #expect(state.phase == .closed)
  }

  @Test func `A retired connection waits for its responses and closes`() {
    var state = open()
    let stream = begin(&state, 1)
    #expect(closes(state.retire()).isEmpty)
    #expect(state.capacity == 0)
    #expect(closes(state.head(stream, status: 200, retryAfter: nil, isEnd: true)) == ["Drained"])
    var idle = open()
    #expect(closes(idle.retire()) == ["Drained"])
  }

  // MARK: Time

  @Test func `A server that sends no SETTINGS times out`() {
    var state = state()
    #expect(state.nextWake == start + .seconds(10))
    #expect(closes(state.wake(now: start + .seconds(9))).isEmpty)
    #expect(closes(state.wake(now: start + .seconds(10))) == ["NoSettings"])
  }

  @Test func `A request that times out is lost, and others are not`() {
    var state = open()
    let late = begin(&state, 1, at: start)
    _ = begin(&state, 2, at: start + .seconds(30))
    state.received(now: start + .seconds(59))
    #expect(endings(state.wake(now: start + .seconds(59))).isEmpty)
    let actions = state.wake(now: start + .seconds(60))
    #expect(endings(actions) == [1: .lost(reason: "RequestTimeout")])
    #expect(resets(actions) == [late])
    #expect(state.openStreams == 1)
    #expect(state.capacity == 999)
    state.received(now: start + .seconds(89))
    #expect(state.nextWake == start + .seconds(90))
  }

  @Test func `A request that flow control holds until its timeout was not processed`() {
    var state = open()
    _ = state.begin(1, sentAt: sentAt, now: start)
    state.received(now: start + .seconds(60))
    #expect(endings(state.wake(now: start + .seconds(60))) == [1: .notProcessed(reason: "RequestTimeout")])
  }

  @Test func `A connection that does not answer its first request takes no more`() {
    var state = state()
    state.settings(maxConcurrentStreams: 1)
    _ = begin(&state, 1)
    state.received(now: start + .seconds(60))
    let actions = state.wake(now: start + .seconds(60))
    #expect(endings(actions) == [1: .lost(reason: "RequestTimeout")])
    #expect(closes(actions) == ["Drained"])
  }

  @Test func `Silence while requests are open sends a PING, and then closes the connection`() {
    var state = open()
    let asked = start + .seconds(100)
    _ = begin(&state, 1, at: asked)
    #expect(state.nextWake == asked + .seconds(15))
    #expect(pings(state.wake(now: asked + .seconds(15))) == 1)
    #expect(state.nextWake == asked + .seconds(20))
    #expect(pings(state.wake(now: asked + .seconds(16))) == 0)
    let actions = state.wake(now: asked + .seconds(20))
    #expect(endings(actions) == [1: .lost(reason: "ConnectionDead")])
    #expect(closes(actions) == ["ConnectionDead"])
  }

  @Test func `Any received byte shows that the connection works`() {
    var state = open()
    _ = begin(&state, 1)
    #expect(pings(state.wake(now: start + .seconds(15))) == 1)
    state.received(now: start + .seconds(16))
    #expect(closes(state.wake(now: start + .seconds(25))).isEmpty)
    #expect(state.nextWake == start + .seconds(31))
  }

  @Test func `After a silence without requests a PING is answered before requests begin`() {
    var state = open(streams: 1000)
    state.received(now: start)
    #expect(state.probe(now: start + .seconds(29)).isEmpty)
    #expect(state.capacity == 1000)
    #expect(pings(state.probe(now: start + .seconds(30))) == 1)
    #expect(state.capacity == 0)
    // Asked again, it waits for the same PING.
    #expect(state.probe(now: start + .seconds(31)).isEmpty)
    #expect(state.nextWake == start + .seconds(35))
    state.received(now: start + .seconds(31))
    #expect(state.capacity == 1000)
    #expect(state.probe(now: start + .seconds(32)).isEmpty)
  }

  @Test func `A connection that does not answer that PING closes, and nothing was sent on it`() {
    var state = open()
    _ = state.probe(now: start + .seconds(30))
    let actions = state.wake(now: start + .seconds(35))
    #expect(endings(actions).isEmpty)
    #expect(closes(actions) == ["ConnectionDead"])
    #expect(!state.isReady)
  }

  @Test func `While a PING is not answered no request begins`() {
    var state = open(streams: 10)
    _ = begin(&state, 1)
    #expect(state.capacity == 9)
    #expect(pings(state.wake(now: start + .seconds(15))) == 1)
    #expect(state.capacity == 0)
    state.received(now: start + .seconds(16))
    #expect(state.capacity == 9)
  }

  @Test func `A dead server is found within six seconds`() {
    let settings = PushServiceSettings()
    #expect(settings.pingWhenWaiting + settings.pingTimeout <= .seconds(6))
    #expect(settings.pingBeforeUse <= .seconds(60))
    #expect(settings.overtakenTimeout <= .seconds(10))
  }

  @Test func `A request that many later ones have overtaken is lost after ten seconds`() {
    var state = open()
    for request in 1...20 { _ = begin(&state, request) }
    // Streams 3 to 41: all but the first and the last are answered.
    for stream in stride(from: 5, through: 39, by: 2) {
      _ = state.head(stream, status: 200, retryAfter: nil, isEnd: true)
    }
    state.received(now: start + .seconds(1))
    #expect(state.nextWake == start + .seconds(11))
    #expect(endings(state.wake(now: start + .seconds(10))).isEmpty)
    let actions = state.wake(now: start + .seconds(11))
    #expect(endings(actions) == [1: .lost(reason: "RequestTimeout")])
    #expect(resets(actions) == [3])
    // The other one has time: nothing that began later was answered.
    #expect(state.openStreams == 1)
    #expect(state.isReady)
  }

  @Test func `A connection on which three requests in a row time out takes no more`() {
    var state = open()
    for request in 1...2 { _ = begin(&state, request) }
    state.received(now: start + .seconds(60))
    #expect(endings(state.wake(now: start + .seconds(60))).count == 2)
    #expect(state.isReady)
    _ = begin(&state, 3, at: start + .seconds(60))
    state.received(now: start + .seconds(120))
    #expect(closes(state.wake(now: start + .seconds(120))) == ["Drained"])
  }

  @Test func `A response between them shows that the connection is of use`() {
    var state = open()
    for request in 1...2 { _ = begin(&state, request) }
    state.received(now: start + .seconds(60))
    _ = state.wake(now: start + .seconds(60))
    let answered = begin(&state, 3, at: start + .seconds(60))
    _ = begin(&state, 4, at: start + .seconds(60))
    _ = state.head(answered, status: 200, retryAfter: nil, isEnd: true)
    state.received(now: start + .seconds(120))
    #expect(endings(state.wake(now: start + .seconds(120))) == [4: .lost(reason: "RequestTimeout")])
    #expect(state.isReady)
  }

  @Test func `A cautious connection opens up with each response`() {
    var state = HTTP2ConnectionState<Int>(Self.timeouts, startsWithOneStream: false, window: 2, now: start)
    state.settings(maxConcurrentStreams: 1000)
    #expect(state.capacity == 2)
    let stream = begin(&state, 1)
    #expect(state.capacity == 1)
    _ = state.head(stream, status: 200, retryAfter: nil, isEnd: true)
    #expect(state.capacity == 3)
  }

  @Test func `GOAWAY tells how many requests the server took before it turned others back`() {
    var state = open()
    for request in 1...5 { _ = begin(&state, request) }
    _ = state.goAway(lastStream: 11, reason: nil)
    #expect(state.processedBeforeGoAway == nil)
    _ = state.goAway(lastStream: 7, reason: nil)
    #expect(state.processedBeforeGoAway == 4)
  }

  @Test func `An idle connection sends a PING every hour`() {
    var state = open()
    #expect(state.nextWake == start + .hours(1))
    #expect(pings(state.wake(now: start + .hours(1))) == 1)
  }
}
