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
