public import FoundationEssentials

/// One push's verdict, on its way back to whoever asked for the push.
public struct PushOutcome: Sendable, Hashable {
  /// Where the push stood in the array that was given.
  public var index: Int
  public var verdict: Verdict
  /// When its bytes left, the last time if it was sent twice; `nil` if it was judged without leaving.
  public var sentAt: Date?

  public init(index: Int, verdict: Verdict, sentAt: Date?) {
    self.index = index
    self.verdict = verdict
    self.sentAt = sentAt
  }
}
