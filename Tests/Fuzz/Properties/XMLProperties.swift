import Wire
import XML

/// `ParsedXML` reads what `PlainXML` reads, in whatever encoding it comes, and within its bounds.
enum XMLProperties {
  static let samples: [[UInt8]] =
    ([
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<MESSAGES PID=\"1\"><MSG><FROM a='b\tc'>Ä &amp;&#x20AC;</FROM><TO>0031</TO><BODY TYPE=\"AUTO\"><![CDATA[<b>]]>x<!-- z -->y</BODY></MSG></MESSAGES>",
      "<toast launch=\"{&quot;a&quot;:1}\"><visual><binding template='ToastGeneric'><text>Hi</text><text>Lunch</text><image src='https://a/b?c=d&amp;e'/></binding></visual></toast><?end?>",
      "\n<s:a xmlns:s='urn:x' xmlns='u' s:b='1' A='2' a='3'>1<s:b>2<c>3\r\n</c>4</s:b>\r5<d/>6</s:a>",
      "<a é='1' e\u{301}='2' xmlns:n='n'><n:b n:c=''/></a>",
      "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
    ] + [0, 1].flatMap(largest)).map { Array($0.utf8) }
    + [
      "<?xml version='1.0' encoding='windows-1252'?><a b='".utf8 + [0x80, 0xE9] + "'>".utf8 + [0x99, 0xFC]
        + "</a>".utf8,
      [0xFF, 0xFE] + utf16("<?xml version='1.0' encoding='UTF-16'?><a>é😀</a>", isBig: false),
      utf16("<a b='😀'>é</a>", isBig: true),
    ].map { Array($0) }

  /// What is as large as the bounds allow, and so much larger.
  private static func largest(_ more: Int) -> [String] {
    func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count + more) }
    return [
      repeated("<a>", 20) + "x" + repeated("</a>", 20),
      "<a>\(repeated("\u{301}", 15))<b>\(repeated("\u{301}", 15))</b></a>",
      "<a n='\(repeated("&#x301;", 30))'/>", "<\(repeated("n", 128))/>", "<a \(repeated("n", 128))='1'/>",
      "<a\((0..<64 + more).map { " xmlns:n\($0)='\($0)'" }.joined())/>",
    ]
  }

  static func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    let read = result(of: bytes)
    if case .success(let root) = read {
      try require(ParsedXML.isXML(bytes), "XML is not taken for it")
      try checkBounds(root, depth: 1)
      try require(root.text.longestRowOfMarks <= CombiningMarks.most, "A text has too many marks in a row")
    }
    // What is no UTF-8, or has NUL, is read in another encoding or refused.
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else { return outcome(of: read) }
    let marked = result(of: [0xEF, 0xBB, 0xBF] + text.utf8)
    let plain = if case .success = marked { PlainXML(text) } else { PlainXML?.none }
    for result in [
      marked, result(of: utf16("\u{FEFF}" + text, isBig: false)), result(of: utf16("\u{FEFF}" + text, isBig: true)),
    ] {
      switch (marked, result) {
      case (.success, .success(let root)):
        guard let plain = plain?.root else { throw BrokenProperty(description: "What is read is no XML: \(text)") }
        try checkSame(root, plain)
        try require(plain.allNamespaces <= 64, "Too many namespaces are declared")
      case (.failure(let marked), .failure(let failure)):
        try require(marked == failure, "The encoding changes a fault: \(marked.problem), \(failure.problem)")
        try checkPlace(failure, text)
      default: throw BrokenProperty(description: "The encoding decides whether XML is read")
      }
    }
    if case .success(let root) = read, let plain = plain?.root, text.utf8.allSatisfy({ $0 < 0x80 }) {
      try checkSame(root, plain)
    }
    return outcome(of: marked)
  }

  private static func outcome(of result: Result<ParsedXML, ParsedXML.Failure>) -> String {
    if case .success = result { "read" } else { "refused" }
  }

  private static func result(of bytes: [UInt8]) -> Result<ParsedXML, ParsedXML.Failure> {
    Result { () throws(ParsedXML.Failure) in try ParsedXML(bytes) }
  }

  private static func utf16(_ text: String, isBig: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    for unit in text.utf16 {
      bytes.append(UInt8(isBig ? unit >> 8 : unit & 0xFF))
      bytes.append(UInt8(isBig ? unit & 0xFF : unit >> 8))
    }
    return bytes
  }

  private static func checkBounds(_ element: ParsedXML, depth: Int) throws(BrokenProperty) {
    try require(depth <= ParsedXML.mostDepth, "Elements are nested too deep")
    try require(element.name.utf8.count <= UTF8String.longestName, "An element's name is too long")
    try require(element.attributes.count <= 256, "An element has too many attributes")
    for (name, value) in element.attributes {
      try require(name.text.utf8.count <= UTF8String.longestName, "An attribute's name is too long")
      try require(value.longestRowOfMarks <= CombiningMarks.most, "An attribute has too many marks in a row")
      try require(!value.utf8.contains(0), "An attribute holds U+0000")
    }
    try require(depth > 1 || !element.text.utf8.contains(0), "A text holds U+0000")
    for child in element.children { try checkBounds(child, depth: depth + 1) }
  }

  private static func checkSame(_ element: ParsedXML, _ plain: PlainXML.Element) throws(BrokenProperty) {
    try require(
      element.name.hasSameBytes(as: plain.name), "An element has another name: \(element.name), \(plain.name)")
    try require(
      element.text.hasSameBytes(as: plain.text), "An element has another text: \(element.text), \(plain.text)")
    // What declares a prefix that cannot be one is left as an attribute.
    let attributes = element.attributes.filter { !$0.key.text.utf8.starts(with: "xmlns:".utf8) }
    try require(attributes.count == plain.attributes.count, "\(plain.name) has other attributes")
    for (name, value) in plain.attributes {
      try require(element.attributes[name]?.hasSameBytes(as: value) == true, "An attribute has another value: \(name)")
    }
    try require(element.children.count == plain.children.count, "\(plain.name) has other children")
    for (child, plain) in zip(element.children, plain.children) { try checkSame(child, plain) }
  }

  /// No fault is told at a line that is not there.
  private static func checkPlace(_ failure: ParsedXML.Failure, _ text: String) throws(BrokenProperty) {
    guard let line = failure.problem.split(separator: " line ").dropFirst().last?.split(separator: ",").first else {
      return
    }
    let lines = 1 + text.utf8.count { $0 == 0x0A }
    try require(Int(line).map { (1...lines).contains($0) } == true, "A fault is said to be in line \(line) of \(lines)")
  }
}

extension PlainXML.Element {
  fileprivate var allNamespaces: Int { children.reduce(namespaces) { $0 + $1.allNamespaces } }
}
