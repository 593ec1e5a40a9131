import Content
import Embedded
import Foundation
import FoundationXML
import Testing
import Wire

/// The samples of `Templates/`, as embedded in the binary.
@Suite struct ShippedTemplateTests {
  /// A recipient with all fields, one with none, and a hostile one.
  static let contexts: [PageContext] = {
    var lars = PageRenderingTests.lars
    lars.properties = Properties(json: #"{"food": "meat", "drink": "tea"}"#)
    lars.sendout.fields = [
      "code": "SPRING", "link": "https://shop.example.com/?a=1&b=2",
      "articles": [["title": "One", "text": "First", "link": "https://example.com/1"], ["title": "Two"]],
    ]
    let harm = "</title></script>\"'><script>alert(1)</script>]]>&\\\u{1}"
    var mallory = lars
    mallory.contact.texts[.firstName] = harm
    mallory.contact.texts[.city] = harm
    mallory.device.model = harm
    mallory.sendout.alert = harm
    mallory.properties = Properties(json: #"{"food": "\"</p><script>\\", "drink": ["<b>", "\u0001"]}"#)
    return [lars, PageContext(), mallory]
  }()

  func pages(_ file: EmbeddedFile) throws -> [String] {
    let format = try #require(TemplateFormat(fileName: file.name), "\(file.name)")
    let template = try PageTemplate(file.text, format: format, field: file.name)
    return Self.contexts.map(template.render)
  }

  @Test func `There is a sample of every format`() {
    #expect(EmbeddedFile.templates.map(\.name) == ["news.html", "offer.html", "offer.json", "offer.xml", "plain.txt"])
  }

  @Test(arguments: EmbeddedFile.templates.map(\.name).filter { $0.hasSuffix(".html") })
  func `A page fits a strict Content-Security-Policy, and no value changes its markup`(name: String) throws {
    let file = try #require(EmbeddedFile.templates.first { $0.name == name })
    for page in try pages(file) {
      for forbidden in ["<script", "<link", "<img", "<iframe", "@import", "url(", " onload", "javascript:"] {
        #expect(!page.contains(forbidden), "\(forbidden)")
      }
      #expect(page.hasPrefix("<!doctype html>") && !page.contains("{{"))
      #expect(page.matches(of: /<\/title>/).count == 1 && page.matches(of: /<\/main>/).count == 1)
    }
  }

  @Test func `The JSON sample is valid JSON for every recipient`() throws {
    let file = try #require(EmbeddedFile.templates.first { $0.name == "offer.json" })
    for page in try pages(file) {
      let object = try JSONSerialization.jsonObject(with: Data(page.utf8)) as? [String: Any]
      #expect(object?.keys.sorted() == ["contact", "device", "likes", "sendout", "text", "title"])
    }
  }

  @Test func `The XML sample is valid XML for every recipient`() throws {
    let file = try #require(EmbeddedFile.templates.first { $0.name == "offer.xml" })
    for page in try pages(file) {
      let parser = XMLParser(data: Data(page.utf8))
      #expect(parser.parse(), "\(String(describing: parser.parserError))")
    }
  }

  @Test func `The offer names its recipient`() throws {
    let file = try #require(EmbeddedFile.templates.first { $0.name == "offer.html" })
    let page = try pages(file)[0]
    for text in ["Hi Lars", "Hello Lars,", "SPRING", "<li>meat</li>", "<li>tea</li>", "a=1&amp;b=2", "iphone 6"] {
      #expect(page.contains(text), "\(text)")
    }
  }
}
