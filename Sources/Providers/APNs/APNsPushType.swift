/// The header `apns-push-type`, which must match the payload (Apple, "Sending notification requests to APNs").
public enum APNsPushType: String, Sendable, Hashable, CaseIterable {
  case alert
  case background
  case voip
  case complication
  case fileprovider
  case location
  case liveactivity
  case pushtotalk
  case controls
  case widgets
  case mdm

  /// What follows the bundle id in the header `apns-topic`.
  var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .controls: ".push-type.controls"
    case .widgets: ".push-type.widgets"
    }
  }

  /// The largest payload APNs takes, in bytes.
  public var payloadLimit: Int { self == .voip ? 5120 : 4096 }
}

/// The header `apns-priority`.
public enum APNsPriority: Int, Sendable, Hashable, CaseIterable {
  /// At once.
  case immediate = 10
  /// When the device's power allows; the only one for `background`.
  case considerate = 5
  /// Never wakes the device.
  case passive = 1
}
