/// A team's signing key, which proves to APNs who sends (Apple, "Establishing a token-based connection to APNs").
///
/// Together with an environment it is the identity of a connection pool: APNs binds a connection to one team.
public struct APNsCredentials: Sendable, Hashable {
  /// Apple's team id, usually ten characters; the claim `iss`.
  public var teamID: String
  /// The key's id, ten characters; the header `kid`.
  public var keyID: String
  /// The `.p8` file's text: PEM, PKCS#8, EC P-256.
  public var signingKey: String

  public init(teamID: String, keyID: String, signingKey: String) {
    self.teamID = teamID
    self.keyID = keyID
    self.signingKey = signingKey
  }
}

extension APNsCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Team and key id; the key itself is never printed.
  public var description: String { "\(teamID)/\(keyID)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["teamID": teamID, "keyID": keyID]) }
}
