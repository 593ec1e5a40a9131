import Crypto
import FoundationEssentials

/// What the stand-in goes by: keys, device tokens and rules. It judges requests, and touches no socket.
struct APNsRules {
  var keys: [KeyName: TrustedKey] = [:]
  var tokens: [String: TokenFacts] = [:]
  var rules = RuleBook()
  let trustsUnknownKeys: Bool

  init(trustsUnknownKeys: Bool) { self.trustsUnknownKeys = trustsUnknownKeys }

  /// What to answer. The checks come first, in the order that APNs is known by; then the token's own wish; then the rules.
  mutating func judge(_ request: APNsRequest, by memory: inout ConnectionMemory, now: Date) -> SimulatedAPNs.Reply {
    if let refusal = refusal(of: request, by: &memory, now: now) { return refusal.reply }
    let token = request.token
    return SteeringTokens.reply(to: token, now: now)
      ?? rules.reply(token: token, environment: request.environment)
      ?? .accept
  }

  private func refusal(
    of request: APNsRequest, by memory: inout ConnectionMemory, now: Date
  ) -> APNsRefusal? {
    let token = request.token
    return HeaderChecks.refusal(of: request)
      ?? HeaderChecks.pathRefusal(of: request)
      ?? tokenRefusal(token, of: request)
      ?? ProviderTokenCheck(keys: keys, trustsUnknownKeys: trustsUnknownKeys).refusal(
        of: request, by: &memory, now: now)
      ?? PayloadChecks.refusal(of: request)
  }

  /// Where the token belongs, whether it is dead, and whose it is, in this order.
  private func tokenRefusal(_ token: String, of request: APNsRequest) -> APNsRefusal? {
    if token.hasPrefix(SteeringTokens.sandbox), request.environment != .sandbox { return .badDeviceToken }
    guard let facts = tokens[token] else { return nil }
    if let environment = facts.environment, environment != request.environment { return .badDeviceToken }
    if let deadSince = facts.deadSince {
      return APNsRefusal(status: 410, reason: "Unregistered", since: deadSince)
    }
    if let topic = facts.topic, topic != request.topic {
      return APNsRefusal(status: 400, reason: "DeviceTokenNotForTopic")
    }
    return nil
  }
}

/// What is known of a device token.
struct TokenFacts: Hashable, Sendable {
  var environment: SimulatedAPNs.Environment?
  var topic: String?
  var deadSince: Date?
}

/// What APNs remembers of a connection.
struct ConnectionMemory: Sendable {
  /// The provider token accepted last, and what it said.
  var accepted: (authorization: String, claims: ProviderClaims)?
}

/// An answer that is not 200.
struct APNsRefusal: Hashable, Sendable {
  var status: Int
  var reason: String
  var since: Date?

  static let badDeviceToken = APNsRefusal(status: 400, reason: "BadDeviceToken")

  var reply: SimulatedAPNs.Reply { .refuse(status: status, reason: reason, since: since) }
}
