import FoundationEssentials
import Wire

/// Where all accounts at Push Kit send, and their access tokens.
///
/// Each account has connections of its own, and one token.
struct HMSEndpoint: Sendable {
  private let address: ServiceAddress
  private let tokens: AccessTokens
  private let pools: ConnectionPools

  init(_ settings: HMSSettings, _ pools: ConnectionPools) throws(ProviderError) {
    guard let address = ServiceAddress(url: settings.url) else { throw .addressUnusable(setting: "PUSHCART_HMS_URL") }
    guard let token = ServiceAddress.withPath(url: settings.tokenURL) else {
      throw .tokenAddressUnusable(setting: "PUSHCART_HMS_TOKEN_URL")
    }
    self.address = address
    self.pools = pools
    tokens = AccessTokens(HuaweiTokenEndpoint(address: token.address, path: token.path), pools)
  }

  /// The clock by which pushes are dated.
  var now: Date { pools.now() }

  func send(
    _ requests: [PushRequest], as account: HuaweiAccount, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(service: HMSDescription.label, environment: .production, credentials: .hms(account))
    return pools.send(
      requests, through: key, to: address, HMSDescription(credentials: .hms(account), tokens: tokens), while: isWanted)
  }

  /// Drops the access tokens of all other accounts.
  func removeTokens(except credentials: Set<PushServiceCredentials>) {
    tokens.removeAll { !credentials.contains($0) }
  }
}

/// What connections have to know about Push Kit.
struct HMSDescription: ServiceDescription {
  static let name = "HMS"
  static let label = "hms"

  let credentials: PushServiceCredentials
  let tokens: AccessTokens

  var name: String { Self.name }
  var label: String { Self.label }
  var startsWithOneStream: Bool { false }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    tokens.authorization(of: credentials, whenReady: whenReady)
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    ResponseClassification(HMSResponse(response), tokens: request.recipients.map(\.token))
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool {
    guard let value = authorization.value else { return false }
    tokens.refused(value, of: credentials)
    return true
  }

  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}
