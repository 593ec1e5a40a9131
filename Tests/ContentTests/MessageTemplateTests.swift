import Content
import Foundation
import Testing
import Wire

@Suite struct MessageTemplateTests {
  let lars = PageRenderingTests.lars

  func payload(_ message: MessageBody, _ context: PageContext) throws -> String {
    try MessageTemplate(message).rendered(for: context).json
  }

  @Test func `What a message does not have is left out`() throws {
    #expect(
      try payload(MessageBody(alert: "Hi {{firstName}}"), PageContext(contact: lars.contact))
        == #"{"alert":"Hi Lars"}"#)
  }

  @Test func `Every text is rendered, and further fields have the order of their names`() throws {
    let message = MessageBody(
      alert: "Hi {{firstName}}", info: "Fancy some {{food}}?", badge: 3, sound: "ping.caf", category: "OFFER",
      fields: ["zeta": "{{lastName}}", "alpha": ["n": 1, "b": [true, nil, "{{device.model}}"]], "empty": ""])
    #expect(
      try payload(message, lars) == """
        {"alert":"Hi Lars","info":"Fancy some meat?","badge":3,"sound":"ping.caf","category":"OFFER",\
        "url":"https://push.example.com/c/x","pushreadurl":"https://push.example.com/r/x",\
        "alpha":{"b":[true,null,"iphone 6"],"n":1},"empty":"","zeta":"Hansson"}
        """)
  }

  @Test func `No text of a verbatim message is a template`() throws {
    let text = "{{firstName}} {{#x}} {{{url}}"
    let message = MessageBody(
      verbatim: true, alert: text, info: text, sound: text, category: text, image: "https://a.example/{{x",
      collapseKey: "{{firstName}}", threadId: text,
      fields: ["a": .string(text), "b": .array([.object(["c": .string(text)])])],
      overrides: MessageOverrides(apns: APNsOverride(payload: ["d": .string(text)])))
    let template = try MessageTemplate(message)
    #expect(!template.isPersonal && !template.namesLinks && template.recipientFields.isEmpty)
    let rendered = template.rendered(for: lars)
    let quoted = Array("\"\(text)\"".utf8)
    #expect(rendered.alert == quoted && rendered.info == quoted && rendered.sound == quoted)
    #expect(rendered.category == quoted && rendered.threadID == quoted)
    #expect(rendered.image == Array("\"https://a.example/{{x\"".utf8))
    #expect(rendered.collapseKey == "{{firstName}}" && rendered.overrides == message.overrides?.value)
    #expect(rendered.fields.map { $0.value } == [quoted, Array("[{\"c\":\"\(text)\"}]".utf8)])
  }

  @Test func `A verbatim badge has to be a number`() {
    #expect(throws: ContentError.invalid(field: "message.badge", problem: "is not a whole number")) {
      try MessageTemplate(MessageBody(verbatim: true, badge: "{{x}}"))
    }
  }

  @Test func `An empty info is left out`() throws {
    #expect(
      try payload(MessageBody(alert: "Hi", info: "{{unknown}}"), PageContext())
        == #"{"alert":"Hi"}"#)
  }

  @Test func `A message's texts are not escaped for HTML`() throws {
    var context = PageContext()
    context.contact.texts[.firstName] = "Tom & <Jerry> \"x\""
    for alert in ["{{firstName}}", "{{{firstName}}}", "{{#firstName}}{{.}}{{/firstName}}"] {
      #expect(try MessageTemplate(MessageBody(alert: alert)).alert(for: context) == "Tom & <Jerry> \"x\"")
    }
  }

  @Test(arguments: hostileTexts)
  func `A rendered message is valid JSON with exactly the given texts, however hostile`(text: String) throws {
    var context = lars
    context.contact.texts[.firstName] = text
    context.url = text
    let message = MessageBody(
      alert: "a{{firstName}}b", info: "{{#firstName}}{{firstName}}{{/firstName}}.", sound: "s{{firstName}}",
      category: "c",
      fields: [
        "own": .string(text.replacing("{{", with: "{")), "his": "{{firstName}}",
        UTF8String("k" + text.filter { $0.isLetter }): 1,
      ])
    let json = try payload(message, context)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    func same(_ one: Any?, _ other: String) -> Bool {
      Array((one as? String ?? "-").unicodeScalars) == Array(other.unicodeScalars)
    }
    #expect(same(object["alert"], "a\(text)b"))
    #expect(same(object["info"], "\(text)."))
    #expect(same(object["his"], text))
    #expect(same(object["url"], text))
    #expect(same(object["sound"], "s\(text)"))
  }

  @Test(
    arguments: [
      ("7", "7"), (" 7\n", "7"), ("{{properties.unread}}", "12"), ("0", "0"), ("{{unknown}}", nil),
      ("{{firstName}}", nil),
      ("-{{properties.unread}}", nil), ("{{properties.unread}}.5", nil), ("{{properties.unread}}000000000000", nil),
    ] as [(String, String?)])
  func `A badge that is no whole number is left out`(badge: String, number: String?) throws {
    var context = lars
    context.properties = Properties(json: "{\"unread\": 12}")
    let payload = try payload(MessageBody(alert: "x", badge: .template(badge)), context)
    #expect(payload.contains(number.map { "\"alert\":\"x\",\"badge\":\($0)," } ?? "{\"alert\":\"x\",\"url\""))
  }

  struct Refused: CustomTestStringConvertible {
    let message: MessageBody
    let field: String
    var testDescription: String { field }
  }

  @Test(arguments: [
    Refused(message: MessageBody(), field: "message.alert"),
    Refused(message: MessageBody(alert: ""), field: "message.alert"),
    Refused(message: MessageBody(info: "x"), field: "message.alert"),
    Refused(message: MessageBody(alert: "{{#x}}"), field: "message.alert"),
    Refused(message: MessageBody(alert: "x", info: "{{"), field: "message.info"),
    Refused(message: MessageBody(alert: "x\0"), field: "message.alert"),
    Refused(message: MessageBody(pushType: .alert), field: "message.alert"),
    Refused(message: MessageBody(alert: "x", pushType: .background), field: "message.pushType"),
    Refused(message: MessageBody(sound: "x", pushType: .background), field: "message.pushType"),
    Refused(message: MessageBody(alert: "x", badge: -1), field: "message.badge"),
    Refused(message: MessageBody(alert: "x", badge: "many"), field: "message.badge"),
    Refused(message: MessageBody(alert: "x", badge: 4_294_967_296), field: "message.badge"),
    Refused(message: MessageBody(alert: "x", fields: ["a": ["b": ["{{/c}}"]]]), field: "message.fields.a.b[0]"),
    Refused(message: MessageBody(alert: "x", fields: ["": 1]), field: "message.fields."),
    Refused(message: MessageBody(alert: "x", fields: ["a\nb": 1]), field: "message.fields.a\nb"),
  ])
  func `An invalid message is refused with the name of the field`(refused: Refused) {
    let error = #expect(throws: ContentError.self) { try MessageTemplate(refused.message) }
    switch error {
    case .invalid(let field, _), .unparsable(let field, _, _): #expect(field == refused.field)
    default: Issue.record("refused otherwise: \(String(describing: error))")
    }
  }

  @Test(arguments: MessageTemplate.reservedFields.map(\.text).sorted())
  func `A further field with a reserved name is refused`(name: String) {
    #expect(throws: ContentError.invalid(field: "message.fields.\(name)", problem: "has a name that is taken")) {
      try MessageTemplate(MessageBody(alert: "x", fields: [UTF8String(name): "y"]))
    }
  }

  @Test func `A badge or a sound needs no alert`() throws {
    #expect(try payload(MessageBody(badge: 0), PageContext()) == #"{"badge":0}"#)
    #expect(try payload(MessageBody(sound: "x"), PageContext()) == #"{"sound":"x"}"#)
  }

  @Test func `A push type goes with the message, and all but alerts can be silent`() throws {
    for type in PushType.allCases where type != .alert {
      let message = try MessageTemplate(MessageBody(pushType: type, fields: ["a": 1])).rendered(for: PageContext())
      #expect(message.pushType == type)
    }
    #expect(try MessageTemplate(MessageBody(alert: "x")).rendered(for: PageContext()).pushType == nil)
  }

  @Test func `The page behind a message can name the message's texts and fields`() throws {
    var context = PageContext(contact: lars.contact)
    let fields: [UTF8String: JSONValue] = [
      "for": "{{lastName}}", "list": [1, "{{firstName}}", ["x": nil]], "same": true,
    ]
    let message = MessageBody(alert: "Hi {{firstName}}", info: "{{unknown}}", fields: fields)
    try MessageTemplate(message).fill(&context)
    #expect(context.sendout.alert == "Hi Lars" && context.sendout.info == "")
    #expect(context.sendout.fields == ["for": "Hansson", "list": [1, "Lars", ["x": nil]], "same": true])
  }

  @Test func `A message knows whether it is personal`() throws {
    for alert in ["Hi", "Hi {{sendout.name}} of {{app.name}}", "{{! nobody }}Hi"] {
      #expect(try !MessageTemplate(MessageBody(alert: alert)).isPersonal)
    }
    #expect(try MessageTemplate(MessageBody(alert: "Hi {{firstName}}")).isPersonal)
    #expect(try MessageTemplate(MessageBody(alert: "Hi", badge: "{{unread}}")).isPersonal)
    #expect(try MessageTemplate(MessageBody(alert: "Hi", fields: ["a": ["{{device.model}}"]])).isPersonal)
  }

  @Test func `A message knows what it names of its recipient`() throws {
    for (alert, fields): (String, Set<String>) in [
      ("Hi {{sendout.name}} of {{app.name}}, {{url}}, {{sendout.fields.food}}{{! firstName }}", []),
      ("{{firstName}} {{device.model}}", ["firstName", "device"]),
      ("{{#device}}{{model}}{{country}}{{/device}}", ["device", "properties", "country"]),
      ("{{food}}", ["properties"]), ("{{properties.food}}", ["properties"]), ("{{.food}}", ["properties"]),
      ("{{uppercased(food)}}", ["properties"]), ("{{uppercased(city)}}", ["city"]),
      ("{{#properties}}{{app.name}}{{/properties}}", ["properties"]),
      ("{{^listId}}nobody{{/listId}}", ["listId"]),
    ] {
      #expect(try MessageTemplate(MessageBody(alert: alert)).recipientFields == fields, "\(alert)")
    }
    let everywhere = MessageBody(
      alert: "{{firstName}}", info: "{{lastName}}", badge: "{{unread}}", sound: "{{title}}", category: "{{sex}}",
      fields: ["a": ["{{city}}"]])
    #expect(
      try MessageTemplate(everywhere).recipientFields == [
        "firstName", "lastName", "properties", "title", "sex", "city",
      ])
  }
}

extension RenderedMessage {
  /// The message's parts as one JSON object.
  var json: String {
    let parts: [(String, [UInt8]?)] = [
      ("alert", alert), ("info", info), ("badge", badge), ("sound", sound), ("category", category), ("url", url),
      ("pushreadurl", pushreadurl),
    ]
    var members = parts.compactMap { name, value in value.map { "\"\(name)\":" + String(decoding: $0, as: UTF8.self) } }
    members += fields.map { String(decoding: $0.name, as: UTF8.self) + ":" + String(decoding: $0.value, as: UTF8.self) }
    return "{" + members.joined(separator: ",") + "}"
  }
}
