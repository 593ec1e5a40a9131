import Wire
import FoundationEssentials

/// A response of FCM.
struct FCMResponse: Hashable, Sendable, StatusBearing {
  var status: Int
  /// The `errorCode` of the detail of type `FcmError`.
  var errorCode: String?
  /// The status of Google's APIs, such as `NOT_FOUND`.
  var rpcStatus: String?
  /// The error's text for people.
  var message: String?
  /// The fields that a detail of type `BadRequest` names, such as `message.token`.
  var fields: [String] = []
  /// The header `retry-after`.
  var retryAfter: Duration?

  init(
    status: Int, errorCode: String? = nil, rpcStatus: String? = nil, message: String? = nil, fields: [String] = [],
    retryAfter: Duration? = nil
  ) {
    self.status = status
    self.errorCode = errorCode
    self.rpcStatus = rpcStatus
    self.message = message
    self.fields = fields
    self.retryAfter = retryAfter
  }

  /// Reads an error's body; one that is not JSON, as of a proxy, says nothing.
  init(_ response: ServiceResponse) {
    self.init(status: response.status, retryAfter: response.retryAfter)
    guard status / 100 != 2,
      let error = try? JSONCoding.decode(Body.self, from: response.body).error
    else { return }
    rpcStatus = error.status
    message = error.message
    for detail in error.details ?? [] {
      if detail.type?.hasSuffix("FcmError") == true { errorCode = detail.errorCode ?? errorCode }
      fields += detail.fieldViolations?.compactMap(\.field) ?? []
    }
  }

  private struct Body: Decodable {
    var error: Failure
  }

  private struct Failure: Decodable {
    var status: String?
    var message: String?
    var details: [Detail]?
  }

  private struct Detail: Decodable {
    var type: String?
    var errorCode: String?
    var fieldViolations: [Violation]?

    enum CodingKeys: String, CodingKey {
      case type = "@type"
      case errorCode
      case fieldViolations
    }
  }

  private struct Violation: Decodable {
    var field: String?
  }
}

/// Every code FCM gives for refusing a message (FCM's reference, `ErrorCode`).
enum FCMErrorCode: String, CaseIterable, Sendable {
  case unspecified = "UNSPECIFIED_ERROR"
  case invalidArgument = "INVALID_ARGUMENT"
  case unregistered = "UNREGISTERED"
  case senderIDMismatch = "SENDER_ID_MISMATCH"
  case quotaExceeded = "QUOTA_EXCEEDED"
  case unavailable = "UNAVAILABLE"
  case `internal` = "INTERNAL"
  case thirdPartyAuth = "THIRD_PARTY_AUTH_ERROR"
  /// The older name of the same.
  case apnsAuth = "APNS_AUTH_ERROR"
}
