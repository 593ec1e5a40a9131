/// APNs' addresses.
public struct APNsSettings: Sendable, Hashable {
  /// `PUSHCART_APNS_PRODUCTION_URL`; Apple also answers on port 2197.
  public var productionURL = "https://api.push.apple.com"
  /// `PUSHCART_APNS_SANDBOX_URL`.
  public var sandboxURL = "https://api.sandbox.push.apple.com"

  public init() {}
}
