import Testing
import Wire

@Suite struct UTF8StringTests {
  @Test func `Names are equal by their bytes alone`() throws {
    let (composed, decomposed) = (UTF8String("é"), UTF8String("e\u{301}"))
    #expect(composed.text == decomposed.text)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, "K", "\u{212A}"]).count == 4)
    let value = try JSONValue(json: Array("{\"é\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}".utf8))
    #expect(value[composed.text] == 1)
    #expect(value[decomposed.text] == 2)
    #expect(value["\u{212A}"] == 4)
    #expect(JSONValue.string("é") != .string("e\u{301}"))
  }

  @Test func `Names are ordered by their bytes, as PostgreSQL's collation C does`() {
    let names: [UTF8String] = ["z", "é", "a", "e\u{301}", "", "Z", "😀", "\u{FFFD}"]
    #expect(names.sorted().map(\.text.utf8.first) == [nil, 0x5A, 0x61, 0x65, 0x7A, 0xC3, 0xEF, 0xF0])
  }

  @Test func `Texts are split at a mark, whatever follows it`() {
    #expect("heading=\u{301}x=y".split(atEach: "=", maxSplits: 1).map { UTF8String($0) } == ["heading", "\u{301}x=y"])
    #expect(",a,\u{338},".split(atEach: ",").map { UTF8String($0) } == ["", "a", "\u{338}", ""])
  }

  @Test func `Marks are replaced, whatever follows them`() {
    #expect(UTF8String("a'\u{301}b'".replacing(each: "'", with: "''")) == "a''\u{301}b''")
    #expect("".replacing(each: "'", with: "''").isEmpty && "ab".replacing(each: "'", with: "''") == "ab")
  }

  @Test func `Only letters of ASCII change their case`() {
    #expect("TitleİÄK\u{212A}".lowercasedASCII.hasSameBytes(as: "titleİÄk\u{212A}"))
  }

  @Test(arguments: ["a", "é", "日本語", "ሴ", "😀"])
  func `Thirty marks in a row are read, and thirty-one refused`(base: String) throws {
    func text(_ marks: Int) -> String {
      base + String(repeating: "\u{301}\u{323}", count: marks / 2) + (marks % 2 == 1 ? "\u{301}" : "")
    }
    for text in [text(30), text(30) + base + text(30), String(repeating: base, count: 500)] {
      #expect(CombiningMarks.areFew(in: text))
      #expect(try JSONValue(json: JSONText.quoted(text)).text?.hasSameBytes(as: text) == true)
    }
    for text in [text(31), text(30) + text(31), "x" + text(31) + "y", text(50_000)] {
      #expect(!CombiningMarks.areFew(in: text))
      #expect(throws: JSONProblem("has more than 30 combining marks in a row")) {
        try JSONValue(json: JSONText.quoted(text))
      }
    }
  }

  @Test(arguments: [
    ("y\u{308}\u{F73}\u{323}", "\u{1EF5}\u{F71}\u{F72}\u{308}"), ("a\u{301}\u{F75}", "\u{E1}\u{F71}\u{F74}"),
    ("a\u{301}\u{F81}\u{327}", "\u{E1}\u{F71}\u{F80}\u{327}"), ("\u{F40}\u{F73}", "\u{F40}\u{F71}\u{F72}"),
  ])
  func `Marks are sorted across vowel signs of Tibetan`(text: String, composed: String) {
    #expect(CombiningMarks.composed(text)?.hasSameBytes(as: composed) == true)
    #expect(CombiningMarks.composed(composed)?.hasSameBytes(as: composed) == true)
  }

  @Test func `A name of 128 bytes is read, and a longer one refused before it is looked at`() throws {
    let name = String(repeating: "é", count: 64)
    #expect(try JSONValue(json: Array(#"{"\#(name)":1}"#.utf8))[name] == 1)
    let escaped = String(repeating: "\\u00e9", count: 64)
    #expect(try JSONValue(json: Array(#"{"\#(escaped)":1}"#.utf8))[name] == 1)
    for long in [name + "a", escaped + "a", String(repeating: "\u{301}\u{323}", count: 25_000)] {
      let problem = #expect(throws: JSONProblem.self) { try JSONValue(json: Array(#"{"\#(long)":1}"#.utf8)) }
      #expect(problem?.sentence.contains("a name of more than 128 bytes") == true)
    }
  }

  @Test func `A byte order mark is passed over`() throws {
    #expect(try JSONValue(json: [0xEF, 0xBB, 0xBF] + Array(#"{"a":1}"#.utf8))["a"] == 1)
  }

  @Test(arguments: [
    (#""\ud83d""#, "\u{FFFD}"), (#""a\ude00b""#, "a\u{FFFD}b"), (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
    (#""\ud83dx\ude00""#, "\u{FFFD}x\u{FFFD}"), (#""\ud83d\n""#, "\u{FFFD}\n"),
  ])
  func `Half a surrogate pair is refused, or replaced where clients cut texts`(json: String, text: String) throws {
    #expect(throws: JSONProblem("holds half a surrogate pair")) { try JSONValue(json: Array(json.utf8)) }
    var rules = JSONReader.Rules.usual
    rules.replacesHalfPairs = true
    #expect(try JSONValue(json: Array(json.utf8), rules: rules).text == text)
  }
}
