import Content
import Testing
import Wire

@Suite struct TemplateParsingTests {
  struct Refused: CustomTestStringConvertible {
    let body: String
    let line: Int
    let word: String
    var testDescription: String { word }
  }

  @Test(arguments: [
    Refused(body: "a\nb {{#x}}\nc", line: 2, word: "never closed"),
    Refused(body: "a\n{{/x}}", line: 2, word: "never opened"),
    Refused(body: "{{#a}}\n{{#b}}\n{{/a}}\n{{/b}}", line: 3, word: "closed where b, opened in line 2, is due"),
    Refused(body: "a\r\nb\r\n{{firstName", line: 3, word: "opened and never closed"),
    Refused(body: "{{", line: 1, word: "opened and never closed"),
    Refused(body: "{{{a}}", line: 1, word: "opened and never closed"),
    Refused(body: "\n\n{{}}", line: 3, word: "no name"),
    Refused(body: "{{ # }}", line: 1, word: "is not a name"),
    Refused(body: "{{first name}}", line: 1, word: "first name is not a name"),
    Refused(body: "{{för namn}}", line: 1, word: "is not a name"),
    Refused(body: "{{pris€}}", line: 1, word: "quotation marks, as in properties.\"first name\""),
    Refused(body: "{{a\"b\"}}", line: 1, word: "is not a name"),
    Refused(body: "{{\"a\"b}}", line: 1, word: "is not a name"),
    Refused(body: "{{\"a\"\"b\"}}", line: 1, word: "is not a name"),
    Refused(body: "{{\"a\\x\"}}", line: 1, word: "is not a name"),
    Refused(body: "{{\"a\nb\"}}", line: 1, word: "is not a name"),
    Refused(body: "{{properties.\"a}}", line: 1, word: "opened and never closed"),
    Refused(body: "{{\"uppercased\"(a)}}", line: 1, word: "transform"),
    Refused(body: "{{#\"a b\"}}\n{{/\"a\"}}", line: 2, word: "closed where \"a b\", opened in line 1, is due"),
    Refused(body: "{{\(String(repeating: "é", count: 501))}}", line: 1, word: "longer than 1000 bytes"),
    Refused(body: "{{uppercased(firstName}}", line: 1, word: "transform"),
    Refused(body: "{{(firstName)}}", line: 1, word: "transform"),
    Refused(body: "{{a(b(c(d(e(f)))))}}", line: 1, word: "transform"),
    Refused(body: "x\n{{> header}}", line: 2, word: "cannot include"),
    Refused(body: "{{>*dynamic}}", line: 1, word: "cannot include"),
    Refused(body: "{{<parent}}{{/parent}}", line: 1, word: "inherit"),
    Refused(body: "{{$block}}{{/block}}", line: 1, word: "inherit"),
    Refused(body: "{{=<% %>=}}", line: 1, word: "delimiters"),
    Refused(body: "{{% CONTENT_TYPE: TEXT}}{{x}}", line: 1, word: "pragmas"),
    Refused(body: String(repeating: "{{#a}}", count: 40_000), line: 1, word: "nested more than 32 deep"),
    Refused(body: String(repeating: "{{a}}", count: 3000), line: 1, word: "more than 2000 tags"),
  ])
  func `A template that does not parse is refused with line and reason`(refused: Refused) {
    let error = #expect(throws: ContentError.self) { try PageTemplate(refused.body, format: .html) }
    guard case .unparsable(let field, let line, let reason) = error else {
      Issue.record("refused otherwise: \(String(describing: error))")
      return
    }
    #expect(field == "body")
    #expect(line == refused.line)
    #expect(reason.contains(refused.word), "\(reason)")
  }

  @Test(arguments: [
    "{", "a {", "{{a}} {", "}}", "{ {{a}} }", "{{!}}", "{{! a comment\nover lines }}", "{{{a}}}", "{{& a }}", "{{ a }}",
    "{{#a}}{{^b}}{{/b}}{{/a}}", "{{uppercased(firstName)}}", "{{#reversed(x)}}{{/reversed(x)}}",
    "{{#x}}{{^last()}},{{/last()}}{{/x}}", "{{.}}", "{\"a\":{\"b\":\"{{c}}\"}}",
  ])
  func `Other Mustache is rendered or refused, without a crash`(body: String) {
    _ = try? PageTemplate(body, format: .text).render(PageContext())
  }

  /// Names as people store them, and whether they need quotation marks in a template.
  private static let names: [(name: String, isQuoted: Bool)] = [
    ("food", false), ("prénom", false), ("pre\u{301}nom", false), ("名前", false), ("имя", false), ("όνομα", false),
    ("الاسم", false), ("نام\u{200C}خانوادگی", false), ("नाम", false), ("ชื่อ", false), ("이름", false), ("größe_2-b", false),
    ("Ⅳ", false), ("٤٢", false), ("first name", true), ("a.b", true), ("prix (€)", true), ("{{a}}", true), ("}}", true),
    ("a\"b\\c", true), ("", true), (" ", true), ("👍", true), ("a\nb\tc", true), ("a/b#c^d&e!f", true), ("100%", true),
  ]

  @Test func `Every name that can be stored can be named`() throws {
    for (name, isQuoted) in Self.names {
      let quoted = String(decoding: JSONValue.string(name).json, as: UTF8.self)
      let own = UTF8String(name)
      let properties: JSONValue = [own: "x<y", "": "empty", "list": [[own: "1"], [own: "2"]], "in": [own: "deep"]]
      let written = name.isEmpty ? JSONValue.object(["": "x<y"]) : properties
      var context = PageContext(properties: Properties(json: String(decoding: written.json, as: UTF8.self)))
      context.sendout = SendoutFields(fields: [own: "field"])
      for tag in (isQuoted ? [] : [name]) + [quoted] {
        func page(_ text: String) throws -> String { try PageTemplate(text, format: .text).render(context) }
        #expect(try page("{{properties.\(tag)}}") == "x<y", "\(tag)")
        #expect(try page("[{{ \(tag) }}{{{\(tag)}}}]") == "[x<yx<y]", "\(tag)")
        #expect(try page("{{uppercased(properties.\(tag))}}") == "X<Y", "\(tag)")
        #expect(try page("{{#properties.\(tag)}}a{{/properties.\(tag)}}{{^\(tag)}}b{{/\(tag)}}") == "a", "\(tag)")
        #expect(try page("{{sendout.fields.\(tag)}}") == "field", "\(tag)")
        guard !name.isEmpty else { continue }
        #expect(try page("{{#list}}{{.\(tag)}}{{\(tag)}}{{/list}}{{in.\(tag)}}") == "1122deep", "\(tag)")
      }
      guard isQuoted else { continue }
      #expect(throws: ContentError.self) { try PageTemplate("{{#properties.\(name) x}}", format: .text) }
    }
    // Comments are read as before.
    #expect(try PageTemplate("{{! it's \"one }}a", format: .text).render(PageContext()) == "a")
  }

  @Test(arguments: [
    ("{{#a}}", 1, 1), ("é👍🏽{{", 1, 4), ("a\r\n  {{>b}}", 2, 3), ("a\r{{>b}}", 2, 1), ("a\n\n{{x}} {{/x}}", 3, 7),
  ])
  func `A problem has the line and the column where its tag begins`(body: String, line: Int, column: Int) throws {
    let problem = try #require(PageTemplate.problem(body))
    #expect(problem.line == line && problem.column == column && !problem.reason.isEmpty)
    #expect(PageTemplate.problem("<p>{{a}}</p>") == nil)
  }

  @Test func `Empty, overlong and binary templates are refused`() {
    #expect(throws: ContentError.invalid(field: "body", problem: "is empty")) { try PageTemplate("", format: .html) }
    #expect(throws: ContentError.invalid(field: "body", problem: "holds U+0000")) {
      try PageTemplate("a\0b", format: .html)
    }
    let longest = String(repeating: "a", count: PageTemplate.sizeLimit)
    #expect(throws: Never.self) { try PageTemplate(longest, format: .html) }
    #expect(throws: ContentError.invalid(field: "body", problem: "is longer than 256 KiB")) {
      try PageTemplate(longest + "a", format: .html)
    }
  }

  @Test(arguments: [
    ("text/html", TemplateFormat.html), ("TEXT/HTML; charset=UTF-8", .html), ("application/xml", .xml),
    ("text/xml;charset=\"utf-8\"", .textXML), ("application/json", .json), ("text/plain; charset=utf-8", .text),
  ])
  func `A content type names one of five formats`(contentType: String, format: TemplateFormat) throws {
    #expect(try TemplateFormat(contentType: contentType) == format)
    #expect(try TemplateFormat(contentType: format.contentType) == format)
  }

  @Test(arguments: [
    "", "html", "text/css", "image/svg+xml", "application/javascript", "text/html; charset=latin1", "text/html; x=y",
    "text/html, text/plain", "\r\ntext/html\r\nX: y",
  ])
  func `Any other content type is refused`(contentType: String) {
    let error = #expect(throws: ContentError.self) { try TemplateFormat(contentType: contentType) }
    guard case .invalid(field: "contentType", _) = error else {
      Issue.record("refused otherwise: \(String(describing: error))")
      return
    }
  }

  @Test func `A format is derived from a file's name`() {
    #expect(TemplateFormat(fileName: "offer.HTML") == .html)
    #expect(TemplateFormat(fileName: "a/b.c/offer.json") == .json)
    #expect(TemplateFormat(fileName: "offer.xml") == .xml)
    #expect(TemplateFormat(fileName: "offer.txt") == .text)
    #expect(TemplateFormat(fileName: "offer") == nil)
  }
}
