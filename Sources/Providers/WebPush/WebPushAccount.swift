import Crypto
import FoundationEssentials
import Wire

/// An app's account at the push services of browsers: its key, which every one of them takes.
///
/// Each device has an address of its own, which the browser's push service made and the browser named. Web Push has one environment.
struct WebPushAccount: PushAccount {
  let customer: CustomerID
  let credentials: VAPIDKey
  let endpoint: WebPushSender

  var service: String { WebPushDescription.name }
  var encryptsEachPush: Bool { true }
  var environments: [PushEnvironment] { [.production] }
  var outageEvidence: OutageEvidence { .none }
  /// The keys are those of RFC 8291, section 5.
  var exampleToken: String {
    """
    {"endpoint":"\(endpoint.rule.example)/wpush/v2/example","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-\
    JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}
    """
  }

  /// Four weeks in seconds: the default, and the most that all push services take.
  private static let longestTTL = 2_419_200
  /// Most characters of a topic.
  private static let longestTopic = 32

  /// The request is encrypted when it is sent.
  func prepare(_ push: OutgoingPush) -> PreparedPush {
    guard let subscription = try? WebPushSubscription(json: push.token),
      let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey)
    else { return .refused(Self.invalid("BadToken")) }
    // The setting may be at fault, so the device stays.
    guard endpoint.rule.problem(with: subscription.endpoint) == nil else {
      return .refused(.payloadRefused(reason: .hub(.hostNotAllowed)))
    }
    guard let headers = Headers(push, ttl: ttl(of: push)) else {
      return .refused(.payloadRefused(reason: .hub(.badOverride)))
    }
    let fitted = push.message.fitted { message -> [UInt8]? in
      let text = WebPushPayload.json(message, collapseKey: push.collapseKey)
      return text.count <= WebPushEncryption.limit ? text : nil
    }
    guard let fitted else { return .refused(.payloadRefused(reason: .hub(.messageTooBig))) }
    var request = request(fitted.form, headers, subscription)
    request.reductions = fitted.reductions
    let size = fitted.form.count
    request.source = EncryptedSource(fitted.form) {
      Self.body(fitted.form, subscription, receiver)
    } smaller: {
      let reduced = push.message.reduced
      let text = WebPushPayload.json(reduced.message, collapseKey: push.collapseKey)
      guard text.count < size else { return nil }
      var request = self.request(text, headers, subscription)
      request.body = Self.body(text, subscription, receiver)
      request.reductions = reduced.reductions
      return request
    }
    return .request(request)
  }

  /// A key that is a point of the curve encrypts anything. Without a body, the push service would refuse the push.
  private static func body(
    _ text: [UInt8], _ subscription: WebPushSubscription, _ receiver: P256.KeyAgreement.PublicKey
  ) -> [UInt8] { (try? WebPushEncryption.body(text, for: subscription, receiver)) ?? [] }

  /// The text is shown, not the encrypted body.
  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    let text = request.source?.text ?? []
    return request.preview(
      authorization: "vapid", plaintext: text, size: text.count, limit: WebPushEncryption.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    var requests = requests
    for index in requests.indices {
      if let source = requests[index].source { requests[index].body = source.encrypt() }
    }
    return endpoint.send(requests, as: credentials, of: customer, while: isWanted)
  }

  /// Nobody can be asked: each browser's push service checks the key with the subscriptions that were made with it. That the key can
  /// sign is all that is known here.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    guard (try? endpoint.signer(credentials).authorization(for: "https://push.example.com", now: endpoint.now)) != nil
    else { return .refused(reason: .hub(.privateKeyUnusable)) }
    return .unasked(reason: "the key can sign, but push services of browsers check it only with a push")
  }

  var reasonsToWarn: Set<String> { [.hub(.tokenRefused)] }

  func advice(on reason: String) -> String? {
    guard reason.hasPrefix(.hub(.tokenRefused)) else { return nil }
    return
      "Push services of browsers do not take the app's VAPID key: compare it with the one that pages subscribe with, and check the "
      + "clock of the database, which dates what signs in."
  }

  private static func invalid(_ reason: String) -> Verdict { .tokenInvalid(.unregistered, since: nil, reason: reason) }

  /// The request without its body, which takes as many bytes as the text and what encryption adds.
  private func request(_ text: [UInt8], _ own: Headers, _ subscription: WebPushSubscription) -> PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", subscription.endpoint.path, .never)
    headers.add("content-type", "application/octet-stream")
    headers.add("content-encoding", "aes128gcm")
    headers.add("content-length", String(text.count + WebPushEncryption.overhead), .changing)
    headers.add("ttl", own.ttl, .changing)
    if let urgency = own.urgency { headers.add("urgency", urgency) }
    if let topic = own.topic { headers.add("topic", topic, .changing) }
    return PushRequest(headers: headers, body: [], origin: ServiceAddress(subscription.endpoint))
  }

  private func ttl(of push: OutgoingPush) -> Int {
    min(push.lifetime?.seconds ?? Self.longestTTL, Self.longestTTL)
  }

  /// The headers that a message decides on, and can override.
  private struct Headers {
    var ttl: String
    var urgency: String?
    var topic: String?

    /// - Returns: nil if an override is no text of a header.
    init?(_ push: OutgoingPush, ttl: Int) {
      self.ttl = String(ttl)
      urgency = push.priority == .high ? "high" : "normal"
      topic = push.collapseKey.map(WebPushAccount.topic)
      guard case .object(let changes) = push.message.override("webpush")?["headers"] else { return }
      for (name, value) in changes {
        if case .string(let text) = value, !RequestHeaders.isValue(text) { return nil }
        switch name {
        case "TTL": self.ttl = value.text ?? self.ttl
        case "Urgency": urgency = value.text
        case "Topic": topic = value.text
        default: break
        }
      }
    }
  }

  /// The key itself if it is a topic, at most 32 characters of base64url; otherwise its SHA-256, cut to that.
  static func topic(_ key: String) -> String {
    if (1...longestTopic).contains(key.utf8.count), Base64URL.decode(Array(key.utf8)) != nil { return key }
    return String(Base64URL.text(Array(SHA256.hash(data: Array(key.utf8)))).prefix(longestTopic))
  }
}

/// How all accounts of Web Push send. Each of a customer has connections of its own to each origin.
struct WebPushSender: Sendable {
  /// The hub's, for keys without one.
  let contact: String
  let rule: EndpointRule
  let pools: ConnectionPools

  /// The clock by which pushes are dated.
  var now: Date { pools.now() }

  func signer(_ credentials: VAPIDKey) throws -> VAPIDSigner {
    try VAPIDSigner(credentials, contact: contact)
  }

  func send(
    _ requests: [PushRequest], as credentials: VAPIDKey, of customer: CustomerID,
    while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(
      service: WebPushDescription.label, environment: .production, customer: customer,
      credentials: .webPush(credentials))
    return pools.send(
      requests, toOriginsOf: key, places: .origins { [rule] in rule.isTrusted($0.host, $0.port) },
      { WebPushDescription($0, try? signer(credentials), rule, now: pools.now) }, while: isWanted)
  }
}
