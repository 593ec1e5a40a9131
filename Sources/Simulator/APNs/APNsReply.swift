public import FoundationEssentials

extension SimulatedAPNs {
  /// What a request is answered with.
  public indirect enum Reply: Sendable, Hashable {
    /// 200.
    case accept
    /// A refusal with a reason, and, on 410, since when the token has been dead.
    case refuse(status: Int, reason: String, since: Date? = nil)
    case after(Duration, Reply)
    /// Never answered, unless `answerIgnored` is called.
    case ignore
    /// RST_STREAM with REFUSED_STREAM: not processed.
    case refuseStream
    /// RST_STREAM with INTERNAL_ERROR: who knows.
    case resetStream
    /// GOAWAY that names the stream before this one as the last that is processed; earlier ones are still answered.
    case goAway(reason: String? = nil)
    /// The connection is cut, with no word.
    case cut
  }

  /// Which requests a rule is for.
  public struct Match: Sendable, Hashable {
    /// How the device token begins, in lower case.
    public var tokenPrefix = ""
    public var environment: Environment?
    /// Only the n-th of the requests that match the rest, counted from 1 since the rule was made.
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
