import FoundationEssentials
import NIOHPACK
import Wire

/// A connection to FCM, which also serves Google's token endpoint here.
struct FCMServerConnection: ServiceConnection {
  let fcm: SimulatedFCM
  let number: Int

  /// What the response that accepts a request says.
  struct Request: Sendable {
    var accepted: String
  }

  /// Unlike APNs, all at once.
  var streamLimit: Int { fcm.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (Request, SimulatedFCM.Reply) {
    let method = headers.first(name: ":method") ?? ""
    let path = headers.first(name: ":path") ?? ""
    if method == "POST", path == AccessTokenRequest.path {
      let request = AccessTokenRequest(contentType: headers.first(name: "content-type"), body: body)
      let (reply, issued) = fcm.reply(to: request)
      let lifetime = Int(FCMServerState.lifetime)
      return (
        Request(accepted: #"{"access_token":"\#(issued)","expires_in":\#(lifetime),"token_type":"Bearer"}"#), reply
      )
    }
    let request = FCMRequest(headers, method: method, path: path, body: body)
    let reply = fcm.reply(to: request, connection: number, stream: stream)
    // FCM names no message that was only validated.
    let id = request.message.validateOnly ? "fake_message_id" : "0:\(UUID().uuidString)"
    let name = JSONText.quoted("projects/\(request.project)/messages/\(id)")
    return (Request(accepted: #"{"name":\#(String(decoding: name, as: UTF8.self))}"#), reply)
  }

  func response(to request: Request, refusal: SimulatedFCM.Refusal?) -> SimulatedResponse {
    var response = SimulatedResponse(status: refusal?.status ?? 200, body: refusal?.body ?? request.accepted)
    response.headers = [("content-type", refusal?.contentType ?? "application/json; charset=UTF-8")]
    if let retryAfter = refusal?.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }

  func debugData(_ reason: String) -> String { reason }
}
