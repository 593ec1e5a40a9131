public import Wire

/// What the messages to telephone numbers of one stream have in common.
public struct HybridTraits: Sendable, Hashable {
  /// `default`, `otp` or `critical`.
  public let kind: String
  /// The app that they named, if any.
  public let appID: String?
  /// The app whose pushes, which are SMS, stand in for those of the others; nil if nothing does.
  public let fallback: PushAppID?
  /// After so long the fallback goes unless a device has confirmed the message; nil for only once all others have failed. If there are
  /// no others, it goes at once.
  public let fallbackDelay: Duration?
  /// What becomes of a fallback that was sent, perhaps, and never answered. Other pushes are sent again.
  public let onUncertain: UncertainPolicy
  /// The app whose address is told of each status; nil for none. It is the app that they named, or for messages that named none another one
  /// of the customer.
  public let reportApp: String?

  public init(
    kind: String, appID: String?, fallback: PushAppID?, fallbackDelay: Duration?, onUncertain: UncertainPolicy,
    reportApp: String?
  ) {
    self.kind = kind
    self.appID = appID
    self.fallback = fallback
    self.fallbackDelay = fallbackDelay
    self.onUncertain = onUncertain
    self.reportApp = reportApp
  }
}

/// What a message to a telephone number has beside others.
public struct HybridDetails: Sendable {
  public let number: PhoneNumber
  public let sender: String
  public let text: String
  /// How many SMS the text takes.
  public let parts: Int16
  /// Seconds after which it is not sent any more; nil for never.
  public let lifetime: Int32?

  public init(number: PhoneNumber, sender: String, text: String, parts: Int16, lifetime: Int32?) {
    self.number = number
    self.sender = sender
    self.text = text
    self.parts = parts
    self.lifetime = lifetime
  }
}

/// What phones call one push of a message: a number that leads back to its row in the ledger.
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
