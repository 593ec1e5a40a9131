/// How the hub sends Web Push.
public struct WebPushSettings: Sendable, Hashable {
  /// Whom push services can contact about apps without a contact of their own: a `mailto:` or `https:` address. Push services want
  /// one.
  public var contact = "mailto:postmaster@localhost"

  public init() {}
}
