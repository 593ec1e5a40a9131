import FoundationEssentials
import NIOHPACK
import Wire

/// What the simulated Web Push service knows: browsers that are gone, and rules. It decides on replies, and touches no socket.
struct WebPushServerState {
  /// Origin of the endpoints, as in `https://localhost:8448`.
  var origin = ""
  /// Names of browsers, and of real browsers' channels, that have unsubscribed.
  var unsubscribed: Set<String> = []
  var mailboxes = BrowserMailboxes()
  private let rules: SimulatedWebPush.Rules

  init(rules: SimulatedWebPush.Rules) { self.rules = rules }

  /// The reply to a push. The checks come first, in Mozilla's order; then test tokens; then the rules.
  mutating func reply(to request: WebPushRequest, now: Date) -> SimulatedWebPush.Reply {
    if let refusal = refusal(of: request, now: now) { return .refuse(refusal) }
    return SimulatedWebPush.testTokens.reply(to: request.token, now: now)
      ?? rules.reply(to: request.token)
      ?? .accept
  }

  private func refusal(of request: WebPushRequest, now: Date) -> SimulatedWebPush.Refusal? {
    if let refusal = request.addressRefusal { return refusal }
    guard let endpoint = EndpointID(request.token) else { return .noSuchEndpoint }
    let authorization: VAPIDAuthorization
    do {
      authorization = try VAPIDAuthorization(request.headers.first(name: "authorization"))
    } catch {
      return error
    }
    guard endpoint.admits(authorization.key) else { return .unauthorized("VAPID public key mismatch") }
    if unsubscribed.contains(endpoint.browser) { return .unsubscribed }
    return authorization.refusal(origin: origin, now: now) ?? request.formRefusal
  }
}
