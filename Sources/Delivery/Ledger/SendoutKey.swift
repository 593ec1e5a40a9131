public import Wire

/// A sendout of a customer: what the ledger keeps its pushes by.
public struct SendoutKey: Sendable, Hashable {
  public let customer: CustomerID
  public let sendout: SendoutID

  public init(_ customer: CustomerID, _ sendout: SendoutID) {
    self.customer = customer
    self.sendout = sendout
  }
}

extension SendoutKey: LosslessStringConvertible {
  /// `<customerId>/<sendoutId>`, as the channel `pushcart_sendout` carries it.
  public var description: String { "\(customer)/\(sendout)" }

  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let customer = CustomerID(String(parts[0])), let sendout = SendoutID(String(parts[1]))
    else {
      return nil
    }
    self.init(customer, sendout)
  }
}
