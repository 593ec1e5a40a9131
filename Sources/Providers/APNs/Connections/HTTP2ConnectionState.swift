import FoundationEssentials
import NIOCore

/// What one connection to APNs may do next and what became of each request on it. It touches no socket: it is told what
/// happened and says what to do.
///
/// ```
/// greeting ── SETTINGS ─▶ proving ── first answer ─▶ open
///    │                       │                         │
///    └───────────────────────┴── GOAWAY, retire, last stream id used ──▶ draining ── last answer ─▶ closed
/// ```
///
/// - greeting: the preface is sent; nothing else leaves before the server's SETTINGS are here.
/// - proving: one request at a time. With token authentication APNs allows one stream until it has accepted a token.
/// - open: as many streams as the server allows at the moment.
/// - draining: no new request; answers are still awaited.
/// - closed: nothing is open.
struct HTTP2ConnectionState<Request> {
  enum Phase: Hashable {
    case greeting, proving, open, draining, closed
  }

  private(set) var phase = Phase.greeting
  private var streams: [Int: OpenStream<Request>] = [:]
  /// The server's SETTINGS_MAX_CONCURRENT_STREAMS.
  private var streamLimit = 100
  private var nextStream: Int
  /// No open stream's deadline is earlier; nil if none is open.
  private var earliestDeadline: NIODeadline?
  private var lastHeard: NIODeadline
  private var pingSentAt: NIODeadline?
  /// Why the server said good-bye.
  private var farewell: String?
  private let greetingDeadline: NIODeadline
  private let timeouts: HTTP2ConnectionTimeouts

  /// Stream ids are 31 bits wide and never used twice (RFC 9113, section 5.1.1).
  static var lastStream: Int { Int(Int32.max) }

  init(_ timeouts: HTTP2ConnectionTimeouts, now: NIODeadline, firstStream: Int = 1) {
    self.timeouts = timeouts
    greetingDeadline = now + timeouts.greeting
    lastHeard = now
    nextStream = firstStream
  }

  /// How many requests are waiting for an answer.
  var openStreams: Int { streams.count }

  /// Whether the server has greeted, and requests may begin, now or when others are answered.
  var isReady: Bool { phase == .proving || phase == .open }

  /// How many requests may begin now.
  var room: Int {
    switch phase {
    case .greeting, .draining, .closed: 0
    case .proving: max(0, min(1, streamLimit) - streams.count)
    case .open: max(0, streamLimit - streams.count)
    }
  }
}

// MARK: - What we do

extension HTTP2ConnectionState {
  /// Takes the next stream for a request; only while there is `room`.
  mutating func begin(_ request: Request, sentAt: Date, now: NIODeadline) -> Int {
    precondition(room > 0, "no room for another request")
    let stream = nextStream
    nextStream += 2
    if nextStream > Self.lastStream { phase = .draining }
    // After a silence it is the new request, not the silence, that an answer is awaited for.
    if streams.isEmpty, pingSentAt == nil { lastHeard = now }
    let deadline = now + timeouts.request
    streams[stream] = OpenStream(request: request, sentAt: sentAt, deadline: deadline)
    if earliestDeadline == nil { earliestDeadline = deadline }
    return stream
  }

  /// The last byte of a request is on its way; before that the server cannot have acted on it.
  mutating func left(_ stream: Int) {
    streams[stream]?.hasLeft = true
  }

  /// The socket is being closed: no more requests. What is open ends with it.
  mutating func close() {
    if phase != .closed { phase = .draining }
  }

  /// No more requests on this connection; it closes when the open ones are answered.
  mutating func retire() -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .draining
    return closeIfDone()
  }
}

// MARK: - What the server does

extension HTTP2ConnectionState {
  /// SETTINGS; may come again at any time and lower the limit below what is open.
  mutating func settings(maxConcurrentStreams: Int?) {
    if let maxConcurrentStreams { streamLimit = maxConcurrentStreams }
    if phase == .greeting { phase = .proving }
  }

  /// A byte came: the socket lives.
  mutating func heard(now: NIODeadline) {
    lastHeard = now
    pingSentAt = nil
  }

  /// The head of an answer; `isEnd` if it has no body.
  mutating func head(_ stream: Int, status: Int, retryAfter: Duration?, isEnd: Bool) -> [HTTP2ConnectionAction<Request>]
  {
    guard status >= 200, var open = streams[stream] else { return [] }
    open.status = status
    open.retryAfter = retryAfter
    streams[stream] = open
    return isEnd ? answered(stream, open) : []
  }

  /// A piece of an answer's body. Reasons are short: what goes beyond 4 KiB is not read.
  mutating func body(_ stream: Int, _ bytes: some Collection<UInt8>, isEnd: Bool) -> [HTTP2ConnectionAction<Request>] {
    guard var open = streams[stream] else { return [] }
    if open.body.count + bytes.count <= 4096 {
      open.body.append(contentsOf: bytes)
      streams[stream] = open
      return isEnd ? answered(stream, open) : []
    }
    open.body = []
    let actions = answered(stream, open)
    return isEnd ? actions : actions + [.reset(stream)]
  }

  /// RST_STREAM. REFUSED_STREAM says that the request was not processed (RFC 9113, section 8.7): so it is when the server
  /// lowers its limit. Any other code leaves it open, unless the answer's head tells.
  mutating func reset(_ stream: Int, refused: Bool, code: String) -> [HTTP2ConnectionAction<Request>] {
    guard let open = streams.removeValue(forKey: stream) else { return [] }
    let ending = refused ? .turnedBack(reason: "REFUSED_STREAM") : open.cutOff(reason: code)
    return [.settle(open.request, ending, sentAt: open.sentAt)] + closeIfDone()
  }

  /// GOAWAY: requests above `lastStream` were not processed; those up to it may still be answered.
  mutating func goAway(lastStream: Int, reason: String?) -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .draining
    farewell = reason ?? farewell
    let turnedBack = streams.keys.filter { $0 > lastStream }.sorted()
    let actions = turnedBack.compactMap { stream -> HTTP2ConnectionAction<Request>? in
      guard let open = streams.removeValue(forKey: stream) else { return nil }
      return .settle(open.request, .turnedBack(reason: reason ?? "GOAWAY"), sentAt: open.sentAt)
    }
    return actions + closeIfDone()
  }

  /// The connection is gone. What had left is lost; what had not, was certainly not processed.
  mutating func closed(reason: String) -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .closed
    return endAll(reason: farewell ?? reason)
  }
}

// MARK: - Time

extension HTTP2ConnectionState {
  /// When `wake` is to be called next, at the latest; calling it earlier does no harm.
  var nextWake: NIODeadline {
    switch phase {
    case .greeting: return greetingDeadline
    case .closed: return .distantFuture
    case .proving, .open, .draining: break
    }
    let silence = pingSentAt.map { $0 + timeouts.ping } ?? (lastHeard + pingAfter)
    return min(silence, earliestDeadline ?? .distantFuture)
  }

  private var pingAfter: TimeAmount { streams.isEmpty ? timeouts.idle : timeouts.silence }

  /// Looks at what has taken too long.
  mutating func wake(now: NIODeadline) -> [HTTP2ConnectionAction<Request>] {
    switch phase {
    case .closed: return []
    case .greeting:
      guard now >= greetingDeadline else { return [] }
      phase = .draining
      return [.close(reason: "NoSettings")]
    case .proving, .open, .draining:
      if let pingSentAt, now >= pingSentAt + timeouts.ping {
        phase = .draining
        return endAll(reason: "ConnectionDead") + [.close(reason: "ConnectionDead")]
      }
      var actions = expireRequests(now: now)
      if phase != .closed, pingSentAt == nil, now >= lastHeard + pingAfter {
        pingSentAt = now
        actions.append(.ping)
      }
      return actions
    }
  }

  private mutating func expireRequests(now: NIODeadline) -> [HTTP2ConnectionAction<Request>] {
    guard let earliestDeadline, now >= earliestDeadline else { return [] }
    var actions: [HTTP2ConnectionAction<Request>] = []
    for (stream, open) in streams.sorted(by: { $0.key < $1.key }) where now >= open.deadline {
      streams[stream] = nil
      actions.append(.reset(stream))
      actions.append(.settle(open.request, open.cutOff(reason: "RequestTimeout"), sentAt: open.sentAt))
    }
    self.earliestDeadline = streams.values.lazy.map(\.deadline).min()
    // It has not answered even its first request: another connection may do better.
    if phase == .proving, !actions.isEmpty { phase = .draining }
    return actions + closeIfDone()
  }
}

// MARK: - Endings

extension HTTP2ConnectionState {
  private mutating func answered(_ stream: Int, _ open: OpenStream<Request>) -> [HTTP2ConnectionAction<Request>] {
    streams[stream] = nil
    if streams.isEmpty { earliestDeadline = nil }
    if phase == .proving { phase = .open }
    let settled = HTTP2ConnectionAction.settle(open.request, .answered(open.answer), sentAt: open.sentAt)
    // Answered before all of it was sent: the rest need not travel.
    return (open.hasLeft ? [settled] : [settled, .reset(stream)]) + closeIfDone()
  }

  private mutating func endAll(reason: String) -> [HTTP2ConnectionAction<Request>] {
    let ended = streams.sorted { $0.key < $1.key }
    streams = [:]
    earliestDeadline = nil
    return ended.map { .settle($1.request, $1.cutOff(reason: reason), sentAt: $1.sentAt) }
  }

  private mutating func closeIfDone() -> [HTTP2ConnectionAction<Request>] {
    guard phase == .draining, streams.isEmpty else { return [] }
    return [.close(reason: farewell ?? "Drained")]
  }
}
