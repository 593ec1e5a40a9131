/// What authenticates an app to its push service. Registry unseals it and Providers uses it; what lies between passes it on unread.
public enum PushServiceCredentials: Sendable, Hashable {
  /// A team's signing key: Team Id, Key Id and the private key as PKCS#8 PEM, EC P-256.
  case apns(teamID: String, keyID: String, signingKey: String)
  case fcm(GoogleServiceAccount)
}

/// The parts of a Google service account's key file that sign in with it.
public struct GoogleServiceAccount: Sendable, Hashable {
  /// The Firebase project's id.
  public var projectID: String
  public var clientEmail: String
  public var privateKeyID: String
  /// PKCS#8 PEM, RSA.
  public var privateKey: String

  public init(projectID: String, clientEmail: String, privateKeyID: String, privateKey: String) {
    self.projectID = projectID
    self.clientEmail = clientEmail
    self.privateKeyID = privateKeyID
    self.privateKey = privateKey
  }
}

extension PushServiceCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Who signs in, never with what.
  public var description: String {
    switch self {
    case .apns(let teamID, let keyID, _): "\(teamID)/\(keyID)"
    case .fcm(let account): account.description
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension GoogleServiceAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The account and its key's id; the key itself is never printed.
  public var description: String { "\(clientEmail)/\(privateKeyID)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}
