import FoundationEssentials
import Wire

/// A push service to which accounts sign in with access tokens: where they send, their tokens, and what its responses mean.
///
/// Each account of a customer has connections of its own, and one token.
struct AccessTokenService: Sendable {
  /// For people, such as `FCM`.
  let name: String
  let service: PushServiceName
  /// Nil if each request has an origin of its own.
  let address: ServiceAddress?
  let tokens: AccessTokens
  let pools: ConnectionPools
  /// See `ServiceDescription`.
  var http1Connections = 0
  /// See `ServiceDescription`.
  var responseHeaders: [String] = []
  /// See `ServiceDescription`.
  var mayBePrivate: @Sendable (ServiceAddress) -> Bool = { _ in true }
  /// The service's table.
  let classify: @Sendable (ServiceResponse, PushRequest) -> ResponseClassification

  /// See `PushAccount.send`.
  /// - Parameter question: see `PoolKey`.
  func send(
    _ requests: [PushRequest], as credentials: PushServiceCredentials, of customer: CustomerID, question: UUID? = nil,
    while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(
      service: service.rawValue, environment: .production, customer: customer, credentials: credentials,
      question: question)
    let description = { @Sendable (address: ServiceAddress) in
      AccessTokenServiceDescription(service: self, address: address, credentials: credentials)
    }
    if let address { return pools.send(requests, through: key, to: address, description(address), while: isWanted) }
    return pools.send(requests, toOriginsOf: key, places: .origins { _ in true }, description, while: isWanted)
  }

  /// The verdict on a single request, which is no push. Somebody asks for it, so an account that was refused signs in again.
  func verdict(
    on request: PushRequest, as credentials: PushServiceCredentials, of customer: CustomerID
  ) async -> Verdict? {
    tokens.forgetRefusals { $0 == credentials }
    return await pools.answer { send([request], as: credentials, of: customer, question: $0, while: { true }) }
  }

  /// Drops the access tokens of all other accounts.
  func removeTokens(except credentials: Set<PushServiceCredentials>) {
    tokens.removeAll { !credentials.contains($0) }
  }
}

/// What connections of an account have to know about its service.
private struct AccessTokenServiceDescription: ServiceDescription {
  let service: AccessTokenService
  let address: ServiceAddress
  let credentials: PushServiceCredentials

  var name: String { service.name }
  var label: String { service.service.rawValue }
  var http1Connections: Int { service.http1Connections }
  var responseHeaders: [String] { service.responseHeaders }
  var mayBePrivate: Bool { service.mayBePrivate(address) }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    service.tokens.authorization(of: credentials, whenReady: whenReady)
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    service.classify(response, request)
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool {
    guard let value = authorization.value else { return false }
    service.tokens.refused(value, of: credentials)
    return true
  }
}

extension CredentialVerdict {
  /// What the verdict on a dry run, or on a request for a token, says about the account. Services check the account first, so a word
  /// about the push token, or none, accepts it.
  init(dryRun verdict: Verdict?) {
    switch verdict {
    case .accepted, .tokenInvalid: self = .accepted
    case .credentialsRefused(let reason): self = .refused(reason: reason)
    case .payloadRefused(let reason), .retry(_, let reason, _), .unsent(let reason), .uncertain(let reason, _),
      .waitsForCorrection(let reason):
      self = .unreachable(reason: reason)
    case nil: self = .unreachable(reason: .hub(.cancelled))
    }
  }
}
