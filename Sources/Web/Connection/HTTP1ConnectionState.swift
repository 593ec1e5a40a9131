import DequeModule
import NIOCore

/// What one HTTP/1.1 connection is about, and what becomes of each part that arrives on it. It touches no socket: it is told
/// what happened and says what to do.
///
/// ```
///          head           end             reply
///   idle ───────▶ gathering ───▶ answering ──────────────▶ idle
///                     │              ▲  └─ the last one ─▶ closed
///       the read ends │          end │
///                     └────▶ streaming ─── reply ──▶ draining ── end ──▶ idle
///                                      └── reply, the last one ──▶ leaving ──▶ closed
/// ```
///
/// One request is answered at a time; what arrives in the meantime waits in the backlog (RFC 9112, section 9.3.2).
struct HTTP1ConnectionState<Head> {
  /// One piece of what a client sends.
  enum Part {
    case head(Head, RequestFraming)
    case body(ByteBuffer)
    case end
    /// What came cannot be read as HTTP, and nothing after it can.
    case garbage
  }

  enum Action {
    case none
    /// A request is here with all of its body.
    case answer(Head, body: ByteBuffer)
    /// A request is here with the beginning of its body.
    case answerStream(Head, beginning: ByteBuffer)
    /// A request is here whose body broke off.
    case answerBroken(Head, beginning: ByteBuffer)
    case feed(ByteBuffer)
    case endBody
    /// No more of the body will come.
    case breakBody
    /// To be answered with a 400, as the last reply.
    case refuse
    /// Nothing more will be read or written.
    case close
    /// Nothing more will be written; what arrives is still read.
    case leave
  }

  private enum Phase {
    /// No request: the next one may begin.
    case idle
    /// A head is here, and what of its body came with it.
    case gathering(Head, ByteBuffer)
    /// The request was handed over, the rest of its body is awaited.
    case streaming
    /// The request was handed over whole, or what is missing will not come.
    case answering
    /// The request is answered; the little that is missing of its body is thrown away.
    case draining
    /// The last reply is written, to a client that may still be sending. At most so many bytes are taken.
    case leaving(bytesLeft: Int)
    case closed
  }

  /// How much of a body is thrown away so that the connection can be used again.
  static var smallRest: Int { Limits.body }
  /// How much is thrown away after the last reply: twice the largest body that any route takes.
  static var patience: Int { 8 * 1024 * 1024 }
  /// So many parts wait in the backlog before reading stops.
  private static var fullBacklog: Int { 32 }

  private var phase = Phase.idle
  private var backlog: Deque<Part> = []
  /// Bytes of the request's body that are still to come; nil if its sender has not said.
  private var awaited: Int? = 0
  /// The reply to this request is the last one.
  private var isLast = false
  /// The client knows replies in chunks.
  private var takesChunks = true
  private var isQuiescing = false
  private var inputClosed = false
}

// MARK: - What the client does

extension HTTP1ConnectionState {
  mutating func read(_ part: Part) -> Action {
    switch (phase, part) {
    case (.idle, .head(let head, let framing)):
      phase = .gathering(head, ByteBuffer())
      awaited = framing.bodyBytes
      isLast = !framing.keepsAlive
      takesChunks = framing.takesChunks
      return .none
    case (.idle, .garbage):
      giveUpOnRest()
      return .refuse
    case (.gathering(let head, var body), .body(let more)):
      // Not two owners of the same bytes.
      phase = .idle
      if body.readableBytes == 0 { body = more } else { body.writeImmutableBuffer(more) }
      phase = .gathering(head, body)
      return .none
    case (.gathering(let head, let body), .end):
      phase = .answering
      return .answer(head, body: body)
    case (.gathering(let head, let body), .garbage):
      giveUpOnRest()
      return .answerBroken(head, beginning: body)
    case (.streaming, .body(let more)):
      awaited = awaited.map { $0 - more.readableBytes }
      return .feed(more)
    case (.streaming, .end):
      phase = .answering
      return .endBody
    case (.streaming, .garbage):
      giveUpOnRest()
      return .breakBody
    case (.answering, _):
      backlog.append(part)
      return .none
    case (.draining, .end):
      phase = .idle
      return .none
    case (.draining, .garbage): return close()
    case (.leaving(let bytesLeft), .body(let bytes)):
      phase = .leaving(bytesLeft: bytesLeft - bytes.readableBytes)
      return bytesLeft < bytes.readableBytes ? close() : .none
    case (.idle, _), (.gathering, .head), (.streaming, .head), (.draining, _), (.leaving, _), (.closed, _): return .none
    }
  }

  /// All that was there has been read.
  mutating func readEnded() -> Action {
    guard case .gathering(let head, let body) = phase else { return .none }
    phase = .streaming
    awaited = awaited.map { $0 - body.readableBytes }
    return .answerStream(head, beginning: body)
  }

  /// The client sends no more; it may still read.
  mutating func inputEnded() -> Action {
    inputClosed = true
    switch phase {
    case .idle, .draining, .leaving: return close()
    case .gathering, .streaming: return read(.garbage)
    case .answering, .closed: return .none
    }
  }
}

// MARK: - What we do

extension HTTP1ConnectionState {
  /// Says how the reply that is about to be written ends. It has to be the last one when the client said so, when the server is
  /// ending, when it comes before a body whose end nobody should have to wait for, and when there is no other way to say
  /// where it ends.
  mutating func replyBegins(saysLength: Bool = true) -> ReplyEnding {
    if case .streaming = phase, awaited.map({ $0 > Self.smallRest }) ?? true { isLast = true }
    if isQuiescing || !saysLength && !takesChunks { isLast = true }
    return isLast ? .lastOfAll : saysLength ? .length : .chunked
  }

  mutating func replyEnded() -> Action {
    switch phase {
    case .streaming where isLast && !inputClosed, .answering where isLast && !inputClosed && !backlog.isEmpty:
      backlog.removeAll()
      phase = .leaving(bytesLeft: Self.patience)
      return .leave
    case _ where isLast: return close()
    case .streaming: phase = .draining
    case .answering: phase = .idle
    case .idle, .gathering, .draining, .leaving, .closed: break
    }
    return .none
  }

  /// Takes up what waits in the backlog; nil once there is nothing to do about it.
  mutating func goOn() -> Action? {
    switch phase {
    case .streaming, .answering, .leaving, .closed: return nil
    case .idle, .gathering, .draining: break
    }
    if let part = backlog.popFirst() { return read(part) }
    if case .gathering = phase { return inputClosed ? read(.garbage) : readEnded() }
    return inputClosed ? close() : nil
  }

  /// The server is ending.
  mutating func quiesce() -> Action {
    isQuiescing = true
    switch phase {
    case .idle, .draining: return close()
    case .gathering, .streaming, .answering, .leaving, .closed: return .none
    }
  }

  /// The connection is gone, or has to go.
  mutating func close() -> Action {
    backlog.removeAll()
    phase = .closed
    return .close
  }

  private mutating func giveUpOnRest() {
    phase = .streaming
    awaited = nil
    isLast = true
  }
}

// MARK: - What is awaited

extension HTTP1ConnectionState {
  /// Whether more should be read.
  var hasRoom: Bool { backlog.count < Self.fullBacklog }

  /// Whether it is the client that keeps the connection waiting.
  var awaitsClient: Bool {
    switch phase {
    case .idle, .gathering, .streaming, .draining, .leaving: true
    case .answering, .closed: false
    }
  }
}

/// What the head of a request says about its end, and the connection's (RFC 9112, sections 6.3 and 9.3).
struct RequestFraming {
  /// Bytes of the body; 0 if there is none, nil if that is not known before its end.
  var bodyBytes: Int?
  /// Whether the client wants to send further requests.
  var keepsAlive: Bool
  /// Whether the client knows replies in chunks, as of HTTP/1.1.
  var takesChunks = true
}
