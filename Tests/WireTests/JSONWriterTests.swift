import Foundation
import Testing
import Wire

@Suite struct JSONWriterTests {
  @Test func `Written JSON can be read by Foundation`() throws {
    let hostile = "\"\\/\u{0}\u{1}\u{1F}\u{7F}\n\r\tå😀\u{2028}"
    var writer = JSONWriter()
    writer.open("{")
    writer.member("text", hostile)
    writer.member("none", nil as String?)
    writer.member("number", -12)
    writer.member("no", nil as Int?)
    writer.name("list")
    writer.open("[")
    writer.value("a")
    writer.raw("true")
    writer.open("{")
    writer.close("}")
    writer.close("]")
    writer.name("key \"2\"" as String)
    writer.raw("1.50")
    writer.close("}")
    let read = try #require(try JSONSerialization.jsonObject(with: Data(writer.bytes)) as? [String: Any])
    #expect(read["text"] as? String == hostile)
    #expect(
      try JSONValue(json: writer.bytes, rules: .cutTexts) == [
        "text": .string(hostile), "none": .null, "number": -12, "no": .null, "list": ["a", true, [:] as JSONValue],
        "key \"2\"": .number(1.5),
      ])
  }
}
