import Crypto
import FoundationEssentials

/// What the simulated APNs knows: keys and device tokens. It touches no socket.
struct APNsState {
  var keys: [KeyName: TrustedKey] = [:]
  var tokens: [String: KnownToken] = [:]
  let trustsUnknownKeys: Bool

  /// Why a request is refused, in the order of APNs' checks.
  func refusal(
    of request: APNsRequest, on connection: inout ConnectionAuthentication, now: Date
  ) -> APNsRefusal? {
    let token = request.token
    return RequestChecks.headerRefusal(of: request)
      ?? RequestChecks.pathRefusal(of: request)
      ?? tokenRefusal(token, of: request)
      ?? authenticationRefusal(of: request, on: &connection, now: now)
      ?? RequestChecks.payloadRefusal(of: request)
  }

  /// A provider token counts, where there is one, and otherwise the connection's certificate.
  private func authenticationRefusal(
    of request: APNsRequest, on connection: inout ConnectionAuthentication, now: Date
  ) -> APNsRefusal? {
    if request.authorization == nil, let certificate = connection.certificate {
      return certificate.refusal(of: request, now: now)
    }
    return ProviderTokenCheck(keys: keys, trustsUnknownKeys: trustsUnknownKeys).refusal(
      of: request, on: &connection, now: now)
  }

  /// Checks the token's environment, whether it is invalid, and its topic, in this order.
  private func tokenRefusal(_ token: String, of request: APNsRequest) -> APNsRefusal? {
    if token.hasPrefix(SimulatedAPNs.sandboxPrefix), request.environment != .sandbox { return .badDeviceToken }
    guard let known = tokens[token] else { return nil }
    if let environment = known.environment, environment != request.environment { return .badDeviceToken }
    if let invalidSince = known.invalidSince {
      return APNsRefusal(status: 410, reason: "Unregistered", since: invalidSince)
    }
    if let topic = known.topic, topic != request.topic {
      return APNsRefusal(status: 400, reason: "DeviceTokenNotForTopic")
    }
    return nil
  }
}

/// What a test said about a device token.
struct KnownToken: Hashable, Sendable {
  var environment: SimulatedAPNs.Environment?
  var topic: String?
  var invalidSince: Date?
}

/// What APNs remembers of a connection's authentication.
struct ConnectionAuthentication: Sendable {
  /// The provider token that was accepted last, and its claims.
  var accepted: (authorization: String, claims: ProviderClaims)?
  /// The certificate that the client presented.
  var certificate: ClientCertificate?
}
