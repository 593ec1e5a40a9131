import Foundation
import Support
import Testing

import Wire

@testable import Web

@Suite struct GatewayXMLTests {
  private func xml(_ text: String) throws -> GatewayRequest { try GatewayRequest(xml: Array(text.utf8)) }

  private func problem(_ text: String) -> GatewayProblem? {
    do {
      _ = try xml(text)
      return nil
    } catch { return error as? GatewayProblem }
  }

  private func nested(_ levels: Int) -> String {
    "<MESSAGES><MSG>" + String(repeating: "<x>", count: levels) + String(repeating: "</x>", count: levels)
      + "</MSG></MESSAGES>"
  }

  @Test func `XML of CM's documentation is read field by field`() throws {
    let request = try xml(
      """
      <?xml version="1.0"?>
      <MESSAGES>
         <AUTHENTICATION>
           <PRODUCTTOKEN>00000000-0000-0000-0000-000000000000</PRODUCTTOKEN>
         </AUTHENTICATION>
         <MSG>
           <FROM>SenderName</FROM>
           <TO>00447911123456</TO>
           <APPKEY>00000000-0000-0000-0000-000000000001</APPKEY>
           <APPMESSAGETYPE>Critical</APPMESSAGETYPE>
           <ALLOWEDCHANNELS>Push</ALLOWEDCHANNELS>
           <BODY>This message will use the critical messaging type.</BODY>
         </MSG>
      </MESSAGES>
      """)
    var message = GatewayRequest.Message()
    (message.sender, message.recipients) = ("SenderName", ["00447911123456"])
    message.text = "This message will use the critical messaging type."
    (message.kind, message.channels) = ("Critical", ["Push"])
    message.appKey = "00000000-0000-0000-0000-000000000001"
    #expect(request.productToken == "00000000-0000-0000-0000-000000000000")
    #expect(request.messages == [message])
  }

  @Test func `Names are read in any case, numbers can be several, and a text may be escaped`() throws {
    let request = try xml(
      """
      <messages><Authentication><ProductToken> t\n</ProductToken></Authentication><msg><TO>1</TO><to>2</to>\
      <body type="AUTO">a &lt;b&gt; &amp; &#x20AC;&#10;<![CDATA[<c> {{firstName}}]]></body><DCS>8</DCS><REFERENCE>r</REFERENCE>\
      <VALIDITY>2h</VALIDITY><ALLOWEDCHANNELS>SMS, push</ALLOWEDCHANNELS><MINIMUMNUMBEROFMESSAGEPARTS>1</MINIMUMNUMBEROFMESSAGEPARTS>\
      <MAXIMUMNUMBEROFMESSAGEPARTS>2</MAXIMUMNUMBEROFMESSAGEPARTS><UNKNOWN/><CUSTOMGROUPING>g</CUSTOMGROUPING></msg></messages>
      """)
    var message = GatewayRequest.Message()
    (message.recipients, message.channels) = (["1", "2"], ["SMS", "push"])
    (message.text, message.textType, message.coding) = ("a <b> & €\n<c> {{firstName}}", "AUTO", "8")
    (message.reference, message.validity, message.minimumParts, message.maximumParts) = ("r", "2h", "1", "2")
    #expect(request.productToken == "t" && request.messages == [message])
  }

  @Test func `A field has all text within its element, whatever stands around its words`() throws {
    let request = try xml(
      """
      <MESSAGES><AUTHENTICATION><PRODUCTTOKEN><t>a</t>b</PRODUCTTOKEN></AUTHENTICATION><MSG><FROM>A<b>cm</b>e</FROM>\
      <TO>0031<i>612</i>345678</TO><TO><number>0031687654321</number></TO><BODY TYPE="AUTO">Your code is <b>12<i>34</i>5</b>.</BODY>\
      <REFERENCE><r>r1</r></REFERENCE></MSG></MESSAGES>
      """)
    #expect(request.productToken == "ab" && request.messages.count == 1)
    let message = request.messages[0]
    #expect(message.sender == "Acme" && message.recipients == ["0031612345678", "0031687654321"])
    #expect(message.text == "Your code is 12345." && message.textType == "AUTO" && message.reference == "r1")
  }

  @Test func `Requests are read in the encodings that they declare`() throws {
    let text = "<MESSAGES><MSG><BODY>Grüße à 5 €</BODY></MSG></MESSAGES>"
    for (name, encoding) in [("UTF-16", String.Encoding.utf16LittleEndian), ("windows-1252", .windowsCP1252)] {
      let document = "<?xml version=\"1.0\" encoding=\"\(name)\"?>\(text)"
      let request = try GatewayRequest(xml: Array(try #require(document.data(using: encoding))))
      #expect(request.messages[0].text == "Grüße à 5 €", "\(name)")
    }
    #expect(
      problem("<?xml version='1.0' encoding='Shift_JIS'?>\(text)")
        == .malformed("The XML is in Shift_JIS, and UTF-8, UTF-16, ISO-8859-1 and windows-1252 are read."))
  }

  @Test(arguments: [
    "<!DOCTYPE MESSAGES><MESSAGES><MSG/></MESSAGES>",
    #"<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><MESSAGES><MSG><BODY>&c;</BODY></MSG></MESSAGES>"#,
    #"<?xml version="1.0"?><!DOCTYPE m SYSTEM "file:///etc/passwd"><MESSAGES><MSG/></MESSAGES>"#,
    #"<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><MESSAGES><MSG><BODY>&x;</BODY></MSG></MESSAGES>"#,
    "<MESSAGES><MSG><BODY>&x;</BODY></MSG></MESSAGES>",
    #"<MESSAGES xmlns:xi="http://www.w3.org/2001/XInclude"><MSG><BODY><xi:include href="/etc/passwd"/></BODY></MSG></MESSAGES>"#,
    #"<MESSAGES><MSG><include xmlns="http://www.w3.org/2001/XInclude" href="/etc/passwd"/></MSG></MESSAGES>"#,
    "<MESSAGES><MSG></MESSAGES>", "<MESSAGES>", "<", "<MESSAGES/><MESSAGES/>", "<MESSAGES a='1' a='2'/>",
    "<OTHER><MSG/></OTHER>",
    "<MESSAGES><MSG><BODY>\u{0}</BODY></MSG></MESSAGES>", "<MESSAGES><MSG><BODY>&#0;</BODY></MSG></MESSAGES>",
    "<MESSAGES><MSG><BODY>\u{1}</BODY></MSG></MESSAGES>", "<MESSAGES><MSG><BODY>&#xD800;</BODY></MSG></MESSAGES>",
    "<MESSAGES>" + String(repeating: "<MSG>", count: 99_000),
    "<MESSAGES>" + String(repeating: "<x/>", count: 100_000) + "</MESSAGES>",
  ])
  func `What is not well formed, defines entities or asks for other documents is malformed as a whole`(text: String) {
    #expect({ if case .malformed = problem(text) { true } else { false } }(), "\(String(describing: problem(text)))")
  }

  @Test func `Elements are nested 20 deep at most, and bytes are UTF-8`() throws {
    #expect(problem(nested(18)) == nil)
    #expect({ if case .malformed = problem(nested(19)) { true } else { false } }())
    #expect(throws: GatewayProblem.self) {
      try GatewayRequest(
        xml: Array("<MESSAGES><MSG><BODY>".utf8) + [0xFF, 0xFE] + Array("</BODY></MSG></MESSAGES>".utf8))
    }
  }

  @Test func `Messages and numbers are limited, each and together`() throws {
    func request(_ messages: Int, _ numbers: Int) -> String {
      let message = "<MSG>\(String(repeating: "<TO>1</TO>", count: numbers))</MSG>"
      return "<MESSAGES>\(String(repeating: message, count: messages))</MESSAGES>"
    }
    #expect(problem("<MESSAGES/>")?.sentence == "A MESSAGES node requires at least one MSG node")
    #expect(try xml(request(1000, 10)).messages.count == 1000)
    #expect(try xml(request(1, 1000)).messages[0].recipients.count == 1000)
    #expect(problem(request(1001, 0))?.sentence == "A request has at most 1000 messages (MSG).")
    #expect(problem(request(1, 1001))?.sentence == "A message has at most 1000 telephone numbers (TO).")
    #expect(problem(request(11, 1000))?.sentence.contains("10000") == true)
  }

  @Test func `Every beginning of a request, and each that is damaged, is read or refused`() throws {
    let whole = Array(
      #"<?xml version="1.0"?><MESSAGES><MSG><FROM a="b">Ä</FROM><TO>1</TO><BODY>x&amp;<![CDATA[y]]><!-- z --></BODY></MSG></MESSAGES>"#
        .utf8)
    for count in whole.indices {
      #expect(throws: GatewayProblem.self) { try GatewayRequest(xml: Array(whole[..<count])) }
    }
    var generator = SeededGenerator(seed: 3)
    var read = 0
    for _ in 0..<3000 {
      var bytes = whole
      bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      if (try? GatewayRequest(xml: bytes)) != nil { read += 1 }
    }
    #expect(read > 0 && read < 3000)
  }
}
