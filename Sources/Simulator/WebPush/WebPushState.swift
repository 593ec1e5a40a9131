import FoundationEssentials

/// What the simulated Web Push service knows: browsers that are gone, and what browsers are to get. It touches no socket.
struct WebPushState {
  /// Origin of the endpoints, as in `https://localhost:8448`.
  var origin = ""
  /// Names of browsers, and of real browsers' channels, that have unsubscribed.
  var unsubscribed: Set<String> = []
  var mailboxes = BrowserMailboxes()

  /// Why a push is refused, in the order of Mozilla's checks.
  func refusal(of request: WebPushRequest, now: Date) -> SimulatedWebPush.Refusal? {
    if let refusal = request.addressRefusal { return refusal }
    guard let endpoint = EndpointID(request.token) else { return .noSuchEndpoint }
    let authorization: VAPIDAuthorization
    do {
      authorization = try VAPIDAuthorization(request.header("authorization"))
    } catch {
      return error
    }
    guard endpoint.admits(authorization.key) else { return .unauthorized("VAPID public key mismatch") }
    if unsubscribed.contains(endpoint.browser) { return .unsubscribed }
    return authorization.refusal(origin: origin, now: now) ?? request.formRefusal
  }
}
