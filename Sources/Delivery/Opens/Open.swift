public import Content

/// One open of a push.
public struct Open: Sendable, Hashable {
  /// How the push was opened.
  public enum Via: String, Sendable, Hashable, CaseIterable {
    /// The rich page was requested.
    case page
    /// The app reported the push as read.
    case pushreadurl
  }

  /// Who opened it.
  public enum Reader: String, Sendable, Hashable, CaseIterable {
    case person
    /// A HEAD request, or a known scanner or prefetcher. It is stored separately and never counted as an open.
    case machine
  }

  public let link: PushLink
  public let via: Via
  public let reader: Reader

  public init(_ link: PushLink, via: Via, by reader: Reader) {
    self.link = link
    self.via = via
    self.reader = reader
  }
}

/// Every error of this room. Outcomes of pushes are values, not errors.
public enum DeliveryError: Error, Sendable, Hashable {
  /// Too many opens are waiting to be written. The caller may retry shortly.
  case opensOverflow
}
