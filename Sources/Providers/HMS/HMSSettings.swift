/// The addresses of Huawei's Push Kit.
public struct HMSSettings: Sendable, Hashable {
  /// `PUSHCART_HMS_URL`.
  public var url = "https://push-api.cloud.huawei.com"
  /// `PUSHCART_HMS_TOKEN_URL`: where clients get their access tokens.
  public var tokenURL = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"

  public init() {}
}

extension AccessTokenService {
  /// Huawei's Push Kit.
  static func hms(_ settings: HMSSettings, _ pools: ConnectionPools) throws(ProviderError) -> AccessTokenService {
    let (address, path) = try ServiceAddress.withPath(settings.tokenURL, setting: "PUSHCART_HMS_TOKEN_URL")
    return AccessTokenService(
      name: "HMS", label: "hms", address: try ServiceAddress(settings.url, setting: "PUSHCART_HMS_URL"),
      tokens: AccessTokens(HuaweiTokenEndpoint(address: address, path: path), pools), pools: pools
    ) { response, request in
      ResponseClassification(HMSResponse(response), tokens: request.recipients.map(\.token))
    }
  }
}
