import FoundationEssentials
import Wire

/// Requests to CM Business Messaging (JSON).
enum CMRequest {
  /// Most messages of a request.
  static let mostMessages = 1000
  /// Minutes for which CM tries at most.
  private static let longestValidity = 2880

  /// A message that has no request yet. Its recipient's token is the member of `msg`, so that different messages share a request.
  static func unsent(_ sms: OutgoingSMS) -> PushRequest {
    PushRequest(
      headers: RequestHeaders(capacity: 0), body: [],
      recipients: [.init(token: message(sms).json, index: 0)])
  }

  private static func message(_ sms: OutgoingSMS) -> JSONValue {
    var body: [UTF8String: JSONValue] = ["content": .string(sms.text.text)]
    // Without it the text is taken as GSM-7.
    if sms.text.isUnicode || sms.coding == .auto { body["type"] = "auto" }
    var message: [UTF8String: JSONValue] = [
      "from": .string(sms.from), "to": [["number": .string(sms.to.international)]], "body": .object(body),
      "reference": .string(sms.reference), "allowedChannels": ["SMS"], "minimumNumberOfMessageParts": 1,
      "maximumNumberOfMessageParts": .integer(Int64(sms.text.parts)),
    ]
    if sms.coding == .ucs2 { message["dcs"] = 8 }
    if let validity = sms.validity, validity <= longestValidity * 60 {
      // CM counts minutes: rather fewer than were asked for.
      message["validity"] = .string("\(max(1, validity / 60))m")
    }
    return .object(message)
  }

  /// Requests of up to `mostMessages` of these messages each, in their order.
  static func joined(_ pushes: [PushRequest], productToken: String, path: String) -> [PushRequest] {
    let recipients = pushes.enumerated().flatMap { index, push in
      push.recipients.map { PushRequest.Recipient(token: $0.token, index: index) }
    }
    return stride(from: 0, to: recipients.count, by: mostMessages).map { start in
      let group = Array(recipients[start..<min(start + mostMessages, recipients.count)])
      return request(group, productToken, path)
    }
  }

  /// A request without messages, which sends nothing.
  static func probe(productToken: String, path: String) -> PushRequest { request([], productToken, path) }

  private static func request(
    _ recipients: [PushRequest.Recipient], _ productToken: String, _ path: String
  ) -> PushRequest {
    var body = Array(#"{"messages":{"authentication":{"producttoken":"#.utf8) + JSONText.quoted(productToken)
    body += Array(#"},"msg":["#.utf8)
    for recipient in recipients {
      if body.last != UInt8(ascii: "[") { body.append(UInt8(ascii: ",")) }
      body += recipient.token
    }
    body += Array("]}}".utf8)
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/json")
    headers.add("content-length", String(body.count), .changing)
    return PushRequest(headers: headers, body: body, recipients: recipients)
  }
}

/// Every code of CM's replies.
enum CMCode: Int64, CaseIterable {
  case ok = 0
  case authenticationFailed = 101
  case balanceInsufficient = 102
  case keyIncorrect = 103
  case notAllSent = 201
  case requestMalformed = 202
  case messagesIncorrect = 203
  case senderInvalid = 301
  case recipientInvalid = 302
  case numberInvalid = 303
  case bodyInvalid = 304
  case fieldInvalid = 305
  case spam = 401
  case blacklisted = 402
  case rejected = 403
  case internalError = 500
  case unknown = 999

  /// For the ledger and for people, as in `303 number invalid`.
  var reason: String {
    let meaning =
      switch self {
      case .ok: "ok"
      case .authenticationFailed: "authentication failed"
      case .balanceInsufficient: "balance insufficient"
      case .keyIncorrect: "API key incorrect"
      case .notAllSent: "not all sent"
      case .requestMalformed: "request malformed"
      case .messagesIncorrect: "messages incorrect"
      case .senderInvalid: "sender invalid"
      case .recipientInvalid: "recipient invalid"
      case .numberInvalid: "number invalid"
      case .bodyInvalid: "body invalid"
      case .fieldInvalid: "field invalid"
      case .spam: "filtered as spam"
      case .blacklisted: "opted out"
      case .rejected: "rejected"
      case .internalError: "internal error"
      case .unknown: "unknown error"
      }
    return "\(rawValue) \(meaning)"
  }

  /// The table.
  /// - Parameter now: an opt-out is certain as of now, so that it says nothing about other numbers.
  func verdict(retryAfter: Duration?, at now: Date) -> Verdict {
    switch self {
    case .ok: .accepted
    // The account is at fault.
    case .authenticationFailed, .balanceInsufficient, .keyIncorrect: .credentialsRefused(reason: reason)
    // Which messages were sent is in the messages' own codes.
    case .notAllSent: .uncertain(reason: reason, isAnswered: true)
    // The message is at fault.
    case .requestMalformed, .messagesIncorrect, .senderInvalid, .recipientInvalid, .bodyInvalid, .fieldInvalid, .spam,
      .rejected:
      .payloadRefused(reason: reason)
    // The number is.
    case .numberInvalid: .tokenInvalid(.unregistered, since: nil, reason: reason)
    case .blacklisted: .tokenInvalid(.optedOut, since: now, reason: reason)
    // Later.
    case .internalError, .unknown: .retry(after: retryAfter, reason: reason)
    }
  }
}

extension ResponseClassification {
  /// The messages' own codes count before the request's, and that before the HTTP status.
  init(cm response: ServiceResponse, to request: PushRequest, at now: Date) {
    let body = (try? JSONValue(json: response.body))?.withLowercaseNames
    let code = body?["errorcode"]?.int
    if let known = code.flatMap(CMCode.init(rawValue:)), known != .ok {
      self.init(verdict: known.verdict(retryAfter: response.retryAfter, at: now), reason: known.reason)
    } else {
      self.init(smsStatus: response, code.flatMap { $0 == 0 ? nil : "\($0)" })
    }
    guard case .array(let messages) = body?["messages"], !messages.isEmpty else { return }
    // What the reply does not name may have been sent.
    verdict = .uncertain(reason: .hub(.noWordOfMessage), isAnswered: true)
    var verdicts: [String: Verdict] = [:]
    for message in messages {
      guard let reference = message["reference"]?.text else { continue }
      let code = message["messageerrorcode"]?.int ?? -1
      let isAccepted = message["status"]?.text.map { $0.lowercasedASCII == "accepted" }
      let known = CMCode(rawValue: code)
      verdicts[reference] =
        switch (known, isAccepted) {
        case (.ok, true), (.ok, nil): .accepted
        case (.ok, false): .payloadRefused(reason: CMCode.rejected.reason)
        case (let known?, _): known.verdict(retryAfter: response.retryAfter, at: now)
        case (nil, true): .accepted
        case (nil, false): .payloadRefused(reason: "\(code)")
        case (nil, nil): .uncertain(reason: "\(code)", isAnswered: true)
        }
    }
    for (place, recipient) in request.recipients.enumerated() {
      if let reference = (try? JSONValue(json: recipient.token))?["reference"]?.text {
        exceptions[place] = verdicts[reference]
      }
    }
    reason = nil
  }
}

extension JSONValue {
  /// The number, if this is a whole one, or a text of one.
  var int: Int64? {
    switch self {
    case .number(let number): number.integer
    case .string(let text): Int64(text)
    default: nil
    }
  }

  /// The value with all names of members in lower case: CM writes them in any case.
  var withLowercaseNames: JSONValue {
    switch self {
    case .array(let values): .array(values.map(\.withLowercaseNames))
    case .object(let members):
      .object(
        Dictionary(members.map { ($0.key.lowercasedASCII, $0.value.withLowercaseNames) }) { first, _ in first })
    default: self
    }
  }
}
