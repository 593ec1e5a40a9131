import Retrying
import FoundationEssentials
import Locking
import Wire

/// What connections have to know about one origin of Web Push, and the app's token there.
final class WebPushDescription: ServiceDescription {
  static let name = "Web Push"
  static let label = PushServiceName.webpush.rawValue

  /// How long before its end a token is replaced, in seconds.
  private static let renewal: TimeInterval = 3600

  private struct State {
    var token: (authorization: Authorization, madeAt: Date)?
    /// When a token was last dropped because it was refused.
    var refusedAt: Date?
    /// Paths of subscriptions for which the token was refused, since the last push that was accepted.
    var refusedPaths: Set<String> = []
  }

  /// Refusals of the token for fewer subscriptions say more about these than about the app's key: one can be made with another key.
  private static let evidence = 5

  private let origin: ServiceAddress
  private let signer: VAPIDSigner?
  private let rule: EndpointRule
  private let now: @Sendable () -> Date
  private let state = Mutex(State())

  /// - Parameter signer: nil if the app's key is unusable.
  init(_ origin: ServiceAddress, _ signer: VAPIDSigner?, _ rule: EndpointRule, now: @escaping @Sendable () -> Date) {
    self.origin = origin
    self.signer = signer
    self.rule = rule
    self.now = now
  }

  var name: String { Self.name }
  var label: String { Self.label }
  var mayBePrivate: Bool { rule.isListed(origin.host, origin.port) }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    let now = now()
    return state.withLock { state in
      // A clock that was set back would keep a token for too long.
      if let token = state.token,
        (-60..<VAPIDSigner.lifetime - Self.renewal).contains(now.timeIntervalSince(token.madeAt))
      {
        return .available(token.authorization)
      }
      guard let value = try? signer?.authorization(for: "https://\(origin.authority)", now: now) else {
        return .unusable(.credentialsRefused(reason: .hub(.privateKeyUnusable)))
      }
      state.token = (Authorization(value: value), now)
      return .available(Authorization(value: value))
    }
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    var classification = ResponseClassification(WebPushResponse(response))
    // An untrusted server's answer is about its own push alone.
    let isTrusted = rule.isTrusted(origin.host, origin.port)
    switch classification.verdict {
    case .tokenInvalid(.wrongApp, let since, let reason) where !isTrusted:
      classification.verdict = .tokenInvalid(.unregistered, since: since, reason: reason)
    case .retry(let after, let reason, let appliesToService)
    where isTrusted && classification.recovery == .newToken && isRefusedByAll(request):
      classification.verdict = .retry(
        after: after, reason: .hub(.tokenRefused, reason), appliesToService: appliesToService)
    case .accepted: state.withLock { $0.refusedPaths = [] }
    default: break
    }
    return classification
  }

  /// Notes that the token was refused.
  /// - Returns: whether so many subscriptions were refused, and none accepted in between, that the app's key is at fault.
  private func isRefusedByAll(_ request: PushRequest) -> Bool {
    let path = request.headers[":path"] ?? ""
    return state.withLock { state in
      if state.refusedPaths.count < Self.evidence { state.refusedPaths.insert(path) }
      return state.refusedPaths.count >= Self.evidence
    }
  }

  /// The token was refused, so another is made; unless the last one was refused too, within a minute: then no token helps.
  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool {
    let now = now()
    return state.withLock { state in
      guard state.token?.authorization == authorization else { return true }
      if let refusedAt = state.refusedAt, abs(now.timeIntervalSince(refusedAt)) < RetryPolicy.renewals / .seconds(1) {
        return false
      }
      state.refusedAt = now
      state.token = nil
      return true
    }
  }
}
