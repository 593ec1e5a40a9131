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

/// Which requests a rule is for.
public struct RequestMatch: Sendable, Hashable {
  /// How it begins: the push token, the token in a channel URI, the last part of a browser's endpoint, or the digits of a telephone number,
  /// as in `316`. In rules for token requests, the client's id or the account's `client_email`.
  var prefix = ""
  /// Of APNs; nil for both.
  var environment: SimulatedAPNs.Environment?
  /// The project in an address of FCM; nil for any.
  var project: String?
  /// Only the n-th request that matches the rest, counted from 1 since the rule was added.
  var nth: Int?

  /// All requests.
  public static var any: Self { Self() }

  public static func nth(_ number: Int) -> Self { Self(nth: number) }

  /// Requests whose push token, or what stands for it, begins so.
  public static func prefix(_ prefix: String) -> Self { Self(prefix: prefix) }

  /// Whether it is for a request, apart from its number.
  fileprivate func covers(_ name: String, _ environment: SimulatedAPNs.Environment?, _ project: String?) -> Bool {
    name.hasPrefix(prefix) && (self.environment.map { $0 == environment } ?? true)
      && (self.project.map { $0 == project } ?? true)
  }
}

/// Rules in the order they were added; the first that matches decides.
final class ReplyRules<Refusal: Sendable & Hashable>: Sendable {
  struct Entry: Sendable {
    let number: Int
    let match: RequestMatch
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
  private let ignoresCase: Bool

  /// - Parameter ignoresCase: whether prefixes are in lower case, as the names are that they are compared with.
  init(ignoresCase: Bool = false) { self.ignoresCase = ignoresCase }

  var entries: [Entry] { state.withLock { $0.entries } }

  /// - Returns: the rule's number.
  func add(_ match: RequestMatch, _ reply: SimulatedReply<Refusal>, times: Int?) -> Int {
    var match = match
    if ignoresCase { match.prefix = match.prefix.lowercased() }
    return state.withLock { [match] state in
      state.lastNumber += 1
      state.entries.append(Entry(number: state.lastNumber, match: match, reply: reply, times: times))
      return state.lastNumber
    }
  }

  func removeAll() { state.withLock { $0.entries = [] } }

  /// The reply of the first rule that matches; nil if none does.
  /// - Parameter name: what begins with a rule's prefix.
  func reply(
    to name: String, environment: SimulatedAPNs.Environment? = nil, project: String? = nil
  ) -> SimulatedReply<Refusal>? {
    state.withLock { state in
      var reply: SimulatedReply<Refusal>?
      for index in state.entries.indices {
        let match = state.entries[index].match
        guard match.covers(name, environment, project) else { continue }
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
