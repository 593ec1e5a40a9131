public import Wire

/// A team's signing key, which authenticates it to APNs (Apple, "Establishing a token-based connection to APNs").
public struct APNsCredentials: Sendable {
  /// Apple's team id, usually ten characters; the claim `iss`.
  public let teamID: String
  /// The key's id, ten characters; the header `kid`.
  public let keyID: String
  /// The `.p8` file's text: PEM, PKCS#8, EC P-256.
  public let signingKey: String

  public init(teamID: String, keyID: String, signingKey: String) {
    self.teamID = teamID
    self.keyID = keyID
    self.signingKey = signingKey
  }

  /// The credentials in the form that all push services share.
  public var shared: PushServiceCredentials { .apns(teamID: teamID, keyID: keyID, signingKey: signingKey) }
}

extension APNsCredentials: Hashable {
  /// Whoever has two keys of one name compares the keys.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(teamID)
    hasher.combine(keyID)
  }
}

extension APNsCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Team and key id; the key itself is never printed.
  public var description: String { "\(teamID)/\(keyID)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["teamID": teamID, "keyID": keyID]) }
}
