/// FCM's addresses.
public struct FCMSettings: Sendable, Hashable {
  /// `PUSHCART_FCM_URL`.
  public var url = "https://fcm.googleapis.com"
  /// `PUSHCART_GOOGLE_TOKEN_URL`: where service accounts get their access tokens.
  public var tokenURL = "https://oauth2.googleapis.com/token"

  public init() {}
}

extension AccessTokenService {
  /// Firebase Cloud Messaging.
  static func fcm(_ settings: FCMSettings, _ pools: ConnectionPools) throws(ProviderError) -> AccessTokenService {
    let (address, path) = try ServiceAddress.withPath(settings.tokenURL, setting: "PUSHCART_GOOGLE_TOKEN_URL")
    return AccessTokenService(
      name: "FCM", label: "fcm", address: try ServiceAddress(settings.url, setting: "PUSHCART_FCM_URL"),
      tokens: AccessTokens(GoogleTokenEndpoint(url: settings.tokenURL, address: address, path: path), pools),
      pools: pools
    ) { response, _ in ResponseClassification(FCMResponse(response)) }
  }
}
