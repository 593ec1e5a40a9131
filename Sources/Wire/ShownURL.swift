/// An address that a customer named, as replies and the audit log show it. It lacks what can hold a secret: its query, its fragment, and
/// the user's name and password. The hub itself goes on with the whole.
public struct ShownURL: Sendable, Hashable, Codable, SchemaProviding, CustomStringConvertible {
  /// As it is shown.
  public let text: String

  /// - Parameter url: the whole address.
  public init(_ url: String) {
    let bare = url.prefix { $0 != "?" && $0 != "#" }
    guard let scheme = bare.firstRange(of: "://") else {
      text = String(bare)
      return
    }
    let end = bare[scheme.upperBound...].firstIndex(of: "/") ?? bare.endIndex
    let authority = bare[scheme.upperBound..<end]
    let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    text = String(bare[..<scheme.upperBound] + host + bare[end...])
  }

  public var description: String { text }

  public static var schema: Schema { .string() }
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
