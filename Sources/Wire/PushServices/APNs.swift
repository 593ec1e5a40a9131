public import FoundationEssentials

extension PushService {
  /// Apple Push Notification service.
  static let apns = PushService(
    name: .apns,
    fields: [.teamID, .keyID, .signingKey, .developmentCertificate, .productionCertificate, .certificatePassword],
    signIns: [
      SignIn(.apnsSigningKey, [.teamID, .keyID, .signingKey], .signingKey),
      SignIn(
        .apnsDevelopmentCertificate, [.developmentCertificate], .certificate(isForDevelopment: true), options: nil),
      SignIn(
        .apnsProductionCertificate, [.productionCertificate], .certificate(isForDevelopment: false),
        options: "--production-certificate FILE --certificate-password-file FILE"),
    ],
    hasOneSignIn: false, neededField: CredentialField.signingKey.name, takesSoftphones: true,
    guide: """
      An iOS app takes Apple's Team Id, the Key Id and the signing key (the text of `AuthKey_….p8`) together. Instead, it takes \
      the .p12 file of a push certificate for each environment, in base64, and their password. Certificates cannot send pushes \
      of the types `liveactivity` and `location`.
      """,
    examples: [
      """
      --type ios --app-id com.acme.app --name Acme --team-id A1B2C3D4E5 --key-id F6G7H8J9K0 \
      --signing-key AuthKey_F6G7H8J9K0.p8 --json
      """,
      """
      --type ios --app-id com.acme.app --name Acme --production-certificate acme.p12 \
      --certificate-password-file acme.password
      """,
    ],
    usualLifetime: "what APNs stores by its policy, up to about 30 days",
    overriddenMembers: nil,
    settings: [.apnsProductionURL, .apnsSandboxURL])
}

extension ServiceSetting {
  public static let apnsProductionURL = ServiceSetting(
    "apns-production-url", .address, "address of APNs' production environment", fallback: "https://api.push.apple.com")
  public static let apnsSandboxURL = ServiceSetting(
    "apns-sandbox-url", .address, "address of APNs' development environment",
    fallback: "https://api.sandbox.push.apple.com")
}

extension PushCredentialKind {
  public static let apnsSigningKey = Self("apns_signing_key")
  public static let apnsDevelopmentCertificate = Self("apns_development_certificate")
  public static let apnsProductionCertificate = Self("apns_production_certificate")
}

extension CredentialField {
  /// Apple's have 10 characters, but their length is no reason to refuse one.
  private static let appleID = Form.id(maximum: 20, problem: "holds a character other than letters and digits")

  public static let teamID = CredentialField(
    name: "teamId", option: "team-id", input: .text("ID"), form: appleID, limits: 1...20, label: "Team ID",
    origin: "developer.apple.com, Account, Membership details: ten letters and digits.", help: "Apple's Team Id",
    description: "Apple's Team Id")
  public static let keyID = CredentialField(
    name: "keyId", option: "key-id", input: .text("ID"), form: appleID, limits: 1...20, label: "Key ID",
    origin: """
      developer.apple.com, Certificates, Identifiers & Profiles, Keys: the key's page shows it, and the file's name has it.
      """,
    help: "Apple's Key Id of the signing key", description: "Apple's Key Id of the signing key")
  /// The AuthKey_….p8 file as it was downloaded.
  public static let signingKey = CredentialField(
    name: "signingKey", option: "signing-key", input: .file(["p8"]), label: "Signing key, the AuthKey_….p8 file",
    origin: """
      developer.apple.com, Certificates, Identifiers & Profiles, Keys, +, with Apple Push Notifications service ticked. Apple \
      lets you download it once. One key serves all apps of the team.
      """,
    help: "Apple's AuthKey_….p8 file",
    description: "The text of Apple's `AuthKey_….p8`")
  /// The .p12 file, or its base64.
  public static let developmentCertificate = certificate(
    "developmentCertificate", option: "development-certificate", "development")
  /// The .p12 file, or its base64.
  public static let productionCertificate = certificate(
    "productionCertificate", option: "production-certificate", "production")
  /// Of both .p12 files, in visible ASCII; empty for none.
  public static let certificatePassword = CredentialField(
    name: "certificatePassword", option: "certificate-password-file", input: .line, limits: 0...200,
    label: "Password of the .p12 files",
    origin: "The one that you gave Keychain Access when you exported them.",
    help: "File with the password of the .p12 files, on one line",
    description: "The password of the .p12 files, in visible ASCII", note: "It is not stored.")

  private static func certificate(_ name: String, option: String, _ environment: String) -> CredentialField {
    CredentialField(
      name: name, option: option, input: .file(["p12"]),
      label: "\(environment.prefix(1).uppercased() + environment.dropFirst()) certificate, a .p12 file",
      origin: "Keychain Access, My Certificates: export the push certificate together with its private key.",
      help: "The .p12 file of a push certificate for Apple's \(environment) environment",
      description: "The .p12 file of a push certificate for this environment of APNs, with its private key, in base64",
      condition: ", instead of or beside a signing key, which is then used")
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

extension PushCertificate: HoldingSecrets {
  /// The certificate's name; its key is never printed.
  public var description: String { name }
}

/// Signs in to APNs for a while. Providers makes it, Registry keeps it sealed, and all hubs use the same.
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

extension ProviderToken: HoldingSecrets {
  /// When it was issued; the token itself is never printed.
  public var description: String { "(token of \(Int64(issuedAt.timeIntervalSince1970)))" }
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
