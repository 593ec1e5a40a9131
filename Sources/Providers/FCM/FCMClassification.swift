import Wire

/// What a response of FCM means. This is the only place that knows what a code means.
extension ResponseClassification {
  /// A response without a code of FCM is classified by its status.
  init(_ response: FCMResponse) {
    guard response.status / 100 != 2 else {
      self.init(verdict: .accepted)
      return
    }
    if let code = response.errorCode.flatMap(FCMErrorCode.init(rawValue:)) {
      self.init(code, response)
    } else if response.rpcStatus == FCMErrorCode.invalidArgument.rawValue {
      // The JSON does not fit, which Google's front end finds out before FCM sees it.
      self.init(.invalidArgument, response)
    } else {
      self.init(status: response)
    }
  }

  /// The table.
  private init(_ code: FCMErrorCode, _ response: FCMResponse) {
    let word = code.rawValue
    switch code {
    // The token or the message is at fault. FCM has the same code for both.
    case .invalidArgument:
      self = response.isAboutToken ? .invalidToken : ResponseClassification(verdict: .payloadRefused(reason: word))
    case .unregistered: self.init(verdict: .tokenInvalid(.unregistered, since: nil, reason: word))
    // The token belongs to another project.
    case .senderIDMismatch: self.init(verdict: .tokenInvalid(.wrongApp, since: nil, reason: word))
    // Firebase's own key for Apple or web push is at fault. That is no reason to stop the app's Android phones.
    case .thirdPartyAuth, .apnsAuth: self.init(verdict: .waitsForCorrection(reason: word))
    // Later.
    case .quotaExceeded, .unavailable, .internal, .unspecified:
      self.init(verdict: .putOff(word, by: response))
    }
    reason = word
  }

  private init(status response: FCMResponse) {
    let word = response.errorCode ?? response.rpcStatus ?? "HTTP\(response.status)"
    switch response.status {
    // The access token is refused; a new one may be accepted.
    case 401: self.init(verdict: .credentialsRefused(reason: word), recovery: .newToken)
    // The API is disabled or a role is missing; or the project does not exist.
    case 403, 404: self.init(verdict: .credentialsRefused(reason: word))
    case 408, 429: self.init(verdict: .putOff(word, by: response))
    case 400..<500: self.init(verdict: .payloadRefused(reason: word))
    default: self.init(verdict: .putOff(word, by: response))
    }
    reason = Self.documented.contains(word) ? word : "other"
  }

  /// A token that FCM never issued.
  static let invalidToken = ResponseClassification(
    verdict: .tokenInvalid(.unregistered, since: nil, reason: FCMErrorCode.invalidArgument.rawValue),
    reason: FCMErrorCode.invalidArgument.rawValue)

  /// Statuses of Google's APIs that come without a code of FCM.
  private static let documented: Set<String> = [
    "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE",
  ]
}

extension FCMResponse {
  /// Whether INVALID_ARGUMENT speaks of the registration token. Only the text says so if no field is named.
  fileprivate var isAboutToken: Bool {
    if !fields.isEmpty { return fields.contains("message.token") }
    return message?.lowercasedASCII.contains("registration token") == true
  }
}

extension FCMAccount {
  /// A minute once a quota is used up, as Google asks for.
  func shortestDelay(after reason: String) -> Duration {
    [FCMErrorCode.quotaExceeded.rawValue, "RESOURCE_EXHAUSTED", "HTTP429"].contains(reason) ? .seconds(60) : .zero
  }

  var reasonsToWarn: Set<String> { Self.warnings }

  private static let warnings = Set([FCMErrorCode.thirdPartyAuth, .apnsAuth].map(\.rawValue))

  func advice(on reason: String) -> String? { Self.advice(on: reason) }

  static func advice(on reason: String) -> String? {
    switch reason {
    case "invalid_grant", "UNAUTHENTICATED":
      "Google does not know this key: it may be deleted. Make a new one in the Firebase console, under Service accounts."
    case "invalid_client", "unauthorized_client":
      "Google does not know this account: make a new key in the Firebase console, under Service accounts."
    case "PERMISSION_DENIED":
      "Enable the Firebase Cloud Messaging API (V1) for the project, and give the account the role Firebase Admin."
    case "NOT_FOUND": "There is no such project: take the key file from the app's own project in the Firebase console."
    case FCMErrorCode.thirdPartyAuth.rawValue, FCMErrorCode.apnsAuth.rawValue:
      "Firebase's own key for Apple or web push is refused: correct it in the Firebase console, under Cloud Messaging."
    default: nil
    }
  }
}
