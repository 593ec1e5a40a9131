import FoundationEssentials
import Testing
import Wire

@testable import Providers

/// Messages in the form of WNS.
@Suite struct WNSPayloadTests {
  private func body(_ message: RenderedMessage, as type: WNSType? = nil) -> String {
    String(decoding: WNSPayload.body(message, as: type ?? WNSType(of: message)), as: UTF8.self)
  }

  private func text(_ text: String) -> [UInt8] { JSONText.quoted(text) }

  @Test func `With an alert it is a toast, and a tap hands the fields to the app`() {
    let message = RenderedMessage(
      alert: text("Hi"), info: text("More"), badge: Array("3".utf8), image: text("https://h/i.png"),
      url: text("https://h/c/x?a=1&b=2"), pushreadurl: text("https://h/r/x"),
      fields: [.init(name: text("table"), value: Array("7".utf8))])
    #expect(
      body(message) == #"""
        <toast launch='{"source":"carma","alert":"Hi","info":"More","url":"https://h/c/x?a=1&amp;b=2",\#
        "pushreadurl":"https://h/r/x","badge":3,"image":"https://h/i.png","table":7}'><visual>\#
        <binding template='ToastGeneric'><text>Hi</text><text>More</text>\#
        <image placement='hero' src='https://h/i.png'></image></binding></visual></toast>
        """#)
  }

  @Test func `The kind of notification follows from what the message has`() {
    let badge = Array("3".utf8)
    let field = RenderedMessage.Field(name: text("a"), value: text("b"))
    #expect(WNSType(of: RenderedMessage(alert: text("Hi"), badge: badge)) == .toast)
    #expect(WNSType(of: RenderedMessage(info: text("Hi"))) == .toast)
    #expect(WNSType(of: RenderedMessage(badge: badge, pushreadurl: text("https://h/r/x"))) == .badge)
    #expect(WNSType(of: RenderedMessage(badge: badge, fields: [field])) == .raw)
    #expect(WNSType(of: RenderedMessage(fields: [field])) == .raw)
    #expect(WNSType(of: RenderedMessage(alert: text("Hi"), pushType: .background)) == .raw)
    #expect(WNSType(of: RenderedMessage(alert: text("Hi"), isSilent: true)) == .raw)
    #expect(body(RenderedMessage(badge: badge)) == "<badge value='3'></badge>")
    #expect(body(RenderedMessage(fields: [field])) == #"{"source":"carma","a":"b"}"#)
  }

  @Test func `A tile shows the same texts in each size`() {
    let tile = body(RenderedMessage(alert: text("Hi"), info: text("More")), as: .tile)
    #expect(
      tile.components(separatedBy: "<text hint-wrap='true'>Hi</text><text hint-wrap='true'>More</text>").count == 4)
    #expect(tile.hasPrefix("<tile><visual><binding template='TileMedium'>"))
  }

  @Test func `Texts are escaped, and what XML cannot hold is left out`() {
    let odd = "<b>&'\"]]>\u{1}\u{B}\u{FFFE}\u{FFFF}é😀\tx\r\n"
    let xml = body(RenderedMessage(alert: text(odd)))
    #expect(xml.contains("<text>&lt;b&gt;&amp;'\"]]&gt;é😀\tx&#13;\n</text>"))
    // In JSON, control characters are escapes already.
    #expect(xml.contains(#""alert":"&lt;b&gt;&amp;&#39;\"]]&gt;\u0001\u000b"#))
    #expect(!xml.contains("\u{FFFE}") && !xml.contains("\u{FFFF}") && !xml.contains("\u{1}"))
    #expect(XMLText.element("a", ["b": "\t\r\n'\u{0}"]) { _ in } == Array("<a b='&#9;&#13;&#10;&#39;'></a>".utf8))
  }

  @Test func `Only addresses of https are images`() {
    for value in ["http://h/i.png", "file:///etc/passwd", "x"] {
      let message = RenderedMessage(alert: text("Hi"), fields: [.init(name: text("image"), value: text(value))])
      #expect(!body(message).contains("<image"))
    }
  }

  @Test func `Tags have 16 letters and digits, and keys that do not are hashed`() {
    #expect(WNSAccount.tag("s17") == "s17")
    let hashes = ["s-17", "", String(repeating: "x", count: 17), "ä"].map(WNSAccount.tag)
    #expect(Set(hashes).count == 4)
    #expect(hashes.allSatisfy { $0.count == 16 && $0.allSatisfy(\.isHexDigit) })
  }

  @Test func `How long a push is kept follows from its end and kind`() {
    func headers(_ ttl: Int?, _ type: WNSType) -> [String] {
      let (ttl, policy) = WNSAccount.lifetime(ttl, of: type)
      return [ttl.map { "x-wns-ttl: \($0)" }, policy.map { "x-wns-cache-policy: \($0)" }].compactMap(\.self)
    }
    for type in WNSType.allCases { #expect(headers(nil, type).isEmpty) }
    #expect(headers(60, .toast) == ["x-wns-ttl: 60"])
    #expect(headers(60, .badge) == ["x-wns-ttl: 60"])
    #expect(headers(60, .raw) == ["x-wns-ttl: 60", "x-wns-cache-policy: cache"])
    #expect(headers(0, .toast) == ["x-wns-ttl: 1"])
    #expect(headers(-5, .badge) == ["x-wns-cache-policy: no-cache"])
    #expect(headers(0, .raw) == ["x-wns-cache-policy: no-cache"])
  }
}
