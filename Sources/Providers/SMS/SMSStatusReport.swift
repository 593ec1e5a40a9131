import Crypto
import FoundationEssentials
public import Wire
import XML

/// What a provider of SMS says of a message that it took.
public struct SMSStatusReport: Sendable, Hashable {
  public enum Outcome: Sendable, Hashable {
    case delivered
    /// For good.
    case failed(reason: String)
    /// Not yet.
    case pending
  }

  public var reference: SMSReference
  public var outcome: Outcome
  /// What it says of the number; nil for nothing.
  public var cause: InvalidTokenCause?
}

/// Why a status report is not taken.
public enum SMSStatusRefusal: Error, Hashable {
  /// It is in no form of the provider's.
  case malformed
  /// Twilio has not signed it.
  case unsigned
}

extension SMSStatusReport {
  /// Reads the reports in a request, in the form of the account's provider. Those of messages that are not the hub's are left out.
  public static func read(
    _ request: SMSStatusRequest, of account: SMSAccount
  ) throws(SMSStatusRefusal) -> [SMSStatusReport] {
    switch account.provider {
    case .cm: try cm(request)
    case .twilio(_, let authToken): try twilio(request, authToken: authToken)
    case .http: try own(request)
    }
  }

  // MARK: CM

  /// JSON or XML, whose members are found by their names in any case; or a query with the same values.
  private static func cm(_ request: SMSStatusRequest) throws(SMSStatusRefusal) -> [SMSStatusReport] {
    guard !request.body.isEmpty else {
      let fields = Dictionary(
        FormPairs.readLeniently(request.query.utf8).map { ($0.name.lowercasedASCII, $0.value) },
        uniquingKeysWith: { $1 })
      guard let reference = fields["reference"],
        let code = fields["status"] ?? fields["statuscode"] ?? fields["code"]
      else { throw .malformed }
      let error = fields["statusdescription"] ?? fields["errorcode"] ?? fields["standarderrortext"]
      return [cm(reference, code, error)].compactMap(\.self)
    }
    if ParsedXML.isXML(request.body) { return try cmXML(request.body) }
    guard let json = (try? JSONValue(json: request.body))?.withLowercaseNames, let list = json["messages"]?["msg"]
    else {
      throw .malformed
    }
    let messages: [JSONValue] = if case .array(let messages) = list { messages } else { [list] }
    var reports: [SMSStatusReport?] = []
    for message in messages {
      guard let reference = message["reference"]?.word, let code = message["status"]?["code"]?.word else {
        throw .malformed
      }
      reports.append(cm(reference, code, message["status"]?["errorcode"]?.word))
    }
    return reports.compactMap(\.self)
  }

  private static func cmXML(_ body: [UInt8]) throws(SMSStatusRefusal) -> [SMSStatusReport] {
    let xml: ParsedXML
    do { xml = try ParsedXML(body) } catch { throw .malformed }
    let messages = xml.children("MSG")
    guard xml.name.lowercasedASCII == "messages", !messages.isEmpty else { throw .malformed }
    var reports: [SMSStatusReport?] = []
    for message in messages {
      let status = message.children("STATUS").first
      guard let reference = message.text("REFERENCE"), let code = status?.text("CODE") else { throw .malformed }
      let error = status?.text("ERRORCODE").map { String($0.trimmed) }
      reports.append(cm(String(reference.trimmed), String(code.trimmed), error))
    }
    return reports.compactMap(\.self)
  }

  /// - Returns: nil for a message that is not the hub's.
  private static func cm(_ reference: String, _ code: String, _ error: String?) -> SMSStatusReport? {
    guard let reference = SMSReference(reference) else { return nil }
    let error = error.flatMap { Int($0) }
    switch code {
    case "2", "4": return SMSStatusReport(reference: reference, outcome: .delivered)
    case "1", "3":
      // CM still tries.
      if error == 7 { return SMSStatusReport(reference: reference, outcome: .pending) }
      let meaning = error.flatMap { cmErrors[$0] }
      let reason = error.map { "\($0) \(meaning ?? "error")" } ?? (code == "1" ? "rejected" : "failed")
      // 23: never to be used again. 37: the national blacklist.
      let cause: InvalidTokenCause? = error == 37 ? .optedOut : error == 23 ? .unregistered : nil
      return SMSStatusReport(reference: reference, outcome: .failed(reason: reason), cause: cause)
    default: return SMSStatusReport(reference: reference, outcome: .pending)
    }
  }

  /// CM's standard error codes.
  static let cmErrors: [Int: String] = [
    5: "not delivered", 8: "expired", 20: "cannot be delivered in this form", 21: "credit problem",
    22: "credit problem",
    23: "bad number", 24: "subscriber absent", 25: "operator problem", 26: "handset problem",
    27: "handset cannot take it", 28: "suspected spam", 29: "content not permitted", 30: "spend limit",
    31: "cannot be billed", 33: "adult content check", 34: "adult content check", 35: "adult content check",
    36: "adult content check", 37: "opted out (national blacklist)",
  ]

  // MARK: Twilio

  private static func twilio(
    _ request: SMSStatusRequest, authToken: String
  ) throws(SMSStatusRefusal) -> [SMSStatusReport] {
    let fields = FormPairs.readLeniently(request.body)
    guard isSigned(request, fields, authToken: authToken) else { throw .unsigned }
    let values = Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    guard let status = values["MessageStatus"] ?? values["SmsStatus"] else { throw .malformed }
    let query = FormPairs.readLeniently(request.query.utf8)
    guard let text = query.first(where: { $0.name == "reference" })?.value else { throw .malformed }
    guard let reference = SMSReference(text) else { return [] }
    switch status {
    case "delivered", "read": return [SMSStatusReport(reference: reference, outcome: .delivered)]
    case "undelivered", "failed":
      let code = values["ErrorCode"].flatMap { Int($0) }
      let meaning = code.flatMap { twilioErrors[$0] }
      let cause: InvalidTokenCause? =
        code == 21610 ? .optedOut : code.map { [30006, 21211, 21614].contains($0) } == true ? .unregistered : nil
      return [
        SMSStatusReport(
          reference: reference, outcome: .failed(reason: code.map { "\($0) \(meaning ?? "error")" } ?? status),
          cause: cause)
      ]
    default: return [SMSStatusReport(reference: reference, outcome: .pending)]
    }
  }

  /// Twilio's delivery errors.
  static let twilioErrors: [Int: String] = [
    21610: "opted out", 30001: "queue overflow", 30002: "account suspended", 30003: "handset unreachable",
    30004: "blocked", 30005: "handset unknown", 30006: "landline", 30007: "filtered", 30008: "unknown error",
  ]

  /// Twilio, "Security": the HMAC-SHA1 of the address and, in the order of their names, each field's name and value.
  static func isSigned(
    _ request: SMSStatusRequest, _ fields: [(name: String, value: String)], authToken: String
  ) -> Bool {
    guard let code = request.signature.flatMap({ Data(base64Encoded: $0) }) else { return false }
    let sorted = fields.sorted {
      (UTF8String($0.name), UTF8String($0.value)) < (UTF8String($1.name), UTF8String($1.value))
    }
    let text = request.url + sorted.map { $0.name + $0.value }.joined()
    return HMAC<Insecure.SHA1>.isValidAuthenticationCode(
      code, authenticating: Data(text.utf8), using: SymmetricKey(data: Data(authToken.utf8)))
  }

  // MARK: Any other

  /// `{"reference":"…","status":"delivered"}` with an optional `errorCode`, or a list of these.
  private static func own(_ request: SMSStatusRequest) throws(SMSStatusRefusal) -> [SMSStatusReport] {
    guard let json = (try? JSONValue(json: request.body))?.withLowercaseNames else { throw .malformed }
    let messages: [JSONValue] = if case .array(let messages) = json { messages } else { [json] }
    var reports: [SMSStatusReport] = []
    for message in messages {
      guard let text = message["reference"]?.word, let status = message["status"]?.word else { throw .malformed }
      guard let reference = SMSReference(text) else { continue }
      reports.append(own(reference, status.lowercasedASCII, message["errorcode"]?.word))
    }
    return reports
  }

  private static func own(_ reference: SMSReference, _ status: String, _ error: String?) -> SMSStatusReport {
    switch status {
    case "delivered", "read": SMSStatusReport(reference: reference, outcome: .delivered)
    case "failed", "undelivered", "rejected", "expired":
      SMSStatusReport(
        reference: reference,
        outcome: .failed(reason: [status, error].compactMap(\.self).joined(separator: " ")))
    case "opted-out", "optedout":
      SMSStatusReport(reference: reference, outcome: .failed(reason: "opted out"), cause: .optedOut)
    default: SMSStatusReport(reference: reference, outcome: .pending)
    }
  }
}

extension JSONValue {
  /// A text, or a whole number as one.
  fileprivate var word: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    default: nil
    }
  }
}
