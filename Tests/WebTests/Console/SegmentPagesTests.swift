import Embedded
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct SegmentPagesTests {
  /// Three contacts by the numbers 1 to 3, of whom two are Swedes; the first one has a device.
  private func settle(_ console: ConsoleServer) async throws {
    let customer = console.customer.rawValue
    try await console.database.query(
      "INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name) VALUES ($1, 1, 'com.acme.app', 1, 'Acme')",
      customer)
    try await console.database.query(
      """
      INSERT INTO contact (customer_id, contact_id, original_id, country, first_name, properties)
      VALUES ($1, 1, 'lars@example.com', 'SE', '<b>Lars', '{"visits":3}'),
             ($1, 2, 'mia@example.com', 'SE', 'Mia', '{}'), ($1, 3, 'tom@example.com', 'DE', 'Tom', '{}')
      """, customer)
    try await console.database.query(
      """
      INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key)
      VALUES ($1, 1, 1, 1, 'secret-token', '\\xaa')
      """, customer)
  }

  private static let swedes = "country = 'SE'"

  /// What a browser sends of the form of a filter that rows can show.
  private func form(
    _ line: String, before: String? = nil, join: String = "all", _ rows: [FilterRows.Row] = [], verb: String? = nil
  ) -> [(String, String)] {
    var fields = [("name", "Swedes"), ("filter", line), ("before.filter", before ?? line)]
    if !rows.isEmpty { fields.append(("rows.join", join)) }
    for (number, row) in rows.enumerated() {
      fields += [
        ("row.\(number).field", row.field), ("row.\(number).op", row.op), ("row.\(number).value", row.value),
      ]
    }
    return fields + (verb.map { [("do", $0)] } ?? [])
  }

  private func swede(_ value: String = "SE") -> FilterRows.Row {
    FilterRows.Row(field: "country", op: "=", value: value)
  }

  @Test func `Rows and lines say the same`() throws {
    for line in [
      "everyone", Self.swedes, "country in ('SE', 'NO') and properties.visits >= 3",
      "city contains 'und' or properties.\"any name\" = '3'", "firstName is not set or dateOfBirth < date '2000-01-01'",
      "createdAt within last 30 days", "properties.at within next 5 hours", "properties.on = true",
      "properties.v >= version '17.2'", "properties.day = date '2026-12-01' and properties.day != '2026-12-01'",
      "city in ('a, b', 'it''s', '''x''')", "city = ''", "properties.n in (1, 'one', false)",
      "lastName starts with '3'",
      "city = ' a '",
    ] {
      let filter = try Filter(text: line)
      let rows = try #require(FilterRows(filter), "\(line)")
      #expect(try rows.filter() == filter, "\(line): \(rows)")
    }
    #expect(FilterRows(try Filter(text: "country in ('SE', 'NO')"))?.rows.first?.value == "SE, NO")
    for line in ["not country = 'SE'", "country = 'SE' and (city = 'a' or city = 'b')", "has device", "in list 7"] {
      #expect(FilterRows(try Filter(text: line)) == nil, "\(line)")
    }
  }

  @Test func `What is typed into a row becomes the literal of its field`() throws {
    func line(_ field: String, _ op: String, _ value: String) throws -> String {
      try FilterRows(rows: [FilterRows.Row(field: field, op: op, value: value)]).filter().text
    }
    #expect(try line("country", "in", "SE,NO , DK") == "country in ('SE', 'NO', 'DK')")
    #expect(try line("firstName", "=", "O'Hara") == "firstName = 'O''Hara'")
    #expect(try line("dateOfBirth", "<", "2000-01-01") == "dateOfBirth < date '2000-01-01'")
    #expect(try line("properties.visits", ">=", "3") == "properties.visits >= 3")
    #expect(try line("properties.visits", "=", "'3'") == "properties.visits = '3'")
    #expect(try line("createdAt", "within last", "30 days") == "createdAt within last 30 days")
    let error = #expect(throws: FilterRowProblem.self) { try line("contry", "=", "SE") }
    #expect(error?.number == 1 && error?.problem.contains("country") == true)
    #expect(throws: FilterRowProblem.self) { try line("dateOfBirth", "=", "soon") }
  }

  @Test func `The wrong word of a line is marked`() throws {
    let wrong = FilterLine("city = 'a' and contry = 'SE'").wrong.first
    #expect(wrong?["before"] as? String == "city = 'a' and ")
    #expect(wrong?["word"] as? String == "contry" && wrong?["after"] as? String == " = 'SE'")
    #expect((wrong?["sentence"] as? String)?.hasPrefix("At 16: no field is called contry") == true)
    let end = FilterLine("city =").wrong.first
    #expect(end?["isEnd"] as? Bool == true && end?["before"] as? String == "city =")
    #expect(FilterLine("").wrong.isEmpty && FilterLine(nil).filter == .everyone)
  }

  @Test func `A marketer makes, counts, explains, changes and deletes a segment without JavaScript`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let empty = try await browser.get("/console/segments").text
      #expect(empty.contains("There are no segments yet") && empty.contains("pushcart segment add"))
      let new = try await browser.get("/console/segments/new")
      #expect(new.status == 200 && new.text.contains("Add a row"), "\(new.text)")

      let counted = try await browser.post(
        "/console/segments/new/preview", form(Self.swedes, before: "", verb: "count"))
      #expect(counted.status == 200, "\(counted.text)")
      #expect(
        counted.text.contains(#"<strong class="num">2</strong> contacts with <strong class="num">1</strong> device"#))
      #expect(counted.text.contains(#"name="row.0.field" type="text" value="country""#))
      #expect(try await console.database.query("SELECT FROM segment").isEmpty)

      let saved = try await browser.post("/console/segments/new", form(Self.swedes))
      #expect(saved.status == 303 && saved.header("Location") == "/console/segments/1", "\(saved.text)")
      let page = try await browser.get("/console/segments/1").text
      #expect(page.contains("country = &#39;SE&#39;") || page.contains("country = &apos;SE&apos;"), "\(page)")
      #expect(page.contains(#"href="/console/contacts/1""#) && page.contains(#"href="/console/contacts/2""#))
      #expect(!page.contains(#"href="/console/contacts/3""#) && page.contains("report.segment_contacts"))
      #expect(page.contains("No other segment, and no sendout"))

      let explained = try await browser.post(
        "/console/segments/1/preview", form(Self.swedes, verb: "explain") + [("to", "tom@example.com")])
      #expect(explained.text.contains("does not meet the filter") && explained.text.contains("DE"), "\(explained.text)")

      let changed = try await browser.post("/console/segments/1", form("country = 'DE'", before: Self.swedes))
      #expect(changed.status == 303, "\(changed.text)")
      #expect(try await browser.get("/console/segments/1").text.contains(#"href="/console/contacts/3""#))

      _ = try await browser.post("/console/segments/new", [("name", "Others"), ("filter", "in segment 1")])
      #expect(try await browser.get("/console/segments/1").text.contains(#"href="/console/segments/2""#))
      let used = try await browser.post("/console/segments/1/remove")
      #expect(used.status == 409 && used.text.contains("Others"), "\(used.text)")
      #expect(try await browser.get("/console/segments/2/remove").text.contains("Delete the segment?"))
      #expect(try await browser.post("/console/segments/2/remove").status == 303)
      #expect(try await browser.post("/console/segments/1/remove").status == 303)
      #expect(try await console.database.query("SELECT FROM segment").isEmpty)
    }
  }

  @Test func `Rows change the line, and a changed line wins over its rows`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/segments/new")
      let path = "/console/segments/new/preview"
      let byRow = try await browser.post(path, form(Self.swedes, [swede("DE")])).text
      #expect(byRow.contains(#"<strong class="num">1</strong> contact with"#), "\(byRow)")
      let byLine = try await browser.post(path, form(Self.swedes, before: "", [swede("DE")])).text
      #expect(byLine.contains(#"<strong class="num">2</strong> contacts with"#), "\(byLine)")

      let added = try await browser.post(path, form(Self.swedes, [swede()], verb: "add")).text
      #expect(added.contains(#"name="row.1.field""#) && !added.contains(#"name="row.2.field""#))
      let any = try await browser.post(path, form(Self.swedes, join: "any", [swede(), swede("DE")])).text
      #expect(any.contains(#"<strong class="num">3</strong> contacts with"#), "\(any)")
      let removed = try await browser.post(
        path,
        form(
          "country = 'SE' and city = 'x'", [swede(), FilterRows.Row(field: "city", op: "=", value: "x")],
          verb: "remove.1")
      ).text
      #expect(removed.contains(#"<strong class="num">2</strong> contacts with"#), "\(removed)")
      let wrong = try await browser.post(
        path, form(Self.swedes, [FilterRows.Row(field: "contry", op: "=", value: "x")]))
      #expect(wrong.status == 200 && wrong.text.contains("Row 1: ") && wrong.text.contains(#"value="contry""#))
      let more = try await browser.post(path, form("not country = 'SE'", before: "")).text
      #expect(more.contains("it has its line alone") && !more.contains("Add a row"), "\(more)")

      let saved = try await browser.post("/console/segments/new", form(Self.swedes, [swede("DE")]))
      #expect(saved.status == 303, "\(saved.text)")
      let line = try await console.database.query("SELECT text FROM segment")[0].decode(String.self)
      #expect(line == "country = 'DE'")
    }
  }

  @Test func `A wrong filter keeps what was typed, with its word marked, also while one types`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/segments/new")
      let refused = try await browser.post("/console/segments/new", [("name", "Swedes"), ("filter", "contry = 'SE'")])
      #expect(refused.status == 400 && refused.text.contains("<mark>contry</mark>"), "\(refused.text)")
      #expect(refused.text.contains(##"href="#f-filter""##) && refused.text.contains(#"value="Swedes""#))
      #expect(refused.text.contains("did you mean country?"))
      let part = try await browser.post("/console/segments/new/preview?part=live", [("filter", "city = ")])
      #expect(part.status == 200 && part.text.contains("<mark>"), "\(part.text)")
      #expect(!part.text.contains("<form") && !part.text.contains("<html"))
      let unknown = try await browser.post("/console/segments/new/preview", [("filter", "in list 'nowhere'")])
      #expect(unknown.status == 200 && unknown.text.contains("filter at 9: no list is called"), "\(unknown.text)")
    }
  }

  @Test func `Contacts join a static segment, and leave it once that is confirmed`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/segments/new")
      let saved = try await browser.post("/console/segments/new", [("name", "VIP"), ("static", "true")])
      #expect(saved.status == 303, "\(saved.text)")
      let empty = try await browser.get("/console/segments/1").text
      #expect(empty.contains("Nobody at the moment.") && !empty.contains("Add a row"), "\(empty)")
      let none = try await browser.post("/console/segments/1/join", [("add", "")])
      #expect(none.status == 400, "\(none.text)")
      let joined = try await browser.post("/console/segments/1/join", [("add", "lars@example.com\r\nnobody")])
      #expect(joined.status == 303, "\(joined.text)")
      let page = try await browser.get("/console/segments/1").text
      #expect(page.contains("1 contact joined. No contact has the original id nobody."), "\(page)")
      #expect(page.contains("/console/segments/1/leave?remove=lars%40example.com"), "\(page)")
      let question = try await browser.get("/console/segments/1/leave?remove=lars%40example.com").text
      #expect(question.contains("Take the contact out of the segment?"))
      #expect(try await browser.post("/console/segments/1/leave", [("remove", "lars@example.com")]).status == 303)
      #expect(try await console.database.query("SELECT FROM segment_member").isEmpty)
      let renamed = try await browser.post("/console/segments/1", [("name", "VIPs")])
      #expect(renamed.status == 303, "\(renamed.text)")
    }
  }

  @Test func `An analyst counts and changes nothing, and an operator sees no segment`() async throws {
    try await withConsole { console in
      try await settle(console)
      let marketer = try await console.browser(.marketer)
      _ = try await marketer.get("/console/segments/new")
      _ = try await marketer.post("/console/segments/new", form("createdAt is set"))
      _ = try await marketer.post("/console/segments/new", [("name", "Personal"), ("filter", Self.swedes)])
      let analyst = try await console.browser(.analyst, "ana@example.com")
      let page = try await analyst.get("/console/segments/1").text
      #expect(page.contains(#"<strong class="num">3</strong> contacts"#) && !page.contains(">Save</button>"), "\(page)")
      // A count, or a contact, would tell a field that analysts do not see.
      let hidden = try await analyst.get("/console/segments/2")
      #expect(hidden.status == 200 && hidden.text.contains("asks for personal fields"), "\(hidden.text)")
      #expect(!hidden.text.contains(#"<strong class="num">2</strong> contacts"#))
      #expect(!hidden.text.contains(#"href="/console/contacts/1""#))
      #expect(!page.contains("&lt;b&gt;Lars") && !page.contains("Is somebody in it?"))
      #expect(try await analyst.get("/console/segments/new").status == 403)
      #expect(try await analyst.post("/console/segments/1", form("everyone")).status == 403)
      #expect(try await analyst.post("/console/segments/1/remove").status == 403)
      let operatorBrowser = try await console.browser(.operator, "olle@example.com")
      #expect(try await operatorBrowser.get("/console/segments").status == 403)
      #expect(!(try await operatorBrowser.get("/console/account").text).contains("/console/segments"))
    }
  }

  @Test func `Names, filters and contacts are text everywhere`() async throws {
    try await withConsole { console in
      try await settle(console)
      let canary = "<script>alert(1)</script>\"&"
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/segments/new")
      let fields = [("name", canary), ("description", canary), ("filter", "city = '\(canary)'"), ("to", canary)]
      _ = try await browser.post("/console/segments/new", fields)
      let encoded = PercentEncoding.encode("city != '\(canary)' \(canary)")
      for path in [
        "/console/segments", "/console/segments/1", "/console/segments/1/remove", "/console/contacts?filter=\(encoded)",
        "/console/segments/new?filter=\(encoded)", "/console/new-sendout?filter=\(encoded)",
      ] {
        let reply = try await browser.get(path)
        #expect(reply.status == 200 && !reply.text.contains("<script>alert"), "\(path): \(reply.text)")
        #expect(reply.text.contains("&lt;script&gt;alert(1)"), "\(path)")
      }
      _ = try await browser.get("/console/segments/1")
      for verb in ["count", "explain", "add", "exact"] {
        let reply = try await browser.post(
          "/console/segments/1/preview", fields + [("do", verb), ("rows.join", "all"), ("row.0.op", canary)])
        #expect(reply.status == 200 && !reply.text.contains("<script>alert"), "\(verb): \(reply.text)")
      }
    }
  }

  @Test func `Contacts are found by a filter, which becomes a segment or an audience`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let found = try await browser.get("/console/contacts?filter=country%20%3D%20'SE'").text
      #expect(found.contains(#"href="/console/contacts/1""#) && !found.contains(#"href="/console/contacts/3""#))
      #expect(found.contains("/console/segments/new?filter=country%20%3D%20%27SE%27"), "\(found)")
      #expect(found.contains("/console/new-sendout?filter=") && found.contains("/api/v1/contacts?filter=country"))
      let both = try await browser.get("/console/contacts?query=mia&filter=country%20%3D%20'SE'").text
      #expect(both.contains(#"href="/console/contacts/2""#) && !both.contains(#"href="/console/contacts/1""#))
      let wrong = try await browser.get("/console/contacts?filter=contry%20%3D%20'SE'")
      #expect(wrong.status == 200 && wrong.text.contains("<mark>contry</mark>"), "\(wrong.text)")
      let nobody = try await browser.get("/console/contacts?filter=country%20%3D%20'XX'").text
      #expect(nobody.contains("Nobody meets this filter"))
      let new = try await browser.get("/console/segments/new?filter=country%20%3D%20'SE'").text
      #expect(new.contains(#"<strong class="num">2</strong> contacts"#), "\(new)")
    }
  }

  @Test func `Conditions of the contacts' filter are chips, of which each is taken away and another one is added`()
    async throws
  {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let added = try await browser.get(
        "/console/contacts?filter=country%20%3D%20'SE'&field=firstName&op=starts%20with&value=M"
      ).text
      #expect(
        added.contains("\n\(Markup.escaped("country = 'SE' and firstName starts with 'M'"))</textarea>"), "\(added)")
      #expect(added.contains(#"href="/console/contacts/2""#) && !added.contains(#"href="/console/contacts/1""#))
      let rest = PercentEncoding.encode("country = 'SE'")
      #expect(added.contains(#"href="/console/contacts?filter=\#(rest)""#))
      #expect(
        added.contains(#"href="/console/contacts?filter=\#(PercentEncoding.encode("firstName starts with 'M'"))""#))
      // Of one condition, nothing is left.
      let one = try await browser.get("/console/contacts?query=mia&filter=has%20device").text
      #expect(
        one.contains(#"<code class="wrap"><bdi>has device</bdi></code> <a href="/console/contacts?query=mia""#),
        "\(one)")
      let wrong = try await browser.get("/console/contacts?filter=has%20device&field=contry&op=%3D&value=x")
      #expect(wrong.status == 200 && wrong.text.contains("did you mean country?"), "\(wrong.text)")
      #expect(wrong.text.contains(#"value="contry""#) && wrong.text.contains("\nhas device</textarea>"))
      #expect(!wrong.text.contains(#"href="/console/contacts/1""#))
    }
  }

  @Test func `Who may not see personal fields asks for others, and saves no filter that would tell them`() async throws
  {
    try await withConsole { console in
      try await settle(console)
      let blind = try await console.browser(.marketer, "blind@example.com", seesPersonal: false)
      let found = try await blind.get("/console/contacts?filter=has%20device").text
      #expect(found.contains(#"href="/console/contacts/1""#) && !found.contains(#"href="/console/contacts/2""#))
      let refused = try await blind.get("/console/contacts?filter=country%20%3D%20'SE'")
      #expect(refused.status == 200 && refused.text.contains("asks for personal fields"), "\(refused.text)")
      #expect(!refused.text.contains(#"href="/console/contacts/1""#))
      _ = try await blind.get("/console/segments/new")
      let saved = try await blind.post("/console/segments/new", form(Self.swedes))
      #expect(saved.status == 403 && saved.text.contains("asks for personal fields"), "\(saved.text)")
      // What was typed is still there.
      #expect(saved.text.contains(#"value="Swedes""#))
      #expect(try await console.database.query("SELECT FROM segment").isEmpty)
      #expect(try await blind.post("/console/segments/new", form("has device")).status == 303)
    }
  }
}
