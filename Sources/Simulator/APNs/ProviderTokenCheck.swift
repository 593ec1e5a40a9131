import Crypto
import FoundationEssentials

/// A key's name in provider tokens.
struct KeyName: Hashable, Sendable {
  var teamID: String
  var keyID: String
}

/// A registered key and what it may be used for.
struct TrustedKey: Sendable {
  var publicKey: P256.Signing.PublicKey
  /// Bundle ids; nil for any.
  var topics: Set<String>?
  var environments: Set<SimulatedAPNs.Environment>
}

/// The claims of a provider token.
struct ProviderClaims: Hashable, Sendable {
  var key: KeyName
  var issuedAt: Date
}

/// The check of a request's provider token, given what its connection has been accepted with.
struct ProviderTokenCheck {
  let keys: [KeyName: TrustedKey]
  let trustsUnknownKeys: Bool

  /// An accepted token is remembered with the connection, and not verified again.
  func refusal(
    of request: APNsRequest, on connection: inout ConnectionAuthentication, now: Date
  ) -> APNsRefusal? {
    guard let authorization = request.authorization else { return forbidden("MissingProviderToken") }
    let claims: ProviderClaims
    if let accepted = connection.accepted, accepted.authorization == authorization {
      claims = accepted.claims
    } else {
      guard let verified = verified(authorization) else { return forbidden("InvalidProviderToken") }
      claims = verified
    }
    let age = now.timeIntervalSince(claims.issuedAt)
    if age > 3600 { return forbidden("ExpiredProviderToken") }
    if age < -300 { return forbidden("InvalidProviderToken") }
    if let refusal = keyRefusal(claims, of: request) ?? changeRefusal(to: claims, authorization, connection) {
      return refusal
    }
    connection.accepted = (authorization, claims)
    return nil
  }

  private func keyRefusal(_ claims: ProviderClaims, of request: APNsRequest) -> APNsRefusal? {
    guard let key = keys[claims.key] else { return nil }
    guard key.environments.contains(request.environment) else { return forbidden("BadEnvironmentKeyIdInToken") }
    if let topics = key.topics, let topic = request.topic, !topics.contains(where: { covers($0, topic) }) {
      return APNsRefusal(status: 400, reason: "TopicDisallowed")
    }
    return nil
  }

  /// A bundle id covers itself and, with a suffix, the topics of its other push types.
  private func covers(_ bundleID: String, _ topic: String) -> Bool {
    topic == bundleID || topic.hasPrefix(bundleID + ".")
  }

  /// A connection is bound to the team of its first push, and accepts a new token every 20 minutes.
  private func changeRefusal(
    to claims: ProviderClaims, _ authorization: String, _ connection: ConnectionAuthentication
  ) -> APNsRefusal? {
    guard let accepted = connection.accepted, accepted.authorization != authorization else { return nil }
    if accepted.claims.key.teamID != claims.key.teamID { return forbidden("InvalidProviderToken") }
    if accepted.claims.key.keyID != claims.key.keyID { return forbidden("UnrelatedKeyIdInToken") }
    if abs(claims.issuedAt.timeIntervalSince(accepted.claims.issuedAt)) < 20 * 60 {
      return APNsRefusal(status: 429, reason: "TooManyProviderTokenUpdates")
    }
    return nil
  }

  /// The claims, if this is an ES256 token signed with a trusted key.
  private func verified(_ authorization: String) -> ProviderClaims? {
    let words = authorization.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    guard
      let token = CompactJWT(words[1]),
      let header = token.header(as: Header.self), header.alg == "ES256",
      let claims = token.claims(as: Claims.self),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature)
    else { return nil }
    let name = KeyName(teamID: claims.iss, keyID: header.kid)
    if let key = keys[name] {
      guard key.publicKey.isValidSignature(signature, for: token.signed) else { return nil }
    } else if !trustsUnknownKeys {
      return nil
    }
    return ProviderClaims(key: name, issuedAt: Date(timeIntervalSince1970: claims.iat))
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String
  }

  private struct Claims: Decodable {
    var iss: String
    var iat: Double
  }

  private func forbidden(_ reason: String) -> APNsRefusal { APNsRefusal(status: 403, reason: reason) }
}
