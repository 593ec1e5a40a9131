extension PushService {
  /// Huawei's Push Kit.
  static let hms = PushService(
    name: .hms,
    fields: [
      .serviceAccount.of(
        origin: "Huawei's API Console, Credentials, Service account key: a JSON file.", help: "Huawei's",
        description: "Huawei's for Huawei, in place of `clientId` and `clientSecret`"), clientID,
      .clientSecret.of(
        origin: "AppGallery Connect, your project, Project settings, App information, Client Secret."),
    ],
    signIns: [
      SignIn(
        .hmsAccount, [clientID, .clientSecret],
        .account(
          AccountForm(
            source: .fields,
            advice: "give the Client Secret alone, from AppGallery Connect under Project settings, App information.",
            shown: [CredentialField.clientID.name]
          ) {
            .hms(.client(id: $0[.clientID], secret: $0[.clientSecret]))
          })),
      SignIn(
        .hmsAccount, [.serviceAccount],
        .account(
          AccountForm(
            source: .keyFile([
              // It becomes part of a path.
              .init("project_id", ("-_", "letters, digits, hyphens and underscores")), .init("sub_account"),
              .init("key_id"),
            ]),
            advice: """
              upload the JSON file of a service account's key, from Huawei's API Console under Credentials, or give clientId \
              and clientSecret.
              """, shown: ["sub_account", "key_id"]
          ) {
            .hms(
              .serviceAccount(
                HuaweiServiceAccount(
                  projectID: $0["project_id"], subAccount: $0["sub_account"], keyID: $0["key_id"],
                  privateKey: $0[AccountForm.privateKey])))
          })),
    ],
    neededField: CredentialField.clientSecret.name, takesSoftphones: true,
    files: [
      KnownFile(
        members: ["sub_account"], isKeyFile: true,
        finding: "This is a Huawei service account, which belongs in serviceAccount of a Huawei app"),
      KnownFile(
        members: ["agcgw", "app_info"],
        finding: "This is an agconnect-services.json of Huawei, which belongs inside the app and signs in nobody"),
    ],
    guide: "A Huawei app takes `clientId` and `clientSecret`, or a Huawei service account's key file.",
    examples: [
      """
      --type huawei --app-id com.acme.app --name Acme --client-id 104567891 --client-secret-file client-secret.txt
      """
    ],
    usualLifetime: "one day at Push Kit",
    overriddenMembers: "Members of Push Kit's `message`. The target is the hub's.",
    settings: [.hmsURL, .hmsTokenURL], dataTree: .hms)

  /// It becomes part of a path.
  private static let clientID = CredentialField.clientID.of(
    .id(
      maximum: 64, punctuation: "-_",
      problem: "holds a character other than letters, digits, hyphens and underscores"),
    origin: "AppGallery Connect, your project, Project settings, App information, Client ID.",
    help: "the app's Client ID in AppGallery Connect",
    description: "the app's Client ID in AppGallery Connect, for Huawei")
}

extension MessagingService {
  public static let hms = MessagingService(.hms, by: .huawei)
}

extension ServiceSetting {
  public static let hmsURL = ServiceSetting(
    "hms-url", .address, "address of Huawei's Push Kit", fallback: "https://push-api.cloud.huawei.com")
  /// Where clients get their access tokens.
  public static let hmsTokenURL = ServiceSetting(
    "hms-token-url", .addressWithPath, "address at which Huawei's clients sign in",
    fallback: "https://oauth-login.cloud.huawei.com/oauth2/v3/token")
}

extension PushCredentialKind {
  /// A client's id and secret, or a service account. The one takes the place of the other.
  public static let hmsAccount = Self("hms_account")
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

extension HuaweiAccount: HoldingSecrets {
  /// Who signs in, never with what.
  public var description: String {
    switch self {
    case .client(let id, _): id
    case .serviceAccount(let account): account.description
    }
  }
}

extension HuaweiServiceAccount: HoldingSecrets {
  /// The account and its key's id; the key itself is never printed.
  public var description: String { "\(subAccount)/\(keyID)" }
}
