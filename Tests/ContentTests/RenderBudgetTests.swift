@testable import Content

import Foundation
import Testing
import Wire

/// The budget bounds work. Each round of the outer section writes one `x`, so the output tells how many rounds were made.
@Suite struct RenderBudgetTests {
  /// A list of as many short values as a contact's properties hold.
  private static let list = "[\(Array(repeating: "1", count: 16_000).joined(separator: ","))]"

  private func rounds(_ body: String, _ context: PageContext) throws -> Int {
    try PageTemplate("{{#l}}x\(body){{/l}}", format: .text).bytes(for: context).count { $0 == UInt8(ascii: "x") }
  }

  /// The rounds whose work fits the budget, and those that were begun or taken ahead when it ran out.
  private func limit(work: Int) -> Int { RenderBudget.steps / work + 2 }

  @Test(arguments: [
    ("{{l}}", 16_000), ("{{properties.l}}", 16_000), ("{{first(reversed(l))}}", 16_000),
    ("{{first(reversed(reversed(l)))}}", 32_000), ("{{#t}}{{.}}{{/t}}", 8_000),
    ("{{#uppercased(t)}}{{/uppercased(t)}}", 8_000),
    ("{{#reversed(t)}}{{/reversed(t)}}", 8_000), ("{{#o}}{{t}}{{/o}}", 8_000), ("{{sendout.fields.l}}", 2_000),
    ("{{#sendout}}{{fields.l}}{{/sendout}}", 2_000),
  ])
  func `Rounds end when lists or texts that are read in them have used up the budget`(body: String, work: Int) throws {
    let text = String(repeating: "a", count: 8_000)
    let context = PageContext(
      properties: Properties(json: #"{"l": \#(Self.list), "t": "\#(text)", "o": {"t": "\#(text)"}}"#),
      sendout: SendoutFields(fields: ["l": .array(Array(repeating: .integer(1), count: 2_000))]))
    #expect((1...limit(work: work)).contains(try rounds(body, context)))
  }

  @Test func `Rounds end when names that are sought through many sections have used up the budget`() throws {
    let context = PageContext(properties: Properties(json: #"{"l": \#(Self.list), "o": {"o": 1}}"#))
    let depth = 30
    let body =
      String(repeating: "{{#properties.o}}", count: depth) + String(repeating: "{{z}}", count: 50)
      + String(repeating: "{{/properties.o}}", count: depth)
    #expect((1...limit(work: 50 * depth)).contains(try rounds(body, context)))
  }

  @Test func `Printing a section's own text again and again stays within the budget`() throws {
    let text = String(repeating: "a", count: 60_000)
    let context = PageContext(properties: Properties(json: #"{"l": ["\#(text)"]}"#))
    let body = "{{#l}}" + String(repeating: "{{.}}", count: 1_000) + "{{/l}}"
    #expect(try PageTemplate(body, format: .text).bytes(for: context).count <= RenderBudget.steps)
  }

  @Test func `A section that prints its list as often as a template may has no third round`() throws {
    let context = PageContext(properties: Properties(json: #"{"l": \#(Self.list)}"#))
    #expect((1...2).contains(try rounds(String(repeating: "{{l}}", count: 1_998), context)))
  }

  @Test
  func `Once the budget is spent no list, text or field is rendered, and the template's own text ends as written`()
    throws
  {
    let context = PageContext(
      contact: PageRenderingTests.lars.contact, properties: Properties(json: #"{"l": \#(Self.list)}"#))
    let body = #"{"list": [{{#l}}"{{l}}"{{^last()}},{{/last()}}{{/l}}], "name": "{{firstName}}"}"#
    let page = try PageTemplate(body, format: .json).bytes(for: context)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(page)) as? [String: Any])
    let values = try #require(object["list"] as? [String])
    #expect(values.first?.isEmpty == false)
    #expect(values.last == "")
    #expect(object["name"] as? String == "")
  }

  @Test func `A message's texts share one budget`() throws {
    let context = PageContext(properties: Properties(json: #"{"l": \#(Self.list)}"#))
    let texts: [JSONValue] = Array(repeating: "{{#l}}x{{l}}{{/l}}", count: 300)
    let payload = try MessageTemplate(MessageBody(alert: "Hi", fields: ["texts": .array(texts)])).rendered(for: context)
    #expect((1...limit(work: 16_000)).contains(payload.json.utf8.count { $0 == UInt8(ascii: "x") } - 1))
    var page = context
    try MessageTemplate(MessageBody(alert: "Hi", fields: ["texts": .array(texts)])).fill(&page)
    guard case .array(let values) = page.sendout.fields["texts"] else { throw CancellationError() }
    let rounds = values.reduce(0) { count, value in
      guard case .string(let text) = value else { return count }
      return count + text.utf8.count { $0 == UInt8(ascii: "x") }
    }
    #expect((1...limit(work: 16_000)).contains(rounds))
  }
}
