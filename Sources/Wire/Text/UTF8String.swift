/// Text of others, compared, hashed and ordered by its bytes in UTF-8.
///
/// `String` compares normal forms (UAX #15). That calls texts equal that are not, and takes longer than the texts are. Whatever names
/// something that others named is compared by this type.
public struct UTF8String: Sendable, Hashable, Comparable {
  public let text: String

  /// Most bytes of a name in JSON, XML and forms. A data tree allows more: `DataTreePath.longestName`.
  public static let longestName = 128

  public init(_ text: some StringProtocol) { self.text = String(text) }

  public static func == (one: UTF8String, other: UTF8String) -> Bool { one.text.hasSameBytes(as: other.text) }

  public static func < (one: UTF8String, other: UTF8String) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8(0xFF))
  }
}

extension UTF8String {
  /// As `String.lowercasedASCII`.
  public var lowercasedASCII: UTF8String { UTF8String(text.lowercasedASCII) }
}

extension UTF8String: CustomStringConvertible, ExpressibleByStringLiteral, Codable, CodingKeyRepresentable {
  public var description: String { text }
  public init(stringLiteral text: String) { self.text = text }
  public init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
  public var codingKey: any CodingKey { NamedKey(text) }
  public init(codingKey: some CodingKey) { text = codingKey.stringValue }
}

/// A coding key of any name.
package struct NamedKey: CodingKey {
  package let stringValue: String
  package var intValue: Int? { nil }

  package init(_ name: String) { stringValue = name }
  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }
}

extension StringProtocol {
  /// Whether both have the same bytes in UTF-8.
  public func hasSameBytes(as other: some StringProtocol) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }

  /// The text without white space at either end.
  public var trimmed: SubSequence {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? start
    return self[start..<end]
  }

  /// The parts between these marks of ASCII, empty ones too. `split(separator:)` passes over a mark before a combining mark, as both are one
  /// character.
  public func split(atEach mark: Unicode.Scalar, maxSplits: Int = .max) -> [SubSequence] {
    utf8.split(separator: UInt8(ascii: mark), maxSplits: maxSplits, omittingEmptySubsequences: false).map {
      self[$0.startIndex..<$0.endIndex]
    }
  }

  /// The text with something else for each of these marks of ASCII. `replacing(_:with:)` passes over a mark before a combining mark: what is
  /// to be escaped would end a quotation there.
  public func replacing(each mark: Unicode.Scalar, with replacement: String) -> String {
    split(atEach: mark).joined(separator: replacement)
  }

  /// The text with its letters of ASCII in lower case, and all others as they are: for names that protocols compare in any case.
  public var lowercasedASCII: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}

extension Dictionary where Key == UTF8String {
  /// Of values of the same name, the last one.
  public init(named members: some Sequence<(String, Value)>) {
    self = Dictionary(members.map { (UTF8String($0), $1) }) { $1 }
  }

  /// The value of that name.
  public subscript(_ name: some StringProtocol) -> Value? {
    get { self[UTF8String(name)] }
    set { self[UTF8String(name)] = newValue }
  }
}
