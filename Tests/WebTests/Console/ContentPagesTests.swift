import Content
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct ContentPagesTests {
  private func settle(_ console: ConsoleServer) async throws {
    try await console.database.query(
      """
      INSERT INTO contact (customer_id, contact_id, original_id, first_name, properties)
      VALUES ($1, 1, 'lars@example.com', '<b>Lars', '{"food":"fish"}')
      """, console.customer.rawValue)
  }

  private func save(_ browser: ConsoleBrowser, _ body: String) async throws -> TestReply {
    try await browser.post("/console/content/offer/edit", [("contentType", "text/html"), ("body", body)])
  }

  @Test func `The empty page says how templates come in, and a new one becomes version 1`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let empty = try await browser.get("/console/content").text
      #expect(empty.contains("There are no templates yet") && empty.contains("pushcart template put --customer"))
      #expect(try await browser.get("/console/new-content").status == 200)
      let body = "<h1>Hi {{firstName}}</h1>"
      let saved = try await browser.post(
        "/console/new-content", [("name", "offer"), ("contentType", "text/html"), ("body", body)])
      #expect(saved.status == 303 && saved.header("Location") == "/console/content/offer", "\(saved.text)")
      let page = try await browser.get("/console/content/offer")
      #expect(page.text.contains("Version 1 is saved.") && page.shows(body))
      #expect(page.text.contains(#"<iframe class="page" sandbox src="/console/content/offer/page?version=1""#))
      #expect(page.shows("/api/v1/templates/offer"))
      #expect(try await browser.get("/console/content").text.contains(#"href="/console/content/offer""#))
      _ = try await browser.get("/console/new-content")
      let again = try await browser.post(
        "/console/new-content", [("name", "offer"), ("contentType", "text/html"), ("body", "other")])
      #expect(again.status == 409 && again.text.contains("Name is taken.") && again.shows("other"))
      #expect(try await browser.get("/console/content/nothing").status == 404)
    }
  }

  @Test func `A text that does not parse keeps what was typed, and shows the line with its number`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-content")
      let refused = try await browser.post(
        "/console/new-content",
        [("name", "offer"), ("contentType", "text/html"), ("body", "<p>one</p>\r\n<p>é{{#food}}</p>\r\n<i>three</i>")])
      #expect(refused.status == 400 && refused.shows("Text does not parse: line 2: the section food is opened"))
      #expect(refused.text.contains("Line 2, column 5:"), "\(refused.text)")
      #expect(refused.text.contains("<mark>&lt;p&gt;é{{#food}}&lt;/p&gt;</mark>"))
      #expect(refused.shows("<p>one</p>\n<p>é{{#food}}</p>\n<i>three</i>") && refused.text.contains(#"value="offer""#))
      let nameless = try await browser.post("/console/new-content", [("name", "a b"), ("body", "x")])
      #expect(nameless.status == 400 && nameless.text.contains("Name is not of 1 to 100 letters"))
      #expect(try await browser.get("/console/content").text.contains("There are no templates yet"))
    }
  }

  @Test func `Saving adds a version, and the difference between two shows their lines`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-content")
      let lines = (1...20).map { "<p>\($0)</p>" }
      _ = try await browser.post(
        "/console/new-content",
        [("name", "offer"), ("contentType", "text/html"), ("body", lines.joined(separator: "\n"))])
      #expect(try await browser.get("/console/content/offer/edit").shows("<p>1</p>\n<p>2</p>"))
      let changed = lines.map { $0 == "<p>10</p>" ? "<script>{{x}}</script>" : $0 }.joined(separator: "\n")
      #expect(try await save(browser, changed).status == 303)
      let page = try await browser.get("/console/content/offer?version=2&with=1").text
      #expect(page.contains("From version 1 to version 2"))
      #expect(page.contains("<del>&lt;p&gt;10&lt;/p&gt;</del>"))
      #expect(page.contains("<ins>&lt;script&gt;{{x}}&lt;/script&gt;</ins>"))
      #expect(page.contains(#"<td class="num">7</td>"#) && !page.contains(#"<td class="num">6</td>"#))
      #expect(page.contains("Scripts and handlers such as onclick never run"))
      #expect(page.contains("/console/content/offer?version=2&amp;with=1#difference"))
      let first = try await browser.get("/console/content/offer?version=1").text
      #expect(first.contains("This is version 1.") && !first.contains("never run"))
      #expect(first.contains("/console/content/offer/edit?version=1"))
      #expect(try await browser.get("/console/content/offer?version=2&with=9").status == 404)
    }
  }

  @Test func `The page is shown for a contact in a frame where nothing runs`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-content")
      let body = "<h1>{{sendout.alert}}</h1><p>{{firstName}} likes {{food}}</p>"
      let page = try await browser.post(
        "/console/new-content/page",
        [("contentType", "text/html"), ("body", body), ("contact", "lars"), ("alert", "Lunch")])
      #expect(page.status == 200 && page.text == "<h1>Lunch</h1><p>&lt;b&gt;Lars likes fish</p>", "\(page.text)")
      let policy = try #require(page.header("Content-Security-Policy"))
      #expect(policy.hasPrefix("sandbox;") && policy.contains("frame-ancestors 'self'"))
      let broken = try await browser.post("/console/new-content/page", [("body", "{{#<i>")])
      #expect(broken.status == 200 && broken.text.contains("Line 1, column 1:") && !broken.text.contains("<i>"))
      let json = try await browser.post(
        "/console/new-content/page", [("contentType", "application/json"), ("body", #"{"a":"<i>{{food}}"}"#)])
      #expect(json.shows(#"{"a":"<i>fish"}"#))
      let live = try await browser.post(
        "/console/new-content/preview?part=live", [("body", "<form>{{firstName}}"), ("contact", "lars")])
      #expect(live.text.contains("Forms are never sent") && live.shows("<b>Lars, lars@example.com"))
      #expect(!live.text.contains("<html"))
    }
  }

  @Test func `Who may not see personal fields sees the page of nobody, and an analyst writes none`() async throws {
    try await withConsole { console in
      try await settle(console)
      try await console.database.query(
        """
        INSERT INTO template (customer_id, name, version, content_type, body)
        VALUES ($1, 'offer', 1, 'text/html; charset=utf-8', '<p>Hi {{firstName}}{{^firstName}}you{{/firstName}}</p>')
        """, console.customer.rawValue)
      let marketer = try await console.browser(.marketer)
      #expect(try await marketer.get("/console/content/offer/page?contact=lars").text == "<p>Hi &lt;b&gt;Lars</p>")
      let analyst = try await console.browser(.analyst, "ann@example.com")
      #expect(try await analyst.get("/console/content/offer/page?contact=lars").text == "<p>Hi you</p>")
      let page = try await analyst.get("/console/content/offer").text
      #expect(!page.contains("/console/content/offer/edit") && !page.contains(#"name="contact""#))
      #expect(try await analyst.get("/console/content/offer/edit").status == 403)
      #expect(try await analyst.get("/console/new-content").status == 403)
    }
  }

  @Test func `Templates page by name, and triggers that send one are named`() async throws {
    try await withConsole { console in
      try await console.database.query(
        """
        INSERT INTO template (customer_id, name, version, content_type, body)
        SELECT $1::bigint, 't' || n, 1, 'text/html; charset=utf-8', repeat('x', 200000) FROM generate_series(100, 170) AS n
        """, console.customer.rawValue)
      try await console.database.query(
        """
        INSERT INTO trigger (customer_id, trigger_id, name, app_ids, message, template)
        VALUES ($1, 1, 'Ship <b>', '{com.acme.app}', '{"alert":"x"}', 't100')
        """, console.customer.rawValue)
      let browser = try await console.browser(.marketer)
      let first = try await browser.get("/console/content").text
      #expect(first.contains(">t149<") && !first.contains(">t150<"))
      #expect(first.contains(#"href="/console/content?after=t149""#))
      #expect(try await browser.get("/console/content?after=t149").text.contains(">t170<"))
      let long = try await browser.get("/console/content/t100").text
      #expect(long.contains(#"<a href="/console/triggers/1"><bdi>Ship &lt;b&gt;</bdi></a>"#))
      #expect(!(try await browser.get("/console/content/t101").text).contains("/console/triggers/1"))
      #expect(long.utf8.count < 60 * 1024 && long.contains("longer than a page can show"))
    }
  }

  @Test func `A template is removed after a question, unless something uses it`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      for name in ["used", "free"] {
        _ = try await Templates(console.database.pool).put(
          console.customer, name: name, format: .html, body: "<p>x</p>")
      }
      try await console.database.query(
        """
        INSERT INTO trigger (customer_id, trigger_id, name, app_ids, message, template)
        VALUES ($1, 1, 'Ship <b>', '{com.acme.app}', '{"alert":"x"}', 'used')
        """, console.customer.rawValue)
      #expect(try await browser.get("/console/content/free").text.contains("Nothing uses it."))
      #expect(
        try await browser.get("/console/content/free/remove").text.contains(
          "free is removed with all of its versions, 1"))
      #expect(try await browser.post("/console/content/free/remove").header("Location") == "/console/content")
      #expect(try await browser.get("/console/content/free").status == 404)
      _ = try await browser.get("/console/content/used")
      let refused = try await browser.post("/console/content/used/remove")
      #expect(refused.status == 409 && refused.text.contains("The template is used by trigger 1."))
      #expect(try await browser.get("/console/content/used").status == 200)
    }
  }
}

@Suite struct LineDifferenceTests {
  @Test(arguments: [
    ("a\nb\nc", "a\nx\nc", ["=a", "-b", "+x", "=c"]), ("", "a", ["+a"]), ("a", "", ["-a"]), ("a\n", "a", []),
    ("a\r\nb\rc", "a\nb\nc", []), ("é", "e\u{301}", ["-é", "+e\u{301}"]), ("a\na", "a\na\na", ["=a", "=a", "+a"]),
  ])
  func `It tells which lines were removed and which were added`(old: String, new: String, expected: [String]) {
    let lines = LineDifference(from: old, to: new).parts.flatMap { $0 }
    let told = lines.map { line in
      switch line.change {
      case .none: "=" + line.text
      case .removed: "-" + line.text
      case .added: "+" + line.text
      }
    }
    #expect(told.map { UTF8String($0) } == expected.map { UTF8String($0) })
  }

  @Test func `The old text and the new one can be made from it, whatever they are`() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      func text() -> [String] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in ["a", "b", "c"].randomElement(using: &random) ?? "" }
      }
      let (old, new) = (text(), text())
      let difference = LineDifference(from: old.joined(separator: "\n"), to: new.joined(separator: "\n"))
      let lines = difference.parts.flatMap { $0 }
      for line in lines {
        if let number = line.old { #expect(old[number - 1] == line.text) }
        if let number = line.new { #expect(new[number - 1] == line.text) }
      }
      let removed = lines.count { $0.change == .removed }
      #expect(old.count - removed == new.count - lines.count { $0.change == .added })
    }
  }

  @Test func `Distant changes stand in parts of their own, and long texts are cut`() {
    let old = (1...100).map { "line \($0)" }
    var new = old
    new[9] = "ten"
    new[89] = "ninety"
    let difference = LineDifference(from: old.joined(separator: "\n"), to: new.joined(separator: "\n"))
    #expect(difference.parts.map(\.count) == [8, 8] && !difference.isCut)
    let long = (1...60_000).map { "\($0)" }.joined(separator: "\n")
    let cut = LineDifference(from: long, to: long.replacing("1", with: "x"))
    #expect(cut.isCut && cut.parts.joined().count < 2000)
    let wide = LineDifference(from: String(repeating: "x", count: 200_000), to: "y")
    #expect(wide.parts.joined().allSatisfy { $0.text.utf8.count <= 400 })
  }
}
