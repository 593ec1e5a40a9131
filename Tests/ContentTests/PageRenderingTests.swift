import Content
import Foundation
import Testing
import Wire

@Suite struct PageRenderingTests {
  static let lars: PageContext = {
    var contact = ContactFields()
    contact.originalId = "abcabc123123"
    contact.texts[.firstName] = "Lars"
    contact.texts[.lastName] = "Hansson"
    contact.listId = 1_000_000_005
    contact.dateOfBirth = "1980-12-31"
    return PageContext(
      contact: contact,
      properties: Properties(
        json: """
          {"food": "meat", "price": 12.50, "member": true, "blocked": false, "tags": ["a", "b"], "none": null, "empty": "",
           "firstName": "other", "visits": [{"shop": "North"}, {"shop": "South"}], "address": {"city": "Malmö"},
           "quote": "say \\"hi\\"", "emoji": "\\ud83d\\ude00"}
          """),
      device: DeviceFields(manufacturer: "apple", model: "iphone 6", osVersion: "9.2", country: "Sweden"),
      app: AppFields(appId: "com.acme.app", name: "Acme"),
      sendout: SendoutFields(id: 5, name: "Spring", alert: "Hi Lars", fields: ["campaign": "s-1", "rank": 2]),
      url: "https://push.example.com/c/x", pushreadurl: "https://push.example.com/r/x")
  }()

  func render(_ body: String, _ format: TemplateFormat = .text, _ context: PageContext = lars) throws -> String {
    try PageTemplate(body, format: format).render(context)
  }

  @Test(arguments: [
    ("{{firstName}} {{lastName}}", "Lars Hansson"),
    ("{{originalId}} {{listId}} {{dateOfBirth}}", "abcabc123123 1000000005 1980-12-31"),
    ("{{properties.food}} {{food}}", "meat meat"), ("{{device.model}}, {{device.osVersion}}", "iphone 6, 9.2"),
    ("{{#device}}{{model}}{{/device}}", "iphone 6"), ("{{app.name}} {{app.appId}}", "Acme com.acme.app"),
    ("{{sendout.id}} {{sendout.name}} {{sendout.alert}}", "5 Spring Hi Lars"),
    ("{{sendout.fields.campaign}} {{sendout.fields.rank}}", "s-1 2"),
    ("{{url}} {{pushreadurl}}", "https://push.example.com/c/x https://push.example.com/r/x"),
    ("{{properties.price}} {{properties.member}} {{properties.tags}}", "12.50 true a, b"),
    ("{{#member}}yes{{/member}}{{#blocked}}no{{/blocked}}{{^blocked}}!{{/blocked}}", "yes!"),
    ("{{#tags}}{{.}}{{^last()}}, {{/last()}}{{/tags}}", "a, b"), ("{{#visits}}{{shop}};{{/visits}}", "North;South;"),
    ("{{properties.address.city}} {{address.city}}", "Malmö Malmö"), ("{{uppercased(firstName)}}", "LARS"),
    ("{{count(tags)}}{{first(tags)}}{{last(tags)}}", "2ab"), ("{{quote}} {{emoji}}", "say \"hi\" 😀"),
    ("{{#visits}}{{firstName}}-{{shop}} {{/visits}}", "Lars-North Lars-South "),
  ])
  func `A variable has the name of the guide`(body: String, page: String) throws {
    #expect(try render(body) == page)
  }

  @Test func `A contact's field hides a property of the same name, which properties still reaches`() throws {
    #expect(try render("{{firstName}} {{properties.firstName}}") == "Lars other")
  }

  @Test(arguments: [
    "{{unknown}}", "{{none}}", "{{empty}}", "{{device.nothing}}", "{{sendout.fields.nothing}}", "{{firstName.length}}",
    "{{properties}}", "{{.}}", "{{..}}", "{{device}}", "{{address}}", "{{#unknown}}x{{/unknown}}",
    "{{#empty}}x{{/empty}}",
    "{{#none}}x{{/none}}", "{{middleName}}", "{{token}}", "{{device.token}}", "{{nothing(firstName)}}",
  ])
  func `An unknown name is empty`(body: String) throws {
    #expect(try render(body) == "")
  }

  @Test func `Properties that are no JSON object are empty`() throws {
    for json in ["", "null", "[]", "{", "{\"food\"", "{\"food\":", "{\"food\": tru", "{\"food\" 1}", "\u{0}"] {
      var context = Self.lars
      context.properties = Properties(json: json)
      #expect(try render("{{food}}", .text, context) == "")
    }
  }

  @Test(arguments: [TemplateFormat.html, .xml, .textXML])
  func `Markup in a contact's fields is escaped`(format: TemplateFormat) throws {
    var context = Self.lars
    context.contact.texts[.firstName] = "<script>alert('x')</script>"
    context.contact.texts[.lastName] = "\" onload=\"steal()\" & more"
    context.properties = Properties(json: #"{"food": "</p><img src=x onerror='y'>", "list": ["<b>", "<i>"]}"#)
    let page = try render(
      "<p title=\"{{lastName}}\">{{firstName}}{{food}}{{list}}{{#list}}{{.}}{{/list}}</p>", format, context)
    let inside = page.dropFirst("<p title=\"".count).dropLast("</p>".count)
    #expect(!inside.contains("<"))
    #expect(inside.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"))
    #expect(inside.hasPrefix("&quot; onload=&quot;steal()&quot; &amp; more\">"))
  }

  @Test func `A tag in a value is not rendered`() throws {
    var context = Self.lars
    context.contact.texts[.firstName] = "{{lastName}}{{#tags}}"
    context.properties = Properties(json: #"{"tags": ["{{firstName}}"]}"#)
    #expect(try render("{{firstName}}{{#tags}}{{.}}{{/tags}}", .text, context) == "{{lastName}}{{#tags}}{{firstName}}")
  }

  @Test func `Three braces leave a value unescaped`() throws {
    var context = Self.lars
    context.contact.texts[.firstName] = "<b>Lars</b>"
    #expect(try render("{{{firstName}}}{{&firstName}}", .html, context) == "<b>Lars</b><b>Lars</b>")
  }

  @Test func `Characters that XML does not allow are replaced`() throws {
    var context = Self.lars
    context.contact.texts[.firstName] = "a\u{1}b\u{FFFE}c\td\nÅ😀"
    #expect(try render("<a>{{firstName}}</a>", .xml, context) == "<a>a\u{FFFD}b\u{FFFD}c\td\nÅ😀</a>")
  }

  @Test(arguments: hostileTexts)
  func `A JSON page stays valid JSON, however hostile the values`(text: String) throws {
    var context = Self.lars
    context.contact.texts[.firstName] = text
    context.properties = Properties(json: #"{"list": ["\"", "\\", "\u0001"]}"#)
    let page = try render(
      #"{"name": "{{firstName}}", "list": [{{#list}}"{{.}}"{{^last()}},{{/last()}}{{/list}}]}"#, .json, context)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(page.utf8)) as? [String: Any])
    #expect(Array((object["name"] as? String ?? "").unicodeScalars) == Array(text.unicodeScalars))
    #expect(object["list"] as? [String] == ["\"", "\\", "\u{1}"])
  }

  @Test func `A page without tags is rendered unchanged`() throws {
    #expect(try render("<p>} { }} {</p>", .html) == "<p>} { }} {</p>")
  }

  @Test func `Section tags on lines of their own leave no lines behind`() throws {
    #expect(try render("{{#firstName}}\nHi\n{{/firstName}}\nBye\n") == "Hi\nBye\n")
  }

  @Test func `A page's size is bounded, however long its lists are`() throws {
    var context = Self.lars
    let list = Array(repeating: "1", count: 10_000).joined(separator: ",")
    context.properties = Properties(json: "{\"list\": [\(list)]}")
    let nested =
      String(repeating: "{{#properties.list}}", count: 6) + String(repeating: "x", count: 1000)
      + String(repeating: "{{/properties.list}}", count: 6)
    #expect(try render(nested, .html, context).utf8.count < 32 << 20)
  }

  @Test func `A property has the same value however often a page names it`() throws {
    let body = String(repeating: "{{food}}{{price}}{{none}}{{address.city}}{{unknown}};", count: 20)
    #expect(try render(body) == String(repeating: "meat12.50Malmö;", count: 20))
    for json in ["", "[]", "{\"food\"", "{\"food\": tru"] {
      var context = Self.lars
      context.properties = Properties(json: json)
      #expect(try render(String(repeating: "{{food}}", count: 50), .text, context) == "")
    }
  }

  @Test func `Pages and messages know whether they name links`() throws {
    for text in ["{{firstName}}", "{{! url }}", "{{url.x}}", "{{properties.url}}", "url"] {
      #expect(try !PageTemplate(text, format: .html).namesLinks, "\(text)")
      #expect(try !MessageTemplate(MessageBody(alert: text)).namesLinks, "\(text)")
    }
    for text in [
      "{{url}}", "{{{pushreadurl}}}", "{{#url}}x{{/url}}", "{{#device}}{{url}}{{/device}}", "{{lowercased(url)}}",
      "{{.url}}",
    ] {
      #expect(try PageTemplate(text, format: .html).namesLinks, "\(text)")
      #expect(try MessageTemplate(MessageBody(alert: text)).namesLinks, "\(text)")
    }
  }
}
