import Content
import Testing
import Wire

/// The parts that few messages have.
@Suite struct MessageExtrasTests {
  private var context: PageContext {
    var context = PageContext()
    context.contact.texts[.firstName] = "Lars"
    return context
  }

  private func rendered(_ message: MessageBody) throws -> RenderedMessage {
    try MessageTemplate(message).rendered(for: context)
  }

  @Test func `Image, link, thread and collapse key are templates, and texts can name the link`() throws {
    let message = try rendered(
      MessageBody(
        alert: "See {{url}}", image: "https://i/{{firstName}}.png", url: "shop:offer/{{firstName}}",
        collapseKey: "k-{{firstName}}", threadId: "t-{{firstName}}"))
    #expect(message.alert == JSONText.quoted("See shop:offer/Lars"))
    #expect(message.url == JSONText.quoted("shop:offer/Lars"))
    #expect(message.image == JSONText.quoted("https://i/Lars.png"))
    #expect(message.threadID == JSONText.quoted("t-Lars") && message.collapseKey == "k-Lars")
  }

  @Test func `What a template makes of them that cannot be sent is left out, and a collapse key is hashed`() throws {
    let message = try rendered(
      MessageBody(
        alert: "x", image: "{{firstName}}", url: "{{unknown}}", collapseKey: "{{firstName}} ä", threadId: "{{unknown}}")
    )
    #expect(message.image == nil && message.url == nil && message.threadID == nil)
    let key = try #require(message.collapseKey)
    #expect(key.count == 32 && key.allSatisfy { $0.isHexDigit })
    let other = try rendered(MessageBody(alert: "x", collapseKey: "{{firstName}} ö")).collapseKey
    #expect(try key != #require(other))
    #expect(try rendered(MessageBody(alert: "x", collapseKey: "{{unknown}}")).collapseKey == nil)
  }

  @Test func `A collapse key that push services do not take is hashed, whether a template makes it or not`() throws {
    func key(_ text: String, isVerbatim: Bool = false) throws -> String? {
      try rendered(MessageBody(verbatim: isVerbatim, alert: "x", collapseKey: text)).collapseKey
    }
    let limit = String(repeating: "k", count: 64)
    #expect(try key(limit) == limit)
    for odd in [limit + "k", "a b", "Lars ä", String(repeating: "ä", count: 33)] {
      let hash = try #require(try key(odd))
      #expect(hash.count == 32 && hash.allSatisfy { $0.isHexDigit }, "\(odd)")
      #expect(try key(odd, isVerbatim: true) == hash)
    }
    #expect(try key("Lars ä") == key("{{firstName}} ä"))
    #expect(try key("Lars ä") != key("Lars ö"))
  }

  @Test func `Texts of overrides are templates, and their names are what is read of the recipient`() throws {
    let body = MessageBody(
      alert: "x",
      overrides: MessageOverrides(members: [.fcm: ["data": ["a": "Hi {{firstName}}", "b": nil, "c": [1, "{{food}}"]]]]))
    let template = try MessageTemplate(body)
    #expect(template.isPersonal && template.recipientFields == ["firstName", "properties"])
    #expect(
      template.rendered(for: context).overrides
        == ["fcm": ["data": ["a": "Hi Lars", "b": nil, "c": [1, ""]]]])
    let constant = MessageOverrides(members: [.hms: ["android": ["urgency": "HIGH"]]])
    #expect(try rendered(MessageBody(alert: "x", overrides: constant)).overrides == constant.value)
    #expect(try !MessageTemplate(MessageBody(alert: "x", overrides: constant)).isPersonal)
  }

  @Test func `A silent message needs no alert, and goes when it suits the battery`() throws {
    let template = try MessageTemplate(MessageBody(silent: true, fields: ["a": 1]))
    #expect(template.rendered(for: context).isSilent && template.priority == .normal)
    #expect(try MessageTemplate(MessageBody(alert: "x")).priority == .high)
    #expect(try MessageTemplate(MessageBody(priority: .high, silent: true)).priority == .high)
  }

  @Test func `Optional fields are marked as such`() throws {
    let message = try rendered(MessageBody(alert: "x", fields: ["a": 1, "b": 2], optionalFields: ["b"]))
    #expect(message.fields.map(\.isOptional) == [false, true])
  }

  private static let refused: [(message: MessageBody, field: String)] = [
    (MessageBody(alert: "x", image: "http://i/1"), "message.image"),
    (MessageBody(alert: "x", image: "https://i/ 1"), "message.image"),
    (MessageBody(alert: "x", url: "offer"), "message.url"),
    (MessageBody(alert: "x", url: ":x"), "message.url"),
    (MessageBody(alert: "x", url: "https://a b"), "message.url"),
    (MessageBody(alert: "x", ttl: -1), "message.ttl"),
    (MessageBody(alert: "x", ttl: 2_419_201), "message.ttl"),
    (MessageBody(badge: 1, silent: true), "message.silent"),
    (MessageBody(sound: "s", silent: true), "message.silent"),
    (MessageBody(silent: true, pushType: .voip), "message.pushType"),
    (MessageBody(alert: "x", fields: ["a": 1], optionalFields: ["b"]), "message.optionalFields[0]"),
    (MessageBody(alert: "x", fields: ["image": 1]), "message.fields.image"),
    (MessageBody(), "message.alert"),
    (MessageBody(alert: "x", overrides: large), "message.overrides"),
    (MessageBody(alert: "x", overrides: .init(members: [.fcm: ["data": ["a": "{{"]]])), "message.overrides.fcm.data.a"),
  ]
  private static let large = MessageOverrides(members: [
    .fcm: ["data": ["a": .string(String(repeating: "x", count: 8192))]]
  ])

  @Test(arguments: refused)
  func `What cannot be sent is refused by its field`(_ message: MessageBody, _ field: String) {
    #expect {
      try MessageTemplate(message)
    } throws: { error in
      switch error as? ContentError {
      case .invalid(let named, _), .unparsable(let named, _, _): named == field
      default: false
      }
    }
  }

  @Test(arguments: [true, false])
  func `What is nested too deep is refused, with the limit of its kind`(isVerbatim: Bool) {
    var nested: JSONValue = 1
    for _ in 0..<12 { nested = [nested] }
    let messages = [
      (MessageBody(verbatim: isVerbatim, alert: "x", fields: ["a": nested]), 8),
      (MessageBody(verbatim: isVerbatim, alert: "x", overrides: .init(members: [.fcm: ["data": nested]])), 12),
    ]
    for (message, limit) in messages {
      let error = #expect(throws: ContentError.self) { try MessageTemplate(message) }
      let problem: String? = if case .invalid(_, let problem)? = error { problem } else { nil }
      #expect(problem == "is nested more than \(limit) deep")
    }
  }
}
