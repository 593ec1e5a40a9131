/// The addresses of Huawei's Push Kit.
public struct HMSSettings: Sendable, Hashable {
  /// `PUSHCART_HMS_URL`.
  public var url = "https://push-api.cloud.huawei.com"
  /// `PUSHCART_HMS_TOKEN_URL`: where clients get their access tokens.
  public var tokenURL = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"

  public init() {}
}
