extension PushService {
  /// Firebase Cloud Messaging, to which Google's service accounts sign in.
  static let fcm = PushService(
    name: .fcm,
    fields: [
      .serviceAccount.of(
        origin: """
          console.firebase.google.com, your project, Project settings, Service accounts, Generate new private key: a JSON file.
          """,
        help: "Google's, from the Firebase console",
        description: "Google's, as the Firebase console makes it, for Firebase and Android")
    ],
    signIns: [
      SignIn(
        .fcmServiceAccount, [.serviceAccount],
        .account(
          AccountForm(
            source: .keyFile([
              // It becomes part of a path.
              .init("project_id", ("-.:_", "letters, digits, hyphens, dots and colons")), .init("client_email"),
              .init("private_key_id"),
            ]),
            advice: """
              upload the JSON file of a service account's private key, from the Firebase console under Project settings, \
              Service accounts.
              """, shown: ["client_email"]
          ) {
            .fcm(
              GoogleServiceAccount(
                projectID: $0["project_id"], clientEmail: $0["client_email"], privateKeyID: $0["private_key_id"],
                privateKey: $0[AccountForm.privateKey]))
          }))
    ],
    neededField: CredentialField.serviceAccount.name, takesSoftphones: true,
    files: [
      KnownFile(
        members: ["project_info"],
        finding: "This is a google-services.json of Firebase, which belongs inside the app and signs in nobody"),
      KnownFile(
        type: "service_account", isKeyFile: true,
        finding: "This is a Google service account, which belongs in serviceAccount of a Firebase app"),
    ],
    guide: "A Firebase or Android app takes a Google service account's key file.",
    examples: [
      "--type firebase --app-id com.acme.app --name Acme --service-account acme-firebase-adminsdk.json"
    ],
    usualLifetime: "four weeks at FCM",
    overriddenMembers: "Members of FCM's `message`, in snake_case. The target is the hub's.",
    settings: [.fcmURL, .googleTokenURL], dataTree: .fcm)
}

extension MessagingService {
  public static let fcm = MessagingService(.fcm, by: .firebase)
}

extension ServiceSetting {
  public static let fcmURL = ServiceSetting(
    "fcm-url", .address, "address of Firebase Cloud Messaging", fallback: "https://fcm.googleapis.com")
  public static let googleTokenURL = ServiceSetting(
    "google-token-url", .addressWithPath, "address at which Google's service accounts sign in",
    fallback: "https://oauth2.googleapis.com/token")
}

extension PushCredentialKind {
  public static let fcmServiceAccount = Self("fcm_service_account")
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

extension GoogleServiceAccount: HoldingSecrets {
  /// The account and its key's id; the key itself is never printed.
  public var description: String { "\(clientEmail)/\(privateKeyID)" }
}

/// Names of members of FCM's `data` (FCM's reference, REST resource `projects.messages`).
public enum FCMDataName {
  /// Whether FCM refuses a message with a member of this name.
  public static func isReserved(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    return reserved.contains(bytes) || prefixes.contains { bytes.starts(with: $0) }
  }

  private static let reserved = Set(["from", "message_type", "collapse_key"].map { Array($0.utf8) })
  private static let prefixes = ["google", "gcm"].map { Array($0.utf8) }
}
