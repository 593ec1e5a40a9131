import FoundationEssentials

/// From APNs's answers to verdicts: the only place that knows what a reason means.
enum APNsVerdicts {
  /// The classification on an answer. A reason that Apple has added since is judged by its status: 4xx is the message's fault, all
  /// else passes with time. A `retry-after` of the server wins when it is longer.
  static func classification(on answer: APNsAnswer) -> ResponseClassification {
    if answer.status / 100 == 2 { return ResponseClassification(verdict: .accepted) }
    if let reason = answer.reason, let known = APNsReason(rawValue: reason) {
      var classification = classification(on: known, timestamp: answer.timestamp)
      if case .retry(let after, let reason) = classification.verdict {
        classification.verdict = .retry(after: longer(after, answer.retryAfter), reason: reason)
      }
      return classification
    }
    let reason = answer.reason ?? "HTTP\(answer.status)"
    if answer.status / 100 == 4 { return ResponseClassification(verdict: .payloadRefused(reason: reason)) }
    return ResponseClassification(verdict: .retry(after: answer.retryAfter, reason: reason))
  }

  /// The table.
  static func classification(on reason: APNsReason, timestamp: Date? = nil) -> ResponseClassification {
    let word = reason.rawValue
    let afterAnOutage = Duration.seconds(15 * 60)
    switch reason {
    // The message is at fault; it will be refused again if nothing about it changes.
    case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .invalidPushType, .payloadEmpty,
      .payloadTooLarge, .duplicateHeaders, .badPath, .methodNotAllowed:
      return ResponseClassification(verdict: .payloadRefused(reason: word))

    // The token is at fault: malformed, of the other environment, or of another app.
    case .badDeviceToken:
      return ResponseClassification(verdict: .tokenDead(.wrongEnvironment, since: nil, reason: word))
    case .deviceTokenNotForTopic:
      return ResponseClassification(verdict: .tokenDead(.wrongApp, since: nil, reason: word))
    case .missingDeviceToken:
      return ResponseClassification(verdict: .tokenDead(.gone, since: nil, reason: word))
    // It was good, until the moment that APNs names.
    case .unregistered, .expiredToken:
      return ResponseClassification(verdict: .tokenDead(.gone, since: timestamp, reason: word))

    // The app's configuration is at fault.
    case .badTopic, .missingTopic, .badCertificate, .badCertificateEnvironment, .invalidProviderToken,
      .missingProviderToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken:
      return ResponseClassification(verdict: .credentialsRefused(reason: word))
    // Perhaps only the connection is: it stays bound to the team, keys and bundle ids of its first push.
    case .topicDisallowed, .unrelatedKeyIDInToken, .forbidden:
      return ResponseClassification(verdict: .credentialsRefused(reason: word), recovery: .freshConnection)
    // If a new token is expired too, a clock is wrong.
    case .expiredProviderToken:
      return ResponseClassification(verdict: .credentialsRefused(reason: word), recovery: .freshToken)

    // Later.
    case .tooManyRequests:
      return ResponseClassification(verdict: .retry(after: .seconds(60), reason: word))
    case .tooManyProviderTokenUpdates:
      return ResponseClassification(verdict: .retry(after: .seconds(20 * 60), reason: word), recovery: .formerToken)
    case .internalServerError, .serviceUnavailable:
      return ResponseClassification(verdict: .retry(after: afterAnOutage, reason: word))
    case .shutdown, .idleTimeout:
      return ResponseClassification(verdict: .retry(after: .seconds(1), reason: word), recovery: .reopen)
    }
  }

  private static func longer(_ ours: Duration?, _ theirs: Duration?) -> Duration? {
    guard let ours, let theirs else { return ours ?? theirs }
    return max(ours, theirs)
  }
}
