import Wire

/// What a response of Push Kit means. This is the only place that knows what a code means.
extension ResponseClassification {
  /// From so many tokens on that are all invalid, the app is at fault and not they. The circuit breaker of a lane opens
  /// from as many answers on, so it guards whatever is below.
  static let tokensOfFuse = 50

  /// The code counts before the HTTP status: refusals come with 200, too.
  /// - Parameter tokens: those of the request, as JSON strings.
  init(_ response: HMSResponse, tokens: [[UInt8]]) {
    if let code = response.code.flatMap(HMSCode.init(rawValue:)) {
      self.init(code, response, tokens)
    } else {
      self.init(status: response)
    }
  }

  /// The table.
  private init(_ code: HMSCode, _ response: HMSResponse, _ tokens: [[UInt8]]) {
    let word = code.rawValue
    switch code {
    case .success: self.init(verdict: .accepted)
    case .partialFailure: self.init(partial: response, tokens)
    // The message is at fault.
    case .badParameter, .badStructure, .expired, .badCollapseKey, .sensitiveContent, .badReviewSignature, .bodyTooLarge,
      .tooManyTokens, .noHighPriority, .badReceiptAddress:
      self.init(verdict: .payloadRefused(reason: word))
    // The access token is refused; a new one may be accepted.
    case .authenticationFailed, .accessTokenExpired, .signedTokenExpired:
      self.init(verdict: .credentialsRefused(reason: word), recovery: .newToken)
    // The app has no right to push, or is not that of the tokens.
    case .noPermission: self.init(verdict: .credentialsRefused(reason: word))
    // Huawei says the same of a wrong app. A few tokens are retired, each by its own right; asking for each alone would give the same
    // answer. That all of a large request are invalid is no chance.
    case .allTokensInvalid:
      self.init(
        verdict: tokens.count < Self.tokensOfFuse
          ? .tokenInvalid(.unregistered, since: nil, reason: word) : .credentialsRefused(reason: word))
    // Later.
    case .tooManyTopicJobs, .signInUnavailable, .internalError:
      self.init(verdict: .putOff(word, by: response))
    }
    reason = code == .success ? nil : word
  }

  /// All tokens were accepted but those that the response names, unless it counts none as accepted. Nothing is sent again: that would
  /// reach those once more that were accepted.
  private init(partial response: HMSResponse, _ tokens: [[UInt8]]) {
    let word = HMSCode.partialFailure.rawValue
    let illegal = Set((response.illegalTokens ?? []).map(JSONText.quoted))
    self.init(verdict: response.accepted == 0 ? .payloadRefused(reason: word) : .accepted)
    for (place, token) in tokens.enumerated() where illegal.contains(token) {
      exceptions[place] = .tokenInvalid(.unregistered, since: nil, reason: word)
    }
  }

  private init(status response: HMSResponse) {
    let word = response.code ?? "HTTP\(response.status)"
    switch response.status {
    // No code says that it was accepted, and none that it was not.
    case 200..<300: self.init(verdict: .uncertain(reason: word, isAnswered: true))
    case 401: self.init(verdict: .credentialsRefused(reason: word), recovery: .newToken)
    // The account has no access; or the address names no app.
    case 403, 404: self.init(verdict: .credentialsRefused(reason: word))
    case 408, 429: self.init(verdict: .putOff(word, by: response))
    case 400..<500: self.init(verdict: .payloadRefused(reason: word))
    default: self.init(verdict: .putOff(word, by: response))
    }
    reason = "other"
  }
}

extension HMSAccount {
  var reasonsToWarn: Set<String> { Self.warnings }

  private static let warnings = Set([HMSCode.noHighPriority, .badReceiptAddress, .signInUnavailable].map(\.rawValue))

  func advice(on reason: String) -> String? { Self.advice(on: reason) }

  static func advice(on reason: String) -> String? {
    switch HMSCode(rawValue: reason) {
    case .authenticationFailed, .accessTokenExpired, .signedTokenExpired:
      "Push Kit does not take the account's sign-in: check the clock of the database, which dates it, and that the account "
        + "belongs to this app."
    case .noPermission: "Enable Push Kit for the app in AppGallery Connect, under Grow."
    case .noHighPriority: "Huawei allows the app no priority HIGH: apply for it at Huawei, or leave that override out."
    case .badReceiptAddress: "The address for receipts is wrong: correct it in AppGallery Connect, under Push Kit."
    case .signInUnavailable:
      "Push Kit cannot ask Huawei's sign-in. If that lasts, compare the account with the app's in AppGallery Connect."
    default:
      switch reason {
      case "1101", "1102", "1203":
        "Huawei does not know this Client ID and Client Secret: compare both with the app's settings in AppGallery Connect."
      case "HTTP403", "HTTP404": "Push Kit does not know the app: compare the Client ID with AppGallery Connect."
      default: nil
      }
    }
  }
}
