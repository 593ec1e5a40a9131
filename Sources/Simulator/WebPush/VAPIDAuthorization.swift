import Crypto
import FoundationEssentials
import Wire

/// The header `authorization: vapid t=<JWT>, k=<public key>` (RFC 8292, section 3).
struct VAPIDAuthorization: Sendable {
  private let token: String
  /// The sender's public key.
  let key: [UInt8]
  private let publicKey: P256.Signing.PublicKey

  /// - Throws: the refusal of a header that is malformed.
  init(_ header: String?) throws(SimulatedWebPush.Refusal) {
    guard let header else { throw .unauthorized("Missing VAPID public key") }
    let words = header.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "vapid" else { throw .unauthorized("Unknown auth scheme") }
    var parts: [Substring: Substring] = [:]
    for part in words[1].split(separator: ",") {
      let sides = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if sides.count == 2 { parts[sides[0]] = sides[1] }
    }
    guard let token = parts["t"] else { throw .unauthorized("Missing VAPID token") }
    guard let text = parts["k"] else { throw .unauthorized("Missing VAPID public key") }
    guard let key = Base64URL.decode(Array(text.utf8)), key.count == 65,
      let publicKey = try? P256.Signing.PublicKey(x963Representation: key)
    else { throw .unauthorized("Invalid VAPID public key") }
    self.token = String(token)
    self.key = key
    self.publicKey = publicKey
  }

  /// The reason not to accept the JWT, in the order of Mozilla's checks.
  /// - Parameter origin: the service's own.
  func refusal(origin: String, now: Date) -> SimulatedWebPush.Refusal? {
    guard let jwt = CompactJWT(token), jwt.header(as: Header.self)?.alg == "ES256",
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jwt.signature),
      publicKey.isValidSignature(signature, for: jwt.signed)
    else { return .unauthorized("InvalidSignature") }
    guard let claims = jwt.claims(as: Claims.self) else {
      return .unauthorized(
        #"A value in the vapid claims is either missing or incorrectly specified (e.g. "exp":"12345" or "sub":null)."#)
    }
    let now = now.timeIntervalSince1970
    if claims.exp <= now { return .unauthorized("ExpiredSignature") }
    if claims.exp > now + 86_400 { return .unauthorized("VAPID token expiration is too far in the future") }
    guard claims.aud == origin || claims.aud == origin + "/" else { return .unauthorized("Invalid VAPID audience") }
    guard claims.sub.hasPrefix("mailto:") || claims.sub.hasPrefix("https:") else {
      return .unauthorized("The sub of the VAPID claims must be a mailto: or https: URI")
    }
    return nil
  }

  private struct Header: Decodable { var alg: String }

  /// A number in quotes does not count as one.
  private struct Claims: Decodable {
    var aud: String
    var exp: Double
    var sub: String
  }
}
