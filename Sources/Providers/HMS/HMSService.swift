import Wire

extension AccessTokenService {
  /// Huawei's Push Kit.
  static func hms(_ settings: PushServiceSettings, _ pools: ConnectionPools) throws(ProviderError) -> AccessTokenService
  {
    let (address, path) = try ServiceAddress.withPath(settings, .hmsTokenURL)
    return AccessTokenService(
      name: "HMS", service: .hms, address: try ServiceAddress(settings, .hmsURL),
      tokens: AccessTokens(HuaweiTokenEndpoint(address: address, path: path), pools), pools: pools
    ) { response, request in
      ResponseClassification(HMSResponse(response), tokens: request.recipients.map(\.token))
    }
  }
}

extension ServiceTable {
  static let hms = ServiceTable(
    reasons: [.hms], accessTokens: AccessTokenService.hms, overrides: .hms,
    payloadSize: { (HMSPayload.size($0), HMSPayload.limit) })
}

extension ServiceReasons {
  /// Of a request with one token.
  fileprivate static let hms = ServiceReasons(
    service: "Push Kit",
    reasons: HMSCode.allCases.filter { $0 != .success }.map { code in
      let response = HMSResponse(status: 200, code: code.rawValue)
      return Reason(
        name: code.rawValue, meaning: description(of: code),
        verdict: ResponseClassification(response, tokens: [[]]).verdict,
        advice: HMSAccount.advice(on: code.rawValue))
    })
}
