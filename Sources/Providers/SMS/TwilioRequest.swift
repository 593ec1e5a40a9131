import FoundationEssentials
import Wire

/// Requests to Twilio (Messages and Calls, 2010-04-01).
enum TwilioRequest {
  /// Seconds for which Twilio tries at most.
  private static let longestValidity = 14_400

  /// - Parameter statusURL: the push's reference is added to it, since Twilio keeps no reference of ours.
  static func message(_ sms: OutgoingSMS, path: String, statusURL: String?) -> PushRequest {
    var fields = [("To", sms.to.e164)]
    fields.append((SMSAccount.isMessagingService(sms.from) ? "MessagingServiceSid" : "From", sms.from))
    fields.append(("Body", sms.text.text))
    if let statusURL { fields.append(("StatusCallback", "\(statusURL)?reference=\(sms.reference)")) }
    if let validity = sms.validity, validity <= longestValidity { fields.append(("ValidityPeriod", "\(validity)")) }
    return post(fields, path: path)
  }

  /// - Parameter twiml: what the call says.
  static func call(to number: PhoneNumber, from: String, twiml: [UInt8], path: String) -> PushRequest {
    post(
      [("To", number.e164), ("From", from), ("Twiml", String(decoding: twiml, as: UTF8.self))], path: path)
  }

  /// Shows the account.
  static func account(_ accountSID: String) -> PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", "/2010-04-01/Accounts/\(FormText.encoded(accountSID)).json")
    var request = PushRequest(headers: headers, body: [])
    request.method = .get
    return request
  }

  private static func post(_ fields: [(name: String, value: String)], path: String) -> PushRequest {
    let body = Array(fields.map { "\($0.name)=\(FormText.encoded($0.value))" }.joined(separator: "&").utf8)
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/x-www-form-urlencoded")
    headers.add("content-length", String(body.count), .changing)
    return PushRequest(headers: headers, body: body)
  }
}

/// The codes of Twilio's errors that have a meaning of their own.
enum TwilioCode: Int64, CaseIterable {
  case authenticationFailed = 20003
  case notFound = 20404
  case tooManyRequests = 20429
  case numberInvalid = 21211
  case countryNotEnabled = 21408
  case bodyMissing = 21602
  case senderMissing = 21603
  case numberMissing = 21604
  case senderNotYours = 21606
  case trialLimit = 21608
  case optedOut = 21610
  case notRoutable = 21612
  case noMobileNumber = 21614
  case bodyTooLong = 21617

  /// For the ledger and for people, as in `21211 number invalid`.
  var reason: String {
    let meaning =
      switch self {
      case .authenticationFailed: "authentication failed"
      case .notFound: "account not found"
      case .tooManyRequests: "too many requests"
      case .numberInvalid: "number invalid"
      case .countryNotEnabled: "country not enabled"
      case .bodyMissing: "body missing"
      case .senderMissing: "sender missing"
      case .numberMissing: "number missing"
      case .senderNotYours: "sender is not the account's"
      case .trialLimit: "trial account"
      case .optedOut: "opted out"
      case .notRoutable: "not routable from this sender"
      case .noMobileNumber: "no mobile number"
      case .bodyTooLong: "body too long"
      }
    return "\(rawValue) \(meaning)"
  }

  /// The table. A country that is not enabled is the message's fault, and so is a sender that the message named: others go on.
  /// - Parameter now: an opt-out is certain as of now, so that it says nothing about other numbers.
  func verdict(hasOwnSender: Bool, retryAfter: Duration?, at now: Date) -> Verdict {
    switch self {
    case .senderMissing where hasOwnSender, .senderNotYours where hasOwnSender: .payloadRefused(reason: reason)
    case .authenticationFailed, .notFound, .senderMissing, .senderNotYours, .trialLimit:
      .credentialsRefused(reason: reason)
    case .tooManyRequests: .retry(after: retryAfter, reason: reason, appliesToService: retryAfter != nil)
    case .numberInvalid, .noMobileNumber: .tokenInvalid(.unregistered, since: nil, reason: reason)
    case .optedOut: .tokenInvalid(.optedOut, since: now, reason: reason)
    case .countryNotEnabled, .bodyMissing, .numberMissing, .notRoutable, .bodyTooLong: .payloadRefused(reason: reason)
    }
  }
}

extension ResponseClassification {
  /// The code counts before the HTTP status.
  init(twilio response: ServiceResponse, to request: PushRequest, at now: Date) {
    if [200, 201, 202].contains(response.status) {
      self.init(verdict: .accepted)
      return
    }
    let code = (try? JSONValue(json: response.body))?["code"]?.int
    if let known = code.flatMap(TwilioCode.init(rawValue:)) {
      let verdict = known.verdict(hasOwnSender: request.hasOwnSender, retryAfter: response.retryAfter, at: now)
      self.init(verdict: verdict, reason: known.reason)
    } else {
      self.init(smsStatus: response, code.map { "\($0)" })
    }
  }
}
