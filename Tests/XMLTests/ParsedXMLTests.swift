import Foundation
import Testing
import Wire
import XML

@Suite struct ParsedXMLTests {
  private func parse(_ text: String) throws(ParsedXML.Failure) -> ParsedXML { try ParsedXML(Array(text.utf8)) }

  @Test func `Elements, attributes, texts, references and CDATA sections are read`() throws {
    let xml = try parse(
      """
      \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
      <!-- a comment --><MESSAGES Sent='2026&#45;01'><MSG><To>0031&lt;</To><BODY TYPE="AUTO"><![CDATA[<b>&amp;]]>é</BODY></MSG>
      <msg/></MESSAGES><?end?>
      """)
    #expect(xml.name == "MESSAGES" && xml.attribute("SENT") == "2026-01")
    #expect(xml.children("msg").count == 2)
    let message = xml.children("msg")[0]
    #expect(message.text("TO") == "0031<" && message.text("Body") == "<b>&amp;é" && message.text("from") == nil)
    #expect(message.children("body")[0].attribute("type") == "AUTO")
  }

  @Test(arguments: [
    "", "text", "<a>", "<a></b>", "<a/><b/>", "<a", "<a b=1/>", "<a b='1' b='2'/>", "<a>&nbsp;</a>", "<a>&#0;</a>",
    "<a>\u{1}</a>",
    "<a>&#xD800;</a>", "<a><![CDATA[x</a>", "<a b='<'/>", "<1/>", "<a><!ENTITY x 'y'></a>",
  ])
  func `What is not well formed is refused`(_ text: String) {
    #expect(throws: ParsedXML.Failure.self) { try parse(text) }
  }

  @Test(arguments: [
    ("<a>\n<b></a>", "is not well formed at line 2, column 8"),
    ("\n\n <?xml version='1.0'?>\n<a", "is not well formed at line 4, column 3"),
    ("<a>é&b;</a>", "is not well formed at line 1, column 8"),
  ])
  func `The first fault is told with its line and column`(_ text: String, _ problem: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(text) }
    #expect(failure?.problem == problem)
  }

  @Test(arguments: [
    "<a xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='/etc/passwd'/></a>",
    "<a><include xmlns='http://www.w3.org/2001/XInclude' href='/etc/passwd'/></a>",
  ])
  func `A document that includes others is refused`(_ text: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(text) }
    #expect(failure?.problem == "includes other documents, which is not allowed")
  }

  @Test(arguments: [
    ("<a>", "</a>"), ("<?x '?><!-- \" --><![CDATA[ ' ]]><a>", "</a>"), ("<a><b c='>' d=\"'\"/>", "</a>"), ("<a", "/>"),
  ])
  func `An element of many attributes is refused before they are compared`(_ before: String, _ after: String) throws {
    func document(_ count: Int) -> String {
      let attributes = (0..<count).map { " n\($0) = '='" }.joined()
      return before.hasSuffix(">") ? "\(before)<e\(attributes)/>\(after)" : "\(before)\(attributes)\(after)"
    }
    let wellFormed = before.hasPrefix("<?x") ? document(256).replacing("<![CDATA[ ' ]]>", with: "") : document(256)
    _ = try parse(wellFormed)
    for count in [257, 500_000] {
      let failure = #expect(throws: ParsedXML.Failure.self) { try parse(document(count)) }
      #expect(failure?.problem == "has an element of more than 256 attributes")
    }
    let spaces = (0..<300).map { " xmlns:n\($0)='u'" }.joined()
    #expect(throws: ParsedXML.Failure.self) { try parse("<a\(spaces)/>") }
    // Texts may have as many.
    let signs = String(repeating: "=", count: 1000)
    #expect(try parse("<a>\(signs)<!--\(signs)--><![CDATA[\(signs)]]></a>").text == signs + signs)
  }

  @Test func `A prefix is part of a name`() throws {
    let xml = try parse("<s:a xmlns:s='urn:x' s:b='1' c='&quot;é&amp;#38;&#38;'>é&#38;</s:a>")
    #expect(xml.name == "s:a" && xml.attributes == ["s:b": "1", "c": "\"é&#38;&"] && xml.text == "é&")
  }

  @Test func `Attributes are told apart by the bytes of their names`() throws {
    let xml = try parse("<a \u{E9}='1' e\u{301}='2' B='3' b='4'/>")
    #expect(xml.attributes == ["\u{E9}": "1", "e\u{301}": "2", "B": "3", "b": "4"])
    // Of two that differ in case alone, it is always the same one.
    #expect(xml.attribute("b") == "3" && xml.attribute("E\u{301}") == "2")
  }

  @Test(arguments: [
    "<a>x%<b>%</b></a>", "<a><b>%</b><c/><b>%</b></a>", "<a>%<!-- -->%</a>", "<a b='%%'/>", "<a>%%</a>",
  ])
  func `Marks are counted as they follow each other in a text, whatever stands between`(_ document: String) throws {
    for (mark, reference) in [("\u{301}", "\u{301}"), ("&#x301;", "\u{301}")] {
      func parse(_ count: Int) throws(ParsedXML.Failure) -> ParsedXML {
        try self.parse(document.replacing("%", with: String(repeating: mark, count: count)))
      }
      let xml = try parse(15)
      #expect((xml.text + (xml.attribute("b") ?? "")).contains(String(repeating: reference, count: 30)))
      let failure = #expect(throws: ParsedXML.Failure.self) { try parse(16) }
      #expect(failure?.problem == "has more than 30 combining marks in a row")
    }
  }

  @Test(arguments: [
    ("<a>Your code is <b>12345</b></a>", "Your code is 12345"), ("<a>1<b>2<c>3</c>4</b>5<d/>6</a>", "123456"),
    ("<a><b>x</b></a>", "x"), ("<a>é<b>ü</b>ß<![CDATA[<b>]]><!-- no --><?no no?>&amp;</a>", "éüß<b>&"),
    ("<a><b/></a>", ""),
  ])
  func `The text of an element is that of all within it, in its order`(_ document: String, _ text: String) throws {
    #expect(try parse(document).text == text)
  }

  @Test(arguments: [
    "<!DOCTYPE a><a/>", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
  ])
  func `A document type is refused, and with it every entity`(_ text: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(text) }
    #expect(failure?.problem.contains("document type") == true)
  }

  /// A document whose text is `é€`, or just é where the encoding has no more, in each encoding, with and without a byte order mark.
  private static let encoded: [(bytes: [UInt8], text: String)] = {
    func bytes(_ text: String, _ encoding: String.Encoding) -> [UInt8] { Array(text.data(using: encoding) ?? Data()) }
    func document(_ encoding: String, _ text: String = "é€") -> String {
      "<?xml version='1.0' encoding='\(encoding)' standalone='yes'?><a b='é'>\(text)</a>"
    }
    let plain = "<a b='é'>é€</a>"
    return [
      (bytes(plain, .utf8), "é€"), ([0xEF, 0xBB, 0xBF] + bytes(plain, .utf8), "é€"),
      (bytes(document("utf-8"), .utf8), "é€"),
      ([0xFF, 0xFE] + bytes(plain, .utf16LittleEndian), "é€"), ([0xFE, 0xFF] + bytes(plain, .utf16BigEndian), "é€"),
      (bytes(plain, .utf16LittleEndian), "é€"), (bytes("\n" + plain, .utf16BigEndian), "é€"),
      ([0xFF, 0xFE] + bytes(document("UTF-16"), .utf16LittleEndian), "é€"),
      (bytes(document("utf-16"), .utf16BigEndian), "é€"),
      // .NET declares UTF-16 of a text that it sends in UTF-8.
      (bytes(document("utf-16"), .utf8), "é€"), ([0xEF, 0xBB, 0xBF] + bytes(document("iso-8859-1"), .utf8), "é€"),
      (bytes(document("ISO-8859-1", "é"), .isoLatin1), "é"), (bytes(document("latin1", "é"), .isoLatin1), "é"),
      (bytes(document("windows-1252"), .windowsCP1252), "é€"), (bytes(document("Windows-1252"), .windowsCP1252), "é€"),
      // A euro sign that is none in ISO-8859-1.
      (bytes(document("ISO-8859-1"), .windowsCP1252), "é€"),
      (bytes("\n" + document("windows-1252").replacing("'1.0'", with: "\"1.0\""), .windowsCP1252), "é€"),
    ]
  }()

  @Test func `A document is read in the encoding that its byte order mark or its declaration names`() throws {
    for (bytes, text) in Self.encoded {
      let xml = try ParsedXML(bytes)
      #expect(ParsedXML.isXML(bytes))
      #expect(xml.text == text && xml.attribute("b") == "é", "\(bytes.prefix(60))")
    }
  }

  @Test func `All of windows-1252 is read as Foundation reads it`() throws {
    for byte in UInt8(0x80)...0xFF where ![0x81, 0x8D, 0x8F, 0x90, 0x9D].contains(byte) {
      let document = Array("<?xml version='1.0' encoding='cp1252'?><a>".utf8) + [byte] + Array("</a>".utf8)
      #expect(try ParsedXML(document).text == String(data: Data([byte]), encoding: .windowsCP1252), "\(byte)")
    }
  }

  @Test(arguments: ["shift_jis", "ISO-8859-15", "utf-32", "utf-7", "EBCDIC-CP-NL"])
  func `Documents in other encodings are refused with those that are read`(_ encoding: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) {
      try parse("<?xml version='1.0' encoding='\(encoding)'?><a/>")
    }
    #expect(failure?.problem == "is in \(encoding), and UTF-8, UTF-16, ISO-8859-1 and windows-1252 are read")
    for encoding in [String.Encoding.utf32, .utf32BigEndian, .utf32LittleEndian] {
      let bytes = Array(try #require("<?xml version='1.0'?><a>x</a>".data(using: encoding)))
      #expect(throws: ParsedXML.Failure.self) { try ParsedXML(bytes) }
    }
  }

  @Test func `Half a surrogate pair is replaced, and half a unit refused`() throws {
    let half = Array("<a>x".utf16) + [0xD83D] + Array("</a>".utf16)
    let bytes = half.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(try ParsedXML(bytes).text == "x\u{FFFD}")
    #expect(throws: ParsedXML.Failure.self) { try ParsedXML(Array(bytes.dropLast())) }
    let zero = (Array("<a>x".utf16) + [0] + Array("</a>".utf16)).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(throws: ParsedXML.Failure.self) { try ParsedXML([0xFF, 0xFE] + zero) }
  }

  @Test func `What is refused in UTF-8 is refused in UTF-16`() throws {
    for text in ["<!DOCTYPE a><a/>", "<a><b></a>", "<a\((0..<300).map { " n\($0)='1'" }.joined())/>"] {
      let bytes = Array(try #require(text.data(using: .utf16LittleEndian)))
      #expect(throws: ParsedXML.Failure.self) { try ParsedXML(bytes) }
    }
  }

  @Test func `Entities that grow are refused before one is expanded`() throws {
    let entities = (1...9).map { "<!ENTITY e\($0) '\(String(repeating: "&e\($0 - 1);", count: 10))'>" }.joined()
    for bomb in ["<a>&e9;</a>", "<a b='&e9;'/>"] {
      let failure = #expect(throws: ParsedXML.Failure.self) {
        try parse("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e0 'ha'>\(entities)]>\(bomb)")
      }
      #expect(failure?.problem == "has a document type, which is not allowed")
    }
    #expect(throws: ParsedXML.Failure.self) {
      try parse("<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://127.0.0.1:1/'>%p;]><a/>")
    }
  }

  @Test func `Bytes that are not UTF-8 are refused where nothing else is declared`() {
    #expect(throws: ParsedXML.Failure.self) { try ParsedXML(Array("<a>".utf8) + [0xE9] + Array("</a>".utf8)) }
  }

  @Test func `Elements are nested 20 deep at most`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    _ = try parse(nested(20))
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(nested(21)) }
    #expect(failure?.problem.contains("20") == true)
    #expect(throws: ParsedXML.Failure.self) { try parse(String(repeating: "<a>", count: 1_000_000)) }
  }
}
