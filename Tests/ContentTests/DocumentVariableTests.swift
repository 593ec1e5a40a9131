import Content
import Foundation
import Testing
import Wire

/// The table of what texts and pages can name, in docs/templates.md.
@Suite struct DocumentVariableTests {
  private let rows: [(written: String, told: String)]

  init() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).appending(path: "../../../docs/templates.md").standardized, encoding: .utf8)
    let table = try #require(page.firstMatch(of: #/\| Write \| To get \|\n(?:\|.*\|\n)*/#)).output
    rows = table.split(separator: "\n").dropFirst(2).map { row in
      let cells = row.split(separator: "|")
      return (String(cells[0]), String(cells[1]))
    }
  }

  @Test func `It lists every variable and no other`() throws {
    let told = rows.flatMap { $0.told.matches(of: #/`([\w.]+)`/#).map { String($0.1) } }
    let links = rows.flatMap { $0.written.matches(of: #/{{(url|pushreadurl|unsubscribeUrl)}}/#).map { String($0.1) } }
    #expect(Set(told + links) == Set(PageContext.variables))
    for variable in PageContext.variables { #expect(try said("{{\(variable)}}") != "", "\(variable)") }
  }

  @Test func `Every example renders as described`() throws {
    let written = rows.flatMap { row in row.written.matches(of: #/`(.+?)`/#).map { String($0.1) } }
    #expect(written.count >= 10)
    for text in written {
      let isLeftOut = text.hasPrefix("{{!") || text.hasPrefix("{{^")
      #expect(try said(text).isEmpty == isLeftOut, "\(text)")
    }
  }

  /// The page of a recipient all of whose fields are set.
  private func said(_ text: String) throws -> String {
    var context = PageContext(
      properties: Properties(json: #"{"food": "meat", "likes": ["tea", "cake"], "first name": "Robin"}"#),
      device: DeviceFields(
        manufacturer: "Apple", model: "iPhone", osVersion: "18", country: "NL", timeZone: "Europe/Amsterdam",
        locale: "nl-NL"),
      app: AppFields(appId: "com.acme.app", name: "Acme"),
      sendout: SendoutFields(id: 7, name: "Lunch", alert: "Hi", info: "Now", fields: ["table": "7"]),
      url: "https://push.example.com/c/x", pushreadurl: "https://push.example.com/r/x",
      unsubscribeUrl: "https://push.example.com/u/x")
    context.contact.originalId = "a"
    context.contact.listId = 1
    context.contact.texts = ContactTexts { $0.name }
    context.contact.dateOfBirth = "1980-12-31"
    return try PageTemplate(text, format: .text).render(context)
  }
}
