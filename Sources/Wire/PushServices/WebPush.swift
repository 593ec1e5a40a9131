public import FoundationEssentials

extension PushService {
  /// The push services of browsers.
  static let webPush = PushService(
    name: .webpush, fields: [.vapidPrivateKey, .contact],
    signIns: [SignIn(.vapidKey, [.vapidPrivateKey], .vapidKey)],
    neededField: CredentialField.vapidPrivateKey.name,
    guide: """
      An app of the web gets a key pair, of which the reply has `vapidPublicKey`, or takes your `vapidPrivateKey`.
      """,
    examples: ["--type web --app-id shop.acme.com --name Acme --contact mailto:push@acme.com"],
    usualLifetime: "four weeks at Web Push",
    overriddenMembers: nil,
    settings: [.webpushAllowedHosts])
}

extension ServiceSetting {
  public static let webpushAllowedHosts = ServiceSetting(
    "webpush-allowed-hosts", .hosts(\.webPush),
    "only hosts that Web Push sends to, as in push.example.com:8443,*.push.apple.com; these can have private addresses",
    shownFallback: "hosts of the internet, ports 443 and 8443")
}

extension PushCredentialKind {
  public static let vapidKey = Self("vapid_key")
}

extension CredentialField {
  /// A private key of P-256, in PEM or as 32 bytes in base64url.
  public static let vapidPrivateKey = CredentialField(
    name: "vapidPrivateKey", option: "vapid-private-key-file", input: .file([]), label: "Your own VAPID key",
    origin: "Leave it empty, and the hub makes a key pair. Give one only if browsers subscribed with it before.",
    help: "File with a private key of P-256, in PEM or as 32 bytes in base64url, in place of a new one",
    description: "A private key of P-256 in PEM, or its 32 bytes in base64url",
    note: """
      Browsers' subscriptions are good only for the key that they were made with. It is never shown again.
      """)
  public static let contact = CredentialField(
    name: "contact", option: "contact", input: .text("ADDRESS"), form: .contact, limits: 1...200, label: "Contact",
    origin: "An address of yours, as in mailto:push@acme.com, which push services write to if something is wrong.",
    help: "Whom push services can contact: mailto:name@example.com or an https address",
    description: "Whom push services can contact about the app: `mailto:name@example.com` or an https address")
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

extension VAPIDKey: HoldingSecrets {
  /// The public key; the private one is never printed.
  public var description: String { publicKey }
}
