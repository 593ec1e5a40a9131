import Testing
import Wire

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
    "<!DOCTYPE a><a/>", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
  ])
  func `A document type is refused, and with it every entity`(_ text: String) throws {
    let failure = #expect(throws: ParsedXML.Failure.self) { try parse(text) }
    #expect(failure?.problem.contains("document type") == true)
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
