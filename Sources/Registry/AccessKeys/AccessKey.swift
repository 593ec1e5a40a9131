public import FoundationEssentials
public import Wire

/// A key that opens one customer's APIs. Its token is not part of it: that is shown once and never stored.
public struct AccessKey: Sendable, Equatable {
  public let id: AccessKeyID
  public let customer: CustomerID
  /// What the key is for, as its creator wrote it.
  public let name: String
  public let scope: AccessScope
  /// The only app whose routes the key opens; `nil` for all of the customer's.
  public let appID: String?
  /// The key that created this one through the API; `nil` for the command line.
  public let createdBy: AccessKeyID?
  public let createdAt: Date
  /// When the key stops opening anything; `nil` for never.
  public let expiresAt: Date?
  /// When the key was last used, to a minute or two; `nil` if it never was.
  public let lastUsedAt: Date?
  /// When the key was revoked; `nil` while it is valid.
  public let revokedAt: Date?
}

/// A key that was just created, and the only sight of its token.
public struct NewAccessKey: Sendable {
  public let key: AccessKey
  /// `pck_<customerId>_<49 characters>`. Show it to its owner; it cannot be had again.
  public let token: String
}

/// What revoking a key did.
public struct AccessKeyRevocation: Sendable, Equatable {
  public let key: AccessKey
  /// Each key that was asked for or revoked along with it, as it was before; the one asked for comes first.
  public let before: [AccessKey]
  /// Keys that it had created, and those that these had, which this revoked too.
  public let alsoRevoked: [AccessKeyID]
  /// Keys of that kind that are still valid.
  public let stillValid: [AccessKeyID]
}

/// What a valid token opens.
public struct Access: Sendable, Hashable {
  public let customer: CustomerID
  public let key: AccessKeyID
  public let scope: AccessScope
  /// The only app whose routes it opens; `nil` for all of the customer's.
  public let appID: String?
  /// When it stops opening anything; `nil` for never.
  public let expiresAt: Date?

  public init(
    customer: CustomerID, key: AccessKeyID, scope: AccessScope, appID: String? = nil, expiresAt: Date? = nil
  ) {
    self.customer = customer
    self.key = key
    self.scope = scope
    self.appID = appID
    self.expiresAt = expiresAt
  }

  /// Whether this opens what asks for `scope`: each scope opens what the ones before it open, and more.
  public func opens(_ scope: AccessScope) -> Bool {
    let order = AccessScope.allCases
    return (order.firstIndex(of: self.scope) ?? 0) >= (order.firstIndex(of: scope) ?? order.count)
  }

  /// Whether this opens the routes of an app.
  public func opens(appID: String) -> Bool { self.appID == nil || self.appID == appID }
}
