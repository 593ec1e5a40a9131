import FoundationEssentials
import NIOHPACK

/// A hub's connection to the simulated Web Push service.
struct WebPushServerConnection: ServiceConnection {
  let webPush: SimulatedWebPush
  let number: Int

  var streamLimit: Int { webPush.traffic.streamLimit }

  func receive(
    _ headers: HPACKHeaders, body: [UInt8], on stream: Int
  ) -> (WebPushRequest, SimulatedWebPush.Reply) {
    let request = WebPushRequest(headers, body: body)
    return (request, webPush.reply(to: request, connection: number, stream: stream))
  }

  func response(to request: WebPushRequest, refusal: SimulatedWebPush.Refusal?) -> SimulatedResponse {
    guard let refusal else {
      var response = SimulatedResponse(status: 201)
      response.headers = [("location", "\(webPush.origin)/m/\(request.messageID)"), ("ttl", "\(request.ttl ?? 0)")]
      return response
    }
    var response = SimulatedResponse(status: refusal.status, body: refusal.body)
    response.headers = [("content-type", refusal.body.hasPrefix("{") ? "application/json" : "text/plain")]
    if refusal.status == 410 { response.headers.append(("cache-control", "max-age=86400")) }
    if let retryAfter = refusal.retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }
}
