import Testing
import Wire

@Suite struct VariantTests {
  private let message = MessageBody(
    alert: "Hi", info: "Today", sound: "ping", ttl: 60, fields: ["a": 1, "b": ["c": 2, "d": 3]],
    overrides: MessageOverrides(apns: APNsOverride(headers: ["apns-priority": "5"])))

  @Test func `Members of a variant replace those of the message, and objects are merged`() throws {
    let merged = try message.merged(
      with: MessageBody(
        alert: "Hello", fields: ["b": ["c": 4]], overrides: MessageOverrides(wns: WNSOverride(type: "wns/toast"))))
    var expected = message
    expected.alert = "Hello"
    expected.fields = ["a": 1, "b": ["c": 4, "d": 3]]
    expected.overrides?.wns = WNSOverride(type: "wns/toast")
    #expect(merged == expected)
  }

  @Test func `Null in overrides stays, as it removes what the hub makes`() throws {
    let first = MessageOverrides(apns: APNsOverride(payload: ["aps": ["sound": nil]]))
    let second = MessageOverrides(apns: APNsOverride(headers: ["apns-expiration": nil]))
    let merged = try MessageBody(alert: "Hi", overrides: first).merged(with: MessageBody(overrides: second))
    #expect(
      merged.overrides
        == MessageOverrides(
          apns: APNsOverride(headers: ["apns-expiration": nil], payload: ["aps": ["sound": nil]])))
    #expect(try MessageBody(alert: "Hi").merged(with: MessageTranslation(overrides: first)).overrides == first)
  }

  @Test func `Translations into the same language are merged, however its tag is written`() throws {
    let message = MessageBody(
      alert: "Hi", translations: ["sv": MessageTranslation(alert: "Hej"), "pt-br": MessageTranslation(alert: "Oi")])
    let change = MessageBody(
      translations: ["SV": MessageTranslation(info: "Idag"), "pt_BR": MessageTranslation(alert: "Olá")])
    #expect(
      try message.merged(with: change).translations == [
        "sv": MessageTranslation(alert: "Hej", info: "Idag"), "pt-BR": MessageTranslation(alert: "Olá"),
      ])
    #expect(try message.translated(by: MessageTranslation(alert: "Hej")) == MessageBody(alert: "Hej"))
  }

  @Test func `A translation leaves what it does not say`() throws {
    let merged = try message.merged(with: MessageTranslation(alert: "Hej"))
    var expected = message
    expected.alert = "Hej"
    #expect(merged == expected)
    #expect(try message.merged(with: MessageTranslation()) == message)
  }

  @Test(arguments: [
    ("sv", ["sv"]), ("sv-FI", ["sv-FI", "sv"]), ("zh-Hans-CN", ["zh-Hans-CN", "zh-Hans", "zh"]),
    ("zh-Hant-CN-x-private1", ["zh-Hant-CN-x-private1", "zh-Hant-CN", "zh-Hant", "zh"]),
    ("ar-EG-u-nu-latn", ["ar-EG-u-nu-latn", "ar-EG-u-nu", "ar-EG", "ar"]),
  ])
  func `A language is looked up from the whole tag to its first part`(_ tag: String, _ expected: [String]) throws {
    #expect(try #require(LanguageTag(tag)).lookup == expected)
  }

  @Test(
    arguments: [
      ("sv", "sv"), ("sv-FI", "sv"), ("sv_SE", "sv-SE"), ("SV_se", "sv-SE"), ("pt-br", "pt-BR"), ("pt", nil),
      ("pt-PT", nil),
      ("", nil), ("no such tag", nil), (nil, nil), ("svx", nil),
    ] as [(String?, String?)])
  func `A contact gets the closest language that there is, or the message itself`(_ wanted: String?, _ found: String?) {
    #expect(LanguageTag.match(wanted, among: ["sv", "pt-BR", "sv-SE"]) == found)
  }
}
