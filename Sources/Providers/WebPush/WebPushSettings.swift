public import Wire

/// How the hub sends Web Push.
public struct WebPushSettings: Sendable, Hashable {
  /// `PUSHCART_WEBPUSH_ALLOWED_HOSTS`.
  public var hosts = WebPushHosts()
  /// Whom push services can contact about apps without a contact of their own: a `mailto:` or `https:` address. Push services want
  /// one.
  public var contact = "mailto:postmaster@localhost"

  public init() {}
}
