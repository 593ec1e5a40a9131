public import Content

/// A push was opened.
public struct Open: Sendable, Hashable {
  /// By what.
  public enum Via: String, Sendable, Hashable, CaseIterable {
    /// The rich page was fetched.
    case page
    /// The app said that the push was read.
    case pushreadurl
  }

  /// By whom.
  public enum Reader: String, Sendable, Hashable, CaseIterable {
    case person
    /// A HEAD request, or a known scanner or prefetcher: kept apart, and never counted as an open.
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
  /// Too many opens wait to be written: try again in a moment.
  case opensOverflow
}
