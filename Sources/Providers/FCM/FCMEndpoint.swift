import FoundationEssentials
import Wire

/// Where all accounts at FCM send, and the access tokens of all service accounts.
struct FCMEndpoint: Sendable {
  private let address: ServiceAddress
  private let tokens: AccessTokens
  private let pools: ConnectionPools

  init(_ settings: FCMSettings, _ pools: ConnectionPools) throws(ProviderError) {
    guard let address = ServiceAddress(url: settings.url) else { throw .addressUnusable(setting: "PUSHCART_FCM_URL") }
    guard let token = ServiceAddress.withPath(url: settings.tokenURL) else {
      throw .tokenAddressUnusable(setting: "PUSHCART_GOOGLE_TOKEN_URL")
    }
    self.address = address
    self.pools = pools
    tokens = AccessTokens(GoogleTokenEndpoint(url: settings.tokenURL, address: token.address, path: token.path), pools)
  }

  /// The clock by which pushes are dated.
  var now: Date { pools.now() }

  func send(
    _ requests: [PushRequest], as credentials: GoogleServiceAccount, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(service: FCMDescription.label, environment: .production, credentials: .fcm(credentials))
    return pools.send(
      requests, through: key, to: address, FCMDescription(credentials: credentials, tokens: tokens), while: isWanted)
  }

  /// Drops the access tokens of all other accounts.
  func removeTokens(except credentials: Set<PushServiceCredentials>) {
    tokens.removeAll { !credentials.contains($0) }
  }
}

/// What connections have to know about FCM.
struct FCMDescription: ServiceDescription {
  static let name = "FCM"
  static let label = "fcm"

  let credentials: GoogleServiceAccount
  let tokens: AccessTokens

  var name: String { Self.name }
  var label: String { Self.label }
  var startsWithOneStream: Bool { false }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    tokens.authorization(of: .fcm(credentials), whenReady: whenReady)
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    ResponseClassification(FCMResponse(response))
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool {
    guard let value = authorization.value else { return false }
    tokens.refused(value, of: .fcm(credentials))
    return true
  }

  /// Google's front end says something for people at most.
  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}
