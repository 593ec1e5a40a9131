import FoundationEssentials
import Wire

/// How all accounts of SMS send, and make calls. Each of a customer has connections of its own.
struct SMSEndpoint: Sendable {
  let pools: ConnectionPools
  /// Where accounts may send to.
  let rule: EndpointRule

  /// Nil if nothing is sent there. The operator may have listed other hosts since it was stored.
  func address(_ url: String?) -> SMSAddress? { url.flatMap { try? SMSAddress(url: $0, rule) } }

  /// See `PushAccount.send`.
  /// - Parameters:
  ///   - isVoice: whether the requests are calls.
  ///   - question: see `PoolKey`.
  func send(
    _ requests: [PushRequest], to address: SMSAddress, as account: SMSAccount, of customer: CustomerID,
    isVoice: Bool = false, question: UUID? = nil, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(
      service: isVoice ? "voice" : "sms", environment: .production, customer: customer, credentials: .sms(account),
      question: question)
    let now = pools.now
    let requests = requests.map { request in
      var request = request
      request.origin = ServiceAddress(address)
      return request
    }
    return pools.send(
      requests, toOriginsOf: key, places: .provider,
      { _ in SMSServiceDescription(account: account, address: address, isVoice: isVoice, now: now) }, while: isWanted)
  }

  /// The verdict on a single request, which is no message.
  func verdict(
    on request: PushRequest, to address: SMSAddress, as account: SMSAccount, of customer: CustomerID,
    isVoice: Bool = false
  ) async -> Verdict? {
    await pools.answer {
      send([request], to: address, as: account, of: customer, isVoice: isVoice, question: $0, while: { true })
    }
  }
}

/// What connections have to know about a provider.
private struct SMSServiceDescription: ServiceDescription {
  let account: SMSAccount
  let address: SMSAddress
  let isVoice: Bool
  let now: @Sendable () -> Date

  var name: String { isVoice ? "voice" : "SMS" }
  var label: String { isVoice ? "voice" : "sms" }
  var http1Connections: Int { 16 }
  /// CM answers each of a thousand messages.
  var longestBody: Int { 1 << 20 }
  /// Customers name the address.
  var mayBePrivate: Bool { address.mayBePrivate }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    guard case .twilio(let accountSID, let authToken) = account.provider else { return .available(Authorization()) }
    let text = Data("\(accountSID):\(authToken)".utf8).base64EncodedString()
    return .available(Authorization(value: "Basic \(text)"))
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    switch account.provider {
    case .cm where isVoice: ResponseClassification(cmVoice: response)
    case .cm: ResponseClassification(cm: response, to: request, at: now())
    case .twilio: ResponseClassification(twilio: response, to: request, at: now())
    case .http(let template): ResponseClassification(response, by: template)
    }
  }
}

extension ResponseClassification {
  /// What a response says that has no code, or one that is unknown.
  /// - Parameter word: the code, if there is one.
  init(smsStatus response: ServiceResponse, _ word: String? = nil) {
    let word = word ?? "HTTP\(response.status)"
    switch response.status {
    // Nothing says that it was accepted, and nothing that it was not.
    case 200..<300: self.init(verdict: .uncertain(reason: word, isAnswered: true))
    // The sign-in is refused, or the address is not the provider's.
    case 300..<400, 401, 403, 404, 405: self.init(verdict: .credentialsRefused(reason: word))
    case 408, 425, 429: self.init(verdict: .ofSMS(word, response))
    case 400..<500: self.init(verdict: .payloadRefused(reason: word))
    default: self.init(verdict: .ofSMS(word, response))
    }
    reason = "other"
  }
}

extension Verdict {
  /// Put off by a provider of SMS. 429 and 503 are about the customer's account as a whole.
  static func ofSMS(_ word: String, _ response: ServiceResponse) -> Verdict {
    putOff(word, by: response, wholeServiceAt: [429, 503])
  }
}
