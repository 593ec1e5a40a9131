import Crypto
import FoundationEssentials
public import Wire

/// What opens an app's push service, as its owner has it from the service's console. Each field belongs to some platforms.
public struct PushServiceFields: Sendable {
  /// Apple's Team Id (iOS).
  public var teamID: String?
  /// Apple's Key Id of the signing key (iOS).
  public var keyID: String?
  /// The AuthKey_….p8 file as it was downloaded (iOS).
  public var signingKey: Secret?
  /// The .p12 file of a push certificate for APNs' development environment, or its base64 (iOS).
  public var developmentCertificate: Secret?
  /// The same for production (iOS).
  public var productionCertificate: Secret?
  /// The password of these files, in visible ASCII; nil or empty for none (iOS).
  public var certificatePassword: Secret?
  /// A service account's key file as it was downloaded: Google's (Firebase, Android) or Huawei's.
  public var serviceAccount: Secret?
  /// The app's Client ID in AppGallery Connect (Huawei), or the Application (client) ID at Microsoft Entra (Windows).
  public var clientID: String?
  /// The secret of the client (Huawei, Windows), or of the package (Windows).
  public var clientSecret: Secret?
  /// The app's Package SID in Partner Center (Windows).
  public var packageSID: String?
  /// The Directory (tenant) ID at Microsoft Entra (Windows).
  public var tenantID: String?
  /// A private key of P-256, in PEM or as 32 bytes in base64url (Web).
  public var vapidPrivateKey: Secret?
  /// Whom push services can contact about the app: a `mailto:` or `https:` address (Web).
  public var contact: String?
  /// The account at the provider (SMS).
  public var sms: SMSAccount?

  public init(
    teamID: String? = nil, keyID: String? = nil, signingKey: Secret? = nil, developmentCertificate: Secret? = nil,
    productionCertificate: Secret? = nil, certificatePassword: Secret? = nil, serviceAccount: Secret? = nil,
    clientID: String? = nil, clientSecret: Secret? = nil, packageSID: String? = nil, tenantID: String? = nil,
    vapidPrivateKey: Secret? = nil, contact: String? = nil, sms: SMSAccount? = nil
  ) {
    self.teamID = teamID
    self.keyID = keyID
    self.signingKey = signingKey
    self.developmentCertificate = developmentCertificate
    self.productionCertificate = productionCertificate
    self.certificatePassword = certificatePassword
    self.serviceAccount = serviceAccount
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.packageSID = packageSID
    self.tenantID = tenantID
    self.vapidPrivateKey = vapidPrivateKey
    self.contact = contact
    self.sms = sms
  }
}

/// A credential that is to be stored for an app.
struct NewPushCredential {
  let kind: PushCredential.Kind
  /// What is sealed.
  let secret: Secret
  let fingerprint: String
  /// Who signs in with it, as the service's console names it; nil where the app's other fields say so.
  var account: String?
  /// When a certificate expires.
  var notAfter: Date?
}

extension PushServiceFields {
  /// The fields that are there, each with the platforms that it belongs to.
  private var given: [(name: String, types: [AppType])] {
    let all: [(name: String, isGiven: Bool, types: [AppType])] = [
      ("teamId", teamID != nil, [.ios]), ("keyId", keyID != nil, [.ios]), ("signingKey", signingKey != nil, [.ios]),
      ("developmentCertificate", developmentCertificate != nil, [.ios]),
      ("productionCertificate", productionCertificate != nil, [.ios]),
      ("certificatePassword", certificatePassword != nil, [.ios]),
      ("serviceAccount", serviceAccount != nil, [.firebase, .android, .huawei]),
      ("clientId", clientID != nil, [.huawei, .windows]), ("clientSecret", clientSecret != nil, [.huawei, .windows]),
      ("packageSid", packageSID != nil, [.windows]), ("tenantId", tenantID != nil, [.windows]),
      ("vapidPrivateKey", vapidPrivateKey != nil, [.web]), ("contact", contact != nil, [.web]),
      ("provider", sms != nil, [.sms]),
    ]
    return all.filter(\.isGiven).map { ($0.name, $0.types) }
  }

  /// The same with Team Id and Key Id as they are stored.
  /// - Parameter app: the app that is to be changed; nil for a new one.
  /// - Throws: `RegistryError.invalid` for a field of another platform, one that is no Id, or one that lacks another.
  func checked(for type: AppType, of app: PushApp? = nil) throws(RegistryError) -> PushServiceFields {
    if let strange = given.first(where: { !$0.types.contains(type) }) {
      let owners = Self.list(strange.types.map(\.platform))
      let numbers = Self.list(strange.types.map { "\($0.rawValue)" })
      throw .invalid(field: strange.name, problem: "belongs to \(owners) apps only, of appType \(numbers)")
    }
    var checked = self
    checked.teamID = try PushAppRules.appleID(teamID, "teamId")
    checked.keyID = try PushAppRules.appleID(keyID, "keyId")
    let parts = [
      ("teamId", (teamID ?? app?.teamID) != nil), ("keyId", (keyID ?? app?.keyID) != nil),
      ("signingKey", signingKey != nil || app?.has(.apnsSigningKey) == true),
    ]
    if parts.contains(where: \.1), let missing = parts.first(where: { !$0.1 }) {
      throw .invalid(field: missing.0, problem: "is missing: teamId, keyId and signingKey come together")
    }
    checked.contact = try PushAppRules.contact(contact)
    try checkPassword()
    try checkClient(type)
    return checked
  }

  private func checkPassword() throws(RegistryError) {
    guard let certificatePassword else { return }
    func refuse(_ problem: String) -> RegistryError { .invalid(field: "certificatePassword", problem: problem) }
    guard certificatePassword.bytes.count <= 200 else { throw refuse("has more than 200 characters") }
    guard certificatePassword.bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
      throw refuse("holds a character other than visible ASCII: export the .p12 file again, with another password")
    }
    guard developmentCertificate != nil || productionCertificate != nil else {
      throw refuse("is there without a developmentCertificate or productionCertificate that it opens")
    }
  }

  private func checkClient(_ type: AppType) throws(RegistryError) {
    if serviceAccount != nil, clientID != nil || clientSecret != nil {
      throw .invalid(
        field: "serviceAccount", problem: "takes the place of clientId and clientSecret: give one or the other")
    }
    if packageSID != nil, tenantID != nil || clientID != nil {
      throw .invalid(field: "packageSid", problem: "takes the place of tenantId and clientId: give one or the other")
    }
    if type == .windows, clientSecret != nil, packageSID == nil, tenantID == nil, clientID == nil {
      throw .invalid(
        field: "packageSid", problem: "is missing: clientSecret comes with packageSid, or with tenantId and clientId")
    }
    let client = [("clientId", clientID != nil), ("clientSecret", clientSecret != nil)]
    let parts =
      packageSID != nil
      ? [("packageSid", true), client[1]] : type == .windows ? [("tenantId", tenantID != nil)] + client : client
    if parts.contains(where: \.1), let missing = parts.first(where: { !$0.1 }) {
      throw .invalid(field: missing.0, problem: "is missing: \(Self.list(parts.map(\.0))) come together")
    }
  }

  /// `Firebase, Android and Huawei`
  private static func list(_ words: [String]) -> String {
    [words.dropLast().joined(separator: ", "), words[words.count - 1]].filter { !$0.isEmpty }.joined(separator: " and ")
  }

  /// The credentials in them.
  /// - Parameter appID: what a certificate has to be for.
  /// - Throws: `RegistryError.credential` for a file that is something else.
  /// - Parameter type: the app's platform, which says whose service account it is.
  func credentials(for appID: String, _ type: AppType) throws(RegistryError) -> [NewPushCredential] {
    var credentials: [NewPushCredential] = []
    if let signingKey {
      let file = try SigningKeyFile(signingKey)
      credentials.append(NewPushCredential(kind: .apnsSigningKey, secret: file.key, fingerprint: file.fingerprint))
    }
    for (purpose, given) in [
      (PushCertificateFile.Purpose.development, developmentCertificate), (.production, productionCertificate),
    ] {
      guard let given else { continue }
      let file = try PushCertificateFile(given, password: certificatePassword, for: purpose, appID: appID)
      credentials.append(
        NewPushCredential(
          kind: purpose.kind, secret: file.stored, fingerprint: file.fingerprint, account: file.certificate.name,
          notAfter: file.notAfter))
    }
    if type == .windows, let clientSecret {
      let account =
        if let packageSID {
          try WindowsAccountFields(packageSID: packageSID, secret: clientSecret)
        } else {
          try WindowsAccountFields(tenantID: tenantID ?? "", clientID: clientID ?? "", secret: clientSecret)
        }
      credentials.append(
        NewPushCredential(
          kind: .wnsAccount, secret: account.stored, fingerprint: account.fingerprint,
          account: account.account.description))
    } else if type == .huawei, let account = try huaweiAccount {
      credentials.append(
        NewPushCredential(
          kind: .hmsAccount, secret: account.stored, fingerprint: account.fingerprint,
          account: account.account.description))
    } else if let serviceAccount {
      let file = try ServiceAccountFile(serviceAccount)
      credentials.append(
        NewPushCredential(
          kind: .fcmServiceAccount, secret: file.stored, fingerprint: file.fingerprint,
          account: file.account.clientEmail))
    }
    if let vapidPrivateKey {
      let file = try VAPIDKeyFile(vapidPrivateKey)
      credentials.append(
        NewPushCredential(
          kind: .vapidKey, secret: file.stored, fingerprint: file.fingerprint, account: file.publicKey))
    }
    if let sms {
      guard let json = try? JSONCoding.encode(sms) else { preconditionFailure("texts are always JSON") }
      credentials.append(
        NewPushCredential(
          kind: .smsAccount, secret: Secret(bytes: Array(json)),
          fingerprint: Array(SHA256.hash(data: Data(sms.signIn.utf8)).prefix(8)).hexDigits, account: sms.description))
    }
    return credentials
  }

  private var huaweiAccount: HuaweiAccountFile? {
    get throws(RegistryError) {
      if let clientID, let clientSecret { return try HuaweiAccountFile(clientID: clientID, secret: clientSecret) }
      return try serviceAccount.map { file throws(RegistryError) in try HuaweiAccountFile(serviceAccount: file) }
    }
  }
}
