public import Wire

/// What the tracked messages of one stream have in common.
public struct TrackedTraits: Sendable, Hashable {
  /// What the stream is called in front of its day.
  public let title: String
  /// The sender's word for them.
  public let kind: String
  /// The app that they named, if any.
  public let appID: String?
  /// The app whose pushes stand in for those of the others; nil if nothing does.
  public let fallback: PushAppID?
  /// After so long the fallback goes unless a device has confirmed the message; nil for only once all others have failed. If there are
  /// no others, it goes at once.
  public let fallbackDelay: Duration?
  /// What becomes of a fallback that was sent, perhaps, and never answered. Other pushes are sent again.
  public let onUncertain: UncertainPolicy
  /// The app whose address gets each status; nil for none. It is the app that they named, or for messages that named none another one
  /// of the customer.
  public let reportApp: String?
  /// The fields in which a push carries its `UpdateID`.
  public let idFields: [String]

  public init(
    title: String, kind: String, appID: String?, fallback: PushAppID?, fallbackDelay: Duration?,
    onUncertain: UncertainPolicy, reportApp: String?, idFields: [String]
  ) {
    self.title = title
    self.kind = kind
    self.appID = appID
    self.fallback = fallback
    self.fallbackDelay = fallbackDelay
    self.onUncertain = onUncertain
    self.reportApp = reportApp
    self.idFields = idFields
  }
}

/// What a tracked message has beside others. The ledger keeps it for the room that sent it.
public struct TrackedDetails: Sendable {
  /// By which the sender's room finds it again.
  public let recipient: String
  public let sender: String
  public let text: String
  /// How many messages of the fallback's service the text takes.
  public let parts: Int16
  /// Seconds after which it is not sent any more; nil for never.
  public let lifetime: Int32?

  public init(recipient: String, sender: String, text: String, parts: Int16, lifetime: Int32?) {
    self.recipient = recipient
    self.sender = sender
    self.text = text
    self.parts = parts
    self.lifetime = lifetime
  }
}

/// What devices call one push of a tracked message: a number that leads back to its row in the ledger.
public struct UpdateID: Sendable, Hashable, CustomStringConvertible {
  private static let pushes: Int64 = 10_000_000_000

  public let sendout: SendoutID
  public let push: PushNumber

  public init(_ sendout: SendoutID, _ push: PushNumber) {
    self.sendout = sendout
    self.push = push
  }

  /// Reads a decimal number.
  /// - Returns: nil for what is none, or names no push.
  public init?(_ text: String) {
    guard let number = Int64(text), number > 0, text.utf8.first != UInt8(ascii: "+") else { return nil }
    let (sendout, push) = number.quotientAndRemainder(dividingBy: Self.pushes)
    guard sendout > 0, (1...Int64(Int32.max)).contains(push) else { return nil }
    self.init(SendoutID(sendout), PushNumber(push))
  }

  public var description: String { "\(sendout.rawValue * Self.pushes + push.rawValue)" }
}
