import Audience
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct ContactPageTests {
  /// A contact with a device of an app; both have the number 1.
  private func settle(_ console: ConsoleServer) async throws {
    let customer = console.customer.rawValue
    try await console.database.query(
      "INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name) VALUES ($1, 1, 'com.acme.app', 1, 'Acme')",
      customer)
    try await console.database.query(
      """
      INSERT INTO contact (customer_id, contact_id, original_id, first_name, email_address, properties)
      VALUES ($1, 1, 'lars@example.com', '<b>Lars', 'Lars@Example.com', '{"food":"fish","visits":3}')
      """, customer)
    try await console.database.query(
      """
      INSERT INTO device (customer_id, device_id, push_app_id, contact_id, token, token_key, model)
      VALUES ($1, 1, 1, 1, 'secret-token', '\\xaa', 'iPhone17,1')
      """, customer)
  }

  @Test func `The empty page of contacts says how they come in, and a search finds one`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let empty = try await browser.get("/console/contacts").text
      #expect(empty.contains("There are no contacts yet") && empty.contains("/pushdevices"))
      try await settle(console)
      let found = try await browser.get("/console/contacts?query=LARS").text
      #expect(found.contains(#"href="/console/contacts/1""#) && found.contains("&lt;b&gt;Lars"))
      #expect(found.contains("/api/v1/contacts?query=LARS"))
      let none = try await browser.get("/console/contacts?query=%3Cnobody").text
      #expect(none.contains("Nobody begins so") && none.contains("&lt;nobody"))
    }
  }

  @Test func `A filter and a search are read as a browser's form sends them`() async throws {
    try await withConsole { console in
      try await settle(console)
      try await console.database.query("UPDATE contact SET city = 'New York', last_name = 'van Dam'")
      let browser = try await console.browser(.marketer)
      let link = #"href="/console/contacts/1""#
      #expect(try await browser.get("/console/contacts?filter=city+%3D+%27New+York%27").text.contains(link))
      #expect(try await browser.get("/console/contacts?query=van+dam").text.contains(link))
      #expect(try await !browser.get("/console/contacts?query=van%2Bdam").text.contains(link))
    }
  }

  /// Adds a segment that the contact is in by its name.
  private func addSegment(_ console: ConsoleServer) async throws {
    _ = try await Segments(console.database.pool).add(
      console.customer, SegmentRequest(name: "<i>Larses", filter: try Filter(text: "firstName = '<b>Lars'")))
  }

  @Test func `A contact shows its fields and devices, never a token`() async throws {
    try await withConsole { console in
      try await settle(console)
      try await addSegment(console)
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/contacts/1").text
      #expect(page.contains("iPhone17,1") && page.contains("com.acme.app") && page.contains("fish"))
      #expect(page.contains(#"<a href="/console/segments/1"><bdi>&lt;i&gt;Larses</bdi></a>"#))
      #expect(!page.contains("secret-token") && page.contains(#"href="/console/contacts/1/message""#))
      #expect(try await browser.get("/console/contacts/2").status == 404)
    }
  }

  @Test func `Who may not see personal fields sees none, and finds nobody by them`() async throws {
    try await withConsole { console in
      try await settle(console)
      try await addSegment(console)
      let browser = try await console.browser(.analyst)
      for path in ["/console/contacts", "/console/contacts?query=lars", "/console/contacts/1"] {
        let page = try await browser.get(path).text
        #expect(page.contains("lars@example.com"), "\(path)")
        #expect(!page.contains("&lt;b&gt;Lars") && !page.contains("Lars@Example.com"), "\(path)")
        #expect(!page.contains("fish") && !page.contains("Larses"), "\(path)")
      }
      #expect(!(try await browser.get("/console/contacts?query=%3Cb").text).contains("/console/contacts/1"))
      #expect(try await browser.get("/console/contacts/1/edit").status == 403)
    }
  }

  @Test func `A contact is changed by its form, and a refused one keeps what was typed`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let form = try await browser.get("/console/contacts/1/edit").text
      #expect(form.contains("food=fish\nvisits=3"))
      let refused = try await browser.post(
        "/console/contacts/1/edit",
        [("firstName", "Lasse"), ("before.firstName", "<b>Lars"), ("dateOfBirth", "1981-02-29")])
      #expect(refused.status == 400 && refused.text.contains(#"value="Lasse""#))
      #expect(refused.text.contains("Date of birth must be a day"))
      let saved = try await browser.post(
        "/console/contacts/1/edit",
        [
          ("firstName", "Lasse"), ("before.firstName", "<b>Lars"), ("emailAddress", ""),
          ("before.emailAddress", "Lars@Example.com"), ("properties", "visits=4\r\nsize=XL"),
          ("before.properties", "food=fish\r\nvisits=3"),
        ])
      #expect(saved.status == 303 && saved.header("Location") == "/console/contacts/1")
      let row = try await console.database.query(
        "SELECT first_name, email_address, properties::text FROM contact WHERE contact_id = 1")[0]
      let (name, email, properties) = try row.decode(String?.self, String?.self, String.self)
      #expect(name == "Lasse" && email == nil && properties == #"{"size":"XL","visits":4}"#)
    }
  }

  @Test func `What an app has changed meanwhile stays, and is told where the form would replace it`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/contacts/1/edit").text
      #expect(page.contains(#"<input type="hidden" name="before.emailAddress" value="Lars@Example.com">"#))
      #expect(page.contains("name=\"before.properties\" value=\"food=fish\nvisits=3\""))
      func row() async throws -> (name: String?, email: String?, city: String?, properties: String) {
        let row = try await console.database.query(
          "SELECT first_name, email_address, city, properties::text FROM contact WHERE contact_id = 1")[0]
        let (name, email, city, properties) = try row.decode(String?.self, String?.self, String?.self, String.self)
        return (name, email, city, properties)
      }
      try await console.database.query(
        #"UPDATE contact SET email_address = 'new@example.com', city = 'Lund', properties = '{"food":"meat","visits":3}'"#
      )
      let shown = [
        ("before.firstName", "<b>Lars"), ("before.emailAddress", "Lars@Example.com"),
        ("before.properties", "food=fish\r\nvisits=3"),
      ]
      // None of these did an app change.
      let saved = try await browser.post(
        "/console/contacts/1/edit",
        shown + [
          ("firstName", "Lasse"), ("emailAddress", "Lars@Example.com"), ("properties", "food=fish\r\nvisits=4"),
        ])
      #expect(saved.status == 303, "\(saved.text)")
      var now = try await row()
      #expect(now.name == "Lasse" && now.email == "new@example.com" && now.city == "Lund")
      #expect(now.properties == #"{"food":"meat","visits":4}"#)

      let typed = [
        ("firstName", "<b>Lars"), ("emailAddress", "mine@example.com"), ("properties", "food=bread\r\nvisits=3"),
      ]
      let late = try await browser.post("/console/contacts/1/edit", shown + typed)
      #expect(late.status == 409 && late.text.contains("E-mail address is new@example.com now"), "\(late.text)")
      #expect(late.text.contains("food=meat now"), "\(late.text)")
      // What was typed stands there beside what is known by now.
      #expect(late.text.contains(#"value="mine@example.com""#))
      #expect(late.text.contains(#"name="before.emailAddress" value="new@example.com""#))
      #expect(late.text.contains(#"name="firstName" type="text" value="Lasse""#), "\(late.text)")
      #expect(late.text.contains("\nfood=bread\nvisits=4</textarea>"), "\(late.text)")
      now = try await row()
      #expect(now.email == "new@example.com" && now.properties == #"{"food":"meat","visits":4}"#)
      let again = try await browser.post(
        "/console/contacts/1/edit",
        [
          ("firstName", "Lasse"), ("before.firstName", "Lasse"), ("emailAddress", "mine@example.com"),
          ("before.emailAddress", "new@example.com"), ("city", "Lund"), ("before.city", "Lund"),
          ("properties", "food=bread\r\nvisits=4"), ("before.properties", "food=meat\r\nvisits=4"),
        ])
      #expect(again.status == 303)
      now = try await row()
      #expect(now.name == "Lasse" && now.email == "mine@example.com" && now.city == "Lund")
      #expect(now.properties == #"{"food":"bread","visits":4}"#)
    }
  }

  @Test func `A device is retired after a confirmation that works without JavaScript`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      let path = "/console/contacts/1/devices/1/retire"
      let asked = try await browser.get(path).text
      #expect(asked.contains("Retire the device?") && asked.contains(#"action="\#(path)""#))
      #expect(try await browser.post(path).status == 303)
      let reason = try await console.database.query("SELECT invalidation_reason FROM device")[0].decode(String?.self)
      #expect(reason == "retired")
    }
  }

  @Test func `Lists page by key, take members by their original ids, and let them go`() async throws {
    try await withConsole { console in
      try await settle(console)
      try await console.database.query(
        "INSERT INTO list (customer_id, list_id, name) SELECT $1, n, 'list ' || n FROM generate_series(1, 250) AS n",
        console.customer.rawValue)
      let browser = try await console.browser(.marketer)
      let first = try await browser.get("/console/lists").text
      #expect(first.contains("list 100<") && !first.contains("list 101<"))
      #expect(first.contains(#"href="/console/lists?after=100""#))
      #expect(first.utf8.count < 60 * 1024)
      #expect(try await browser.get("/console/lists?after=200").text.contains("list 250<"))

      let joined = try await browser.post("/console/lists/7/join", [("add", "lars@example.com\r\nnobody\r\n")])
      #expect(joined.status == 303)
      let members = try await browser.get("/console/lists/7").text
      #expect(members.contains("No contact has the original id nobody."))
      #expect(members.contains("/console/lists/7/leave?remove=lars%40example.com"))
      let asked = try await browser.get("/console/lists/7/leave?remove=lars%40example.com").text
      #expect(asked.contains("lars@example.com gets nothing any more"))
      #expect(asked.contains("Take the contact off the list?"))
      let long = String(repeating: "x", count: 2000)
      let refused = try await browser.post("/console/lists/7/leave", [("remove", long)])
      #expect(refused.status == 400 && refused.text.contains("Nothing was done."), "\(refused.text)")
      _ = try await browser.post("/console/lists/7/leave", [("remove", "lars@example.com")])
      #expect(try await browser.get("/console/lists/7").text.contains("Nobody is on this list"))
      let added = try await browser.post("/console/lists", [("name", "Ünï <b>")])
      #expect(added.status == 303)
      let again = try await browser.post("/console/lists", [("name", "Ünï <b>")])
      #expect(again.status == 409 && again.text.contains("Ünï &lt;b&gt;"))
    }
  }

  @Test func `A trigger is added, paused, enabled and removed`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      #expect(try await browser.get("/console/triggers").text.contains("There are no triggers yet"))
      #expect(try await browser.get("/console/triggers/new").text.contains("com.acme.app"))
      let refused = try await browser.post(
        "/console/triggers/new", [("name", "Shipped"), ("appIds", "com.acme.app"), ("message.alert", "{{#a}}")])
      #expect(refused.status == 400 && refused.text.contains("Text does not parse"))
      let added = try await browser.post(
        "/console/triggers/new", [("name", "Shipped"), ("appIds", "com.acme.app"), ("message.alert", "{{orderNo}}")])
      let path = try #require(added.header("Location"))
      #expect(added.status == 303)
      #expect(try await browser.get(path).text.contains(#"<span class="badge ok">Active</span>"#))
      _ = try await browser.post("\(path)/pause")
      #expect(try await browser.get(path).text.contains(#"<span class="badge idle">Paused</span>"#))
      _ = try await browser.post("\(path)/enable")
      #expect(try await browser.get("\(path)/remove").text.contains("get a 404 from now on"))
      _ = try await browser.post("\(path)/remove")
      #expect(try await browser.get(path).status == 404)
    }
  }

  @Test func `Messages are listed with their state, and one tells why`() async throws {
    try await withConsole { console in
      try await settle(console)
      let browser = try await console.browser(.marketer)
      #expect(try await browser.get("/console/messages").text.contains("There are no single messages yet"))
      try await console.database.query(
        """
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body, reference)
        VALUES ($1, 7, 15, 1, '{}', '{"alert":"<i>Hi"}', 'parcel-42')
        """, console.customer.rawValue)
      let list = try await browser.get("/console/messages?state=noDevice").text
      #expect(list.contains("/console/messages/7-15") && list.contains("&lt;i&gt;Hi") && list.contains("parcel-42"))
      #expect(!(try await browser.get("/console/messages?state=failed").text).contains("/console/messages/7-15"))
      let one = try await browser.get("/console/messages/7-15").text
      #expect(one.contains("The contact had no valid device in the apps."))
      #expect(one.contains("/api/v1/messages/7-15/why"))
      #expect(try await browser.get("/console/messages/7-16").status == 404)
      let analyst = try await console.browser(.analyst, "ann@example.com")
      #expect(!(try await analyst.get("/console/messages/7-15").text).contains("&lt;i&gt;Hi"))
    }
  }
}
