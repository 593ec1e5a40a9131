import FoundationEssentials
import Wire

extension SimulatedFCM {
  /// A response of FCM, or of Google's token endpoint, other than 200.
  public struct Refusal: Sendable, Hashable {
    public var status: Int
    public var body: String
    public var contentType: String
    /// The header `retry-after`: seconds, or an HTTP date.
    public var retryAfter: String?

    /// - Parameter body: any text; Google's own proxies answer in HTML.
    public init(
      status: Int, body: String, contentType: String = "application/json; charset=UTF-8", retryAfter: String? = nil
    ) {
      self.status = status
      self.body = body
      self.contentType = contentType
      self.retryAfter = retryAfter
    }

    /// An error in the form of Google's APIs: `{"error":{"code":…,"message":…,"status":…,"details":[…]}}`.
    init(_ status: Int, _ name: String, _ message: String, details: [JSONValue] = [], retryAfter: String? = nil) {
      var error: [UTF8String: JSONValue] = [
        "code": .integer(Int64(status)), "message": .string(message), "status": .string(name),
      ]
      if !details.isEmpty { error["details"] = .array(details) }
      self.init(status: status, body: Self.text(["error": .object(error)]), retryAfter: retryAfter)
    }

    private static func text(_ json: JSONValue) -> String {
      String(decoding: json.json, as: UTF8.self)
    }
  }
}

// MARK: - Errors of FCM

extension SimulatedFCM.Refusal: ListedRefusal, TextRefusal {
  /// The project of PERMISSION_DENIED is Google's wildcard.
  static let listed =
    [
      invalidToken, badValue(of: "message.token"), badValue(of: "message.data[0].value"), unknownMember,
      thirdPartyAuth, apnsAuth, unauthenticated, senderIDMismatch, permissionDenied(project: "-"), unregistered,
      noSuchProject, quotaExceeded(), resourceExhausted, `internal`, unspecified, unavailable(),
    ] + [408, 413, 502].map { page($0) }

  static let listedForTokens = [
    invalidSignature, oauth("invalid_client", "The OAuth client was not found.", status: 401),
    oauth("unauthorized_client", "Client is unauthorized to retrieve access tokens using this method.", status: 401),
    `internal`, unavailable(),
  ]

  /// FCM's error code, or the status of Google's APIs where FCM did not see the request, or the token endpoint's error. A field that it
  /// names follows. A page has none.
  var reason: String {
    let error = (try? JSONValue(json: Array(body.utf8)))?["error"]
    guard case .array(let details) = error?["details"] else { return error?["status"]?.text ?? error?.text ?? "" }
    let code = details.lazy.compactMap { $0["errorCode"]?.text }.first ?? error?["status"]?.text
    let field = details.lazy.compactMap { detail -> String? in
      guard case .array(let violations) = detail["fieldViolations"] else { return nil }
      return violations.first?["field"]?.text
    }.first
    return [code, field].compactMap(\.self).joined(separator: " ")
  }
}

extension SimulatedFCM.Refusal {
  /// 404: the app is gone from the device, or its token was replaced.
  public static let unregistered = fcm(404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found.")
  /// 403: the token belongs to another project.
  public static let senderIDMismatch = fcm(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch")
  /// 500.
  public static let `internal` = fcm(500, "INTERNAL", "INTERNAL", "Internal error encountered.")
  /// 401: FCM cannot sign in to APNs or a web push service.
  public static let thirdPartyAuth = fcm(
    401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service")
  /// 401: the older name of THIRD_PARTY_AUTH_ERROR.
  static let apnsAuth = fcm(401, "UNAUTHENTICATED", "APNS_AUTH_ERROR", "Auth error from APNS")
  /// 500: no more is known.
  static let unspecified = fcm(
    500, "UNKNOWN", "UNSPECIFIED_ERROR", "No more information is available about this error.")
  /// 404: there is no such project.
  static let noSuchProject = Self(404, "NOT_FOUND", "Requested entity was not found.")
  /// 429: a limit of Google's front end, which FCM did not see.
  static let resourceExhausted = Self(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")
  /// 400: a member that messages do not have.
  static let unknownMember = badRequest(
    [
      FCMViolation(
        field: "message", description: "Invalid JSON payload received. Unknown name \"colour\": Cannot find field.")
    ], isFromFCM: false)

  /// 400: a value that FCM does not take.
  static func badValue(of field: String) -> Self {
    badRequest([FCMViolation(field: field, description: "Refused by a rule")], isFromFCM: true)
  }

  /// A page of one of Google's proxies, which is no JSON.
  static func page(_ status: Int) -> Self {
    Self(
      status: status, body: "<!DOCTYPE html><html lang=en><title>Error \(status)</title>",
      contentType: "text/html; charset=UTF-8")
  }

  /// 400: a token that FCM never issued.
  public static let invalidToken = fcm(
    400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token")
  /// 401: the access token is unknown, and a new one may help.
  public static let unauthenticated = google(
    401, "UNAUTHENTICATED",
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
      + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
    reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")

  /// 429.
  public static func quotaExceeded(retryAfter: String? = nil) -> Self {
    fcm(
      429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Quota exceeded for quota metric 'Messages sent'.",
      retryAfter: retryAfter)
  }

  /// 503.
  public static func unavailable(retryAfter: String? = nil) -> Self {
    fcm(503, "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable.", retryAfter: retryAfter)
  }

  /// 403: an account without the right to send for the project.
  public static func permissionDenied(project: String) -> Self {
    google(
      403, "PERMISSION_DENIED",
      "Permission 'cloudmessaging.messages.create' denied on resource "
        + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).",
      reason: "IAM_PERMISSION_DENIED")
  }

  /// Any error with a detail of type `FcmError`.
  /// - Parameters:
  ///   - name: the status of Google's APIs, such as `NOT_FOUND`.
  ///   - errorCode: a code of FCM, such as `UNREGISTERED`.
  public static func fcm(
    _ status: Int, _ name: String, _ errorCode: String, _ message: String, retryAfter: String? = nil
  ) -> Self {
    Self(status, name, message, details: [fcmError(errorCode)], retryAfter: retryAfter)
  }

  /// An error with a detail of type `ErrorInfo`.
  static func google(_ status: Int, _ name: String, _ message: String, reason: String) -> Self {
    let info: JSONValue = [
      "@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "googleapis.com", "reason": .string(reason),
    ]
    return Self(status, name, message, details: [info])
  }

  /// 400 that names fields.
  /// - Parameter isFromFCM: false if the JSON does not fit the message's type, which is found out before FCM sees it.
  static func badRequest(_ violations: [FCMViolation], isFromFCM: Bool) -> Self {
    let details: JSONValue = [
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      "fieldViolations": .array(violations.map(\.json)),
    ]
    return Self(
      400, "INVALID_ARGUMENT", violations.map(\.description).joined(separator: "\n"),
      details: isFromFCM ? [fcmError("INVALID_ARGUMENT"), details] : [details])
  }

  /// 404 of Google's front end, which knows no such address.
  static let noSuchAddress = Self(
    status: 404,
    body: """
      <!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title>\
      <p><b>404.</b> The requested URL was not found on this server.
      """, contentType: "text/html; charset=UTF-8")

  private static func fcmError(_ code: String) -> JSONValue {
    ["@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code)]
  }
}

/// What is wrong with a field of a message.
struct FCMViolation: Hashable, Sendable {
  /// As in `message.data[0].value`; empty for the body as a whole.
  var field = ""
  var description: String

  var json: JSONValue {
    var json: [UTF8String: JSONValue] = ["description": .string(description)]
    if !field.isEmpty { json["field"] = .string(field) }
    return .object(json)
  }
}

// MARK: - Errors of the token endpoint

extension SimulatedFCM.Refusal {
  /// An error of OAuth 2 (RFC 6749, section 5.2): `{"error":"invalid_grant","error_description":"…"}`.
  public static func oauth(
    _ error: String, _ description: String, status: Int = 400, retryAfter: String? = nil
  ) -> Self {
    Self(
      status: status,
      body: text(["error": .string(error), "error_description": .string(description)]), retryAfter: retryAfter)
  }

  /// 400: what the token endpoint says of a key that was deleted.
  public static let invalidSignature = oauth("invalid_grant", "Invalid JWT Signature.")
  /// 400: what it says of a clock that is wrong.
  public static let invalidLifetime = oauth(
    "invalid_grant",
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp "
      + "values in the JWT claim.")
  /// 400: what it says of an account that was deleted.
  public static let accountNotFound = oauth("invalid_grant", "Invalid grant: account not found")
}
