/// Whether APNs accepts a key, as `APNsProvider.check` found out without a push to any phone.
public enum APNsCheck: Sendable, Hashable {
  /// The key, its team and the topic are accepted.
  case accepted
  /// APNs refused them, with its own word for why.
  case refused(reason: String)
  /// APNs could not be asked, or did not say: nothing is known about the key.
  case unreachable(reason: String)
}

extension APNsCheck {
  /// What the verdict on the probe of `APNsProvider.check` says about the key.
  init(_ verdict: Verdict) {
    switch verdict {
    case .accepted, .tokenDead: self = .accepted
    case .payloadRefused(let reason) where reason == APNsReason.payloadEmpty.rawValue: self = .accepted
    case .credentialsRefused(let reason): self = .refused(reason: reason)
    case .payloadRefused(let reason), .retry(_, let reason), .unsent(let reason), .uncertain(let reason):
      self = .unreachable(reason: reason)
    }
  }
}
