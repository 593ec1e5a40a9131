public import FoundationEssentials

extension SimulatedAPNs {
  /// How a request is answered.
  public indirect enum Reply: Sendable, Hashable {
    /// 200.
    case accept
    /// A refusal with a reason, and, on 410, since when the token has been invalid.
    case refuse(status: Int, reason: String, since: Date? = nil)
    /// The reply, after a delay.
    case after(Duration, Reply)
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
  }

  /// Which requests a rule is for.
  public struct Match: Sendable, Hashable {
    /// How the device token begins, in lower case.
    public var tokenPrefix = ""
    public var environment: Environment?
    /// Only the n-th request that matches the rest, counted from 1 since the rule was added.
    public var nth: Int?

    public init(tokenPrefix: String = "", environment: Environment? = nil, nth: Int? = nil) {
      self.tokenPrefix = tokenPrefix.lowercased()
      self.environment = environment
      self.nth = nth
    }

    public static var any: Match { Match() }
    public static func token(_ prefix: String) -> Match { Match(tokenPrefix: prefix) }
    public static func nth(_ number: Int) -> Match { Match(nth: number) }
  }
}

/// Rules in the order they were added; the first that matches decides.
struct ReplyRules {
  struct Entry: Sendable {
    let number: Int
    let match: SimulatedAPNs.Match
    let reply: SimulatedAPNs.Reply
    /// How often it still applies; nil for always.
    var times: Int?
    /// Requests that matched everything but `nth`.
    var matches = 0
  }

  private(set) var entries: [Entry] = []
  private var lastNumber = 0

  mutating func add(_ match: SimulatedAPNs.Match, _ reply: SimulatedAPNs.Reply, times: Int?) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, match: match, reply: reply, times: times))
    return lastNumber
  }

  /// The reply of the first rule that matches; nil if none does.
  mutating func reply(token: String, environment: SimulatedAPNs.Environment) -> SimulatedAPNs.Reply? {
    guard !entries.isEmpty else { return nil }
    var reply: SimulatedAPNs.Reply?
    for index in entries.indices {
      let match = entries[index].match
      guard token.hasPrefix(match.tokenPrefix), match.environment.map({ $0 == environment }) ?? true else { continue }
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
