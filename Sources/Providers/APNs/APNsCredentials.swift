import Crypto
import FoundationEssentials

/// A team's signing key, which authenticates it to APNs (Apple, "Establishing a token-based connection to APNs").
///
/// Each key has its own connections in each environment, since APNs binds a connection to one team.
public struct APNsCredentials: Sendable {
  /// Apple's team id, usually ten characters; the claim `iss`.
  public let teamID: String
  /// The key's id, ten characters; the header `kid`.
  public let keyID: String
  /// The `.p8` file's text: PEM, PKCS#8, EC P-256.
  public let signingKey: String
  /// SHA-256 of the key, to compare credentials.
  private let fingerprint: SHA256.Digest

  public init(teamID: String, keyID: String, signingKey: String) {
    self.teamID = teamID
    self.keyID = keyID
    self.signingKey = signingKey
    fingerprint = SHA256.hash(data: Array(signingKey.utf8))
  }
}

extension APNsCredentials: Hashable {
  public static func == (one: Self, other: Self) -> Bool {
    one.teamID == other.teamID && one.keyID == other.keyID && one.fingerprint == other.fingerprint
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(teamID)
    hasher.combine(keyID)
    hasher.combine(fingerprint)
  }
}

extension APNsCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Team and key id; the key itself is never printed.
  public var description: String { "\(teamID)/\(keyID)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["teamID": teamID, "keyID": keyID]) }
}
