public import FoundationEssentials
public import Wire

/// A push service's word that a device is gone.
public struct Retirement: Sendable {
  public let device: DeviceID
  /// The moment the word is about: as the service gives it, otherwise when the push was sent.
  public let moment: Date
  /// The service's own word, such as `Unregistered`.
  public let reason: String
  /// `refused` or `wrongEnvironment`.
  public let type: InvalidationType
  /// The environment that the push was sent to.
  public let isSandbox: Bool

  public init(device: DeviceID, moment: Date, reason: String, type: InvalidationType = .refused, isSandbox: Bool) {
    self.device = device
    self.moment = moment
    self.reason = reason
    self.type = type
    self.isSandbox = isSandbox
  }

  /// What became of it.
  public enum Outcome: Sendable {
    case retired
    /// Registered again after the moment, or for the other environment: the word is about the past.
    case kept
    /// It was invalid before.
    case alreadyInvalid
  }
}
