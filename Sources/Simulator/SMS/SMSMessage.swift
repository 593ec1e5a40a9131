public import FoundationEssentials

extension SimulatedSMS {
  /// What CM or Twilio read of a request.
  public struct Details: Sendable {
    /// Its messages, or its call.
    public let messages: [Message]
  }

  /// One message or call, as it was received.
  public struct Message: Sendable {
    public let at: Date
    /// Digits of E.164, where the number is one; else as it was sent.
    public let to: String
    public let from: String
    public let text: String
    public let parts: Int
    public let isUnicode: Bool
    public let reference: String
    public let isCall: Bool
    /// Of a call, as in `nl-NL`.
    public let language: String?
    /// Where a status report of this message is wanted.
    public let statusURL: String?
    /// Twilio's name for it.
    public let sid: String
    /// The code by which it alone was refused.
    public let code: Int?
    /// Whether a phone gets it.
    public let isAccepted: Bool
    /// Whether it came by Twilio's requests, and not CM's.
    public let isTwilio: Bool
  }
}
