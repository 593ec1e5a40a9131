import Locking

/// How a simulated service answers a request.
public indirect enum SimulatedReply<Refusal: Sendable & Hashable>: Sendable, Hashable {
  /// 200.
  case accept
  /// A refusal in the service's own terms.
  case refuse(Refusal)
  /// The reply, after a delay.
  case after(Duration, SimulatedReply)
  /// No reply, unless `answerIgnored` is called.
  case ignore
  /// RST_STREAM with REFUSED_STREAM: not processed.
  case refuseStream
  /// RST_STREAM with INTERNAL_ERROR: the client cannot tell whether the request was processed.
  case resetStream
  /// GOAWAY whose last stream is the one before this; earlier streams are still answered.
  case goAway(reason: String? = nil)
  /// The connection is closed without a GOAWAY.
  case cut

  /// Whether the response is 200, at once or after a delay.
  var isAccepted: Bool {
    var reply = self
    while case .after(_, let then) = reply { reply = then }
    return reply == .accept
  }
}

/// Which requests a rule is for, apart from their number.
public protocol CountedMatch: Sendable, Hashable {
  /// Only the n-th request that matches the rest, counted from 1 since the rule was added.
  var nth: Int? { get set }

  /// All requests.
  init()
}

extension CountedMatch {
  public static var any: Self { Self() }

  public static func nth(_ number: Int) -> Self {
    var match = Self()
    match.nth = number
    return match
  }
}

/// Which requests a rule is for, where nothing but the beginning of a name tells them apart.
public struct PrefixMatch: CountedMatch {
  /// How it begins: the push token, the token in a channel URI, or the last part of a browser's endpoint,
  /// or the digits of a telephone number, as in `316`. In rules for token requests,
  /// the client's id or the account's `client_email`.
  public var prefix = ""
  public var nth: Int?

  public init() {}

  public static func prefix(_ prefix: String) -> Self {
    var match = Self()
    match.prefix = prefix
    return match
  }
}

/// Rules in the order they were added; the first that matches decides.
public final class ReplyRules<Match: CountedMatch, Refusal: Sendable & Hashable>: Sendable {
  struct Entry: Sendable {
    let number: Int
    let match: Match
    let reply: SimulatedReply<Refusal>
    /// How often it still applies; nil for always.
    var times: Int?
    /// Requests that matched everything but `nth`.
    var matches = 0
  }

  private struct State {
    var entries: [Entry] = []
    var lastNumber = 0
  }

  private let state = Mutex(State())

  init() {}

  var entries: [Entry] { state.withLock { $0.entries } }

  /// - Returns: the rule's number.
  func add(_ match: Match, _ reply: SimulatedReply<Refusal>, times: Int?) -> Int {
    state.withLock { state in
      state.lastNumber += 1
      state.entries.append(Entry(number: state.lastNumber, match: match, reply: reply, times: times))
      return state.lastNumber
    }
  }

  func removeAll() { state.withLock { $0.entries = [] } }

  /// The reply of the first rule that matches; nil if none does.
  func reply(where isCovered: (Match) -> Bool) -> SimulatedReply<Refusal>? {
    state.withLock { state in
      var reply: SimulatedReply<Refusal>?
      for index in state.entries.indices {
        let match = state.entries[index].match
        guard isCovered(match) else { continue }
        state.entries[index].matches += 1
        let (times, matches) = (state.entries[index].times, state.entries[index].matches)
        guard reply == nil, times != 0, match.nth.map({ $0 == matches }) ?? true else { continue }
        if let times { state.entries[index].times = times - 1 }
        reply = state.entries[index].reply
      }
      return reply
    }
  }
}

extension ReplyRules where Match == PrefixMatch {
  func reply(to name: String) -> SimulatedReply<Refusal>? { reply { name.hasPrefix($0.prefix) } }
}
