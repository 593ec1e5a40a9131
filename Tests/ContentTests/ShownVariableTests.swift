import Content
import Testing
import Wire

/// Which fields of a contact a message shows.
@Suite struct ShownVariableTests {
  private func names(_ message: MessageBody) -> [String] { ShownVariable.all(in: message).map(\.name) }

  @Test func `Every text of a message counts, its fields and translations too`() {
    let message = MessageBody(
      alert: "{{firstName}} {{properties.food}}", info: "{{uppercased(city)}}", badge: .template("{{visits}}"),
      url: "https://x/{{title}}", fields: ["a": ["b": ["{{dateOfBirth}}", 7]]],
      translations: ["sv": MessageTranslation(alert: "{{lastName}}", fields: ["c": "{{a.b}}"])])
    #expect(
      names(message) == [
        "city", "dateOfBirth", "firstName", "lastName", "properties.a.b", "properties.food", "properties.visits",
        "title",
      ])
  }

  @Test func `What is never empty, is no contact's, or is asked for before, does not count`() {
    #expect(names(MessageBody(alert: "{{originalId}} {{device.model}} {{sendout.name}} {{url}}")) == [])
    #expect(names(MessageBody(alert: "{{! firstName }}")) == [])
    #expect(names(MessageBody(alert: "{{#firstName}}Hi {{firstName}} {{city}}{{/firstName}}")) == ["city"])
    #expect(names(MessageBody(alert: "{{^food}}none{{/food}}{{#food}}{{food}}{{/food}}")) == [])
    #expect(names(MessageBody(verbatim: true, alert: "{{firstName}}")) == [])
    #expect(names(MessageBody(alert: "{{#open")) == [])
  }

  @Test func `A property is looked up by its first name, and a text by its column`() {
    let shown = ShownVariable.all(in: MessageBody(alert: "{{a.b}} {{firstName}} {{dateOfBirth}}"))
    #expect(shown.map(\.source) == [.dateOfBirth, .text(.firstName), .property("a")])
  }

  @Test func `A page's fields are told that its message lacks`() {
    let page = """
      {{sendout.fields.a}} {{sendout.fields.b.c}} {{#sendout.fields.d}}{{.}}{{/sendout.fields.d}} {{sendout.alert}} {{firstName}}
      """
    #expect(
      PageTemplate.lackedFields(page, in: MessageBody(alert: "x", fields: ["a": 1])) == [
        "sendout.fields.b.c", "sendout.fields.d",
      ])
    #expect(PageTemplate.lackedFields(page, in: MessageBody(fields: ["a": 1, "b": 2, "d": []])) == [])
    #expect(PageTemplate.lackedFields("{{#open", in: MessageBody()) == [])
  }
}
