import Wire
import FoundationEssentials

/// A response of Push Kit.
struct HMSResponse: Hashable, Sendable, StatusBearing {
  var status: Int
  /// Such as `80000000`; nil if the body has none.
  var code: String?
  /// After a partial failure, the tokens that are invalid; nil if the response does not name them.
  var illegalTokens: [String]?
  /// After a partial failure, how many tokens got the message; nil if the response does not say so.
  var accepted: Int?
  /// The header `retry-after`, which Huawei does not document.
  var retryAfter: Duration?

  init(
    status: Int, code: String? = nil, illegalTokens: [String]? = nil, accepted: Int? = nil, retryAfter: Duration? = nil
  ) {
    self.accepted = accepted
    self.status = status
    self.code = code
    self.illegalTokens = illegalTokens
    self.retryAfter = retryAfter
  }

  /// Reads `{"code":"80000000","msg":"Success","requestId":"…"}`; a body that is not JSON, as of a proxy, says nothing.
  init(_ response: ServiceResponse) {
    self.init(status: response.status, retryAfter: response.retryAfter)
    guard let body = try? JSONCoding.decode(Body.self, from: response.body) else { return }
    code = body.code
    // A JSON text inside the JSON.
    let report = body.msg.flatMap { try? JSONCoding.decode(Report.self, from: $0.utf8) }
    illegalTokens = report?.illegal_tokens
    accepted = report?.success
  }

  private struct Body: Decodable {
    var code: String?
    var msg: String?
  }

  private struct Report: Decodable {
    var success: Int?
    var illegal_tokens: [String]?
  }
}

/// Every code that Push Kit documents (Huawei, "Push Kit Server", response codes).
enum HMSCode: String, CaseIterable, Sendable {
  case success = "80000000"
  case partialFailure = "80100000"
  case badParameter = "80100001"
  case badStructure = "80100003"
  case expired = "80100004"
  case badCollapseKey = "80100013"
  case sensitiveContent = "80100016"
  case tooManyTopicJobs = "80100017"
  case badReviewSignature = "80100018"
  case authenticationFailed = "80200001"
  case accessTokenExpired = "80200003"
  case signedTokenExpired = "80200005"
  case noPermission = "80300002"
  case allTokensInvalid = "80300007"
  case bodyTooLarge = "80300008"
  case tooManyTokens = "80300010"
  case noHighPriority = "80300011"
  case badReceiptAddress = "80300013"
  case signInUnavailable = "80600003"
  case internalError = "81000001"
}
