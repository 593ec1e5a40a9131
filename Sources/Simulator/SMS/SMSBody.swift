import Wire

/// The responses of CM and Twilio.
enum SMSBody {
  /// - Parameter isTwilio: whether the request was for Twilio.
  static func refused(_ refusal: SimulatedSMS.Refusal, isTwilio: Bool) -> SimulatedResponse {
    let status = refusal.isOfMessage ? 400 : refusal.status
    var response = SimulatedResponse(status: status, "<html>\(status)</html>", contentType: "text/html")
    if let code = refusal.code {
      let body =
        isTwilio
        ? #"{"code":\#(code),"message":"Refused by \#(code)","more_info":"https://www.twilio.com/docs/errors/\#(code)","status":\#(status)}"#
        : #"{"details":"Refused by \#(code)","errorCode":\#(code),"messages":[]}"#
      response = SimulatedResponse(status: status, body, contentType: "application/json")
    }
    if let retryAfter = refusal.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }

  static func accepted(_ request: SMSRequest, _ messages: [SimulatedSMS.Message]) -> SimulatedResponse {
    var status = 201
    let json: JSONValue
    switch (request.service, request.kind) {
    case (.cm, .call):
      status = 200
      json = ["success": true]
    case (.cm, _):
      let taken = messages.count { $0.code == nil }
      status = taken > 0 ? 200 : 400
      json = [
        "details": .string("Created \(taken) message(s)"), "errorCode": taken == messages.count ? 0 : 201,
        "messages": .array(zip(request.parts, messages).map(message)),
      ]
    case (.twilio, .account):
      status = 200
      json = ["status": "active"]
    case (.twilio, _):
      json = [
        "sid": .string(messages.first?.sid ?? ""), "status": "queued", "to": .string(request.parts.first?.number ?? ""),
        "num_segments": .string("\(messages.first?.parts ?? 1)"), "error_code": nil, "error_message": nil,
      ]
    }
    return SimulatedResponse(
      status: status, String(decoding: json.json, as: UTF8.self), contentType: "application/json")
  }

  private static func message(_ part: SMSRequest.Part, _ message: SimulatedSMS.Message) -> JSONValue {
    [
      "to": .string(part.number), "status": message.code == nil ? "Accepted" : "Rejected",
      "reference": .string(part.reference), "parts": .integer(message.code == nil ? Int64(part.parts) : 0),
      "messageDetails": message.code.map { .string("Refused by \($0)") } ?? .null,
      "messageErrorCode": .integer(Int64(message.code ?? 0)),
    ]
  }
}
