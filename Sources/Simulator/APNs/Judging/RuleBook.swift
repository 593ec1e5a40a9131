/// Rules in the order they were made; the first that matches decides.
struct RuleBook {
  struct Entry: Sendable {
    let number: Int
    let match: SimulatedAPNs.Match
    let reply: SimulatedAPNs.Reply
    /// How often it may still decide; nil for always.
    var times: Int?
    /// Requests that matched all but `nth`.
    var seen = 0
  }

  private(set) var entries: [Entry] = []
  private var lastNumber = 0

  mutating func add(_ match: SimulatedAPNs.Match, _ reply: SimulatedAPNs.Reply, times: Int?) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, match: match, reply: reply, times: times))
    return lastNumber
  }

  /// What the rules say to a request; nil if none is for it.
  mutating func reply(token: String, environment: SimulatedAPNs.Environment) -> SimulatedAPNs.Reply? {
    guard !entries.isEmpty else { return nil }
    var reply: SimulatedAPNs.Reply?
    for index in entries.indices {
      let match = entries[index].match
      guard token.hasPrefix(match.tokenPrefix), match.environment.map({ $0 == environment }) ?? true else { continue }
      entries[index].seen += 1
      guard reply == nil, entries[index].times != 0, match.nth.map({ $0 == entries[index].seen }) ?? true else {
        continue
      }
      if let times = entries[index].times { entries[index].times = times - 1 }
      reply = entries[index].reply
    }
    return reply
  }
}
