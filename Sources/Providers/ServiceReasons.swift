import FoundationEssentials
public import Wire

/// What the documented reasons of one push service mean, read from its table. Documents list them.
public struct ServiceReasons: Sendable {
  /// A reason, and what the hub makes of it.
  public struct Reason: Sendable {
    /// The service's own name or number, as the ledger has it.
    public var name: String
    /// What a number stands for, in a few words; nil for a word.
    public var meaning: String?
    public var verdict: Verdict
    /// What to do about it, as a sentence; nil if no more than the reason is known.
    public var advice: String?
  }

  /// The service's name for people, such as `APNs`.
  public var service: String
  public var reasons: [Reason]

  /// The tables of all services.
  public static let all = PushServiceName.allCases.flatMap(\.table.reasons)

  /// The tables of one service.
  public static func of(_ service: PushServiceName) -> [ServiceReasons] { service.table.reasons }

  /// The name of a case as people write it: `too many topic jobs`, `bad TTL`.
  static func description(of code: some Sendable) -> String {
    var text = ""
    for character in String(describing: code) {
      if character.isUppercase, text.last?.isLowercase == true { text.append(" ") }
      text.append(character)
    }
    return text.split(separator: " ").map { word in
      word.dropFirst().contains(where: \.isLowercase)
        ? word.prefix(1).description.lowercasedASCII + word.dropFirst() : String(word)
    }.joined(separator: " ")
  }
}

/// What a push service's folder knows without a connection.
struct ServiceTable: Sendable {
  /// What each of the service's reasons means.
  let reasons: [ServiceReasons]
  /// Makes the service to which accounts sign in with access tokens; nil if they sign in otherwise.
  let accessTokens: (@Sendable (PushServiceSettings, ConnectionPools) throws(ProviderError) -> AccessTokenService)?
  /// What an override may hold.
  let overrides: OverrideShape
  /// Why an override of that shape cannot be sent all the same; nil if it can.
  var problem: @Sendable (MessageOverrides) -> OverrideProblem? = { _ in nil }
  /// How large a message is in the service's form, and the most that the service takes, in bytes.
  let payloadSize: @Sendable (RenderedMessage) -> (bytes: Int, limit: Int)
}
