public import FoundationEssentials
public import Wire

/// A message to a telephone number, checked as far as its form goes. It goes by push where an app with that verified number is
/// installed, and by SMS where not (CM, "Hybrid Messaging").
public struct HybridMessage: Sendable {
  public enum Channel: String, Sendable, Hashable, CaseIterable {
    case sms = "SMS"
    case push = "Push"
  }

  public typealias Kind = HybridMessageType

  /// How the text of an SMS is written.
  public enum Coding: Sendable, Hashable {
    /// GSM-7 if the text has only its characters, UCS-2 else.
    case automatic
    /// GSM-7; other characters become question marks.
    case gsm7
    case ucs2
  }

  public var number: PhoneNumber
  /// As `SMSAccount.isSender` takes it.
  public var sender: String
  /// Never a template.
  public var text: String
  public var coding: Coding
  /// The most parts of an SMS, 1 to 8. A longer text is cut.
  public var maximumParts: Int
  /// The caller's own name for it, up to 32 letters and digits.
  public var reference: String?
  /// After this moment it is not sent any more.
  public var expiresAt: Date?
  /// Empty for all.
  public var channels: Set<Channel>
  /// Without one it goes by SMS.
  public var appKey: UUID?
  /// nil for what the app says.
  public var kind: Kind?

  public init(
    number: PhoneNumber, sender: String, text: String, coding: Coding = .gsm7, maximumParts: Int = 8,
    reference: String? = nil, expiresAt: Date? = nil, channels: Set<Channel> = [], appKey: UUID? = nil,
    kind: Kind? = nil
  ) {
    self.number = number
    self.sender = sender
    self.text = text
    self.coding = coding
    self.maximumParts = maximumParts
    self.reference = reference
    self.expiresAt = expiresAt
    self.channels = channels
    self.appKey = appKey
    self.kind = kind
  }
}

/// What became of a message that was to be accepted.
public enum HybridAcceptance: Sendable, Hashable {
  /// It is committed. `parts` is how many SMS its text takes.
  case accepted(parts: Int)
  case refused(HybridRefusal)
}

/// Why a message is refused, with the gateway's number of it (protocol notes, section 9.1).
public enum HybridRefusal: Int, Error, Hashable, CaseIterable {
  case appKeyUnknown = 103
  case senderInvalid = 301
  case textInvalid = 304
  case fieldInvalid = 305
  /// The number has opted out.
  case suppressed = 402
  /// The customer has no provider of SMS, and the message could go by nothing else.
  case noProvider = 403
  /// The hub could not accept it, though it has others of the request. Nothing of it is sent.
  case unavailable = 500
  /// Whether it is accepted is not known.
  case outcomeUnknown = 999
}

/// What became of a message, in the words of phones.
public enum HybridStatus: String, Sendable, Hashable, CaseIterable {
  /// Withdrawn: it is not sent any more.
  case cancelled = "Cancelled"
  /// On its way.
  case sent = "Sent"
  /// The SMS provider refused it.
  case rejected = "Rejected"
  /// A push service or the SMS provider took it.
  case accepted = "Accepted"
  /// Nothing could be sent.
  case failed = "Failed"
  /// A device or a delivery report confirmed it.
  case delivered = "Delivered"
}
