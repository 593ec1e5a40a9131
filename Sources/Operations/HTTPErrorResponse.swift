public import HTTPTypes
import Retrying
public import Wire

/// Why a request was refused or failed: a status and one sentence for the client, without any value it sent.
public struct HTTPErrorResponse: Error, Sendable, Equatable {
  public var status: HTTPResponse.Status
  /// The text of `{"error":"…"}`; names the field it is about. Empty for a reply without a body.
  public var sentence: String
  public var headers: HTTPFields
  /// A word for programs, where the status stands for several refusals.
  public var code: String?

  public init(
    _ status: HTTPResponse.Status, _ sentence: String, headers: HTTPFields = [:], code: String? = nil
  ) {
    self.status = status
    self.sentence = sentence
    self.headers = headers
    self.code = code
  }
}

extension HTTPErrorResponse {
  public static func badRequest(_ sentence: String) -> HTTPErrorResponse { HTTPErrorResponse(.badRequest, sentence) }

  /// - Parameter problem: the rest of the sentence that begins with the field's name. It may end with a question mark, as in "did you mean
  ///   country?".
  public static func badRequest(field: String, problem: String) -> HTTPErrorResponse {
    badRequest("\(field) \(problem)\(problem.utf8.last == UInt8(ascii: "?") ? "" : ".")")
  }

  public static func notFound(_ sentence: String) -> HTTPErrorResponse { HTTPErrorResponse(.notFound, sentence) }
  public static func conflict(_ sentence: String) -> HTTPErrorResponse { HTTPErrorResponse(.conflict, sentence) }

  /// A missing, wrong or revoked key, or one of another customer: all get the same reply.
  public static let unauthorized = HTTPErrorResponse(
    .unauthorized,
    "The access key is missing or invalid for this customer. Send it as X-Carma-Authentication-Token, or as "
      + "Authorization: Bearer.",
    headers: [.wwwAuthenticate: "Bearer realm=\"pushcart\""])

  public static func forbidden(needs scope: String) -> HTTPErrorResponse {
    HTTPErrorResponse(.forbidden, "This needs an access key of scope \(scope).")
  }

  /// Of a user in the console.
  public static let roleRefused = HTTPErrorResponse(
    .forbidden, "Your role for this customer does not allow this. Ask one of its owners.")

  /// Of a user in the console, where a reply has personal fields.
  public static let personalRefused = HTTPErrorResponse(
    .forbidden, "You may not see personal fields of this customer's contacts. Ask one of its owners.")

  /// To a user of the console whose filter would give personal fields away by whom it finds, or how many.
  public static let personalFilterRefused = HTTPErrorResponse(
    .forbidden,
    "The filter, or a segment in it, asks for personal fields of contacts, which you may not see. Ask one of the "
      + "customer's owners.")

  /// Of a key that is bound to one app, at the routes of another.
  public static let boundElsewhere = HTTPErrorResponse(.forbidden, "This access key is bound to another app.")

  /// Of a key that is bound to one app, at routes of the whole customer.
  public static let boundKey = HTTPErrorResponse(
    .forbidden, "This access key is bound to an app. This needs one that is not.")

  public static let identityRefused = HTTPErrorResponse(
    .forbidden,
    "X-Pushcart-Identity is missing or wrong. It must be the HMAC-SHA256 of originalId, in hexadecimal or base64url, "
      + "with the app's identity secret as the key.")

  public static func tooLarge(limit: Int) -> HTTPErrorResponse {
    HTTPErrorResponse(.contentTooLarge, "The body is larger than \(limit) bytes.")
  }

  /// A body that names its sender itself, and does not do so at its beginning.
  package static let tooLargeForUnknown = HTTPErrorResponse(
    .contentTooLarge,
    "The body is larger than \(Limits.body) bytes, and these have no valid product token. Put it before the messages.")

  public static let brokenBody = badRequest("The body is incomplete or its framing is invalid.")

  /// Where clients take a 404 for something else.
  package static let unknownPath = badRequest("There is nothing at this path. Are its slashes right?")

  public static let notHTTP = badRequest(
    "This is not a valid HTTP request, or its head is too large: 100 fields, 16 KiB each, 32 KiB in all.")

  /// More requests a second than the hub answers for one link, key or address.
  /// - Parameter wait: until the next request is answered.
  public static func tooManyRequests(after wait: Duration) -> HTTPErrorResponse {
    let seconds = max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
    return HTTPErrorResponse(
      .tooManyRequests, "There are too many requests. Try again later.", headers: [.retryAfter: "\(seconds)"])
  }

  /// More attempts to sign in than anybody needs who knows the password.
  static func tooManySignIns(seconds: Int64) -> HTTPErrorResponse {
    let minutes = (seconds + 59) / 60
    return HTTPErrorResponse(
      .tooManyRequests,
      "There were too many attempts to sign in. Try again in \(minutes == 1 ? "a minute" : "\(minutes) minutes").",
      headers: [.retryAfter: "\(seconds)"])
  }

  public static let notJSON = HTTPErrorResponse(
    .unsupportedMediaType, "The body must be JSON, sent as Content-Type: application/json.")

  public static let notCSV = HTTPErrorResponse(
    .unsupportedMediaType, "The body must be CSV, packed by gzip or not, sent as Content-Type: text/csv.")

  public static func methodNotAllowed(_ allowed: [HTTPRequest.Method]) -> HTTPErrorResponse {
    let list = allowed.map(\.rawValue).sorted().joined(separator: ", ")
    return HTTPErrorResponse(.methodNotAllowed, "This path answers \(list).", headers: [.allow: list])
  }

  /// An app that something names is not removed.
  package static func appInUse(by user: AppUser) -> HTTPErrorResponse {
    switch user {
    case .sendout(let sendout):
      conflict(
        "Sendout \(sendout) names this app, so it stays: reports need it. Leave it out of new sendouts instead.")
    case .messages:
      conflict(
        "Single messages were sent to this app, so it stays: reports need it. Leave it out of new messages instead.")
    case .trigger(let trigger):
      conflict("Trigger \(trigger) goes to this app. Give the trigger another app, or remove it, and try again.")
    case .hybrid:
      conflict("Hybrid Messaging is enabled for this app, so it stays: phones are registered with its app key.")
    }
  }

  /// Nothing can be sent to the app yet: names the commands that add what opens its push service.
  /// - Parameter field: the credential that it needs.
  public static func noCredentials(
    _ customer: CustomerID, _ app: PushAppID, appID: String, _ type: AppType, field: String
  ) -> HTTPErrorResponse {
    let path = type == .sms ? "PUT /api/v1/sms" : "PATCH /api/v1/apps/\(app)"
    let command = type == .sms ? "sms set --customer \(customer)" : "app update \(app) --customer \(customer)"
    let options = type.service.signIns.compactMap(\.options)
    let commands = options.map { "pushcart \(command) \($0)" }
    return conflict(
      "App \(appID) (\(type.platform)) has no \(field), so nothing can be sent to it. Add its credentials by \(path), or by "
        + commands.joined(separator: ", or by ") + ".")
  }

  /// When to try again, of a hub that cannot serve now.
  package static let inAMoment: HTTPFields = [.retryAfter: "\(RetryPolicy.clients.components.seconds)"]

  /// The database cannot be reached: nothing was done.
  public static let unavailable = HTTPErrorResponse(
    .serviceUnavailable, "The hub cannot reach its database. Try again in a moment.", headers: inAMoment)

  /// Others have locked for long what is to be changed: nothing was done.
  public static let locked = conflict(
    "Something else is changing this at the moment. Nothing was done: repeat the request in a moment.")

  /// The hub or its database is overloaded: nothing was done.
  public static let busy = HTTPErrorResponse(
    .serviceUnavailable, "The hub is overloaded. Try again in a moment.", headers: inAMoment)

  /// The database was at it for longer than it may take: nothing was done.
  public static let timedOut = HTTPErrorResponse(
    .serviceUnavailable,
    "The database took longer than this may take, so nothing was done. Try again in a moment, or ask for less.",
    headers: inAMoment)

  /// The connection to the database broke in the middle: the request may have been done or not.
  public static let outcomeUnknown = HTTPErrorResponse(
    .serviceUnavailable, "The hub lost its database connection. Whether this was done is unknown.",
    headers: inAMoment)

  public static func internalError(requestID: String) -> HTTPErrorResponse {
    HTTPErrorResponse(
      .internalServerError, "The hub failed. Its log has details under request id \(requestID).")
  }

  package static let noNumber = badRequest("number must be a telephone number \(PhoneNumber.form).")

  package static let noSMS = notFound(
    "There is no provider of SMS. Set one by PUT /api/v1/sms, or by pushcart sms set --customer N.")

  /// A telephone number that gets SMS already.
  package static let noOptOut = notFound("This number has not opted out of SMS.")

  /// Signatures count seconds and cover no body: two requests of a phone in one second have the same.
  package static let signedTwice = HTTPErrorResponse(
    .tooManyRequests, "Another request of this phone was signed for the same second. Sign this one again in a second.",
    headers: [.retryAfter: "1"])

  /// iOS clients of CM Hybrid Messaging forget their DeviceID and register anew when they read this text.
  package static let noRegistration = "No registration with DeviceID: POST /v1.0/deviceregistrations makes one."
}

extension PhoneNumber {
  /// The number in a path or query.
  /// - Throws: `HTTPErrorResponse` (400).
  static func read(_ text: String) throws -> PhoneNumber {
    guard let number = PhoneNumber(text) else { throw HTTPErrorResponse.noNumber }
    return number
  }
}
