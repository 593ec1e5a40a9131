import Wire

extension AccessTokenService {
  /// Windows Push Notification Services. Pushes go to the channel URIs of devices.
  static func wns(_ settings: PushServiceSettings, _ pools: ConnectionPools) throws(ProviderError) -> AccessTokenService
  {
    let rule = settings.endpoints.wns
    // Both kinds of accounts have one address if the setting names one, and Microsoft's two otherwise.
    let endpoint = MicrosoftTokenEndpoint(
      live: try ServiceAddress(settings, .wnsTokenURL, or: "https://login.live.com"),
      entra: try ServiceAddress(settings, .wnsTokenURL, or: "https://login.microsoftonline.com"))
    return AccessTokenService(
      name: "WNS", service: .wns, address: nil, tokens: AccessTokens(endpoint, pools), pools: pools,
      http1Connections: 16, responseHeaders: WNSResponse.headers,
      mayBePrivate: { rule.isListed($0.host, $0.port) }
    ) { response, _ in ResponseClassification(WNSResponse(response)) }
  }
}

extension ServiceTable {
  static let wns = ServiceTable(
    reasons: [.wns], accessTokens: AccessTokenService.wns, overrides: .wns,
    problem: { overrides in
      guard let type = overrides.wns?.type, !type.contains("{{"), !OverrideShape.wnsTypes.contains(type) else {
        return nil
      }
      return OverrideProblem(
        field: "wns.type", problem: "must be one of \(OverrideShape.wnsTypes.joined(separator: ", "))")
    },
    payloadSize: { (WNSPayload.body($0, as: WNSType(of: $0)).count, WNSPayload.limit) })
}

extension OverrideShape {
  fileprivate static let wns = OverrideShape.members([
    "headers": .texts(
      "X-WNS-Cache-Policy", "X-WNS-TTL", "X-WNS-RequestForStatus", "X-WNS-Tag", "X-WNS-Group", "MS-CV"),
    "type": .text,
  ])
  fileprivate static let wnsTypes = ["wns/toast", "wns/badge", "wns/tile", "wns/raw"]
}

extension ServiceReasons {
  fileprivate static let wns: ServiceReasons = {
    var reasons = ResponseClassification.documentedWNSStatuses.sorted().map { status in
      Reason(name: "HTTP\(status)", verdict: ResponseClassification(WNSResponse(status: status)).verdict)
    }
    for word in ["dropped", "channelthrottled"] {
      let response = WNSResponse(status: 200, notificationStatus: word)
      reasons.append(Reason(name: word, verdict: ResponseClassification(response).verdict))
    }
    return ServiceReasons(service: "WNS", reasons: reasons)
  }()
}
