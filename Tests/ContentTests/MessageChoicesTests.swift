import Content
import Testing
import Wire

@Suite struct MessageChoicesTests {
  private let message = MessageBody(
    alert: "Hello {{firstName}}", info: "Today", fields: ["kind": "offer", "greeting": "hello"],
    translations: [
      "sv": MessageTranslation(alert: "Hej {{lastName}}", fields: ["greeting": "hej"]),
      "pt-BR": MessageTranslation(alert: "Oi"),
    ])

  private func alert(_ template: MessageTemplate?) -> String? {
    var context = PageContext()
    context.contact.texts[.firstName] = "Lars"
    context.contact.texts[.lastName] = "Hansson"
    return template?.alert(for: context)
  }

  @Test(
    arguments: [
      ("sv", "Hej Hansson"), ("sv-FI", "Hej Hansson"), ("sv_SE", "Hej Hansson"), ("SV", "Hej Hansson"), ("pt-br", "Oi"),
      ("pt", "Hello Lars"), ("pt-PT", "Hello Lars"), ("de", "Hello Lars"), ("", "Hello Lars"), (nil, "Hello Lars"),
      ("not a tag", "Hello Lars"),
    ] as [(String?, String)])
  func `A message is said in the closest language that it has, else as it is`(
    _ language: String?, _ expected: String
  ) throws {
    #expect(alert(try MessageTemplate(message).inLanguage(language)) == expected)
  }

  @Test func `A translation leaves what it does not say, and its fields replace those of the same name`() throws {
    let translated = try MessageTemplate(message).inLanguage("sv")
    let rendered = translated.rendered(for: PageContext())
    #expect(rendered.info == Array(#""Today""#.utf8))
    #expect(translated.givenFields == ["kind": "offer", "greeting": "hej"])
    #expect(!translated.isTranslated)
  }

  @Test func `What is read of recipients serves every language`() throws {
    #expect(try MessageTemplate(message).recipientFields == ["firstName", "lastName"])
  }

  @Test func `Tags are taken in any case, and a language has one text`() throws {
    let lower = MessageBody(alert: "Hi", translations: ["pt_br": MessageTranslation(alert: "Oi")])
    #expect(alert(try MessageTemplate(lower).inLanguage("pt-BR")) == "Oi")
    let twice = MessageBody(
      alert: "Hi", translations: ["pt-BR": MessageTranslation(alert: "Oi"), "pt-br": MessageTranslation(alert: "Olá")])
    let refusal = ContentError.invalid(
      field: "message.translations.pt-br",
      problem: "is there twice, whatever the case of its letters: leave out one of them")
    #expect(throws: refusal) { try MessageTemplate(twice) }
  }

  @Test func `Problems of a translation name it`() {
    func refused(_ tag: UTF8String, _ translation: MessageTranslation) -> String? {
      do throws(ContentError) {
        _ = try MessageTemplate(MessageBody(badge: 1, translations: [tag: translation]))
        return nil
      } catch .invalid(let field, _) {
        return field
      } catch .unparsable(let field, _, _) {
        return field
      } catch {
        return "\(error)"
      }
    }
    #expect(refused("no tag", MessageTranslation(alert: "x")) == "message.translations.no tag")
    #expect(refused("sv", MessageTranslation(alert: "{{#x}}")) == "message.translations.sv.alert")
    #expect(refused("sv", MessageTranslation(info: "x")) == "message.translations.sv.alert")
    #expect(refused("sv", MessageTranslation(alert: "x", image: "no")) == "message.translations.sv.image")
    #expect(refused("sv", MessageTranslation(fields: ["alert": 1])) == "message.translations.sv.fields.alert")
    #expect(refused("sv", MessageTranslation(alert: "x")) == nil)
  }

  @Test func `A message has fifty languages at most`() throws {
    func translations(_ count: Int) -> [UTF8String: MessageTranslation] {
      Dictionary(
        uniqueKeysWithValues: (0..<count).map { (UTF8String("en-x-\($0)"), MessageTranslation(alert: "\($0)")) })
    }
    let most = try MessageTemplate(MessageBody(alert: "Hi", translations: translations(50)))
    #expect(alert(most.inLanguage("en-x-49")) == "49")
    #expect(
      throws: ContentError.invalid(
        field: "message.translations", problem: "has 51 languages, and at most 50 are allowed")
    ) { try MessageTemplate(MessageBody(alert: "Hi", translations: translations(51))) }
  }

  @Test func `A variant is merged over the message, and its translations over the message's`() throws {
    let choices = try MessageChoices(
      message,
      variants: [
        MessageVariant(name: "A", share: 50, message: MessageBody(alert: "Hi {{firstName}}")),
        MessageVariant(
          name: "B", share: 50,
          message: MessageBody(info: "Tomorrow", translations: ["SV": MessageTranslation(alert: "Hallå")])),
      ])
    #expect(alert(choices.template(variant: 1, language: nil)) == "Hi Lars")
    #expect(alert(choices.template(variant: 1, language: "sv")) == "Hej Hansson")
    #expect(alert(choices.template(variant: 2, language: nil)) == "Hello Lars")
    #expect(alert(choices.template(variant: 2, language: "sv-SE")) == "Hallå")
    #expect(alert(choices.template(variant: 2, language: "pt-BR")) == "Oi")
    #expect(choices.template(variant: 2, language: "sv")?.givenFields["greeting"] == "hej")
    let rendered = choices.template(variant: 2, language: "sv")?.rendered(for: PageContext())
    #expect(rendered?.info == Array(#""Tomorrow""#.utf8))
    #expect(alert(choices.template(variant: nil, language: "sv")) == "Hej Hansson")
    for variant in [0, 3, -1] as [Int16] { #expect(choices.template(variant: variant, language: nil) == nil) }
  }

  @Test func `Problems of a variant name it`() {
    func refused(_ variant: MessageBody) -> String? {
      do throws(ContentError) {
        _ = try MessageChoices(
          message,
          variants: [
            MessageVariant(name: "A", share: 50, message: MessageBody()),
            MessageVariant(name: "B", share: 50, message: variant),
          ])
        return nil
      } catch .invalid(let field, _) {
        return field
      } catch .unparsable(let field, _, _) {
        return field
      } catch {
        return "\(error)"
      }
    }
    #expect(refused(MessageBody(alert: "{{")) == "variants[1].message.alert")
    #expect(refused(MessageBody(silent: true, pushType: .alert)) == "variants[1].message.pushType")
    #expect(
      refused(MessageBody(translations: ["sv": MessageTranslation(info: "{{/x}}")]))
        == "variants[1].message.translations.sv.info")
    #expect(refused(MessageBody(alert: "x")) == nil)
  }
}
