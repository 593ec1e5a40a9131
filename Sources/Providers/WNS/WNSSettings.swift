import Wire

/// The addresses of Windows' push service. Pushes go to the channel URIs of devices.
public struct WNSSettings: Sendable, Hashable {
  /// `PUSHCART_WNS_TOKEN_URL`: where both kinds of accounts get their access tokens; nil for Microsoft's two addresses.
  public var tokenURL: String?

  public init() {}
}

extension AccessTokenService {
  /// Windows Push Notification Services.
  static func wns(
    _ settings: WNSSettings, _ rule: EndpointRule, _ pools: ConnectionPools
  ) throws(ProviderError) -> AccessTokenService {
    func address(_ url: String) throws(ProviderError) -> ServiceAddress {
      try ServiceAddress(settings.tokenURL ?? url, setting: "PUSHCART_WNS_TOKEN_URL")
    }
    let endpoint = MicrosoftTokenEndpoint(
      live: try address("https://login.live.com"), entra: try address("https://login.microsoftonline.com"))
    return AccessTokenService(
      name: "WNS", label: "wns", address: nil, tokens: AccessTokens(endpoint, pools), pools: pools,
      http1Connections: 16, responseHeaders: WNSResponse.headers,
      mayBePrivate: { rule.isListed($0.host, $0.port) }
    ) { response, _ in ResponseClassification(WNSResponse(response)) }
  }
}
