/// One push of a sendout: a row of the ledger.
public struct PushReply: Codable, Sendable, Equatable {
  public var deviceId: DeviceID
  /// Whose device it was when the audience was frozen.
  public var contactId: ContactID
  public var state: PushState
  /// How often its bytes left, or may have left.
  public var attempts: Int
  /// The push service's own word for the last outcome, or the hub's; absent when accepted at once.
  public var reason: String?
  /// Why it was sent more than once.
  public var resentBecause: String?
  /// When its bytes last left.
  public var sentAt: Timestamp?
  /// When its outcome was written.
  public var settledAt: Timestamp?
  /// Earliest moment of the next attempt.
  public var notBefore: Timestamp?
  /// First open by a person.
  public var openedAt: Timestamp?

  public init(
    deviceId: DeviceID, contactId: ContactID, state: PushState, attempts: Int, reason: String? = nil,
    resentBecause: String? = nil, sentAt: Timestamp? = nil, settledAt: Timestamp? = nil, notBefore: Timestamp? = nil,
    openedAt: Timestamp? = nil
  ) {
    self.deviceId = deviceId
    self.contactId = contactId
    self.state = state
    self.attempts = attempts
    self.reason = reason
    self.resentBecause = resentBecause
    self.sentAt = sentAt
    self.settledAt = settledAt
    self.notBefore = notBefore
    self.openedAt = openedAt
  }
}

/// Where a push stands in the ledger: queued -> accepted, failed, skipped or uncertain; queued -> waiting -> queued;
/// queued or waiting -> cancelled.
public enum PushState: String, Codable, Sendable, Hashable, CaseIterable {
  case queued, waiting, accepted, failed, uncertain, skipped, cancelled
}
