/// A platform, in Carma's numbers (Carma iOS Integration Guide, "Carma device token registration").
public enum AppType: Int16, Sendable, Hashable, Codable, CaseIterable {
  case ios = 1
  case android = 2
  case windows = 3
  case firebase = 6
  /// Not of Carma: phones of Huawei without Google's services.
  case huawei = 7
  /// Not of Carma: browsers.
  case web = 8
  /// Not of Carma: telephone numbers, which get messages by SMS.
  case sms = 10

  /// The platforms that apps register devices of. Numbers are registered by the hub itself.
  public static let ofApps = allCases.filter { $0 != .sms }

  /// For people.
  public var platform: String {
    switch self {
    case .ios: "iOS"
    case .android: "Android"
    case .windows: "Windows"
    case .firebase: "Firebase"
    case .huawei: "Huawei"
    case .web: "Web"
    case .sms: "SMS"
    }
  }

  /// On the command line and in filters, as in `ios`.
  public var name: String { platform.lowercasedASCII }

  /// What sends to the platform's devices.
  public var service: PushService {
    switch self {
    case .ios: .apns
    case .android, .firebase: .fcm
    case .windows: .wns
    case .huawei: .hms
    case .web: .webPush
    case .sms: .sms
    }
  }

  /// All platforms as descriptions list them: `1 iOS, 2 Android`.
  static let list = listed(allCases)
  /// The platforms that apps register devices of, as descriptions list them.
  static let listOfApps = listed(ofApps)
  /// The platforms as a choice: `1 (iOS), 2 (Android) or 8 (Web)`.
  static let choiceOfApps = ofApps.map { "\($0.rawValue) (\($0.platform))" }.asList("or")
  /// The platforms whose apps can be softphones.
  public static let ofSoftphones = allCases.filter(\.service.takesSoftphones)

  private static func listed(_ types: [AppType]) -> String {
    types.map { "\($0.rawValue) \($0.platform)" }.joined(separator: ", ")
  }
}

/// The push services, in the order in which people read them.
///
/// Whoever needs something of every service asks for it with a `switch` over these, so the compiler asks for that of a new one.
public enum PushServiceName: String, Sendable, Hashable, CaseIterable {
  case apns, fcm, hms, wns, webpush, sms

  /// What is known of the service without sending to it.
  var service: PushService {
    switch self {
    case .apns: .apns
    case .fcm: .fcm
    case .hms: .hms
    case .wns: .wns
    case .webpush: .webPush
    case .sms: .sms
    }
  }
}

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

extension PushServiceCredentials: HoldingSecrets {
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
}

/// What holds a secret, and prints nothing but its description.
public protocol HoldingSecrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension HoldingSecrets {
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["account": description]) }
}
