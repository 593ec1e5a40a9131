import FoundationEssentials
import Wire

/// What is to be written of one push.
struct Settlement: Sendable, Equatable {
  var device: DeviceID
  var state: PushState
  var reason: String?
  /// Whether its bytes left, or may have left.
  var left: Bool
  /// When they did.
  var sentAt: Date?
  /// How long to wait before the next attempt; only when waiting.
  var delay: Duration?
  /// How long from the first delay on it is tried again; without end if there is none.
  var timeout: Duration?
}
