import FoundationEssentials

/// What the simulated Push Kit knows: clients, service accounts and push tokens. It touches no socket.
struct HMSState {
  /// Secrets by client id.
  var clients: [String: String] = [:]
  /// Names of apps by client id.
  var names: [String: String] = [:]
  /// By `sub_account`.
  var accounts: [String: RegisteredHuaweiAccount] = [:]
  /// Push tokens that are invalid.
  var unregistered: Set<String> = []
  let trustsUnknownKeys: Bool

  /// Why a message is refused, whatever its tokens: access first, then form.
  /// - Parameter access: what is known of its access token; nil if it is unknown.
  func refusal(of request: HMSRequest, _ access: IssuedToken?, now: Date) -> SimulatedHMS.Refusal? {
    if let refusal = accessRefusal(of: request, access, now: now) ?? request.formRefusal { return refusal }
    return request.message.isUrgent
      ? .code("80300011", message: "No permission to send messages of high priority.") : nil
  }

  private func accessRefusal(of request: HMSRequest, _ access: IssuedToken?, now: Date) -> SimulatedHMS.Refusal? {
    guard request.isSend else { return .noSuchAddress }
    guard let bearer = request.bearer else { return .code("80200001", message: "The authorization is missing.") }
    if request.isOfProject {
      return HuaweiJWTCheck.refusal(
        bearer, project: request.account, accounts: accounts, trustsUnknownKeys: trustsUnknownKeys, now: now)
    }
    guard let access else { return .code("80200001", message: "The access token is unknown.") }
    if access.end <= now { return .code("80200003", message: "The access token has expired.") }
    if access.client != request.account {
      return .code("80200001", message: "The access token belongs to another client.")
    }
    return nil
  }
}
