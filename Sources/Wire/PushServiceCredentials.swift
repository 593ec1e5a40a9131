public import FoundationEssentials

/// What authenticates an app to its push service. Registry unseals it and Providers uses it; what lies between passes it on unread.
public enum PushServiceCredentials: Sendable, Hashable {
  /// A team's signing key: Team Id, Key Id and the private key as PKCS#8 PEM, EC P-256.
  case apns(teamID: String, keyID: String, signingKey: String)
  /// Certificates, each for the pushes of one environment; both may be the same. One of them is there at least.
  case apnsCertificates(development: PushCertificate?, production: PushCertificate?)
  case fcm(GoogleServiceAccount)
  case hms(HuaweiAccount)
  case wns(WindowsAccount)
  case webPush(VAPIDKey)
  case sms(SMSAccount)
}

/// What signs in to Windows' push service.
public enum WindowsAccount: Sendable, Hashable {
  /// The Package SID and the secret of an app in the Microsoft Store.
  case package(sid: String, secret: String)
  /// The client of an app registration at Microsoft Entra, and its secret.
  case entra(tenantID: String, clientID: String, secret: String)
}

/// An app's key pair at the push services of browsers (RFC 8292).
public struct VAPIDKey: Sendable, Hashable {
  /// 32 bytes, of P-256.
  public var privateKey: Data
  /// 65 bytes in base64url, as pages give it to `subscribe`.
  public var publicKey: String
  /// Whom push services can contact: a `mailto:` or `https:` address; nil for the hub's own.
  public var contact: String?

  public init(privateKey: Data, publicKey: String, contact: String? = nil) {
    self.privateKey = privateKey
    self.publicKey = publicKey
    self.contact = contact
  }
}

/// What signs in to Huawei's Push Kit.
public enum HuaweiAccount: Sendable, Hashable {
  /// The app's Client ID and Client Secret in AppGallery Connect, which get an access token.
  case client(id: String, secret: String)
  /// A service account, which signs its own token.
  case serviceAccount(HuaweiServiceAccount)
}

/// The parts of a Huawei service account's key file that sign in with it.
public struct HuaweiServiceAccount: Sendable, Hashable {
  public var projectID: String
  /// The account's number, `sub_account` in the file.
  public var subAccount: String
  public var keyID: String
  /// PKCS#8 PEM, RSA.
  public var privateKey: String

  public init(projectID: String, subAccount: String, keyID: String, privateKey: String) {
    self.projectID = projectID
    self.subAccount = subAccount
    self.keyID = keyID
    self.privateKey = privateKey
  }
}

/// An app's push certificate at APNs and its private key: what a .p12 file holds.
public struct PushCertificate: Sendable, Hashable, Codable {
  /// The subject's common name, as in `Apple Push Services: com.acme.app`.
  public var name: String
  /// The topics that it can send to; the bundle id is the first.
  public var topics: [String]
  public var isForDevelopment: Bool
  public var isForProduction: Bool
  /// DER: the certificate, then those of its issuers that were with it.
  public var chain: [Data]
  /// DER: PKCS#1 of an RSA key, or SEC 1 of one of P-256.
  public var privateKey: Data

  public init(
    name: String, topics: [String], isForDevelopment: Bool, isForProduction: Bool, chain: [Data], privateKey: Data
  ) {
    self.name = name
    self.topics = topics
    self.isForDevelopment = isForDevelopment
    self.isForProduction = isForProduction
    self.chain = chain
    self.privateKey = privateKey
  }
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
    case .apnsCertificates(let development, let production):
      [development, production].compactMap { $0?.description }.joined(separator: ", ")
    case .fcm(let account): account.description
    case .hms(let account): account.description
    case .wns(let account): account.description
    case .webPush(let key): key.description
    case .sms(let account): account.description
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension VAPIDKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The public key; the private one is never printed.
  public var description: String { publicKey }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

extension PushCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The certificate's name; its key is never printed.
  public var description: String { name }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension GoogleServiceAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The account and its key's id; the key itself is never printed.
  public var description: String { "\(clientEmail)/\(privateKeyID)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension HuaweiAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Who signs in, never with what.
  public var description: String {
    switch self {
    case .client(let id, _): id
    case .serviceAccount(let account): account.description
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension WindowsAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Who signs in, never with what.
  public var description: String {
    switch self {
    case .package(let sid, _): sid
    case .entra(let tenantID, let clientID, _): "\(tenantID)/\(clientID)"
    }
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}

extension HuaweiServiceAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The account and its key's id; the key itself is never printed.
  public var description: String { "\(subAccount)/\(keyID)" }
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
