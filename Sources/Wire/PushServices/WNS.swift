extension PushService {
  /// Windows Push Notification Services.
  static let wns = PushService(
    name: .wns,
    fields: [
      clientID,
      .clientSecret.of(
        origin: """
          Partner Center shows it with the Package SID. Or: entra.microsoft.com, App registrations, your app, Certificates & \
          secrets, the value of a new client secret.
          """),
      .packageSID, .tenantID,
    ],
    signIns: [
      SignIn(
        .wnsAccount, [.packageSID, .clientSecret],
        .account(
          AccountForm(
            source: .fields, advice: "give the app's secret alone, as Partner Center shows it with the Package SID.",
            shown: [CredentialField.packageSID.name]
          ) {
            .wns(.package(sid: $0[.packageSID], secret: $0[.clientSecret]))
          })),
      SignIn(
        .wnsAccount, [.tenantID, clientID, .clientSecret],
        .account(
          AccountForm(
            source: .fields,
            advice: "give the value of a client secret alone, from Microsoft Entra under Certificates & secrets.",
            shown: [CredentialField.tenantID.name, CredentialField.clientID.name]
          ) {
            .wns(.entra(tenantID: $0[.tenantID], clientID: $0[.clientID], secret: $0[.clientSecret]))
          })),
    ],
    neededField: CredentialField.clientSecret.name,
    guide: "A Windows app takes `packageSid` and `clientSecret`, or `tenantId`, `clientId` and `clientSecret`.",
    examples: [
      """
      --type windows --app-id com.acme.app --name Acme --package-sid ms-app://s-1-15-2-1234567890-1234567890 \
      --client-secret-file client-secret.txt
      """,
      """
      --type windows --app-id com.acme.app --name Acme --tenant-id 6babcaad-604b-40ac-a9d7-9fd97c0b779f \
      --client-id 1a2b3c4d-0000-1111-2222-333344445555 --client-secret-file client-secret.txt
      """,
    ],
    usualLifetime: "none at WNS",
    overriddenMembers: nil,
    settings: [.wnsTokenURL, .wnsAllowedHosts])

  private static let clientID = CredentialField.clientID.of(
    .id(maximum: 100, punctuation: "-", problem: "is not the Application (client) ID of Microsoft Entra"),
    label: "Application (client) ID", origin: "entra.microsoft.com, App registrations, your app, Overview.",
    help: "the Application (client) ID of its registration at Microsoft Entra",
    description: "the Application (client) ID of its registration at Microsoft Entra, for Windows")
}

extension ServiceSetting {
  /// For both kinds of accounts.
  public static let wnsTokenURL = ServiceSetting(
    "wns-token-url", .address, "address at which Windows apps sign in, for both kinds of accounts",
    shownFallback: "https://login.live.com or https://login.microsoftonline.com")
  public static let wnsAllowedHosts = ServiceSetting(
    "wns-allowed-hosts", .hosts(\.wns),
    "only hosts that channel URIs of Windows can be at, as in *.notify.windows.com; these can have private addresses",
    shownFallback: "*.notify.windows.com at public addresses")
}

extension PushCredentialKind {
  /// A package of the Microsoft Store, or an app registration at Microsoft Entra, and its secret. The one takes the place of the other.
  public static let wnsAccount = Self("wns_account")
}

extension CredentialField {
  public static let packageSID = CredentialField(
    name: "packageSid", option: "package-sid", input: .text("SID"),
    form: .id(
      maximum: 200, punctuation: "-", prefix: "ms-app://s-1-15-2-",
      problem: "is no Package SID: Partner Center shows it as in ms-app://s-1-15-2-1234567890-1234567890"),
    limits: 1...200, label: "Package SID",
    origin: "partner.microsoft.com, your app, Product management, Product identity: ms-app://s-1-15-2-…",
    help: "The app's Package SID in Partner Center",
    description: "The app's Package SID in Partner Center",
    condition: ", in place of `tenantId` and `clientId`")
  /// A tenant can be named by its domain, too. It becomes part of a path.
  public static let tenantID = CredentialField(
    name: "tenantId", option: "tenant-id", input: .text("ID"),
    form: .id(
      maximum: 100, punctuation: "-.", problem: "is not the Directory (tenant) ID of Microsoft Entra"),
    limits: 1...100, label: "Directory (tenant) ID",
    origin: "entra.microsoft.com, App registrations, your app, Overview.",
    help: "The Directory (tenant) ID at Microsoft Entra",
    description: "The Directory (tenant) ID at Microsoft Entra")
}

/// What signs in to Windows' push service.
public enum WindowsAccount: Sendable, Hashable {
  /// The Package SID and the secret of an app in the Microsoft Store.
  case package(sid: String, secret: String)
  /// The client of an app registration at Microsoft Entra, and its secret.
  case entra(tenantID: String, clientID: String, secret: String)
}

extension WindowsAccount: HoldingSecrets {
  /// Who signs in, never with what.
  public var description: String {
    switch self {
    case .package(let sid, _): sid
    case .entra(let tenantID, let clientID, _): "\(tenantID)/\(clientID)"
    }
  }
}
