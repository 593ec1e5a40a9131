import Postgres
import Providers
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Web

@Suite struct ComposerTests {
  private func form(_ changes: KeyValuePairs<String, String> = [:]) -> [(String, String)] {
    ComposerFields.form(changes)
  }
  private func seen(_ page: TestReply) -> (String, String) { ComposerFields.seen(page) }

  @Test func `A marketer writes, looks at, checks and sends a sendout without JavaScript`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/new-sendout")
      #expect(page.status == 200 && page.text.contains("{{firstName}}"), "\(page.text)")
      #expect(page.text.contains("Type a text to see it.") && !page.text.contains("message.alert is missing"))
      let preview = try await browser.post("/console/new-sendout/preview", form(["contact": "user1"]))
      #expect(preview.status == 200 && preview.text.contains("<p>Hi N1</p>"), "\(preview.text)")
      #expect(preview.text.contains("bytes left") && preview.text.contains(#"value="Friday""#))
      #expect(try await console.database.query("SELECT FROM sendout").isEmpty)

      let saved = try await browser.post("/console/new-sendout", form(["then": "check"]))
      #expect(saved.status == 303 && saved.header("Location") == "/console/sendouts/1/check")
      let draft = try await console.sendout()
      #expect(draft.state == .draft && draft.name == "Friday")
      #expect(draft.message == MessageBody(alert: "Hi {{firstName}}"))
      let check = try await browser.get("/console/sendouts/1/check")
      #expect(check.status == 200 && check.text.contains("Send to 2 devices"), "\(check.text)")
      let sent = try await browser.post("/console/sendouts/1/check", [seen(check)])
      #expect(sent.status == 303 && sent.header("Location") == "/console/sendouts/1/undo")
      let scheduled = try await console.sendout()
      #expect(scheduled.state == .scheduled && scheduled.campaign.startAt != nil)
      #expect(try await browser.post("/console/sendouts/1/check").status == 409)
    }
  }

  @Test func `While one types, the answer is the part that changes, and it has nothing of the page around it`()
    async throws
  {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let part = try await browser.post("/console/new-sendout/preview?part=live", form())
      #expect(part.status == 200 && part.text.contains("<strong class=\"num\">2</strong> devices"), "\(part.text)")
      #expect(!part.text.contains("<form") && !part.text.contains("<html"))
    }
  }

  @Test func `A form that is refused keeps what was typed, and names the field`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      for (changes, id) in [
        (["message.alert": "{{#open"], "f-message-alert"), (["message.ttl": "soon"], "f-message-ttl"),
        (["audience": "list", "audience.listId": "9"], "f-audience-listId"),
        (["audience": "list"], "f-audience-listId"), (["audience": "segment"], "f-audience-segmentId"),
        (["audience": "segment", "audience.segmentId": "9"], "f-audience-segmentId"),
        (["audience": "filter"], "f-audience-filter"),
        (["audience": "filter", "audience.filter": "contry = 'SE'"], "f-audience-filter"),
        (["audience.exclude": "contry = 'SE'"], "f-audience-exclude"),
        (["audience": "ids"], "f-audience-originalIds"), (["message.fields": "{"], "f-message-fields"),
      ] as [(KeyValuePairs<String, String>, String)] {
        _ = try await browser.get("/console/new-sendout")
        let reply = try await browser.post("/console/new-sendout", form(changes))
        #expect(reply.status == 400 && reply.text.contains("href=\"#\(id)\""), "\(changes): \(reply.text)")
        #expect(reply.text.contains(#"value="Friday""#), "\(changes)")
      }
      let noApp = try await browser.post("/console/new-sendout", form().filter { $0.0 != "appIds" })
      #expect(noApp.status == 400 && noApp.text.contains(##"href="#f-appIds""##), "\(noApp.text)")
      #expect(try await console.database.query("SELECT FROM sendout").isEmpty)
    }
  }

  @Test func `A draft comes back into the form with every field, and saving it changes nothing`() async throws {
    try await withConsole { console in
      try await console.settle()
      let message = MessageBody(
        alert: "Hi", info: "20 %", badge: .template("{{visits}}"), ttl: 60, priority: .normal, collapseKey: "friday",
        silent: false, fields: ["campaign": "friday", "nested": ["a": [1, true, nil]]], optionalFields: ["campaign"],
        trackOpens: false, overrides: MessageOverrides(apns: .example))
      let request = SendoutRequest(
        name: "Full", appId: "com.acme.app", audience: .originalIds(["user1@example.com", "user2@example.com"]),
        message: message, purpose: .transactional, onUncertain: .skip)
      let made = try await console.database.pool.transaction(of: console.customer.rawValue) {
        try await SendoutStore($0).create(console.customer, request)
      }
      let apps = [
        PushAppReply(
          pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, name: "Acme", createdAt: .example,
          updatedAt: .example)
      ]
      let initial = ComposerForm.values(of: made, apps: apps)
      let form = ComposerForm(
        values: FormValues(initial.flatMap { name, values in values.map { (name: name, value: $0) } }))
      let again = try form.request()
      #expect(again.message == message && again.audience == request.audience && again.onUncertain == .skip)
      #expect(again.purpose == .transactional)
      #expect(again.name == "Full" && again.appIds == ["com.acme.app"] && again.appType == nil)
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/sendouts/\(made.sendoutId)/edit")
      #expect(page.status == 200 && page.text.contains("user2@example.com") && page.text.contains("friday"))
    }
  }

  @Test func `The form has every field of a message`() {
    let names = ComposerForm.fields(apps: [], lists: [], segments: [], templates: []).map(\.name)
    for field in MessageBody.allFields { #expect(names.contains("message.\(field.name)"), "\(field.name)") }
    let shown = Set(ComposerForm.texts + ComposerForm.options)
    #expect(Set(names.filter { $0.hasPrefix("message.") }).subtracting(shown).isEmpty)
  }

  @Test func `More devices than the threshold are sent to only once their number is typed`() async throws {
    try await withConsole { console in
      try await console.settle(devices: 3)
      _ = try await Customers(console.database.pool).update(console.customer, CustomerUpdate(sendThreshold: 2))
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      _ = try await browser.post("/console/new-sendout", form())
      let check = try await browser.get("/console/sendouts/1/check")
      #expect(check.text.contains(#"name="devices""#) && check.text.contains("Type 3 to send"), "\(check.text)")
      for typed in ["", "2", "33", "three"] {
        let reply = try await browser.post(
          "/console/sendouts/1/check", [("devices", typed), ("counted", "3"), seen(check)])
        #expect(reply.status == 400 && reply.text.contains(##"href="#f-devices""##), "\(typed): \(reply.text)")
      }
      #expect(try await console.sendout().state == .draft)
      let sent = try await browser.post(
        "/console/sendouts/1/check", [("devices", " 3 "), ("counted", "3"), seen(check)])
      #expect(sent.status == 303)
      #expect(try await console.sendout().state == .scheduled)
    }
  }

  @Test func `A start counts nothing again: what the page showed is typed, and its limit holds`() async throws {
    try await withConsole { console in
      try await console.settle(devices: 3)
      _ = try await Customers(console.database.pool).update(console.customer, CustomerUpdate(sendThreshold: 2))
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      _ = try await browser.post("/console/new-sendout", form())
      let check = try await browser.get("/console/sendouts/1/check")
      #expect(check.text.contains(#"name="counted" value="3""#), "\(check.text)")
      try await console.database.query(
        """
        WITH made AS (
          INSERT INTO contact (customer_id, original_id)
          SELECT $1::int8, 'late' || n FROM generate_series(1, 40) AS n RETURNING contact_id, original_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1::int8, (SELECT min(push_app_id) FROM push_app WHERE customer_id = $1::int8), contact_id, original_id,
               decode(md5(original_id), 'hex')
          FROM made
        """, console.customer.rawValue)
      // A form that does not say what it showed is counted.
      let unsaid = try await browser.post("/console/sendouts/1/check", [("devices", "3"), seen(check)])
      #expect(unsaid.status == 400 && unsaid.text.contains("Type 43 to send"), "\(unsaid.text)")
      let fields = [("devices", "3"), ("counted", "3"), ("maximumContacts", "13"), seen(check)]
      #expect(try await browser.post("/console/sendouts/1/check", fields).status == 303)
      let scheduled = try await console.sendout()
      #expect(scheduled.state == .scheduled && scheduled.maximumContacts == 13)
    }
  }

  @Test func `Where the customer wants approval, the author is told to ask, and a colleague sends`() async throws {
    try await withConsole { console in
      try await console.settle()
      _ = try await Customers(console.database.pool).update(console.customer, CustomerUpdate(approval: true))
      let author = try await console.browser(.marketer, "mia@example.com")
      _ = try await author.get("/console/new-sendout")
      _ = try await author.post("/console/new-sendout", form())
      let own = try await author.get("/console/sendouts/1/check")
      #expect(own.text.contains("a second person") && !own.text.contains("Send to 2 devices"), "\(own.text)")
      #expect(
        try await author.post("/console/sendouts/1/check", [("seen", try await console.sendout().digest ?? "")]).status
          == 403)
      #expect(try await console.sendout().state == .draft)
      let colleague = try await console.browser(.marketer, "noah@example.com")
      let check = try await colleague.get("/console/sendouts/1/check")
      #expect(check.text.contains("Send to 2 devices"))
      #expect(try await colleague.post("/console/sendouts/1/check", [seen(check)]).status == 303)
      let scheduled = try await console.sendout()
      #expect(scheduled.state == .scheduled && scheduled.writtenBy == UserID(1))
    }
  }

  @Test func `What was changed since a colleague looked at it is shown again, and not sent`() async throws {
    try await withConsole { console in
      try await console.settle()
      let author = try await console.browser(.marketer, "mia@example.com")
      _ = try await author.get("/console/new-sendout")
      _ = try await author.post("/console/new-sendout", form())
      let colleague = try await console.browser(.marketer, "noah@example.com")
      let check = try await colleague.get("/console/sendouts/1/check")
      _ = try await author.post("/console/sendouts/1/edit", form(["message.alert": "Something else"]))
      // So is a form that does not say what it showed.
      for fields in [[seen(check)], []] {
        let late = try await colleague.post("/console/sendouts/1/check", fields)
        #expect(late.status == 409 && late.text.contains("look at it again"), "\(late.text)")
        #expect(late.text.contains("Something else") && seen(late) != seen(check), "\(late.text)")
        #expect(try await console.sendout().state == .draft)
        if !fields.isEmpty { continue }
        #expect(try await colleague.post("/console/sendouts/1/check", [seen(late)]).status == 303)
      }
      #expect(try await console.sendout().state == .scheduled)
    }
  }

  @Test func `A test goes to one contact alone, and the audit log has who sent it`() async throws {
    try await withConsole { console in
      try await console.settle()
      try await console.database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::int8, 'me')", console.customer.rawValue)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let reply = try await browser.post("/console/new-sendout/test", form(["me": "me"]))
      #expect(reply.status == 200 && reply.text.contains("has no device in these apps"), "\(reply.text)")
      #expect(reply.text.contains(#"value="me""#))
      let stranger = try await browser.post("/console/new-sendout/test", form(["me": "nobody"]))
      #expect(stranger.status == 404)
      let log = try await console.database.query("SELECT action, user_id FROM audit_log WHERE action = 'message.send'")
      let senders = try log.map { row in try row.decode(String.self, Int64.self).1 }
      #expect(senders == [1])
    }
  }

  @Test func `Lists, a segment or a filter get a sendout without those who are excluded, and the draft shows them`()
    async throws
  {
    try await withConsole { console in
      try await console.settle(devices: 3)
      let customer = console.customer.rawValue
      try await console.database.query(
        "INSERT INTO list (customer_id, list_id, name) VALUES ($1, 7, 'news'), ($1, 8, 'shop')", customer)
      try await console.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, CASE first_name WHEN 'N1' THEN 7 ELSE 8 END, contact_id FROM contact
         WHERE first_name IN ('N1', 'N2')
        """)
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/segments/new")
      _ = try await browser.post("/console/segments/new", [("name", "Twos"), ("filter", "firstName ends with '2'")])
      let two = Filter.compare(.contact(.firstName), .endsWith("2"))
      let exclude = "firstName = 'N3'"
      let cases: [(fields: KeyValuePairs<String, String>, audience: Audience, devices: Int, shown: String)] = [
        (["audience": "list", "audience.listId": "7,8"], .lists([ListID(7), ListID(8)]), 2, "checked"),
        (["audience": "list", "audience.listId": "8"], .list(ListID(8)), 1, "checked"),
        (["audience": "segment", "audience.segmentId": "1"], .segment(SegmentID(1)), 1, "Twos (1)"),
        (["audience": "filter", "audience.filter": "firstName ends with '2'"], .filter(two), 1, "firstName ends with"),
        (
          ["audience": "all", "audience.exclude": exclude],
          .excluding(.all, try Filter(text: exclude)), 2, "firstName = "
        ),
      ]
      for (number, item) in cases.enumerated() {
        _ = try await browser.get("/console/new-sendout")
        let preview = try await browser.post("/console/new-sendout/preview", form(item.fields)).text
        let count = "<strong class=\"num\">\(item.devices)</strong> device"
        #expect(preview.contains(count), "\(item.fields): \(preview)")
        let saved = try await browser.post("/console/new-sendout", form(item.fields))
        #expect(saved.status == 303, "\(item.fields): \(saved.text)")
        let draft = try await console.sendout(Int64(number + 1))
        #expect(draft.audience == item.audience, "\(item.fields)")
        let edit = try await browser.get("/console/sendouts/\(number + 1)/edit").text
        #expect(edit.contains(item.shown) && edit.contains(count), "\(item.fields): \(edit)")
        // Saving it changes nothing.
        let values = ComposerForm.values(of: draft, apps: [])
        #expect(
          try ComposerForm(values: FormValues(values.flatMap { name, all in all.map { (name, $0) } }))
            .audienceRequest() == item.audience)
        let check = try await browser.get("/console/sendouts/\(number + 1)/check").text
        #expect(check.contains("Send to \(item.devices) device"), "\(item.fields): \(check)")
      }
      let check = try await browser.get("/console/sendouts/5/check")
      #expect(check.text.contains("Every contact, without those who meet"), "\(check.text)")
      #expect(try await browser.get("/console/sendouts/5").text.contains("without those who meet"))
      // Whom a draft goes to is part of what is approved.
      _ = try await browser.post("/console/sendouts/5/edit", form())
      let late = try await browser.post("/console/sendouts/5/check", [seen(check)])
      #expect(late.status == 409, "\(late.text)")
    }
  }

  @Test func `A page with a set of contacts leads to a new sendout with it`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      let page = try await browser.get("/console/new-sendout?filter=firstName%20%3D%20'N1'").text
      #expect(page.contains(#"<option value="filter" selected>"#), "\(page)")
      #expect(page.contains("<strong class=\"num\">1</strong> device"), "\(page)")
    }
  }

  @Test func `Texts of a sendout are text everywhere on its pages`() async throws {
    try await withConsole { console in
      try await console.settle()
      let canary = "<script>alert(1)</script>\"'"
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let fields = form(["name": canary, "message.alert": canary, "message.info": canary, "contact": canary])
      let preview = try await browser.post("/console/new-sendout/preview", fields)
      #expect(preview.status == 200 && !preview.text.contains("<script>alert"), "\(preview.text)")
      _ = try await browser.post("/console/new-sendout", fields)
      for page in ["edit", "check"] {
        let reply = try await browser.get("/console/sendouts/1/\(page)")
        #expect(reply.status == 200 && !reply.text.contains("<script>alert"), "\(page)")
        #expect(reply.text.contains("&lt;script&gt;alert(1)"), "\(page)")
      }
    }
  }

  @Test func `Ten thousand pasted ids fit into the form, and the page stays small`() async throws {
    try await withConsole { console in
      try await console.settle()
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/new-sendout")
      let ids = (1...10_000).map { "somebody.with.a.long.name.\($0)@mail.example.com" }.joined(separator: "\r\n")
      let fields = form(["audience": "ids", "audience.originalIds": ids])
      #expect(try await browser.post("/console/new-sendout/preview?part=live", fields).body.count < 60 * 1024)
      let saved = try await browser.post("/console/new-sendout", fields)
      #expect(saved.status == 303, "\(saved.text)")
      #expect(try await console.sendout().unknownOriginalIds == 10_000)
    }
  }
}
