public import Wire

/// An XML document, read strictly: one element, well formed, in one of the encodings of `XMLEncoding`.
///
/// libxml2 reads it. A document type is refused where it begins, and with it every entity but those of XML itself. Nothing is included
/// from elsewhere (XInclude). Elements are nested at most `mostDepth` deep. The caller bounds the size.
public struct ParsedXML: Sendable {
  /// The document cannot be read.
  public struct Failure: Error, Hashable {
    /// Ends the sentence that begins with the document.
    public let problem: String
  }

  /// As it is written, with its prefix.
  public let name: String
  /// By their names as they are written, without declarations of namespaces.
  public let attributes: [UTF8String: String]
  public private(set) var children: [ParsedXML] = []
  /// The text of the element itself, without that of its children.
  var ownText = ""
  /// How many bytes of the element's own text stand before each child.
  private var places: [Int] = []

  /// Most elements within each other.
  public static let mostDepth = 20

  /// - Throws: `Failure` with line and column if it is not well formed; or if it has a document type, includes others, or is nested too
  ///   deep.
  public init(_ bytes: [UInt8]) throws(Failure) { self = try XMLReader.read(bytes) }

  init(_ name: String, _ attributes: [UTF8String: String]) {
    self.name = name
    self.attributes = attributes
  }

  mutating func add(_ child: ParsedXML) {
    children.append(child)
    places.append(ownText.utf8.count)
  }

  /// All text within the element, that of elements in it too: a word in bold is part of its sentence.
  public var text: String {
    guard !children.isEmpty else { return ownText }
    var text = ""
    appendText(to: &text)
    return text
  }

  private func appendText(to text: inout String) {
    var start = ownText.startIndex
    for (child, place) in zip(children, places) {
      let end = ownText.utf8.index(ownText.startIndex, offsetBy: place)
      text += ownText[start..<end]
      child.appendText(to: &text)
      start = end
    }
    text += ownText[start...]
  }

  /// Whether a body is taken for XML, and not for JSON: it begins with `<` in any encoding, behind white space and a byte order mark
  /// perhaps.
  public static func isXML(_ body: some Sequence<UInt8>) -> Bool {
    body.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF, 0xFE, 0xFF].contains($0) } == UInt8(ascii: "<")
  }

  /// All elements of that name below this one, in the order of the document.
  public func all(_ name: String) -> [ParsedXML] {
    children.flatMap { ($0.name.hasSameBytes(as: name) ? [$0] : []) + $0.all(name) }
  }

  /// Its children of that name in any case, in the order of the document.
  public func children(_ name: String) -> [ParsedXML] {
    let name = name.lowercasedASCII
    return children.filter { $0.name.lowercasedASCII.hasSameBytes(as: name) }
  }

  /// The text of its first child of that name in any case; nil without one.
  public func text(_ name: String) -> String? { children(name).first?.text }

  /// The value of its attribute of that name in any case; nil without one. Of several, the first by its bytes.
  public func attribute(_ name: String) -> String? {
    let name = name.lowercasedASCII
    return attributes.filter { $0.key.text.lowercasedASCII.hasSameBytes(as: name) }.min { $0.key < $1.key }?.value
  }
}
