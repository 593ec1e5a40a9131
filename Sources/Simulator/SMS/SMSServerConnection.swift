import FoundationEssentials
import NIOHPACK
import Wire

/// A connection to the simulated providers of SMS.
struct SMSServerConnection: ServiceConnection {
  let sms: SimulatedSMS
  let number: Int

  struct Request: Sendable {
    var isTwilio: Bool
    var accepted: SimulatedResponse
  }

  var streamLimit: Int { sms.traffic.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (Request, SimulatedSMS.Reply) {
    let (method, path) = (headers.first(name: ":method") ?? "", headers.first(name: ":path") ?? "")
    guard let request = SMSRequest(headers, method: method, path: path, body: body, sms.accounts) else {
      let notFound = SimulatedResponse(status: 404, body: "")
      return (Request(isTwilio: false, accepted: notFound), .refuse(.status(404)))
    }
    let (reply, accepted) = sms.reply(to: request, connection: number)
    return (Request(isTwilio: request.service == .twilio, accepted: accepted), reply)
  }

  func response(to request: Request, refusal: SimulatedSMS.Refusal?) -> SimulatedResponse {
    guard let refusal else { return request.accepted }
    let status = refusal.isOfMessage ? 400 : refusal.status
    var response = SimulatedResponse(status: status, body: "<html>\(status)</html>")
    response.headers = [("content-type", refusal.code == nil ? "text/html" : "application/json")]
    if let code = refusal.code {
      response.body =
        request.isTwilio
        ? #"{"code":\#(code),"message":"Refused by \#(code)","more_info":"https://www.twilio.com/docs/errors/\#(code)","status":\#(status)}"#
        : #"{"details":"Refused by \#(code)","errorCode":\#(code),"messages":[]}"#
    }
    if let retryAfter = refusal.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }
}

/// A response's body.
enum SMSBody {
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
      status: status, headers: [("content-type", "application/json")],
      body: String(decoding: json.json, as: UTF8.self))
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
