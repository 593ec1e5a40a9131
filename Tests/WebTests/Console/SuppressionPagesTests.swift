import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct SuppressionPagesTests {
  private func contact(_ console: ConsoleServer) async throws {
    try await console.database.query(
      "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1, 1, 'lars@example.com')",
      console.customer.rawValue)
  }

  @Test func `Somebody is suppressed, asked for, and lifted`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let empty = try await browser.get("/console/suppressions").text
      #expect(empty.contains("Nobody is suppressed") && empty.contains("pushcart suppression add"))
      let form = try await browser.get("/console/suppressions/new").text
      #expect(form.contains(#"name="originalId""#) && form.contains(#"name="number""#))
      let past = try await browser.post(
        "/console/suppressions/new",
        [("originalId", "lars@example.com"), ("scope", "all"), ("until", "2001-01-01T00:00")])
      #expect(past.status == 400 && past.text.contains("Until is past"), "\(past.text)")
      #expect(past.text.contains(#"value="lars@example.com""#))
      let added = try await browser.post(
        "/console/suppressions/new",
        [("originalId", "lars@example.com"), ("scope", "marketing"), ("reason", "<b>asked")])
      #expect(added.status == 303, "\(added.text)")
      let list = try await browser.get("/console/suppressions").text
      #expect(list.contains("&lt;b&gt;asked") && !list.contains("<b>asked") && !list.contains("lars@example.com"))

      let found = try await browser.post("/console/suppressions/ask", [("originalId", "lars@example.com")])
      #expect(found.status == 200 && found.text.contains("These suppress it"), "\(found.text)")
      let nobody = try await browser.post("/console/suppressions/ask", [("number", "0031612345678")])
      #expect(nobody.status == 200 && nobody.text.contains("Nothing suppresses this"), "\(nobody.text)")
      let none = try await browser.post("/console/suppressions/ask", [("appId", "")])
      #expect(none.status == 400 && none.text.contains("Original id is empty"), "\(none.text)")

      #expect(try await browser.get("/console/suppressions/1/remove").text.contains("Lift the suppression?"))
      #expect(try await browser.post("/console/suppressions/1/remove").status == 303)
      #expect(try await browser.get("/console/suppressions").text.contains("Nobody is suppressed"))
      #expect(try await browser.post("/console/suppressions/1/remove").status == 404)
    }
  }

  @Test func `A contact's page says what it does not get, and changes that`() async throws {
    try await withConsole { console in
      try await contact(console)
      let browser = try await console.browser(.marketer)
      #expect(try await browser.get("/console/contacts/1").text.contains("Nothing stands against it"))
      let suppressed = try await browser.post("/console/contacts/1/suppress", [("scope", "all"), ("reason", "asked")])
      #expect(suppressed.status == 303, "\(suppressed.text)")
      let page = try await browser.get("/console/contacts/1").text
      #expect(page.contains("<strong>Everything</strong>") && page.contains("/console/contacts/1/lift"))
      #expect(!page.contains("/console/contacts/1/suppress"))
      let analyst = try await console.browser(.analyst, "ann@example.com")
      let seen = try await analyst.get("/console/contacts/1").text
      #expect(seen.contains("<strong>Everything</strong>") && !seen.contains("/console/contacts/1/lift"))
      #expect(try await browser.get("/console/contacts/1/lift").text.contains("Send to the contact again?"))
      #expect(try await browser.post("/console/contacts/1/lift").status == 303)
      #expect(try await browser.get("/console/contacts/1").text.contains("Nothing stands against it"))
      let audited = try await console.database.query(
        "SELECT action FROM audit_log WHERE action LIKE 'suppression.%' ORDER BY audit_log_id"
      ).map { try $0.decode(String.self) }
      #expect(audited == ["suppression.add", "suppression.lift"])
    }
  }
}
