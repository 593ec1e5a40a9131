/// Where a sendout stands: draft -> freezing -> running <-> paused; any of them -> cancelled; running -> finished.
public enum SendoutState: String, Codable, Sendable, Hashable, CaseIterable {
  /// Written, not started.
  case draft
  /// Started: its audience is being written into the ledger.
  case freezing
  /// Its pushes leave.
  case running
  /// Stopped by somebody, or by the hub itself: then the sendout says why.
  case paused
  /// Stopped for good; pushes that had not left never will.
  case cancelled
  /// Every push has an outcome.
  case finished
}
