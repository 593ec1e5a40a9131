import Wire
import FoundationEssentials

/// A response of APNs.
struct APNsResponse: Hashable, Sendable, StatusBearing {
  var status: Int
  /// The reason in the JSON body; nil if there is none.
  var reason: String?
  /// With 410: since when the token has been invalid, to the millisecond.
  var timestamp: Date?
  /// The header `retry-after`, which APNs does not document.
  var retryAfter: Duration?

  init(status: Int, reason: String? = nil, timestamp: Date? = nil, retryAfter: Duration? = nil) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.retryAfter = retryAfter
  }

  /// Reads the body `{"reason":"…","timestamp":1700000000000}`; anything else gives no reason.
  init(_ response: ServiceResponse) {
    let body = response.body
    let refusal = body.isEmpty ? nil : try? JSONCoding.decode(Refusal.self, from: body)
    self.init(
      status: response.status, reason: refusal?.reason,
      timestamp: refusal?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) }, retryAfter: response.retryAfter)
  }

  /// The reason in a GOAWAY frame's debug data, which is the same JSON.
  static func reason(in debugData: [UInt8]) -> String? {
    (try? JSONCoding.decode(Refusal.self, from: debugData))?.reason
  }

  private struct Refusal: Decodable {
    var reason: String
    var timestamp: Double?
  }
}

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
  /// Both spellings occur.
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
