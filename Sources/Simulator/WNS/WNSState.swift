import FoundationEssentials

/// What the simulated WNS knows: apps and channels. It touches no socket.
struct WNSState {
  /// By Package SID or client id.
  var clients: [String: RegisteredWindowsClient] = [:]
  /// Channels that a test said something about, by their tokens.
  var channels: [String: KnownChannel] = [:]

  /// Why a request to a channel is refused: the method first, then the access token, the channel, and the notification.
  /// - Parameter access: what is known of its access token; nil if it is unknown.
  func refusal(of request: WNSRequest, _ access: IssuedToken?, now: Date) -> SimulatedWNS.Refusal? {
    if let refusal = request.methodRefusal { return refusal }
    guard let access, access.end > now else {
      return .status(401, "The access token is missing, unknown or has expired")
    }
    return channelRefusal(of: request, access.client) ?? request.formRefusal
  }

  private func channelRefusal(of request: WNSRequest, _ client: String) -> SimulatedWNS.Refusal? {
    guard !request.token.isEmpty else { return .notFound }
    guard let known = channels[request.token] else { return nil }
    if let refusal = known.refusal { return refusal }
    return known.account.map { $0 != client } == true ? .otherApp : nil
  }
}

/// What a test said about a channel.
struct KnownChannel: Sendable {
  /// Nil for any.
  var account: String?
  var refusal: SimulatedWNS.Refusal?
  var connection = SimulatedWNS.DeviceConnection.connected
}
