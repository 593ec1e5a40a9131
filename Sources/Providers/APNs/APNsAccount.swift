import FoundationEssentials
import Wire

/// An app's account at APNs: its bundle id, and a signing key of its team or certificates of its own.
struct APNsAccount: PushAccount {
  /// The app's bundle id.
  let topic: String
  /// Whether it is a PushKit AppId: all of its pushes are of the type `voip`, and the bundle id is their topic as it stands.
  var takesCalls = false
  let signIn: SignIn
  let endpoint: APNsEndpoint

  var service: String { APNsDescription.name }
  var environments: [PushEnvironment] {
    guard case .certificates = signIn else { return PushEnvironment.allCases }
    return PushEnvironment.allCases.filter { signIn.certificate(for: $0) != nil }
  }

  /// How the account authenticates.
  enum SignIn {
    case token(TokenOwner)
    case certificates(CustomerID, development: PushCertificate?, production: PushCertificate?)

    func certificate(for environment: PushEnvironment) -> PushCertificate? {
      guard case .certificates(_, let development, let production) = self else { return nil }
      return environment == .sandbox ? development : production
    }

    /// The verdict on a push that APNs takes with a signing key only, or with another certificate.
    /// - Parameter topic: as the header has it.
    func refusal(of type: PushType, topic: String) -> Verdict? {
      guard case .certificates(_, let development, let production) = self else { return nil }
      if type == .liveactivity || type == .location { return .payloadRefused(reason: .hub(.pushTypeNeedsSigningKey)) }
      let isListed = [development, production].contains { $0?.topics.contains(topic) == true }
      return isListed ? nil : .payloadRefused(reason: .hub(.topicNotInCertificate))
    }
  }

  func prepare(_ push: OutgoingPush) -> PreparedPush {
    var push = push
    if takesCalls { push.message.pushType = .voip }
    let type = push.message.apnsPushType
    var request = APNsPush(
      token: push.token, topic: topic, id: push.id, collapseID: push.collapseKey, expiration: push.lifetime?.end,
      priority: push.priority == .high ? .immediate : .considerate, pushType: type, payload: [])
    request.hasWholeTopic = takesCalls
    let headers = push.message.override("apns")?["headers"]
    if case .object(let headers) = headers, let header = request.override(headers) {
      return .refused(.payloadRefused(reason: .hub(.badOverride, header)))
    }
    if headers?["apns-priority"] == nil { request.priority = type.fixedPriority ?? request.priority }
    let limit = type.payloadLimit
    let fitted = push.message.fitted { message in
      let json = APNsPayload.json(message)
      return json.count <= limit ? json : nil
    }
    guard let fitted else {
      request.payload = APNsPayload.json(push.message)
      return .refused(request.refusal ?? ResponseClassification(.payloadTooLarge).verdict)
    }
    request.payload = fitted.form
    if let refusal = request.refusal ?? signIn.refusal(of: request.pushType, topic: request.topicHeader) {
      return .refused(refusal)
    }
    var prepared = request.request
    prepared.reductions = fitted.reductions
    prepared.hasOwnTopic = request.ownTopic != nil
    return .request(prepared)
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    var scheme: String?
    if case .token = signIn { scheme = "bearer" }
    let type = request.headers["apns-push-type"].flatMap(PushType.init(rawValue:)) ?? .alert
    return request.preview(
      at: endpoint.address(of: environment), authorization: scheme, size: request.body.count, limit: type.payloadLimit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    send(requests, to: environment, question: nil, while: isWanted)
  }

  private func send(
    _ requests: [PushRequest], to environment: PushEnvironment, question: UUID?,
    while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    switch signIn {
    case .token(let owner):
      return endpoint.send(requests, to: environment, as: owner, question: question, while: isWanted)
    case .certificates(let customer, _, _):
      guard let certificate = signIn.certificate(for: environment) else {
        return AsyncStream { continuation in
          continuation.yield(
            requests.indices.map {
              PushOutcome(
                index: $0, verdict: .credentialsRefused(reason: .hub(.noCertificateForEnvironment)), sentAt: nil)
            })
          continuation.finish()
        }
      }
      return endpoint.send(
        requests, to: environment, with: certificate, of: customer, question: question, while: isWanted)
    }
  }

  /// Sends an empty payload to a well-formed token that no device has. APNs checks provider token or certificate before the push, so the response
  /// is about the key:
  /// - 400 PayloadEmpty, BadDeviceToken, DeviceTokenNotForTopic, or 410: the key was accepted, and then the push refused.
  /// - 403, BadTopic, TopicDisallowed: the key, its team, its environment or the topic is refused.
  /// - anything else, and no response: nothing is known about the key.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    var probe = APNsPush(
      token: String(repeating: "0", count: 64), topic: topic, id: UUID(), pushType: takesCalls ? .voip : .alert,
      payload: [])
    probe.hasWholeTopic = takesCalls
    if case .credentialsRefused(let reason) = probe.refusal { return .refused(reason: reason) }
    let verdict = await endpoint.answer { send([probe.request], to: environment, question: $0, while: { true }) }
    return verdict.map(CredentialVerdict.init(apns:)) ?? .unreachable(reason: .hub(.cancelled))
  }
}

extension APNsAccount {
  func advice(on reason: String) -> String? {
    if reason == .hub(.noCertificateForEnvironment) {
      return "Add the .p12 file of a certificate for this environment."
    }
    return APNsReason(rawValue: reason)?.advice
  }
}

extension CredentialVerdict {
  /// What the verdict on the push of `APNsAccount.check` says about the key.
  init(apns verdict: Verdict) {
    switch verdict {
    case .accepted, .tokenInvalid: self = .accepted
    case .payloadRefused(let reason) where reason == APNsReason.payloadEmpty.rawValue: self = .accepted
    case .credentialsRefused(let reason): self = .refused(reason: reason)
    case .payloadRefused(let reason), .retry(_, let reason, _), .unsent(let reason), .uncertain(let reason, _),
      .waitsForCorrection(let reason):
      self = .unreachable(reason: reason)
    }
  }
}
