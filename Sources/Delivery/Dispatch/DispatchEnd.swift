/// Why a dispatch ended.
public enum DispatchEnd: Sendable, Equatable {
  /// Nothing could be claimed any more, for now: the ledger's outlook tells whether anything is left for later.
  case drained
  /// It was told to stop.
  case stopped
  /// The app's credentials are refused wherever there is something to send: nothing can be until somebody mends them.
  case halted(reason: String)
  /// The push service, or the database, could not be reached or made no sense: try again later.
  case putOff(reason: String)
}
