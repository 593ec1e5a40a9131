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
protocol CountedMatch: Sendable {
  /// Only the n-th request that matches the rest, counted from 1 since the rule was added.
  var nth: Int? { get }
}

/// Rules in the order they were added; the first that matches decides.
struct ReplyRules<Match: CountedMatch, Refusal: Sendable & Hashable>: Sendable {
  struct Entry: Sendable {
    let number: Int
    let match: Match
    let reply: SimulatedReply<Refusal>
    /// How often it still applies; nil for always.
    var times: Int?
    /// Requests that matched everything but `nth`.
    var matches = 0
  }

  private(set) var entries: [Entry] = []
  private var lastNumber = 0

  mutating func add(_ match: Match, _ reply: SimulatedReply<Refusal>, times: Int?) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, match: match, reply: reply, times: times))
    return lastNumber
  }

  mutating func removeAll() { entries = [] }

  /// The reply of the first rule that matches; nil if none does.
  mutating func reply(where isCovered: (Match) -> Bool) -> SimulatedReply<Refusal>? {
    guard !entries.isEmpty else { return nil }
    var reply: SimulatedReply<Refusal>?
    for index in entries.indices {
      let match = entries[index].match
      guard isCovered(match) else { continue }
      entries[index].matches += 1
      guard reply == nil, entries[index].times != 0, match.nth.map({ $0 == entries[index].matches }) ?? true else {
        continue
      }
      if let times = entries[index].times { entries[index].times = times - 1 }
      reply = entries[index].reply
    }
    return reply
  }
}
