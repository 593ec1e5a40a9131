/// Every reason APNs gives for refusing a push (Apple, "Handling notification responses from APNs").
enum APNsReason: String, CaseIterable, Sendable {
  // 400
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case badPriority = "BadPriority"
  case badTopic = "BadTopic"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case idleTimeout = "IdleTimeout"
  case invalidPushType = "InvalidPushType"
  case missingDeviceToken = "MissingDeviceToken"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case topicDisallowed = "TopicDisallowed"
  // 403
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  /// Both spellings are met.
  case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
  case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
  case expiredProviderToken = "ExpiredProviderToken"
  case forbidden = "Forbidden"
  case invalidProviderToken = "InvalidProviderToken"
  case missingProviderToken = "MissingProviderToken"
  case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
  // 404, 405
  case badPath = "BadPath"
  case methodNotAllowed = "MethodNotAllowed"
  // 410
  case expiredToken = "ExpiredToken"
  case unregistered = "Unregistered"
  // 413
  case payloadTooLarge = "PayloadTooLarge"
  // 429
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  case tooManyRequests = "TooManyRequests"
  // 500, 503
  case internalServerError = "InternalServerError"
  case serviceUnavailable = "ServiceUnavailable"
  case shutdown = "Shutdown"
}
