import FoundationEssentials
import NIOHPACK

/// A connection to WNS, which also serves both of Microsoft's token endpoints here.
struct WNSServerConnection: ServiceConnection {
  let wns: SimulatedWNS
  let number: Int

  /// What the response that accepts a request says, and the headers of any response.
  struct Request: Sendable {
    var accepted: String?
    var headers: [(name: String, value: String)]
    /// Said where no rule says something else.
    var status: (name: String, value: String)?
  }

  var streamLimit: Int { wns.traffic.streamLimit }

  func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (Request, SimulatedWNS.Reply) {
    let method = headers.first(name: ":method") ?? ""
    let path = headers.first(name: ":path") ?? ""
    if method == "POST",
      let request = MicrosoftTokenRequest(path: path, contentType: headers.first(name: "content-type"), body: body)
    {
      let (reply, issued) = wns.reply(to: request)
      let accepted = #"{"token_type":"bearer","access_token":"\#(issued)","expires_in":\#(Int(request.lifetime))}"#
      return (Request(accepted: accepted, headers: [("content-type", "application/json")]), reply)
    }
    let request = WNSRequest(headers, method: method, path: path, body: body)
    let (reply, connection) = wns.reply(to: request, connection: number, stream: stream)
    var answer = Request(headers: [
      ("x-wns-msg-id", String(UUID().uuidString.filter { $0 != "-" }.prefix(16))), ("x-wns-debug-trace", "SIMULATOR"),
    ])
    if let vector = headers.first(name: "ms-cv") { answer.headers.append(("ms-cv", vector)) }
    if headers.first(name: "x-wns-requestforstatus") == "true" {
      answer.headers.append(("x-wns-deviceconnectionstatus", connection.rawValue))
    }
    answer.status = ("x-wns-notificationstatus", "received")
    return (answer, reply)
  }

  func response(to request: Request, refusal: SimulatedWNS.Refusal?) -> SimulatedResponse {
    guard let refusal else {
      return SimulatedResponse(
        status: 200, headers: request.headers + [request.status].compactMap(\.self), body: request.accepted)
    }
    let own = refusal.headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    return SimulatedResponse(
      status: refusal.status, headers: request.headers.filter { refusal.headers[$0.name] == nil } + own,
      body: refusal.body)
  }
}
