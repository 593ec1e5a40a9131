/// An XML document, read strictly: one element, well formed, in UTF-8.
///
/// libxml2 reads it. A document type is refused where it begins, and with it every entity but those of XML itself. Nothing is included
/// from elsewhere (XInclude). Elements are nested at most `mostDepth` deep. The caller bounds the size.
public struct ParsedXML: Sendable, Hashable {
  /// The document cannot be read.
  public struct Failure: Error, Hashable {
    /// Ends the sentence that begins with the document.
    public let problem: String
  }

  /// As it is written, with its prefix.
  public let name: String
  /// By their names as they are written, without declarations of namespaces.
  public let attributes: [String: String]
  public internal(set) var children: [ParsedXML] = []
  /// The text of the element itself, without that of its children.
  public internal(set) var text = ""

  /// Most elements within each other.
  public static let mostDepth = 20

  /// - Throws: `Failure` with line and column if it is not well formed; or if it has a document type, includes others, or is nested too
  ///   deep.
  public init(_ bytes: [UInt8]) throws(Failure) { self = try XMLReader.read(bytes) }

  init(_ name: String, _ attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// All elements of that name below this one, in the order of the document.
  public func all(_ name: String) -> [ParsedXML] { children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) } }

  /// Its children of that name in any case, in the order of the document.
  public func children(_ name: String) -> [ParsedXML] {
    let name = name.lowercased()
    return children.filter { $0.name.lowercased() == name }
  }

  /// The text of its first child of that name in any case; nil without one.
  public func text(_ name: String) -> String? { children(name).first?.text }

  /// The value of its attribute of that name in any case; nil without one.
  public func attribute(_ name: String) -> String? {
    let name = name.lowercased()
    return attributes.first { $0.key.lowercased() == name }?.value
  }
}
