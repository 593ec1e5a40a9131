import FoundationEssentials
import Wire

/// What a response of APNs means. This is the only place that knows what a reason means.
extension ResponseClassification {
  /// A reason that is not in the table is classified by its status: 4xx refuses the message, anything else passes with time. The
  /// server's `retry-after` applies if it is longer than ours.
  init(_ response: APNsResponse) {
    guard response.status / 100 != 2 else {
      self.init(verdict: .accepted)
      return
    }
    if let reason = response.reason.flatMap(APNsReason.init(rawValue:)) {
      self.init(reason, timestamp: response.timestamp)
      if case .retry(let after, let reason, _) = verdict {
        verdict = .retry(
          after: Self.longer(after, response.retryAfter), reason: reason,
          appliesToService: response.status == 503 && response.retryAfter != nil)
      }
      return
    }
    let reason = response.reason ?? "HTTP\(response.status)"
    self.init(
      verdict: response.status / 100 == 4
        ? .payloadRefused(reason: reason) : .putOff(reason, by: response),
      reason: response.reason.map { _ in "other" })
  }

  /// The table.
  init(_ reason: APNsReason, timestamp: Date? = nil) {
    self = Self.classification(of: reason, timestamp: timestamp)
    self.reason = reason.rawValue
  }

  private static func classification(of reason: APNsReason, timestamp: Date?) -> ResponseClassification {
    let word = reason.rawValue
    let outageDelay = Duration.seconds(15 * 60)
    switch reason {
    // The message is at fault; it will be refused again if nothing about it changes.
    case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .invalidPushType, .payloadEmpty,
      .payloadTooLarge, .duplicateHeaders, .badPath, .methodNotAllowed:
      return ResponseClassification(verdict: .payloadRefused(reason: word))

    // The token is at fault: malformed, of the other environment, or of another app.
    case .badDeviceToken:
      return ResponseClassification(verdict: .tokenInvalid(.wrongEnvironment, since: nil, reason: word))
    case .deviceTokenNotForTopic:
      return ResponseClassification(verdict: .tokenInvalid(.wrongApp, since: nil, reason: word))
    case .missingDeviceToken:
      return ResponseClassification(verdict: .tokenInvalid(.unregistered, since: nil, reason: word))
    // The token was valid until the moment that APNs reports.
    case .unregistered, .expiredToken:
      return ResponseClassification(verdict: .tokenInvalid(.unregistered, since: timestamp, reason: word))

    // The app's configuration is at fault.
    case .badTopic, .missingTopic, .badCertificate, .badCertificateEnvironment, .invalidProviderToken,
      .missingProviderToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken:
      return ResponseClassification(verdict: .credentialsRefused(reason: word))
    // Perhaps only the connection is at fault: it stays bound to the team, keys and bundle ids of its first push.
    case .topicDisallowed, .unrelatedKeyIDInToken, .forbidden:
      return ResponseClassification(verdict: .credentialsRefused(reason: word), recovery: .newConnection)
    // If a new token is expired too, a clock is wrong.
    case .expiredProviderToken:
      return ResponseClassification(verdict: .credentialsRefused(reason: word), recovery: .newToken)

    // Later.
    case .tooManyRequests:
      return ResponseClassification(verdict: .retry(after: .seconds(60), reason: word))
    case .tooManyProviderTokenUpdates:
      return ResponseClassification(verdict: .retry(after: .seconds(20 * 60), reason: word), recovery: .previousToken)
    case .internalServerError, .serviceUnavailable:
      return ResponseClassification(verdict: .retry(after: outageDelay, reason: word))
    case .shutdown, .idleTimeout:
      return ResponseClassification(verdict: .retry(after: .seconds(1), reason: word), recovery: .reopen)
    }
  }

  private static func longer(_ ours: Duration?, _ theirs: Duration?) -> Duration? {
    guard let ours, let theirs else { return ours ?? theirs }
    return max(ours, theirs)
  }
}

extension APNsReason {
  /// What to do when the credentials are refused for it.
  var advice: String? {
    switch self {
    case .invalidProviderToken:
      "The key belongs to another team or has another Key Id: compare both with Keys in Apple's developer account."
    case .unrelatedKeyIDInToken: "The key is not for this app: allow it for the app's bundle id, or add another key."
    case .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken:
      "The key is for Apple's other environment: add one that is for this environment, or for both."
    case .expiredProviderToken: "The hub's clock is wrong: set it by NTP."
    case .badCertificate: "The certificate is revoked or not Apple's: make a new one in Apple's developer account."
    case .badCertificateEnvironment: "The certificate is for Apple's other environment: add one for this environment."
    case .badTopic, .missingTopic, .topicDisallowed:
      "The key or certificate is not for this bundle id: compare the app id with Identifiers in Apple's developer account."
    case .forbidden: "Apple allows this account no pushes: look for open agreements in Apple's developer account."
    default: nil
    }
  }
}

extension ResponseClassification {
  /// What it means where the message has overridden the topic: that is the message's fault, and neither the app's nor the device's.
  var ofOwnTopic: ResponseClassification {
    switch reason.flatMap(APNsReason.init(rawValue:)) {
    case .badTopic, .missingTopic, .topicDisallowed, .deviceTokenNotForTopic:
      ResponseClassification(verdict: .payloadRefused(reason: reason ?? ""), reason: reason)
    default: self
    }
  }
}

extension ServiceTable {
  static let apns = ServiceTable(
    reasons: [.apns], accessTokens: nil, overrides: .apns,
    problem: { APNsPush.problem(inHeaders: $0.apns?.headers ?? [:]) },
    payloadSize: { (APNsPayload.json($0).count, $0.apnsPushType.payloadLimit) })
}

extension ServiceReasons {
  fileprivate static let apns = ServiceReasons(
    service: "APNs",
    reasons: APNsReason.allCases.map { reason in
      Reason(name: reason.rawValue, verdict: ResponseClassification(reason).verdict, advice: reason.advice)
    })
}
