import Crypto

/// What a write wants of the value that it changes (RFC 9110, section 13.1): nothing is written unless that is so.
public struct WriteCondition: Sendable, Equatable {
  /// Entity tags, without their quotation marks.
  public enum Tags: Sendable, Equatable {
    /// `*`: any value that is there.
    case any
    case some(Set<String>)
  }

  /// `If-Match`: the value has one of these tags.
  public var matches: Tags?
  /// `If-None-Match`: the value has none of these.
  public var differs: Tags?

  public init(matches: Tags? = nil, differs: Tags? = nil) {
    self.matches = matches
    self.differs = differs
  }

  /// - Parameters:
  ///   - exists: whether there is a value.
  ///   - tag: its tag; nil for a large value, which has none.
  public func holds(exists: Bool, tag: String?) -> Bool {
    func has(_ tags: Tags) -> Bool {
      switch tags {
      case .any: exists
      case .some(let some): tag.map(some.contains) == true
      }
    }
    return matches.map(has) ?? true && !(differs.map(has) ?? false)
  }

  /// The tag of a value, by its JSON. That there is none has a tag, too.
  static func tag(of json: [UInt8]) -> String {
    SHA256.hash(data: json).prefix(16).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
  }
}
