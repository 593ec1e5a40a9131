public import FoundationEssentials
public import Wire

/// A key that opens one customer's APIs, without the token, which is shown once and stored nowhere.
public struct AccessKey: Sendable, Equatable {
  public let id: AccessKeyID
  public let customer: CustomerID
  /// What the key is for, as its maker wrote it.
  public let name: String
  public let scope: AccessScope
  public let createdAt: Date
  /// From when on the key opens nothing; `nil` while it is good.
  public let revokedAt: Date?
}

/// A key just made, and the only sight of its token.
public struct NewAccessKey: Sendable {
  public let key: AccessKey
  /// `pck_<customerId>_<43 characters>`. Show it to its owner; it cannot be had again.
  public let token: String
}

/// What a good token opens.
public struct Access: Sendable, Hashable {
  public let customer: CustomerID
  public let key: AccessKeyID
  public let scope: AccessScope

  public init(customer: CustomerID, key: AccessKeyID, scope: AccessScope) {
    self.customer = customer
    self.key = key
    self.scope = scope
  }

  /// Whether this opens what asks for `scope`: each scope opens what the ones before it open, and more.
  public func opens(_ scope: AccessScope) -> Bool {
    let order = AccessScope.allCases
    return (order.firstIndex(of: self.scope) ?? 0) >= (order.firstIndex(of: scope) ?? order.count)
  }
}
