import FoundationEssentials
import Wire

/// An app's account at WNS: a package of the Microsoft Store, or an app of Microsoft Entra.
///
/// A device's token is the channel URI that pushes to it go to. WNS has one environment, so pushes to the sandbox go the same way.
struct WNSAccount: PushAccount {
  let credentials: WindowsAccount
  let endpoint: AccessTokenService
  let allowedHosts: ChannelHosts

  var service: String { endpoint.name }
  var environments: [PushEnvironment] { [.production] }
  /// A device that names a host without a server must not stop the pushes to others.
  var hasOneService: Bool { false }

  func prepare(_ push: OutgoingPush) -> PreparedPush {
    guard let channel = ChannelURI(push.token) else {
      return .refused(.tokenInvalid(.unregistered, since: nil, reason: "NoChannelURI"))
    }
    // The setting may be at fault, so the device stays.
    guard allowedHosts.allow(channel) else { return .refused(.payloadRefused(reason: "HostNotAllowed")) }
    let type = WNSType(of: push.message)
    let body = WNSPayload.body(push.message, as: type)
    guard body.count <= WNSPayload.limit else { return .refused(.payloadRefused(reason: "MessageTooBig")) }
    var headers = RequestHeaders()
    headers.add(":path", channel.path, .changing)
    headers.add("content-type", type.contentType)
    headers.add("content-length", String(body.count), .changing)
    headers.add("x-wns-type", type.rawValue)
    headers.add("x-wns-requestforstatus", "true")
    // The correlation vector names the push in Microsoft's logs.
    headers.add("ms-cv", Self.correlationVector(push.id), .changing)
    let ttl = push.expiresAt.map { Int($0.timeIntervalSince(endpoint.now).rounded(.up)) }
    for (name, value) in Self.lifetime(ttl, of: type) { headers.add(name, value, .changing) }
    // Only toasts and tiles are replaced by their tag.
    if let key = push.collapseKey, type == .toast || type == .tile {
      headers.add("x-wns-tag", Self.tag(key), .changing)
    }
    return .request(PushRequest(headers: headers, body: body, origin: ServiceAddress(channel)))
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    endpoint.send(requests, as: .wns(credentials), while: isWanted)
  }

  /// Fetches an access token, which no push needs to be sent for. WNS itself cannot be asked without a channel.
  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    CredentialVerdict(dryRun: await endpoint.tokens.check(.wns(credentials)))
  }

  /// The headers about how long WNS keeps a push for a device that is offline.
  ///
  /// For now or never, there is a policy not to keep it. A toast knows no policy, so it gets the shortest time.
  /// - Parameter ttl: in seconds; nil leaves it to WNS.
  static func lifetime(_ ttl: Int?, of type: WNSType) -> [(StaticString, String)] {
    guard let ttl else { return [] }
    if ttl <= 0 { return type == .toast ? [("x-wns-ttl", "1")] : [("x-wns-cache-policy", "no-cache")] }
    // Raw notifications alone are not kept unless that is asked for.
    return [("x-wns-ttl", "\(ttl)")] + (type == .raw ? [("x-wns-cache-policy", "cache")] : [])
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
