import Foundation
import Testing
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

  @Test func `A prefix is part of a name, and a declared encoding changes nothing`() throws {
    let xml = try parse(
      "<?xml version='1.0' encoding='ISO-8859-1'?><s:a xmlns:s='urn:x' s:b='1' c='&quot;é&amp;#38;&#38;'>é&#38;</s:a>")
    #expect(xml.name == "s:a" && xml.attributes == ["s:b": "1", "c": "\"é&#38;&"] && xml.text == "é&")
  }

  @Test(arguments: [
    "<!DOCTYPE a><a/>", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
  ])
  func `A document type is refused, and with it every entity`(_ text: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(text) }
    #expect(failure?.problem.contains("document type") == true)
  }

  @Test func `Documents in other encodings are refused, whatever they declare`() throws {
    for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian] {
      let bytes = Array(try #require("<?xml version='1.0'?><a>x</a>".data(using: encoding)))
      let failure = #expect(throws: ParsedXML.Failure.self) { try ParsedXML(bytes) }
      #expect(failure?.problem == "is not in UTF-8")
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

  @Test func `Bytes that are not UTF-8 are refused`() {
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
