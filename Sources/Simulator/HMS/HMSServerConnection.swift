import FoundationEssentials
import NIOHPACK
import Wire

/// A connection to Push Kit, which also serves Huawei's token endpoint here.
struct HMSServerConnection: ServiceConnection {
  let hms: SimulatedHMS
  let number: Int

  var streamLimit: Int { hms.traffic.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (String, SimulatedHMS.Reply) {
    let method = headers.first(name: ":method") ?? ""
    let path = headers.first(name: ":path") ?? ""
    if method == "POST", path == HuaweiTokenRequest.path {
      let request = HuaweiTokenRequest(contentType: headers.first(name: "content-type"), body: body)
      let (reply, issued) = hms.reply(to: request)
      let token = issued.replacing("/", with: "\\/")
      let lifetime = Int(HMSServerState.lifetime)
      return (#"{"access_token":"\#(token)","expires_in":\#(lifetime),"token_type":"Bearer"}"#, reply)
    }
    let request = HMSRequest(headers, method: method, path: path, body: body)
    let (reply, illegal) = hms.reply(to: request, connection: number, stream: stream)
    return (HMSBody.accepted(illegal: illegal, of: request.message.tokens.count), reply)
  }

  func response(to accepted: String, refusal: SimulatedHMS.Refusal?) -> SimulatedResponse {
    SimulatedResponse(accepted: accepted, contentType: "application/json;charset=UTF-8", refusal: refusal)
  }
}
