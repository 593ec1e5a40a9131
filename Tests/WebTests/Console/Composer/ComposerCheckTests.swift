import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Web

/// The page on which a draft is looked at, tested and sent, and the one on which a start is taken back.
@Suite struct ComposerCheckTests {
  private func form(_ changes: KeyValuePairs<String, String> = [:]) -> [(String, String)] {
    ComposerFields.form(changes)
  }
  private func seen(_ page: TestReply) -> (String, String) { ComposerFields.seen(page) }

  /// Adds an app and contacts, and saves a draft.
  private func write(
    _ console: ConsoleServer, _ browser: ConsoleBrowser, devices: Int = 2,
    _ changes: KeyValuePairs<String, String> = [:]
  ) async throws {
    try await console.settle(devices: devices)
    // As registrations and imports do, when devices become many.
    if devices > ComposerCheck.mostAtOnce { try await console.database.query("ANALYZE contact, device") }
    _ = try await browser.get("/console/new-sendout")
    let saved = try await browser.post("/console/new-sendout", form(changes))
    #expect(saved.status == 303, "\(saved.text)")
  }

  @Test func `The check shows who is left out at which step, and the steps add up`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser, devices: 4, ["audience.exclude": "firstName = 'N2'"])
      try await console.database.query(
        "INSERT INTO contact (customer_id, original_id, first_name) VALUES ($1::int8, 'me', 'Me')",
        console.customer.rawValue)
      let suppressed = try await browser.post(
        "/console/suppressions/new", [("originalId", "user1@example.com"), ("scope", "marketing")])
      #expect(suppressed.status == 303, "\(suppressed.text)")
      let page = try await browser.get("/console/sendouts/1/check").text
      for (label, count) in [
        ("Everyone", 5), ("Excluded", 1), ("Suppressed", 1), ("No device", 1), ("Held out", 0), ("Capped", 0),
        ("Quiet hours", 0), ("Missed", 0), ("Get it", 2),
      ] {
        #expect(page.contains("<th scope=\"row\">\(label)</th><td class=\"num\">\(count)</td>"), "\(label): \(page)")
      }
      #expect(page.contains("Send to 2 devices"), "\(page)")
      // 2 + 10 % + 10.
      #expect(page.contains(#"name="maximumContacts" type="text" value="12""#), "\(page)")
      #expect(page.contains("/api/v1/sendouts/1/preflight"), "\(page)")
      #expect(page.contains("SELECT name, audience, message, campaign FROM sendout"))
    }
  }

  @Test func `With many devices the page comes before its preflight, and reads it by itself`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser, devices: ComposerCheck.mostAtOnce + 1)
      let path = "/console/sendouts/1/check"
      let first = try await browser.get(path)
      #expect(first.status == 200 && first.text.contains("data-live-page"), "\(first.text)")
      #expect(first.text.contains("data-late") && first.text.contains("\(path)?wait=yes"), "\(first.text)")
      #expect(!first.text.contains("Get it") && !first.text.contains("Send to"), "\(first.text)")
      #expect(!first.text.contains("None found") && first.text.contains("/api/v1/sendouts/1/preflight"))
      let part = try await browser.get("\(path)?part=live")
      #expect(part.text.contains("Send to 20,001 devices") && !part.text.contains("data-late"), "\(part.text)")
      #expect(!part.text.contains("<html") && !part.text.contains("What it looks like"), "\(part.text)")
      let whole = try await browser.get("\(path)?wait=yes")
      #expect(whole.text.contains("Send to 20,001 devices"), "\(whole.text)")
      #expect(!whole.text.contains("data-live-page") && !whole.text.contains("data-late"), "\(whole.text)")
      // What came of a form is not read again.
      let refused = try await browser.post(path, [seen(whole), ("devices", "3")])
      #expect(refused.status == 400 && refused.text.contains("f-devices"), "\(refused.text)")
      #expect(refused.text.contains("Send to 20,001 devices") && !refused.text.contains("data-late"))
    }
  }

  @Test func `A warning says what helps, and leads there`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser)
      try await console.database.query("UPDATE contact SET first_name = NULL WHERE first_name = 'N1'")
      let page = try await browser.get("/console/sendouts/1/check").text
      #expect(page.contains("firstName is empty for 1 contact, such as user1@example.com."), "\(page)")
      #expect(page.contains("/console/sendouts/1/edit#f-message-alert"), "\(page)")
    }
  }

  @Test func `A start waits ten seconds, and what is taken back is a draft of which nothing was sent`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser)
      let check = try await browser.get("/console/sendouts/1/check")
      let sent = try await browser.post("/console/sendouts/1/check", [seen(check), ("maximumContacts", "7")])
      #expect(sent.status == 303 && sent.header("Location") == "/console/sendouts/1/undo", "\(sent.text)")
      let scheduled = try await console.sendout()
      #expect(scheduled.state == .scheduled && scheduled.maximumContacts == 7)
      let (at, start) = (try #require(scheduled.scheduledAt), try #require(scheduled.campaign.startAt))
      #expect(abs(start.date.timeIntervalSince(at.date) - 10) < 0.01 && scheduled.nextAt == start)
      let page = try await browser.get("/console/sendouts/1/undo")
      #expect(page.text.contains("It is about to start") && page.text.contains("Undo"), "\(page.text)")
      #expect(page.text.contains("/api/v1/sendouts/1/unschedule"), "\(page.text)")

      let undone = try await browser.post("/console/sendouts/1/undo")
      #expect(undone.status == 303 && undone.header("Location") == "/console/sendouts/1/edit", "\(undone.text)")
      let draft = try await console.sendout()
      #expect(draft.state == .draft && draft.campaign == CampaignFields() && draft.nextAt == nil)
      #expect(seen(check).1 == draft.digest)
      #expect(try await console.database.query("SELECT FROM push").isEmpty)
      #expect(try await browser.get("/console/sendouts/1/undo").text.contains("Nothing was sent."))
      let actions = try await console.database.query("SELECT action FROM audit_log WHERE action LIKE 'sendout.%'")
      #expect(
        try Set(actions.map { try $0.decode(String.self) })
          == ["sendout.add", "sendout.schedule", "sendout.unschedule"])
    }
  }

  @Test func `What has started cannot be taken back, and the page says so`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser)
      _ = try await browser.post(
        "/console/sendouts/1/check", [seen(try await browser.get("/console/sendouts/1/check"))])
      _ = try await browser.get("/console/sendouts/1/undo")
      try await console.database.query("UPDATE sendout SET state = 'freezing', started_at = now(), next_at = NULL")
      let late = try await browser.post("/console/sendouts/1/undo")
      #expect(late.status == 409 && late.text.contains("It has started"), "\(late.text)")
      #expect(late.text.contains("unschedule needs one that is scheduled"), "\(late.text)")
      #expect(!late.text.contains(#"id="undo""#), "\(late.text)")
    }
  }

  @Test func `What is approved is what was shown, with the customer's limits`() async throws {
    try await withConsole { console in
      _ = try await Customers(console.database.pool).update(console.customer, CustomerUpdate(approval: true))
      let author = try await console.browser(.marketer, "mia@example.com")
      try await write(console, author)
      let colleague = try await console.browser(.marketer, "noah@example.com")
      let check = try await colleague.get("/console/sendouts/1/check")
      #expect(check.text.contains("You approve what this page shows"), "\(check.text)")
      let cap = try #require(Cap("1/24h"))
      _ = try await Customers(console.database.pool).update(console.customer, CustomerUpdate(caps: [cap]))
      let late = try await colleague.post("/console/sendouts/1/check", [seen(check)])
      #expect(late.status == 409 && late.text.contains("look at it again"), "\(late.text)")
      #expect(try await console.sendout().state == .draft)
      #expect(try await colleague.post("/console/sendouts/1/check", [seen(late)]).status == 303)
      // Whoever takes it back has not written it, so the author still needs somebody.
      _ = try await colleague.get("/console/sendouts/1/undo")
      #expect(try await colleague.post("/console/sendouts/1/undo").status == 303)
      let own = try await author.get("/console/sendouts/1/check")
      #expect(own.text.contains("a second person") && !own.text.contains("Send to 2 devices"), "\(own.text)")
    }
  }

  @Test func `Warnings of one kind stand together, with what helps once`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser, ["message.alert": "Hi {{city}} {{lastName}}"])
      let page = try await browser.get("/console/sendouts/1/check").text
      for name in ["city", "lastName"] { #expect(page.contains("\(name) is empty for 2 contacts"), "\(page)") }
      #expect(page.ranges(of: "Say something in its place").count == 1, "\(page)")
    }
  }

  @Test func `A limit of contacts that is none stands at its field`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser)
      let check = try await browser.get("/console/sendouts/1/check")
      for typed in ["0", "-1", "2147483648", "99999999999999999999", "some"] {
        let reply = try await browser.post("/console/sendouts/1/check", [seen(check), ("maximumContacts", typed)])
        #expect(reply.status == 400 && reply.text.contains(##"href="#f-maximumContacts""##), "\(typed): \(reply.text)")
      }
      #expect(try await console.sendout().state == .draft)
    }
  }

  @Test func `A test goes to those who are named, and the page tells who got none`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let fields: KeyValuePairs = [
        "translation.0.place": "0", "translation.0.language": "sv", "translation.0.alert": "Hej",
        "variant.0.place": "0", "variant.0.name": "A", "variant.0.share": "50", "variant.1.place": "1",
        "variant.1.name": "B", "variant.1.share": "50",
      ]
      try await write(console, browser, fields)
      try await console.database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::int8, '<me>')", console.customer.rawValue)
      _ = try await browser.post(
        "/console/suppressions/new", [("originalId", "user1@example.com"), ("scope", "marketing")])
      let page = try await browser.get("/console/sendouts/1/check").text
      #expect(page.contains("mia@example.com</textarea>"), "\(page)")
      #expect(page.contains(#"<option value="sv">"#) && page.contains(#"<option value="B">"#), "\(page)")
      let path = "/console/sendouts/1/check/test"
      let ids = "<me>\r\nnobody\r\nuser1@example.com"
      let told = try await browser.post(path, [("originalIds", ids), ("variant", "B"), ("language", "sv")])
      #expect(told.status == 200 && told.text.contains("Nobody got the test."), "\(told.text)")
      for line in [
        "Without a device of these apps: <bdi>&lt;me&gt;</bdi>", "Nobody has this original id: <bdi>nobody</bdi>",
        "Suppressed, so nothing was sent: <bdi>user1@example.com</bdi>",
      ] {
        #expect(told.text.contains(line), "\(line): \(told.text)")
      }
      #expect(told.text.contains(#"<option value="B" selected>"#), "\(told.text)")
      let many = (1...21).map { "user\($0)" }.joined(separator: "\r\n")
      let refused: [([(String, String)], String)] = [
        ([("originalIds", "")], "f-originalIds"), ([("originalIds", many)], "f-originalIds"),
        ([("originalIds", "nobody"), ("variant", "C")], "f-variant"),
        ([("originalIds", "nobody"), ("language", "de")], "f-language"),
      ]
      for (fields, id) in refused {
        let reply = try await browser.post(path, fields)
        #expect(reply.status == 400 && reply.text.contains("href=\"#\(id)\""), "\(fields): \(reply.text)")
        // The form that sends has nothing of it.
        #expect(reply.text.contains("Send to"), "\(fields): \(reply.text)")
      }
      #expect(try await console.sendout().state == .draft)
    }
  }

  @Test func `Who sees no personal fields tests nothing, and everything else is there`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      try await write(console, browser)
      try await console.database.query("UPDATE contact SET first_name = NULL")
      let other = try await console.browser(.marketer, "noah@example.com", seesPersonal: false)
      let page = try await other.get("/console/sendouts/1/check")
      #expect(page.status == 200 && page.text.contains("Send to 2 devices"), "\(page.text)")
      #expect(!page.text.contains("Send a test") && !page.text.contains("user1@example.com"), "\(page.text)")
      #expect(page.text.contains("firstName is empty for 2 contacts."), "\(page.text)")
      #expect(
        try await other.post("/console/sendouts/1/check/test", [("originalIds", "user1@example.com")]).status == 403)
      let analyst = try await console.browser(.analyst, "ana@example.com")
      for path in ["check", "undo"] { #expect(try await analyst.get("/console/sendouts/1/\(path)").status == 403) }
    }
  }
}
