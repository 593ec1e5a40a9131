import FoundationEssentials
import NIOHPACK
import Wire

/// A connection to FCM, which also serves Google's token endpoint here.
struct FCMServerConnection: ServiceConnection {
  let fcm: SimulatedFCM
  let number: Int

  /// Unlike APNs, all at once.
  var streamLimit: Int { fcm.traffic.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (String, SimulatedFCM.Reply) {
    let method = headers.first(name: ":method") ?? ""
    let path = headers.first(name: ":path") ?? ""
    if method == "POST", path == AccessTokenRequest.path {
      let request = AccessTokenRequest(contentType: headers.first(name: "content-type"), body: body)
      let (reply, issued) = fcm.reply(to: request)
      let lifetime = Int(FCMServerState.lifetime)
      return (#"{"access_token":"\#(issued)","expires_in":\#(lifetime),"token_type":"Bearer"}"#, reply)
    }
    let request = FCMRequest(headers, method: method, path: path, body: body)
    let reply = fcm.reply(to: request, connection: number, stream: stream)
    // FCM names no message that was only validated.
    let id = request.message.validateOnly ? "fake_message_id" : "0:\(UUID().uuidString)"
    let name = JSONText.quoted("projects/\(request.project)/messages/\(id)")
    return (#"{"name":\#(String(decoding: name, as: UTF8.self))}"#, reply)
  }

  func response(to accepted: String, refusal: SimulatedFCM.Refusal?) -> SimulatedResponse {
    SimulatedResponse(accepted: accepted, contentType: "application/json; charset=UTF-8", refusal: refusal)
  }
}
