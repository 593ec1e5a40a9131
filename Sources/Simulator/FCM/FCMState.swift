import FoundationEssentials

/// What the simulated FCM knows: accounts and registration tokens. It touches no socket.
struct FCMState {
  /// By `client_email`.
  var accounts: [String: RegisteredAccount] = [:]
  /// Registration tokens that a test said something about.
  var tokens: [String: KnownRegistration] = [:]

  /// Why a message is refused: access first, then form, then its registration token.
  /// - Parameter access: what is known of its access token; nil if it is unknown.
  func refusal(of request: FCMRequest, _ access: IssuedToken?, now: Date) -> SimulatedFCM.Refusal? {
    accessRefusal(of: request, access, now: now) ?? request.formRefusal ?? registrationRefusal(of: request)
  }

  private func accessRefusal(of request: FCMRequest, _ access: IssuedToken?, now: Date) -> SimulatedFCM.Refusal? {
    guard request.isSend else { return .noSuchAddress }
    guard request.isSigned else {
      return .google(
        401, "UNAUTHENTICATED",
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
          + "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        reason: "CREDENTIALS_MISSING")
    }
    guard let access else { return .unauthenticated }
    if access.end <= now {
      return .google(
        401, "UNAUTHENTICATED", "Request had invalid authentication credentials. The access token has expired.",
        reason: "ACCESS_TOKEN_EXPIRED")
    }
    if let project = access.project, project != request.project {
      return .permissionDenied(project: request.project)
    }
    return nil
  }

  /// Checks the project of a registration token, and whether it is invalid, in this order.
  private func registrationRefusal(of request: FCMRequest) -> SimulatedFCM.Refusal? {
    guard let known = tokens[request.message.token] else { return nil }
    if let project = known.project, project != request.project { return .senderIDMismatch }
    return known.isUnregistered ? .unregistered : nil
  }
}

/// What a test said about a registration token.
struct KnownRegistration: Hashable, Sendable {
  var project: String?
  var isUnregistered = false
}
