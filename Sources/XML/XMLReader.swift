import CLibXML2
import Wire

/// Builds a document's tree from the events of libxml2 (SAX).
final class XMLReader {
  /// The elements that have not ended, the outermost first.
  private var open: [ParsedXML] = []
  private var root: ParsedXML?
  private var problem: String?

  private static let isReady: Void = xmlInitParser()

  static func read(_ bytes: [UInt8]) throws(ParsedXML.Failure) -> ParsedXML {
    let text = try XMLEncoding.utf8(bytes)
    // White space may not stand before the XML declaration, but clients send it.
    let blanks = text.prefix { $0 == 0x20 || (0x09...0x0D).contains($0) }
    if let problem = TagBounds.problem(in: text) { throw ParsedXML.Failure(problem: problem) }
    guard text.withUnsafeBufferPointer(CombiningMarks.areFew) else {
      throw ParsedXML.Failure(problem: CombiningMarks.problem)
    }
    let reader = XMLReader()
    reader.parse(text.dropFirst(blanks.count), linesBefore: blanks.count { $0 == 0x0A })
    guard reader.problem == nil, let root = reader.root else {
      throw ParsedXML.Failure(problem: reader.problem ?? "is not well formed")
    }
    return root
  }

  private func parse(_ text: ArraySlice<UInt8>, linesBefore: Int) {
    _ = Self.isReady
    guard let parser = xmlNewParserCtxt() else { return }
    defer { xmlFreeParserCtxt(parser) }
    parser.pointee.sax.pointee = Self.handler
    // Handlers get the parser, and find this in it. It lives until the call below ends.
    parser.pointee._private = Unmanaged.passUnretained(self).toOpaque()
    // Without NOENT an ampersand in an attribute stays a reference. No other entity is ever defined.
    let options = XML_PARSE_NONET.rawValue | XML_PARSE_IGNORE_ENC.rawValue | XML_PARSE_NOENT.rawValue
    withExtendedLifetime(self) {
      text.withUnsafeBytes { bytes in
        _ = xmlCtxtReadMemory(
          parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count), nil, "UTF-8",
          CInt(options))
      }
    }
    if problem == nil, parser.pointee.wellFormed == 0 { problem = "is not well formed" }
    if let error { problem = "is not well formed at line \(error.line + linesBefore), column \(error.column)" }
  }

  /// The first fatal error.
  private var error: (line: Int, column: Int)?

  /// Stops before anything more is read.
  private func refuse(_ problem: String, _ parser: xmlParserCtxtPtr) {
    if self.problem == nil { self.problem = problem }
    xmlStopParser(parser)
  }

  // MARK: Events

  private func begin(_ element: ParsedXML, _ parser: xmlParserCtxtPtr) {
    guard open.count < ParsedXML.mostDepth else {
      return refuse("has more than \(ParsedXML.mostDepth) elements within each other", parser)
    }
    // References to characters are read by now.
    guard element.attributes.values.allSatisfy({ CombiningMarks.areFew(in: $0) }) else {
      return refuse(CombiningMarks.problem, parser)
    }
    open.append(element)
  }

  private func end(_ parser: xmlParserCtxtPtr) {
    guard let element = open.popLast() else { return }
    guard open.isEmpty else { return open[open.count - 1].add(element) }
    // The marks of elements that follow each other are in one row in the text of what holds them.
    guard CombiningMarks.areFew(in: element.text) else { return refuse(CombiningMarks.problem, parser) }
    root = element
  }

  private func append(_ text: UnsafePointer<xmlChar>?, _ count: CInt) {
    guard !open.isEmpty, let text else { return }
    open[open.count - 1].ownText += String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> (reader: XMLReader, parser: xmlParserCtxtPtr)? {
    guard let parser = context?.assumingMemoryBound(to: xmlParserCtxt.self), let reader = parser.pointee._private else {
      return nil
    }
    return (Unmanaged<XMLReader>.fromOpaque(reader).takeUnretainedValue(), parser)
  }

  /// Only these events are listened to, so nothing is fetched and no entity is defined.
  private static var handler: xmlSAXHandler {
    var handler = xmlSAXHandler()
    handler.initialized = UInt32(XML_SAX2_MAGIC)
    handler.internalSubset = { context, _, _, _ in
      guard let (reader, parser) = XMLReader.of(context) else { return }
      reader.refuse("has a document type, which is not allowed", parser)
    }
    handler.startElementNs = { context, name, prefix, _, namespaceCount, namespaces, attributeCount, _, attributes in
      guard let (reader, parser) = XMLReader.of(context) else { return }
      for index in 0..<Int(namespaceCount)
      where XMLReader.text(namespaces?[2 * index + 1]).utf8.reversed().starts(with: "/XInclude".utf8.reversed()) {
        return reader.refuse("includes other documents, which is not allowed", parser)
      }
      var values: [UTF8String: String] = [:]
      for index in 0..<Int(attributeCount) {
        // Name, prefix, namespace, and where the value begins and ends.
        guard let attribute = attributes.map({ $0 + 5 * index }), let start = attribute[3], let end = attribute[4]
        else {
          continue
        }
        values[XMLReader.name(attribute[0], attribute[1])] = String(
          decoding: UnsafeBufferPointer(start: start, count: end - start), as: UTF8.self)
      }
      reader.begin(ParsedXML(XMLReader.name(name, prefix), values), parser)
    }
    handler.endElementNs = { context, _, _, _ in
      guard let (reader, parser) = XMLReader.of(context) else { return }
      reader.end(parser)
    }
    handler.characters = { context, text, count in XMLReader.of(context)?.reader.append(text, count) }
    handler.ignorableWhitespace = handler.characters
    handler.cdataBlock = handler.characters
    handler.serror = { context, error in
      guard let reader = XMLReader.of(context)?.reader, let error, error.pointee.level == XML_ERR_FATAL else { return }
      if reader.error == nil, reader.problem == nil {
        reader.error = (Int(error.pointee.line), Int(error.pointee.int2))
      }
    }
    return handler
  }

  private static func text(_ text: UnsafePointer<xmlChar>?) -> String { text.map { String(cString: $0) } ?? "" }

  private static func name(_ name: UnsafePointer<xmlChar>?, _ prefix: UnsafePointer<xmlChar>?) -> String {
    prefix == nil ? text(name) : "\(text(prefix)):\(text(name))"
  }
}
