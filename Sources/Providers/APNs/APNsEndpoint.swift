import FoundationEssentials
import Wire

/// Where all accounts at APNs send: an address for each environment, and the provider tokens of all keys.
///
/// Each certificate and each key of a customer has connections of its own in each environment. All those of a key share one provider token, on all hubs, which is
/// renewed after 50 minutes.
struct APNsEndpoint: Sendable {
  private let addresses: [PushEnvironment: ServiceAddress]
  private let tokens: ProviderTokens
  private let pools: ConnectionPools

  init(
    _ settings: PushServiceSettings, _ pools: ConnectionPools, _ tokens: ProviderTokens
  ) throws(ProviderError) {
    addresses = [
      .production: try ServiceAddress(settings, .apnsProductionURL),
      .sandbox: try ServiceAddress(settings, .apnsSandboxURL),
    ]
    self.tokens = tokens
    self.pools = pools
  }

  func address(of environment: PushEnvironment) -> ServiceAddress {
    guard let address = addresses[environment] else { preconditionFailure("an environment without an address") }
    return address
  }

  /// - Parameter question: see `PoolKey`.
  func send(
    _ requests: [PushRequest], refused: [PushOutcome] = [], to environment: PushEnvironment,
    as owner: TokenOwner, question: UUID? = nil, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let address = address(of: environment)
    let key = PoolKey(
      service: APNsDescription.label, environment: environment, customer: owner.customer,
      credentials: owner.credentials.shared, question: question)
    return pools.send(
      requests, refused: refused, through: key, to: address,
      APNsDescription(owner: owner, tokens: tokens), while: isWanted)
  }

  /// Sends on connections that sign in with the certificate, and need no token.
  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, with certificate: PushCertificate,
    of customer: CustomerID, question: UUID? = nil, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let address = address(of: environment)
    let key = PoolKey(
      service: APNsDescription.label, environment: environment, customer: customer,
      credentials: environment == .sandbox
        ? .apnsCertificates(development: certificate, production: nil)
        : .apnsCertificates(development: nil, production: certificate),
      certificate: certificate, question: question)
    return pools.send(
      requests, through: key, to: address, APNsDescription(owner: nil, tokens: tokens), while: isWanted)
  }

  /// The verdict on one request, on a connection that is closed afterwards.
  func answer(_ send: (UUID) -> AsyncStream<[PushOutcome]>) async -> Verdict? { await pools.answer(send) }

  /// Drops the provider tokens of all other keys.
  func removeTokens(except credentials: Set<PushServiceCredentials>) {
    tokens.removeAll { !credentials.contains($0.shared) }
  }
}

/// What connections have to know about APNs.
struct APNsDescription: ServiceDescription {
  static let name = "APNs"
  static let label = PushServiceName.apns.rawValue

  /// Nil for connections that sign in with a certificate.
  let owner: TokenOwner?
  let tokens: ProviderTokens

  var name: String { Self.name }
  var label: String { Self.label }
  /// With token authentication, APNs allows one stream until it has accepted a token. A certificate may be refused as well.
  var startsWithOneStream: Bool { true }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    guard let owner else { return .available(Authorization(value: nil)) }
    return tokens.authorization(of: owner, whenReady: whenReady)
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    let classification = ResponseClassification(APNsResponse(response))
    return request.hasOwnTopic ? classification.ofOwnTopic : classification
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool {
    guard let owner, let value = authorization.value else { return false }
    if recovery == .previousToken { return tokens.overused(value, of: owner) }
    tokens.expired(value, of: owner)
    return true
  }

  func goAwayReason(_ debugData: [UInt8]) -> String? { APNsResponse.reason(in: debugData) }

  func verdict(onGoAway reason: String) -> Verdict? {
    guard let known = APNsReason(rawValue: reason) else { return nil }
    let verdict = ResponseClassification(known).verdict
    if case .credentialsRefused = verdict { return verdict }
    return nil
  }
}
