public import FoundationEssentials

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

/// Signs in to a push service for a while. Providers makes it, Registry keeps it sealed, and all hubs use the same.
public struct ProviderToken: Sendable, Hashable {
  /// The token itself; never logged.
  public let text: String
  /// To the second, by the clock that all hubs share.
  public let issuedAt: Date

  public init(text: String, issuedAt: Date) {
    self.text = text
    self.issuedAt = issuedAt
  }
}

/// Whose provider token: a customer's signing key. Apps of the customer that have the same key share it. Customers share nothing.
public struct ProviderTokenKey: Sendable, Hashable {
  public let customer: CustomerID
  /// Team id, key id, and the SHA-256 of the public key in hexadecimal digits, as in `TEAM123456/KEY1234567/9f86d0…`.
  public let signingKey: String

  public init(customer: CustomerID, signingKey: String) {
    self.customer = customer
    self.signingKey = signingKey
  }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// When it was issued; the token itself is never printed.
  public var description: String { "(token of \(Int64(issuedAt.timeIntervalSince1970)))" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["issuedAt": issuedAt]) }
}
