import FoundationEssentials
import NIOHPACK
import Wire

/// A connection to Push Kit, which also serves Huawei's token endpoint here.
struct HMSServerConnection: ServiceConnection {
  let hms: SimulatedHMS
  let number: Int

  /// What the response that accepts a request says.
  struct Request: Sendable {
    var accepted: String
  }

  var streamLimit: Int { hms.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (Request, SimulatedHMS.Reply) {
    let method = headers.first(name: ":method") ?? ""
    let path = headers.first(name: ":path") ?? ""
    if method == "POST", path == HuaweiTokenRequest.path {
      let request = HuaweiTokenRequest(contentType: headers.first(name: "content-type"), body: body)
      let (reply, issued) = hms.reply(to: request)
      let token = issued.replacing("/", with: "\\/")
      let lifetime = Int(HMSServerState.lifetime)
      return (
        Request(accepted: #"{"access_token":"\#(token)","expires_in":\#(lifetime),"token_type":"Bearer"}"#), reply
      )
    }
    let request = HMSRequest(headers, method: method, path: path, body: body)
    let (reply, illegal) = hms.reply(to: request, connection: number, stream: stream)
    return (Request(accepted: HMSBody.accepted(illegal: illegal, of: request.message.tokens.count)), reply)
  }

  func response(to request: Request, refusal: SimulatedHMS.Refusal?) -> SimulatedResponse {
    var response = SimulatedResponse(status: refusal?.status ?? 200, body: refusal?.body ?? request.accepted)
    response.headers = [("content-type", refusal?.contentType ?? "application/json;charset=UTF-8")]
    if let retryAfter = refusal?.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }

  func debugData(_ reason: String) -> String { reason }
}
