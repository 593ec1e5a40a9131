public import FoundationEssentials
public import Wire

/// What a link stands for: one push of the ledger. Two links of one push are equal, whenever they were signed.
public struct PushLink: Sendable, Hashable {
  public let customer: CustomerID
  public let sendout: SendoutID
  public let push: PushNumber
  /// The device that the push went to, so that its page needs no other look-up.
  public let device: DeviceID
  /// The day on which the link was signed; `nil` for one that is yet to be signed.
  public let signedOn: LinkDay?
  /// The number of the key that signed the link; `nil` for one that is yet to be signed.
  public let signedBy: Int64?

  public init(
    customer: CustomerID, sendout: SendoutID, push: PushNumber, device: DeviceID, signedOn: LinkDay? = nil,
    signedBy: Int64? = nil
  ) {
    self.signedBy = signedBy
    self.customer = customer
    self.sendout = sendout
    self.push = push
    self.device = device
    self.signedOn = signedOn
  }

  public static func == (left: PushLink, right: PushLink) -> Bool {
    left.customer == right.customer && left.sendout == right.sendout && left.push == right.push
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(customer)
    hasher.combine(sendout)
    hasher.combine(push)
  }

  /// What opening it does. A token of one kind is none of the other.
  public enum Kind: Sendable, CaseIterable {
    /// `/c/{token}`: shows the rich page.
    case page
    /// `/r/{token}`: marks the push as read.
    case read
  }
}

/// What the address of a contact's page stands for on which it ends marketing. It outlives the messages that it was in.
public struct ContactLink: Sendable, Hashable {
  public let customer: CustomerID
  public let contact: ContactID

  public init(customer: CustomerID, contact: ContactID) {
    self.customer = customer
    self.contact = contact
  }
}

/// A day in UTC, counted from 4 October 2024, which is 1: two bytes of a link until the year 2069.
public struct LinkDay: Sendable, Hashable {
  /// From 1.
  public let number: Int64

  public init(_ number: Int64) { self.number = number }

  /// The day of a moment; days before the first count as the first.
  public init(of moment: Date) { number = max(1, Int64(moment.timeIntervalSince1970 / 86_400) - 19_999) }

  public static var today: LinkDay { LinkDay(of: Date()) }
}

/// Where recipients find the hub.
public struct PublicLinks: Sendable {
  private let base: String
  private let signer: LinkSigner

  /// - Parameter base: the hub's public URL; a slash at its end is ignored.
  public init(base: String, signer: LinkSigner) {
    var base = base[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    self.base = String(base)
    self.signer = signer
  }

  /// The links to the page and to the mark, signed once.
  public func links(_ link: PushLink) -> (page: String, read: String) {
    let tokens = signer.tokens(for: link)
    return ("\(base)/c/\(tokens.page)", "\(base)/r/\(tokens.read)")
  }

  /// The push's rich page.
  public func page(_ link: PushLink) -> String { "\(base)/c/\(signer.token(for: link, .page))" }

  /// Where the contact ends marketing.
  public func unsubscribe(_ link: ContactLink) -> String { "\(base)/u/\(signer.token(for: link))" }

  /// What marks the push as read.
  public func read(_ link: PushLink) -> String { "\(base)/r/\(signer.token(for: link, .read))" }
}
