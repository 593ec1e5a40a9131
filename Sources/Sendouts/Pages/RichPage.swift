/// A rich page, rendered for one recipient.
public struct RichPage: Sendable, Equatable {
  /// Media type with its parameters.
  public let contentType: String
  public let body: String
}
