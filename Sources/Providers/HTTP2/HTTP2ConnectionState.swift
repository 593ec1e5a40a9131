import FoundationEssentials
import NIOCore
import Wire

/// The state of one connection and of each request on it. It touches no socket: it is called with what happened, and returns what
/// to do.
///
/// ```
/// connecting ── SETTINGS ─▶ authenticating ── proven ─▶ open
///     │                           │                             │
///     └───────────────────────────┴── GOAWAY, retire, last stream id used ──▶ draining ── last response ─▶ closed
/// ```
///
/// - connecting: the preface is sent; nothing else leaves before the server's SETTINGS.
/// - authenticating: one request at a time, as APNs allows until it has accepted a token. A response that refuses the credentials does not
///   end it. Other services skip this phase.
/// - open: as many streams as the server allows at the moment.
/// - draining: no new request; responses are still awaited.
/// - closed: no request is open.
///
/// A connection of HTTP/1.1 goes from connecting to open with the TLS handshake. It has one request at a time, and neither PING nor
/// RST_STREAM: what would need one of these ends the connection.
struct HTTP2ConnectionState<Request> {
  enum Phase: Hashable {
    case connecting, authenticating, open, draining, closed
  }

  private(set) var phase = Phase.connecting
  private var streams: [Int: OpenStream<Request>] = [:]
  /// The server's SETTINGS_MAX_CONCURRENT_STREAMS.
  private var streamLimit = 100
  /// Most requests that may be open by our own caution; each response adds one.
  private var window: Int
  private var nextStream: Int
  /// No open stream's deadline is earlier; nil if none is open.
  private var earliestDeadline: NIODeadline?
  /// Finds requests that later ones have overtaken.
  private var overtaking: Overtaking
  /// Requests that timed out since the last response.
  private var timeoutsInARow = 0
  private var lastReceived: NIODeadline
  private var pingSentAt: NIODeadline?
  /// A PING was answered so lately that requests may begin.
  private var provenUntil: NIODeadline?
  /// The reason in the server's GOAWAY.
  private var goAwayReason: String?
  /// How many requests the server took before its GOAWAY turned others back; nil if it turned back none.
  private(set) var processedBeforeGoAway: Int?
  private let startsWithOneStream: Bool
  /// Whether it speaks HTTP/2.
  private(set) var hasStreams = true
  /// Most bytes of a response's body; a longer one is dropped.
  private let longestBody: Int
  private let settingsDeadline: NIODeadline
  private let timeouts: HTTP2ConnectionTimeouts

  /// Stream ids are 31 bits wide and never used twice (RFC 9113, section 5.1.1).
  static var lastStream: Int { Int(Int32.max) }

  /// The reason of closing a connection of HTTP/1.1 that was silent for long.
  static var idle: String { "Idle" }

  /// So many requests in a row without a response say that the server answers none.
  private static var timeoutLimit: Int { 3 }

  /// - Parameter window: most requests that may be open at first; each response adds one.
  init(
    _ timeouts: HTTP2ConnectionTimeouts, startsWithOneStream: Bool = true, window: Int = .max,
    longestBody: Int = 16 << 10, now: NIODeadline, firstStream: Int = 1
  ) {
    self.longestBody = longestBody
    self.window = window
    overtaking = Overtaking(after: timeouts.overtaken)
    self.timeouts = timeouts
    self.startsWithOneStream = startsWithOneStream
    settingsDeadline = now + timeouts.settings
    lastReceived = now
    nextStream = firstStream
  }

  /// How many requests wait for a response.
  var openStreams: Int { streams.count }

  /// Whether requests may begin, now or when others are answered.
  var isReady: Bool { phase == .authenticating || phase == .open }

  /// How many requests may begin now. None does while a PING is not answered.
  var capacity: Int {
    guard pingSentAt == nil else { return 0 }
    return switch phase {
    case .connecting, .draining, .closed: 0
    case .authenticating: max(0, min(1, streamLimit) - streams.count)
    case .open: max(0, min(streamLimit, window) - streams.count)
    }
  }
}

// MARK: - Our side

extension HTTP2ConnectionState {
  /// To be called before requests begin. Nobody knows whether a connection that was silent for long still leads to the server, so that
  /// everything sent on it might be lost. It has to answer a PING first, or is closed if it speaks HTTP/1.1.
  mutating func probe(now: NIODeadline) -> [HTTP2ConnectionAction<Request>] {
    guard isReady, streams.isEmpty, pingSentAt == nil, now >= lastReceived + timeouts.trust else { return [] }
    if let provenUntil, now < provenUntil { return [] }
    guard hasStreams else { return closeIdle() }
    pingSentAt = now
    return [.ping]
  }

  /// Takes the next stream for a request; only while there is `capacity`.
  mutating func begin(_ request: Request, sentAt: Date, now: NIODeadline) -> Int {
    precondition(capacity > 0, "no capacity for another request")
    let stream = nextStream
    nextStream += 2
    if nextStream > Self.lastStream { phase = .draining }
    // After a silence, the wait for a response begins with this request.
    if streams.isEmpty { lastReceived = now }
    provenUntil = nil
    let deadline = now + timeouts.request
    streams[stream] = OpenStream(request: request, sentAt: sentAt, deadline: deadline)
    if earliestDeadline == nil { earliestDeadline = deadline }
    return stream
  }

  /// The last byte of a request was written; before that the server cannot have processed it.
  mutating func sent(_ stream: Int) {
    streams[stream]?.isSent = true
  }

  /// The socket is being closed: no more requests. Open ones end with it.
  mutating func close() {
    if phase != .closed { phase = .draining }
  }

  /// A response shows that the service takes the connection's credentials.
  mutating func proven() {
    if phase == .authenticating { phase = .open }
  }

  /// No more requests on this connection; it closes when the open ones are answered.
  mutating func retire() -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .draining
    return closeIfDone()
  }
}

// MARK: - The server's side

extension HTTP2ConnectionState {
  /// SETTINGS; they may come again at any time, and lower the limit below the open streams.
  mutating func settings(maxConcurrentStreams: Int?) {
    if let maxConcurrentStreams { streamLimit = maxConcurrentStreams }
    if phase == .connecting { phase = startsWithOneStream ? .authenticating : .open }
  }

  /// The handshake chose HTTP/1.1, so that a request may begin.
  mutating func openWithoutStreams() {
    guard phase == .connecting else { return }
    hasStreams = false
    streamLimit = 1
    phase = .open
  }

  /// Something was received, so the socket works.
  mutating func received(now: NIODeadline) {
    lastReceived = now
    if pingSentAt != nil { provenUntil = now + .seconds(1) }
    pingSentAt = nil
    overtaking.received(oldest: streams.keys.min(), now: now)
  }

  /// The head of a response; `isEnd` if it has no body.
  mutating func head(
    _ stream: Int, status: Int, retryAfter: Duration?, headers: [String: String] = [:], isEnd: Bool
  ) -> [HTTP2ConnectionAction<Request>] {
    guard status >= 200, var open = streams[stream] else { return [] }
    open.status = status
    open.retryAfter = retryAfter
    open.headers = headers
    streams[stream] = open
    return isEnd ? answered(stream, open) : []
  }

  /// A piece of a response's body. One that is longer than `longestBody` is dropped.
  mutating func body(_ stream: Int, _ bytes: some Collection<UInt8>, isEnd: Bool) -> [HTTP2ConnectionAction<Request>] {
    guard var open = streams[stream] else { return [] }
    if open.body.count + bytes.count <= longestBody {
      open.body.append(contentsOf: bytes)
      streams[stream] = open
      return isEnd ? answered(stream, open) : []
    }
    open.body = []
    if !isEnd, !hasStreams { phase = .draining }
    let actions = answered(stream, open)
    return isEnd || !hasStreams ? actions : actions + [.reset(stream)]
  }

  /// RST_STREAM. REFUSED_STREAM says that the request was not processed (RFC 9113, section 8.7), as when the server lowers its limit.
  /// Other codes leave that open, unless the response's head has come.
  mutating func reset(_ stream: Int, refused: Bool, code: String) -> [HTTP2ConnectionAction<Request>] {
    guard let open = streams.removeValue(forKey: stream) else { return [] }
    let ending = refused ? .notProcessed(reason: .hub(.refusedStream)) : open.ending(reason: code)
    return [.settle(open.request, ending, sentAt: open.sentAt)] + closeIfDone()
  }

  /// GOAWAY: requests above `lastStream` were not processed; those up to it may still be answered.
  mutating func goAway(lastStream: Int, reason: String?) -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .draining
    goAwayReason = reason ?? goAwayReason
    let unprocessed = streams.keys.filter { $0 > lastStream }.sorted()
    if !unprocessed.isEmpty { processedBeforeGoAway = (lastStream + 1) / 2 }
    let actions = unprocessed.compactMap { stream -> HTTP2ConnectionAction<Request>? in
      guard let open = streams.removeValue(forKey: stream) else { return nil }
      return .settle(open.request, .notProcessed(reason: reason ?? .hub(.goAway)), sentAt: open.sentAt)
    }
    return actions + closeIfDone()
  }

  /// The connection is closed. Sent requests are lost; the others were certainly not processed.
  mutating func closed(reason: String) -> [HTTP2ConnectionAction<Request>] {
    guard phase != .closed else { return [] }
    phase = .closed
    return endAll(reason: goAwayReason ?? reason)
  }
}

// MARK: - Time

extension HTTP2ConnectionState {
  /// When `wake` has to be called next, at the latest; an earlier call does no harm.
  var nextWake: NIODeadline {
    switch phase {
    case .connecting: return settingsDeadline
    case .closed: return .distantFuture
    case .authenticating, .open, .draining: break
    }
    guard hasStreams else {
      // What drains without a request is being closed.
      return earliestDeadline ?? (phase == .draining ? .distantFuture : lastReceived + timeouts.trust)
    }
    let silence = pingSentAt.map { $0 + timeouts.ping } ?? (lastReceived + pingAfter)
    guard let earliestDeadline else { return silence }
    return min(silence, earliestDeadline, overtaking.nextDeadline)
  }

  private var pingAfter: TimeAmount { streams.isEmpty ? timeouts.idle : timeouts.silence }

  /// Ends what has taken too long.
  mutating func wake(now: NIODeadline) -> [HTTP2ConnectionAction<Request>] {
    switch phase {
    case .closed: return []
    case .connecting:
      guard now >= settingsDeadline else { return [] }
      phase = .draining
      return [.close(reason: .hub(.noSettings))]
    case .authenticating, .open, .draining:
      if let pingSentAt, now >= pingSentAt + timeouts.ping {
        phase = .draining
        return endAll(reason: .hub(.connectionDead)) + [.close(reason: .hub(.connectionDead))]
      }
      var actions = expireRequests(now: now)
      guard hasStreams else {
        return isReady && streams.isEmpty && now >= lastReceived + timeouts.trust ? closeIdle() : actions
      }
      if phase != .closed, pingSentAt == nil, now >= lastReceived + pingAfter {
        pingSentAt = now
        actions.append(.ping)
      }
      return actions
    }
  }

  private mutating func expireRequests(now: NIODeadline) -> [HTTP2ConnectionAction<Request>] {
    let overtaken = overtaking.overtaken(now: now)
    guard let earliestDeadline, now >= earliestDeadline || overtaken != nil else { return [] }
    var actions: [HTTP2ConnectionAction<Request>] = []
    for (stream, open) in streams.sorted(by: { $0.key < $1.key }) {
      let isTimedOut = now >= open.deadline
      guard isTimedOut || stream <= overtaken ?? 0 else { continue }
      if isTimedOut { timeoutsInARow += 1 }
      streams[stream] = nil
      if hasStreams { actions.append(.reset(stream)) }
      actions.append(.settle(open.request, open.ending(reason: .hub(.requestTimeout)), sentAt: open.sentAt))
    }
    self.earliestDeadline = streams.values.lazy.map(\.deadline).min()
    // Not even its first request was answered, or none for long: another connection may do better.
    let isUseless =
      phase == .authenticating || !hasStreams ? !actions.isEmpty : timeoutsInARow >= Self.timeoutLimit
    if isUseless, isReady { phase = .draining }
    return actions + closeIfDone()
  }
}

// MARK: - Endings

extension HTTP2ConnectionState {
  private mutating func answered(_ stream: Int, _ open: OpenStream<Request>) -> [HTTP2ConnectionAction<Request>] {
    streams[stream] = nil
    if streams.isEmpty { earliestDeadline = nil }
    if window < .max { window += 1 }
    timeoutsInARow = 0
    overtaking.answered(stream)
    let settled = HTTP2ConnectionAction.settle(open.request, .answered(open.response), sentAt: open.sentAt)
    if open.isSent { return [settled] + closeIfDone() }
    // Answered before it was sent completely: the rest need not be sent.
    if hasStreams { return [settled, .reset(stream)] + closeIfDone() }
    phase = .draining
    return [settled] + closeIfDone()
  }

  private mutating func endAll(reason: String) -> [HTTP2ConnectionAction<Request>] {
    let ended = streams.sorted { $0.key < $1.key }
    streams = [:]
    earliestDeadline = nil
    return ended.map { .settle($1.request, $1.ending(reason: reason), sentAt: $1.sentAt) }
  }

  private mutating func closeIdle() -> [HTTP2ConnectionAction<Request>] {
    phase = .draining
    return [.close(reason: Self.idle)]
  }

  private mutating func closeIfDone() -> [HTTP2ConnectionAction<Request>] {
    guard phase == .draining, streams.isEmpty else { return [] }
    return [.close(reason: goAwayReason ?? "Drained")]
  }
}
