import Foundation
import Testing
import Wire

@Suite struct MessageBodyJSONTests {
  private static let usual = MessageBody(
    verbatim: true, alert: "ä \"\\\n\u{1}", info: "b", badge: 3, sound: "c", category: "d", image: "https://e",
    url: "f:g", ttl: 0, priority: .normal, collapseKey: "h", threadId: "i", silent: false, pushType: .liveactivity,
    fields: ["j": ["k", 1, .number(-2.5), true, nil, ["l": "é"]], "\"": "m"], optionalFields: ["j", "\""],
    trackOpens: false,
    overrides: MessageOverrides(
      apns: APNsOverride(headers: ["n": "o"], payload: ["p": nil]), members: members(["q": ["r": 1], "s": []]),
      wns: WNSOverride(headers: ["t": "u"], type: "v"), webpush: WebPushOverride(headers: ["w": nil]),
      sms: SMSOverride(from: "x", text: "y", coding: .ucs2, maximumParts: 2)),
    translations: [
      "pt-BR": MessageTranslation(
        alert: "z", info: "ä", image: "https://f", url: "g:h", sound: "i", category: "j", fields: ["k": nil],
        overrides: MessageOverrides(wns: WNSOverride(type: "l"))),
      "sv": MessageTranslation(),
    ])

  /// Every field: texts that the usual message does not have are their names.
  private static let full = (try? filled(usual)) ?? usual

  private static func filled(_ message: MessageBody) throws -> MessageBody {
    let json = try JSONValue(encoding: message)
    let missing = MessageBody.renderedTexts.map(\.name).filter { json[$0] == nil }
    return try MessageBody(from: json.merging(.object(Dictionary(named: missing.map { ($0, .string($0)) }))))
  }

  @Test(arguments: [
    full, MessageBody(), MessageBody(badge: "{{n}}", fields: [:], optionalFields: [], overrides: MessageOverrides()),
    MessageBody(
      overrides: MessageOverrides(
        apns: APNsOverride(), members: members([:]), wns: WNSOverride(), webpush: WebPushOverride(), sms: SMSOverride())
    ),
  ])
  func `A message's JSON is what an encoder makes of it`(message: MessageBody) throws {
    let written = try JSONValue(json: Array(message.json.utf8))
    #expect(written == (try JSONValue(encoding: message)))
    #expect(try JSONCoding.decode(MessageBody.self, from: Array(message.json.utf8)) == message)
  }

  @Test func `The fullest message has every member`() throws {
    let members = try JSONCoding.decode([UTF8String: JSONValue].self, from: JSONCoding.encode(Self.full))
    #expect(Set(members.keys.map(\.text)) == Set(MessageBody.allFields.map(\.name)))
    let overrides = try #require(members["overrides"]?.members)
    #expect(Set(overrides.keys.map(\.text)) == Set(PushServiceName.allCases.map(\.rawValue)))
    for (name, count) in ["apns": 2, "wns": 2, "webpush": 1, "sms": 4] {
      #expect(overrides[name]?.members?.count == count, "\(name)")
    }
  }

  @Test func `An override can be for each push service`() {
    guard case .object(let fields, nil, nil) = MessageOverrides.schema.shape else {
      Issue.record("no closed object")
      return
    }
    #expect(Set(fields.map(\.name)) == Set(PushServiceName.allCases.map(\.rawValue)))
  }

  /// These members for each service whose fields have no type of their own.
  private static func members(_ members: [UTF8String: JSONValue]) -> [PushServiceName: [UTF8String: JSONValue]] {
    let typed: Set<PushServiceName> = [.apns, .wns, .webpush, .sms]
    return Dictionary(
      uniqueKeysWithValues: PushServiceName.allCases.filter { !typed.contains($0) }.map { ($0, members) })
  }
}

extension JSONValue {
  fileprivate var members: [UTF8String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}
