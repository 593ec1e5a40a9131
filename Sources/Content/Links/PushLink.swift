public import Wire

/// What a link stands for: one push of the ledger.
public struct PushLink: Sendable, Hashable {
  public let customer: CustomerID
  public let sendout: SendoutID
  public let device: DeviceID

  public init(customer: CustomerID, sendout: SendoutID, device: DeviceID) {
    self.customer = customer
    self.sendout = sendout
    self.device = device
  }

  /// What opening it does. A token of one kind is none of the other.
  public enum Kind: UInt8, Sendable, CaseIterable {
    /// `/c/{token}`: shows the rich page.
    case page = 1
    /// `/r/{token}`: marks the push as read.
    case read = 2
  }
}
