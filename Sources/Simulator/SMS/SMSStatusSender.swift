import Crypto
import FoundationEssentials
import NIOHTTP1
import Wire

/// Posts status reports to a hub, over http.
enum SMSStatusSender {
  /// - Returns: the status of the answer.
  static func post(
    _ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status, to url: String,
    authTokens: [(key: String, value: String)]
  ) async throws -> Int {
    guard message.isTwilio else {
      return try await PlainHTTP.send(
        .POST, url, headers: [("content-type", "application/json")], body: json(message, status).json)
    }
    let account = authTokens.first ?? (key: "AC0", value: "")
    let fields = fields(message, status, account: account.key)
    return try await PlainHTTP.send(
      .POST, url,
      headers: [
        ("content-type", "application/x-www-form-urlencoded"),
        ("x-twilio-signature", signature(of: url, fields, authToken: account.value)),
      ], body: Array(fields.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&").utf8))
  }

  private static func json(_ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status) -> JSONValue {
    let (code, error): (String, String) =
      switch status {
      case .delivered: ("2", "")
      case .failed(let errorCode): ("3", "\(errorCode)")
      }
    return [
      "messages": [
        "msg": [
          "received": "2026-01-31T12:00:00", "to": .string("00\(message.to)"), "reference": .string(message.reference),
          "status": ["code": .string(code), "errorCode": .string(error), "errorDescription": ""],
          "operator": "Simulator",
        ]
      ]
    ]
  }

  private static func fields(
    _ message: SimulatedSMS.Message, _ status: SimulatedSMS.Status, account: String
  ) -> [(name: String, value: String)] {
    var fields = [
      ("MessageSid", message.sid), ("To", "+\(message.to)"), ("From", message.from), ("AccountSid", account),
      ("ApiVersion", "2010-04-01"),
    ]
    switch status {
    case .delivered: fields.append(("MessageStatus", "delivered"))
    case .failed(let errorCode): fields += [("MessageStatus", "undelivered"), ("ErrorCode", "\(errorCode)")]
    }
    return fields
  }

  /// Twilio, "Security": the address, then each field's name and value in the order of the names.
  private static func signature(of url: String, _ fields: [(name: String, value: String)], authToken: String) -> String
  {
    let text = url + fields.sorted { $0.name < $1.name }.map { $0.name + $0.value }.joined()
    let code = HMAC<Insecure.SHA1>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: Data(authToken.utf8)))
    return Data(code).base64EncodedString()
  }
}
