import Audience
import Embedded
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct DownloadPagesTests {
  /// Two contacts by the numbers 1 and 2, of whom the first is a Swede with a device, and a segment of Swedes.
  private func settle(_ console: ConsoleServer) async throws {
    let customer = console.customer.rawValue
    try await console.database.query(
      "INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name) VALUES ($1, 1, 'com.acme.app', 1, 'Acme')",
      customer)
    try await console.database.query(
      """
      INSERT INTO contact (customer_id, contact_id, original_id, country, first_name, email_address)
      VALUES ($1, 1, 'lars@example.com', 'SE', '=<b>Lars', 'Lars@Example.com'),
             ($1, 2, 'mia@example.com', 'NO', 'Mia', NULL)
      """, customer)
    try await console.database.query(
      """
      INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
      VALUES ($1, 1, 1, 1, 'secret-token', '\\xaa')
      """, customer)
    _ = try await Segments(console.database.pool).add(
      console.customer, SegmentRequest(name: "Swedes", filter: try Filter(text: "country = 'SE'")))
  }

  private static let swedes = "country%20%3D%20%27SE%27"

  @Test func `An export begins with a form, and its file comes while the page stays`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/exports?what=contacts&filter=\(Self.swedes)")
      #expect(page.text.contains("\n\(Markup.escaped("country = 'SE'"))</textarea>"), "\(page.text)")
      #expect(page.shows("/api/v1/exports/contacts?filter=\(Self.swedes)"))
      #expect(page.shows("pushcart export contacts --customer 1 --filter "), "\(page.text)")
      #expect(page.shows("\\copy (SELECT * FROM contact WHERE customer_id = 1)"))
      #expect(page.text.contains("originalId, country, firstName"))

      let fields = [("what", "contacts"), ("columns", "originalId, firstName"), ("format", "csv")]
      let file = try await browser.post("/console/exports", fields + [("filter", "country = 'SE'")])
      #expect(file.status == 200 && file.text == "originalId,firstName\nlars@example.com,'=<b>Lars\n", "\(file.text)")
      #expect(file.header("Content-Type") == "text/csv; charset=utf-8")
      #expect(file.header("Content-Disposition") == #"attachment; filename="contacts.csv""#)
      let exact = try await browser.post("/console/exports", fields + [("segment", "1"), ("exact", "true")])
      #expect(exact.text == "originalId,firstName\nlars@example.com,=<b>Lars\n", "\(exact.text)")
      let lines = try await browser.post(
        "/console/exports", [("what", "devices"), ("format", "ndjson"), ("columns", "originalId")])
      #expect(lines.text == #"{ "originalId" : "lars@example.com" }"# + "\n", "\(lines.text)")
      let wrong = try await browser.post("/console/exports", [("what", "pushes"), ("sendout", "7")])
      #expect(wrong.status == 400 && wrong.text.contains("and there is none of this number"), "\(wrong.text)")
      try await console.database.addSendouts(7...7, of: console.customer)
      let pushes = try await browser.post("/console/exports", [("what", "pushes"), ("sendout", "7")])
      #expect(pushes.status == 200 && pushes.text.hasPrefix("originalId,sendoutId,"), "\(pushes.text)")

      let log = try await AuditLog(console.database.pool).list(console.customer).items
      let exports = log.filter { $0.action == "data.export" }
      #expect(exports.count == 4 && exports.allSatisfy { $0.userEmail == "mia@example.com" })
    }
  }

  @Test func `A wrong field is named, and what was typed stays`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/exports")
      let filter = try await browser.post(
        "/console/exports", [("what", "devices"), ("filter", "contry = 'SE'"), ("columns", "model")])
      #expect(filter.status == 400 && filter.text.contains("<mark>contry</mark>"), "\(filter.text)")
      #expect(filter.text.contains(#"<option value="devices" selected>"#) && filter.text.contains(#"value="model""#))
      let columns = try await browser.post("/console/exports", [("what", "contacts"), ("columns", "nope")])
      #expect(columns.status == 400 && columns.text.contains(#"id="f-columns-error""#), "\(columns.text)")
      let sendout = try await browser.post("/console/exports", [("what", "contacts"), ("sendout", "7")])
      #expect(sendout.status == 400 && sendout.text.contains(#"id="f-sendout-error""#), "\(sendout.text)")
    }
  }

  @Test func `Exports are reached from contacts, segments, lists and sendouts, by those who see personal fields`()
    async throws
  {
    try await withConsole { console in
      try await settle(console)
      let list = try await ContactLists(console.database.pool).add(console.customer, name: "news").listId
      try await console.database.query(
        """
        INSERT INTO sendout (customer_id, sendout_id, push_app_ids, name, state, audience, message)
        VALUES ($1, 7, '{1}', 'Friday', 'paused', '{"all":true}', '{"alert":"x"}')
        """, console.customer.rawValue)
      let places = [
        ("/console/contacts?filter=\(Self.swedes)", "/console/exports?what=contacts&amp;filter=\(Self.swedes)"),
        ("/console/segments/1", "/console/exports?what=contacts&amp;segment=1"),
        ("/console/lists/\(list)", "/console/exports?what=contacts&amp;filter=in%20list%20\(list)"),
        ("/console/sendouts/7", "/console/exports?what=pushes&amp;sendout=7"),
      ]
      let marketer = try await console.browser(.marketer)
      for (path, link) in places {
        let page = try await marketer.get(path)
        #expect(page.text.contains(link), "\(path): \(page.text)")
        #expect(try await marketer.get(link.replacing("&amp;", with: "&")).status == 200)
      }
      for (role, email, seesPersonal) in [
        (Role.analyst, "ana@example.com", nil), (.operator, "olle@example.com", nil),
        (.marketer, "blind@example.com", false),
      ] as [(Role, String, Bool?)] {
        let browser = try await console.browser(role, email, seesPersonal: seesPersonal)
        for (path, _) in places { #expect(!(try await browser.get(path).text).contains("/console/exports"), "\(role)") }
        #expect(try await browser.get("/console/exports").status == 403)
        _ = try await browser.get("/console/account")
        #expect(try await browser.post("/console/exports", [("what", "contacts")]).status == 403, "\(role)")
      }
      let granted = try await console.browser(.analyst, "granted@example.com", seesPersonal: true)
      #expect(try await granted.get("/console/exports").status == 200)
    }
  }

  @Test func `A person's data is a file, and the person is erased once the original id is typed`() async throws {
    try await withConsole { console in
      try await settle(console)
      _ = try await Segments(console.database.pool).add(
        console.customer, SegmentRequest(name: "Lars", filter: try Filter(text: "originalId = 'lars@example.com'")))
      let browser = try await console.browser(.marketer)
      let contact = try await browser.get("/console/contacts/1").text
      #expect(
        contact.contains(#"href="/console/contacts/1/data""#) && contact.contains(#"href="/console/contacts/1/erase""#))
      let data = try await browser.get("/console/contacts/1/data")
      #expect(data.header("Content-Disposition") == #"attachment; filename="contact-1.json""#)
      #expect(try data.json.string("originalId") == "lars@example.com" && data.text.contains("Lars@Example.com"))

      let page = try await browser.get("/console/contacts/1/erase").text
      #expect(page.contains("What goes") && page.contains("What stays") && page.contains("Its 1 device."), "\(page)")
      for typed in ["", "LARS@example.com", "mia@example.com"] {
        let refused = try await browser.post("/console/contacts/1/erase", [("originalId", typed)])
        #expect(refused.status == 400 && refused.text.contains("Nothing was erased."), "\(refused.text)")
        #expect(refused.text.contains(#"id="f-originalId-error""#))
      }
      #expect(try await console.database.query("SELECT FROM contact").count == 2)
      let erased = try await browser.post("/console/contacts/1/erase", [("originalId", "lars@example.com")])
      #expect(erased.status == 303 && erased.header("Location") == "/console/contacts", "\(erased.text)")
      let after = try await browser.get("/console/contacts").text
      #expect(after.contains("Contact 1 is erased.") && after.contains("segment 2"), "\(after)")
      #expect(try await console.database.query("SELECT original_id FROM contact").count == 1)
      #expect(try await browser.get("/console/contacts/1").status == 404)
      #expect(try await browser.get("/console/contacts/1/data").status == 404)
    }
  }

  @Test func `Only who sees personal fields and changes contacts hands out data or erases`() async throws {
    try await withConsole { console in
      try await settle(console)
      for (role, email, seesPersonal, mayRead) in [
        (Role.analyst, "ana@example.com", false, false), (.analyst, "granted@example.com", true, true),
        (.operator, "olle@example.com", true, false), (.marketer, "blind@example.com", false, false),
      ] {
        let browser = try await console.browser(role, email, seesPersonal: seesPersonal)
        let contact = try await browser.get("/console/contacts/1").text
        #expect(!contact.contains("/console/contacts/1/erase"), "\(email)")
        #expect(contact.contains("/console/contacts/1/data") == mayRead, "\(email)")
        #expect(try await browser.get("/console/contacts/1/data").status == (mayRead ? 200 : 403), "\(email)")
        #expect(try await browser.get("/console/contacts/1/erase").status == 403, "\(email)")
        _ = try await browser.get("/console/account")
        let erased = try await browser.post("/console/contacts/1/erase", [("originalId", "lars@example.com")])
        #expect(erased.status == 403, "\(email)")
      }
      #expect(try await console.database.query("SELECT FROM contact").count == 2)
    }
  }
}
