/// FCM's addresses.
public struct FCMSettings: Sendable, Hashable {
  /// `PUSHCART_FCM_URL`.
  public var url = "https://fcm.googleapis.com"
  /// `PUSHCART_GOOGLE_TOKEN_URL`: where service accounts get their access tokens.
  public var tokenURL = "https://oauth2.googleapis.com/token"

  public init() {}
}
