import FoundationEssentials
import Wire

/// An app's account at WNS: a package of the Microsoft Store, or an app of Microsoft Entra.
///
/// A device's token is the channel URI that pushes to it go to. WNS has one environment, so pushes to the sandbox go the same way.
struct WNSAccount: PushAccount {
  let customer: CustomerID
  let credentials: WindowsAccount
  let endpoint: AccessTokenService
  let rule: EndpointRule

  var service: String { endpoint.name }
  var environments: [PushEnvironment] { [.production] }
  /// A device that names a host without a server must not stop the pushes to others.
  var outageEvidence: OutageEvidence { .answers }
  var exampleToken: String { "\(rule.example)/?token=example" }

  func prepare(_ push: OutgoingPush) -> PreparedPush {
    guard let channel = try? PushEndpoint(url: push.token) else {
      return .refused(.tokenInvalid(.unregistered, since: nil, reason: .hub(.noChannelURI)))
    }
    // The setting may be at fault, so the device stays.
    guard rule.problem(with: channel) == nil else { return .refused(.payloadRefused(reason: .hub(.hostNotAllowed))) }
    let override = push.message.override("wns")
    guard let type = (override?["type"]?.text).map(WNSType.init(rawValue:)) ?? WNSType(of: push.message) else {
      return .refused(.payloadRefused(reason: .hub(.badOverride, "type")))
    }
    var changing = changingHeaders(push, type)
    if case .object(let changes) = override?["headers"] {
      for (name, value) in changes {
        guard let index = changing.firstIndex(where: { "\($0.name)" == name.lowercasedASCII.text }) else { continue }
        if let text = value.text, !RequestHeaders.isValue(text) {
          return .refused(.payloadRefused(reason: .hub(.badOverride, "\(name)")))
        }
        changing[index].value = value.text
      }
    }
    let fitted = push.message.fitted { message -> [UInt8]? in
      let body = WNSPayload.body(message, as: type)
      return body.count <= WNSPayload.limit ? body : nil
    }
    guard let fitted else { return .refused(.payloadRefused(reason: .hub(.messageTooBig))) }
    var headers = RequestHeaders()
    headers.add(":path", channel.path, .changing)
    headers.add("content-type", type.contentType)
    headers.add("content-length", String(fitted.form.count), .changing)
    headers.add("x-wns-type", type.rawValue)
    for (name, value) in changing {
      if let value { headers.add(name, value, .changing) }
    }
    var request = PushRequest(headers: headers, body: fitted.form, origin: ServiceAddress(channel))
    request.reductions = fitted.reductions
    return .request(request)
  }

  /// The headers that a message decides on, and can override.
  private func changingHeaders(
    _ push: OutgoingPush, _ type: WNSType
  ) -> [(name: StaticString, value: String?)] {
    let lifetime = Self.lifetime(push.lifetime?.seconds, of: type)
    // Only toasts and tiles are replaced by their tag.
    let isTagged = type == .toast || type == .tile
    return [
      ("x-wns-requestforstatus", "true"),
      // The correlation vector names the push in Microsoft's logs.
      ("ms-cv", Self.correlationVector(push.id)),
      ("x-wns-ttl", lifetime.ttl), ("x-wns-cache-policy", lifetime.policy),
      ("x-wns-tag", isTagged ? push.collapseKey.map(Self.tag) : nil),
      ("x-wns-group", isTagged ? WNSPayload.text(push.message.threadID).map(Self.tag) : nil),
    ]
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    request.preview(authorization: "Bearer", size: request.body.count, limit: WNSPayload.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    endpoint.send(requests, as: .wns(credentials), of: customer, while: isWanted)
  }

  /// Fetches an access token, which no push needs to be sent for. WNS itself cannot be asked without a channel.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    CredentialVerdict(dryRun: await endpoint.tokens.check(.wns(credentials)))
  }

  /// The headers about how long WNS keeps a push for a device that is offline.
  ///
  /// For now or never, there is a policy not to keep it. A toast knows no policy, so it gets the shortest time.
  /// - Parameter ttl: in seconds; nil leaves it to WNS.
  static func lifetime(_ ttl: Int?, of type: WNSType) -> (ttl: String?, policy: String?) {
    guard let ttl else { return (nil, nil) }
    if ttl <= 0 { return type == .toast ? ("1", nil) : (nil, "no-cache") }
    // Raw notifications alone are not kept unless that is asked for.
    return ("\(ttl)", type == .raw ? "cache" : nil)
  }

  /// At most 16 letters and digits: the key itself if it is that, and else a hash of it.
  static func tag(_ collapseKey: String) -> String {
    let isTag = collapseKey.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: false
      }
    }
    if isTag, (1...16).contains(collapseKey.utf8.count) { return collapseKey }
    let hash = CollapseKeyHash.value(collapseKey)
    return stride(from: 56, through: 0, by: -8).map { [UInt8(truncatingIfNeeded: hash >> $0)].hexDigits }.joined()
  }

  /// The push's id in base64, and that this is its first request.
  private static func correlationVector(_ id: UUID) -> String {
    let bytes = withUnsafeBytes(of: id.uuid) { Data($0) }
    return "\(bytes.base64EncodedString().prefix(22)).1"
  }
}
