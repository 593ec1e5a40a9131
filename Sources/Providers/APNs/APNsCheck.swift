/// Whether APNs accepts a key, as `APNsProvider.check` found out without a push to any phone.
public enum APNsCheck: Sendable, Hashable {
  /// The key, its team and the topic are accepted.
  case accepted
  /// APNs refused them, with its own word for why.
  case refused(reason: String)
  /// APNs could not be asked, or did not say: nothing is known about the key.
  case unreachable(reason: String)
}
