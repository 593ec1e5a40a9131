import Wire

// What a response of a browser's push service means. This is the only place that knows what a number or word means.
//
// No response refuses the app's key as a whole. Whoever registers a subscription chooses where it leads and with which key it was made,
// and must not stop the app.
extension ResponseClassification {
  /// What the body says counts before the HTTP status.
  init(_ response: WebPushResponse) {
    if response.status / 100 == 2 {
      self.init(verdict: .accepted)
    } else if let errno = response.errno.flatMap(MozillaErrno.init(rawValue:)) {
      self.init(errno, response)
    } else if let word = response.reason.flatMap(AppleWebPushReason.init(rawValue:)) {
      self.init(word)
    } else if response.status == 403, response.text?.contains("do not correspond") == true {
      // Google says so in a sentence, of the key that the subscription was made with.
      self.init(.keyMismatch)
    } else {
      self.init(status: response)
    }
  }

  /// Mozilla's table.
  private init(_ errno: MozillaErrno, _ response: WebPushResponse) {
    let word = errno.reason
    switch errno {
    // The subscription is gone.
    case .unknownEndpoint, .expiredEndpoint, .endpointGone, .unsubscribed:
      self.init(verdict: .tokenInvalid(.unregistered, since: nil, reason: word))
    // The message is at fault.
    case .missingCrypto, .badEndpoint, .badEncryption, .missingTTL, .badTTL, .badTopic:
      self.init(verdict: .payloadRefused(reason: word))
    case .tooLarge: self.init(verdict: .payloadRefused(reason: word), recovery: .smaller)
    // The app's token is refused, or the subscription was made with another key. A new token may be accepted.
    case .badVAPID: self.init(verdict: .putOff(word, by: response), recovery: .newToken)
    // Later.
    case .backOff, .tryAgain, .bridgeError, .bridgeUnavailable, .bridgeTimeout, .bridgeRefusal, .unknown:
      self.init(verdict: .putOff(word, by: response))
    }
    reason = word
  }

  /// Apple's table.
  private init(_ word: AppleWebPushReason) {
    switch word {
    // The subscription was made with another key.
    case .keyMismatch: self.init(verdict: .tokenInvalid(.wrongApp, since: nil, reason: word.rawValue))
    case .badToken, .expiredToken:
      self.init(verdict: .retry(after: nil, reason: word.rawValue), recovery: .newToken)
    }
    reason = word.rawValue
  }

  private init(status response: WebPushResponse) {
    let word = response.reason ?? "HTTP\(response.status)"
    switch response.status {
    case 401, 403: self.init(verdict: .putOff(word, by: response), recovery: .newToken)
    case 404, 410: self.init(verdict: .tokenInvalid(.unregistered, since: nil, reason: word))
    case 413: self.init(verdict: .payloadRefused(reason: word), recovery: .smaller)
    case 406, 408, 429: self.init(verdict: .putOff(word, by: response))
    // A redirect is not followed: it could lead anywhere.
    case 300..<500: self.init(verdict: .payloadRefused(reason: word))
    default: self.init(verdict: .putOff(word, by: response))
    }
    reason = "other"
  }
}

extension ServiceTable {
  static let webPush = ServiceTable(
    reasons: [.mozilla, .apple], accessTokens: nil,
    overrides: .members(["headers": .texts("TTL", "Urgency", "Topic")]),
    problem: { overrides in
      overrides.webpush?.headers?["TTL"] == .null
        ? OverrideProblem(field: "webpush.headers.TTL", problem: "cannot be removed") : nil
    },
    payloadSize: { (WebPushPayload.json($0).count, WebPushEncryption.limit) })
}

extension ServiceReasons {
  fileprivate static let mozilla = ServiceReasons(
    service: "Web Push, Mozilla's service",
    reasons: MozillaErrno.allCases.map { errno in
      let response = WebPushResponse(status: 400, errno: errno.rawValue)
      return Reason(
        name: errno.reason, meaning: description(of: errno), verdict: ResponseClassification(response).verdict)
    })

  fileprivate static let apple = ServiceReasons(
    service: "Web Push, Apple's service",
    reasons: AppleWebPushReason.allCases.map { word in
      let response = WebPushResponse(status: 400, reason: word.rawValue)
      return Reason(name: word.rawValue, verdict: ResponseClassification(response).verdict)
    })
}
