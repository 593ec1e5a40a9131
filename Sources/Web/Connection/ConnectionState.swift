import DequeModule
import NIOCore
import Operations

/// What happens on one HTTP/1.1 connection: a value that touches no socket. It takes each event and returns an action.
///
/// ```
///          head             end               reply
///   idle ───────▶ receiving ───▶ answering ─────────────▶ idle
///                     │                    └─ last reply ─▶ closed or lingering
///                     │ reply
///                     ├────────────▶ draining ── end ──▶ idle
///                     └─ last reply ▶ lingering ── input ends ──▶ closed
/// ```
///
/// One request is answered at a time. What arrives meanwhile waits in the backlog (RFC 9112, section 9.3.2). NIO's
/// `HTTPServerPipelineHandler` has one, too. But it hands over the next request within the write that ends a reply, so requests
/// that are answered at once would nest, and it waits for no client to take its replies.
struct ConnectionState<Head> {
  /// One piece of what a client sends.
  enum Part {
    case head(Head, RequestFraming)
    case body(ByteBuffer)
    case end
    /// Input that is not HTTP, or a head that the server refuses. Nothing after it can be read.
    case malformed(HTTPErrorResponse)
  }

  enum Action {
    case none
    /// A request begins; its body follows.
    case answer(Head)
    case body(ByteBuffer)
    case endBody
    /// The rest of the body will not arrive.
    case breakBody
    /// Write this error as the last reply.
    case refuse(HTTPErrorResponse)
    /// Close for writing, and discard what still arrives for a short time, so that the client can read the last reply.
    case linger
    case close
  }

  private enum Phase {
    /// No request; the next one may begin.
    case idle
    /// A request is being answered while its body arrives.
    case receiving
    /// A request is being answered, and all of it has arrived.
    case answering
    /// The request is answered. The little that is missing of its body is discarded.
    case draining
    /// The last reply is written. Input is discarded.
    case lingering
    case closed
  }

  /// Bytes of a body that are discarded so that the connection can be used again.
  static var largestDiscardedRest: Int { Limits.body }
  /// Parts in the backlog at which reading stops.
  private static var fullBacklog: Int { 32 }

  private var phase = Phase.idle
  private var backlog: Deque<Part> = []
  /// Bytes of the request's body that are still to come; nil if the client has not said.
  private var missing: Int? = 0
  /// The reply to this request is the last one.
  private(set) var isLast = false
  private var isQuiescing = false
  private var inputClosed = false
  /// Requests that began so far.
  private(set) var requests = 0
}

// MARK: - What the client does

extension ConnectionState {
  mutating func read(_ part: Part) -> Action {
    switch (phase, part) {
    case (.idle, .head(let head, let framing)):
      phase = .receiving
      requests += 1
      missing = framing.bodyBytes
      isLast = !framing.keepsAlive
      return .answer(head)
    case (.idle, .malformed(let error)):
      abandonInput()
      return .refuse(error)
    case (.receiving, .body(let bytes)):
      missing = missing.map { $0 - bytes.readableBytes }
      return .body(bytes)
    case (.receiving, .end):
      phase = .answering
      return .endBody
    case (.receiving, .malformed):
      abandonInput()
      return .breakBody
    case (.answering, _):
      backlog.append(part)
      return .none
    case (.draining, .end):
      phase = .idle
      return .endBody
    case (.draining, .malformed): return close()
    case (.idle, _), (.receiving, .head), (.draining, _), (.lingering, _), (.closed, _): return .none
    }
  }

  /// The client sends no more; it may still read.
  mutating func inputEnded() -> Action {
    inputClosed = true
    switch phase {
    case .idle, .draining, .lingering: return close()
    case .receiving: return read(.malformed(.brokenBody))
    case .answering, .closed: return .none
    }
  }
}

// MARK: - What the server does

extension ConnectionState {
  /// Says whether the reply that is about to be written is the last one. It is when the client said so, or the server
  /// is stopping. It is, too, when it overtakes a long body.
  mutating func replyBegins() -> Bool {
    if case .receiving = phase, missing.map({ $0 > Self.largestDiscardedRest }) ?? true { isLast = true }
    if isQuiescing { isLast = true }
    return isLast
  }

  /// All of the reply is written; if it is the last one, the system has taken it.
  mutating func replyEnded() -> Action {
    switch phase {
    case .receiving, .answering:
      guard isLast else {
        if case .receiving = phase { phase = .draining } else { phase = .idle }
        return .none
      }
      backlog.removeAll()
      guard !inputClosed else { return close() }
      phase = .lingering
      return .linger
    case .idle, .draining, .lingering, .closed: return .none
    }
  }

  /// Takes the next part from the backlog; nil when there is nothing to do.
  mutating func resume() -> Action? {
    switch phase {
    case .answering, .lingering, .closed: return nil
    case .idle, .receiving, .draining: break
    }
    if let part = backlog.popFirst() { return read(part) }
    guard inputClosed else { return nil }
    if case .receiving = phase { return isLast ? nil : read(.malformed(.brokenBody)) }
    return close()
  }

  /// The server is stopping: the request in flight is answered, and no further one.
  mutating func quiesce() -> Action {
    isQuiescing = true
    switch phase {
    case .idle, .draining: return close()
    case .receiving, .answering, .lingering, .closed: return .none
    }
  }

  /// The connection is gone, or has to go.
  mutating func close() -> Action {
    backlog.removeAll()
    phase = .closed
    return .close
  }

  private mutating func abandonInput() {
    phase = .receiving
    missing = nil
    isLast = true
  }
}

// MARK: - What is awaited

extension ConnectionState {
  /// What the connection waits for.
  enum Awaited {
    case request, body, input, reply, nothing
  }

  var awaited: Awaited {
    switch phase {
    case .idle: .request
    case .receiving, .draining: .body
    case .answering: .reply
    case .lingering: .input
    case .closed: .nothing
    }
  }

  /// Whether a reply may be written.
  var takesReply: Bool {
    switch phase {
    case .receiving, .answering: true
    case .idle, .draining, .lingering, .closed: false
    }
  }

  /// Whether more should be read. Behind a whole last request nothing is: after an upgrade request the decoder would only
  /// collect what arrives.
  var wantsInput: Bool {
    if case .answering = phase, isLast { return false }
    return backlog.count < Self.fullBacklog
  }
}
