/// Where a connection stands with the server's cancelling of what it runs.
///
/// none → requested (the request travels on a connection of its own) → landed (the server has signalled the backend, which
/// may look at the signal a little later) → none, at the answer to a Sync sent after the request came back.
struct CancelRequest {
  private enum State {
    case none
    case requested
    case landed(syncsSent: Int)
  }

  private var state = State.none

  /// How often the server is asked for one call: a request that comes before its statement is in vain.
  static let attempts = 5

  var isUnderWay: Bool { if case .requested = state { true } else { false } }

  /// Whether it may yet hit whatever runs next.
  var isInTheAir: Bool { if case .none = state { false } else { true } }

  mutating func request() { state = .requested }

  /// It has been delivered, or has failed to be.
  mutating func returned(syncsSent: Int) { state = .landed(syncsSent: syncsSent) }

  mutating func synced(syncsAnswered: Int) {
    if case .landed(let syncsSent) = state, syncsAnswered > syncsSent { state = .none }
  }
}
