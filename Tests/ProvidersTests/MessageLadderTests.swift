import Testing
import Wire

@testable import Providers

/// What becomes of messages that are too large for a push service.
@Suite struct MessageLadderTests {
  private static let family = "👨‍👩‍👧"

  private func message(alert: Int = 100, info: Int? = 50, optional: Int? = 50) -> RenderedMessage {
    RenderedMessage(
      alert: JSONText.quoted(String(repeating: Self.family, count: alert)),
      info: info.map { JSONText.quoted(String(repeating: "i", count: $0)) }, url: JSONText.quoted("https://p/1"),
      pushreadurl: JSONText.quoted("https://r/1"),
      fields: [
        .init(name: JSONText.quoted("kept"), value: Array("1".utf8)),
        .init(
          name: JSONText.quoted("note"), value: JSONText.quoted(String(repeating: "n", count: optional ?? 0)),
          isOptional: optional != nil),
      ])
  }

  private func fitted(_ message: RenderedMessage, _ limit: Int) -> (message: RenderedMessage, reductions: Reductions)? {
    message.fitted { APNsPayload.json($0).count <= limit ? $0 : nil }.map { ($0.form, $0.reductions) }
  }

  private func alert(_ message: RenderedMessage) throws -> String {
    let json = try #require(message.alert)
    return try #require(try JSONValue(json: json).text)
  }

  @Test func `Info, the alert's end and optional fields go one after the other, and links never`() throws {
    let whole = message()
    let size = APNsPayload.json(whole).count
    #expect(try #require(fitted(whole, size)).reductions == [])
    let first = try #require(fitted(whole, size - 1))
    #expect(first.reductions == .infoDropped && first.message.info == nil && first.message.alert == whole.alert)
    let second = try #require(fitted(whole, APNsPayload.json(first.message).count - 1))
    #expect(second.reductions == [.infoDropped, .alertShortened] && second.message.fields == whole.fields)
    #expect(try alert(second.message) == String(repeating: Self.family, count: 99) + "…")
    let shortest = try #require(fitted(whole, 2000))
    #expect(shortest.reductions == [.infoDropped, .alertShortened])
    var third: (message: RenderedMessage, reductions: Reductions)?
    var limit = 2000
    while let result = fitted(whole, limit) { (third, limit) = (result, limit - 1) }
    let smallest = try #require(third)
    #expect(smallest.reductions == [.infoDropped, .alertShortened, .fieldsDropped])
    #expect(smallest.reductions.description == "info dropped, alert shortened, optional fields dropped")
    #expect(smallest.message == whole.smallest)
    #expect(try alert(smallest.message) == String(repeating: Self.family, count: 40) + "…")
    #expect(smallest.message.fields.map(\.isOptional) == [false])
    #expect(smallest.message.url == whole.url && smallest.message.pushreadurl == whole.pushreadurl)
  }

  @Test func `Fields that are dropped make room for the alert`() throws {
    let whole = message(alert: 50, info: nil, optional: 3000)
    let result = try #require(fitted(whole, 2500))
    #expect(result.reductions == .fieldsDropped && result.message.alert == whole.alert)
  }

  @Test(arguments: [nil, ""])
  func `A message without an alert keeps its info, whatever it costs`(_ alert: String?) throws {
    let whole = RenderedMessage(
      alert: alert.map { JSONText.quoted($0) }, info: JSONText.quoted("Read this"),
      fields: [.init(name: JSONText.quoted("note"), value: JSONText.quoted("long"), isOptional: true)])
    let result = try #require(fitted(whole, APNsPayload.json(whole).count - 1))
    #expect(result.reductions == .fieldsDropped && result.message.info == whole.info)
    #expect(whole.smallest == result.message)
    // Without the info it would fit.
    #expect(fitted(whole, APNsPayload.json(result.message).count - 1) == nil)
  }

  @Test func `The cut is as late as it can be, whatever the alert holds, and the result is JSON`() throws {
    for text in ["\"", "\\", "a\n", "é", "e\u{301}", "🇩🇪", Self.family, "a "] {
      let whole = RenderedMessage(alert: JSONText.quoted(String(repeating: text, count: 3000)))
      for limit in [400, 1001, 4096] {
        guard let result = fitted(whole, limit) else { continue }
        let bytes = APNsPayload.json(result.message)
        #expect(bytes.count <= limit && result.reductions == .alertShortened)
        let cut = try alert(result.message)
        #expect(try JSONValue(json: bytes)["alert"]?.text == cut)
        #expect(cut.hasSuffix("…") && cut.dropLast().allSatisfy { text.contains($0) }, "\(text)")
        #expect(cut.dropLast().last?.isWhitespace == false)
        // Another character would be too many: it and its blank stand in the payload twice.
        #expect(bytes.count + 2 * (JSONText.quoted(text).count - 2) * 2 > limit)
      }
    }
  }

  @Test func `An alert that is much too long costs no more than what fits`() throws {
    let whole = RenderedMessage(alert: JSONText.quoted(String(repeating: "é", count: 100_000)))
    var sizes: [Int] = []
    let result = whole.fitted { message in
      sizes.append(message.alert?.count ?? 0)
      return APNsPayload.json(message).count <= 4096 ? message : nil
    }
    #expect(result?.reductions == .alertShortened)
    #expect(sizes.dropFirst().reduce(0, +) < 20 * 4096, "\(sizes)")
  }

  @Test func `What cannot be made small enough is refused`() {
    #expect(fitted(message(alert: 40, info: nil, optional: nil), 100) == nil)
    #expect(fitted(RenderedMessage(alert: JSONText.quoted("Sale"), info: JSONText.quoted("Today")), 10) == nil)
  }
}
