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
}

/// Why nothing is sent to a device, in Carma's numbers. Apps may send others than those named here (protocol notes, section 12).
public struct InvalidationType: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
  public let rawValue: Int16

  public init(rawValue: Int16) { self.rawValue = rawValue }
  public init(integerLiteral value: Int16) { rawValue = value }

  /// Pushes are sent to the device.
  public static let valid: Self = 0
  /// By the app or its user.
  public static let byAppOrUser: Self = 1
  /// By the push service.
  public static let refused: Self = 2
  /// The token belongs to the push service's other environment.
  public static let wrongEnvironment: Self = 3
  /// The owner of a telephone number wants no SMS. No request can say so, and no registration undoes it.
  public static let optedOut: Self = -1
}
