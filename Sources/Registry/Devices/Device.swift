public import FoundationEssentials
public import Wire

/// An app on one phone.
public struct Device: Sendable, Equatable {
  public let id: DeviceID
  public let app: PushAppID
  /// The token exactly as it was last registered.
  public let token: String
  /// Whether the token is of APNs' development environment.
  public let isSandbox: Bool
  public let manufacturer: String?
  public let model: String?
  public let osVersion: String?
  public let country: String?
  /// When the token was last registered. A provider's word about an earlier moment does not retire it.
  public let registeredAt: Date
  /// Since when nothing is sent to it, in milliseconds since 1970; `nil` while it is valid.
  public let invalidatedAt: Int64?
  public let invalidationType: InvalidationType

  /// Most devices that are given of one contact; one with more is no person.
  public static let maximumOfContact = 1000
}
