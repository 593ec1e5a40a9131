import Wire

extension AccessTokenService {
  /// Firebase Cloud Messaging.
  static func fcm(_ settings: PushServiceSettings, _ pools: ConnectionPools) throws(ProviderError) -> AccessTokenService
  {
    let (address, path) = try ServiceAddress.withPath(settings, .googleTokenURL)
    return AccessTokenService(
      name: "FCM", service: .fcm, address: try ServiceAddress(settings, .fcmURL),
      tokens: AccessTokens(
        GoogleTokenEndpoint(url: settings[.googleTokenURL] ?? "", address: address, path: path), pools),
      pools: pools
    ) { response, _ in ResponseClassification(FCMResponse(response)) }
  }
}

extension ServiceTable {
  static let fcm = ServiceTable(
    reasons: [.fcm], accessTokens: AccessTokenService.fcm, overrides: .fcm,
    problem: { FCMPayload.problem(in: $0.members[.fcm] ?? [:]) },
    payloadSize: { (FCMPayload.size($0, tag: nil), FCMPayload.limit) })
}

extension ServiceReasons {
  /// FCM's own codes, and then statuses of Google's APIs that come without one.
  fileprivate static let fcm: ServiceReasons = {
    var responses = FCMErrorCode.allCases.map { FCMResponse(status: 400, errorCode: $0.rawValue) }
    for (status, word) in [
      (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"), (429, "RESOURCE_EXHAUSTED"),
    ] {
      responses.append(FCMResponse(status: status, rpcStatus: word))
    }
    let reasons = responses.map { response in
      let word = response.errorCode ?? response.rpcStatus ?? ""
      return Reason(
        name: word, verdict: ResponseClassification(response).verdict, advice: FCMAccount.advice(on: word))
    }
    return ServiceReasons(service: "FCM", reasons: reasons)
  }()
}
