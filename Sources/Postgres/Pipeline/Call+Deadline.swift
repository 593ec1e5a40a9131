/// How long a call is waited for.
extension Call {
  /// The server enforces `statement_timeout` by itself; this is for the server that does not answer any more. A second beyond
  /// the limit the call is cancelled, ten seconds beyond it the connection is given up.
  private static let (patience, lastPatience) = (Duration.seconds(1), Duration.seconds(10))

  /// When it is to be cancelled, or its connection given up.
  /// - Parameters:
  ///   - since: when the server began with what it is at.
  ///   - isCancelled: whether cancelling has been tried, or would be in vain.
  func deadline(since: MonotonicInstant, isCancelled: Bool = false) -> MonotonicInstant {
    guard let limit else { return .distantFuture }
    let patience = isCancelled || cancelling == .deadline ? Self.lastPatience : Self.patience
    return max(since, sentAt).advanced(by: limit).advanced(by: patience)
  }
}
