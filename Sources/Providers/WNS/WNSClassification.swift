/// What a response of WNS means. This is the only place that knows what a status means.
extension ResponseClassification {
  /// The table (Microsoft, "Push notification service request and response headers"). Other statuses go by their class.
  init(_ response: WNSResponse) {
    let word = "HTTP\(response.status)"
    // The app is throttled, or WNS is away: that applies to all of its channels.
    let later = Verdict.retry(
      after: response.continueAfter, reason: word,
      appliesToService: response.continueAfter != nil && [406, 429, 503].contains(response.status))
    switch response.status {
    case 200..<300:
      self.init(taken: response)
      return
    // The access token is refused; a new one may be accepted.
    case 401: self.init(verdict: .credentialsRefused(reason: word), recovery: .newToken)
    // The channel belongs to another app.
    case 403: self.init(verdict: .tokenInvalid(.wrongApp, since: nil, reason: word))
    // The channel is unknown, or has expired.
    case 404, 410: self.init(verdict: .tokenInvalid(.unregistered, since: nil, reason: word))
    case 406, 408, 429: self.init(verdict: later)
    // The request is wrong: its headers, method (405) or size (413).
    case 400..<500: self.init(verdict: .payloadRefused(reason: word))
    default: self.init(verdict: later)
    }
    reason = Self.documentedWNSStatuses.contains(response.status) ? word : "other"
  }

  /// WNS took the request, and says in a header what became of the notification.
  private init(taken response: WNSResponse) {
    switch response.notificationStatus {
    // The user has switched notifications off, or the device is offline and the notification is not kept.
    case "dropped": self.init(verdict: .payloadRefused(reason: "dropped"), reason: "dropped")
    case "channelthrottled":
      self.init(
        verdict: .retry(after: response.continueAfter, reason: "channelthrottled"), reason: "channelthrottled")
    default: self.init(verdict: .accepted)
    }
  }

  static let documentedWNSStatuses: Set<Int> = [400, 401, 403, 404, 405, 406, 410, 413, 500, 503]
}
