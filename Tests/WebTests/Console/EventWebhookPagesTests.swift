import Postgres
import Support
import Testing
import Wire

@testable import Operations
@testable import Web

@Suite struct EventWebhookPagesTests {
  private static let url = "https://hooks.example.com/of-acme"

  /// Adds webhook 1 by its form, and gives the page with its secret.
  @discardableResult
  private func add(_ browser: ConsoleBrowser, query: String = "", form: String = "standard") async throws -> TestReply {
    let events = form == "carma" ? ["push.opened"] : ["sendout.finished", "push.failed"]
    let fields = [("url", Self.url + query), ("form", form), ("description", "Data <b>warehouse")]
    return try await browser.post("/console/webhooks", fields + events.map { ("events", $0) })
  }

  /// Makes a delivery that tells of suppressions of contact 1.
  /// - Returns: its number.
  private func deliver(
    _ managed: ManagementServer, items: Int = 1, state: String = "delivered", status: Int32? = nil
  ) async throws -> Int64 {
    try await managed.database.query(
      """
      WITH made AS (
        INSERT INTO webhook_delivery (customer_id, webhook_id, message_id, event, items, state, attempts, status, problem, tried_at)
        VALUES ($1::bigint, 1, gen_random_uuid(), 'contact.suppressed', $2::int4, $3::text, 1, $4::int4, 'HTTP' || $4::int4, now())
        RETURNING delivery_id),
      told AS (
        INSERT INTO webhook_event (customer_id, webhook_id, event, contact_id, subject_id, reason, delivery_id)
        SELECT $1::bigint, 1, 'contact.suppressed', 1, n, 'marketing', delivery_id FROM made, generate_series(1, $2::int4) AS n)
      SELECT delivery_id FROM made
      """, managed.customer.rawValue, Int32(items), state, status)[0].decode(Int64.self)
  }

  private func addContact(_ managed: ManagementServer) async throws {
    try await managed.database.query(
      "INSERT INTO contact (customer_id, contact_id, original_id) VALUES ($1::bigint, 1, 'lars@example.com')",
      managed.customer.rawValue)
  }

  @Test func `A webhook is added by its form, and its secret is shown once with how to verify it`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let empty = try await browser.get("/console/webhooks")
      #expect(empty.status == 200 && empty.shows("pushcart webhook add --customer \(managed.customer)"))
      let form = try await browser.get("/console/new-webhook")
      for event in WebhookEvent.allCases {
        #expect(form.text.contains("value=\"\(event.rawValue)\"") && form.shows(event.meaning), "\(event)")
      }
      let made = try await add(browser)
      #expect(made.status == 200 && made.header("Cache-Control") == "no-store", "\(made.text)")
      let secret = try #require(made.text.firstMatch(of: #/whsec_[A-Za-z0-9+\/=]+/#)).output
      #expect(made.shows("webhook-signature") && made.shows("printf '%s' '\(secret.dropFirst(6))'"))
      let webhook = try await managed.send("GET", "/api/v1/webhooks/1").json
      #expect(webhook["events"] == ["sendout.finished", "push.failed"] && webhook.string("form") == "standard")
      for path in ["/console/webhooks", "/console/webhooks/1"] {
        let page = try await browser.get(path)
        #expect(page.shows(Self.url) && page.shows("Data <b>warehouse") && !page.text.contains("whsec_"), "\(path)")
        #expect(
          page.shows("/api/v1/webhooks") && page.shows("FROM webhook"), "\(path)")
      }
    }
  }

  @Test(arguments: [
    ([("url", "http://hooks.example.com/"), ("events", "push.failed")], "f-url"),
    ([("url", "https://10.0.0.1/"), ("events", "push.failed")], "f-url"),
    ([("url", url)], "f-events"),
    ([("url", url), ("events", "push.failed"), ("form", "carma")], "f-events"),
  ])
  func `What is refused stands at its field, with all that was typed`(
    fields: [(String, String)], id: String
  ) async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let refused = try await browser.post("/console/webhooks", fields + [("description", "ours \"only\"")])
      #expect(refused.status == 400 && refused.text.contains("id=\"\(id)-error\""), "\(refused.text)")
      #expect(refused.shows("ours \"only\"") && refused.shows(fields[0].1))
      #expect(refused.text.contains("value=\"push.failed\" checked") == fields.contains { $0.1 == "push.failed" })
      #expect(try await managed.send("GET", "/api/v1/webhooks").json.array("items") == [])
    }
  }

  @Test func `A change keeps what the shown address lacks, and another address replaces it`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser, query: "?key=secretive")
      func stored() async throws -> String {
        try await managed.database.query("SELECT url FROM webhook")[0].decode(String.self)
      }
      let changed = try await browser.post(
        "/console/webhooks/1", ["url": Self.url, "events": "push.opened", "events": "device.invalidated"])
      #expect(changed.status == 303, "\(changed.text)")
      #expect(try await stored() == Self.url + "?key=secretive")
      let webhook = try await managed.send("GET", "/api/v1/webhooks/1").json
      #expect(webhook["events"] == ["push.opened", "device.invalidated"] && webhook["description"] == nil)
      let refused = try await browser.post(
        "/console/webhooks/1", ["url": "https://10.0.0.1/", "events": "push.opened"])
      #expect(
        refused.status == 400 && refused.text.contains("id=\"f-url-error\"") && refused.shows("https://10.0.0.1/"))
      _ = try await browser.post("/console/webhooks/1", ["url": Self.url + "/b", "events": "push.opened"])
      #expect(try await stored() == Self.url + "/b")
    }
  }

  @Test func `A webhook in Carma's form offers Carma's events alone`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser, form: "carma")
      let page = try await browser.get("/console/webhooks/1")
      #expect(page.text.contains("value=\"push.opened\" checked") && page.text.contains("value=\"contact.suppressed\""))
      #expect(!page.text.contains("value=\"push.failed\""))
    }
  }

  @Test func `A new secret is asked about and shown once, and both sign for a day`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let first = try #require(try await add(browser).text.firstMatch(of: #/whsec_[A-Za-z0-9+\/=]+/#)).output
      #expect(try await browser.get("/console/webhooks/1/rotate").shows("For 24 hours both sign"))
      let rotated = try await browser.post("/console/webhooks/1/rotate")
      let second = try #require(rotated.text.firstMatch(of: #/whsec_[A-Za-z0-9+\/=]+/#)).output
      #expect(rotated.status == 200 && rotated.header("Cache-Control") == "no-store" && first != second)
      #expect(rotated.shows("The one before signs, too, until"))
      #expect(try await browser.get("/console/webhooks/1").shows("two secrets until"))
      #expect(try await browser.get("/console/webhooks/1/rotate").shows("signs nothing any more"))
    }
  }

  @Test func `A webhook is disabled, enabled and deleted, each after what it does was said`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      _ = try await deliver(managed, state: "waiting", status: 503)
      #expect(try await browser.get("/console/webhooks/1").shows("Trying again"))
      #expect(try await browser.get("/console/webhooks/1/disable").shows("is not told later"))
      #expect(try await browser.post("/console/webhooks/1/disable").status == 303)
      let disabled = try await browser.get("/console/webhooks/1")
      #expect(disabled.shows("Disabled") && !disabled.text.contains("action=\"/console/webhooks/1/test\""))
      #expect(disabled.shows("Until it is enabled") && !disabled.shows("Trying again"))
      // A form of before is refused with a sentence.
      let test = try await browser.post("/console/webhooks/1/test")
      #expect(test.status == 400 && test.shows("enable it first"), "\(test.text)")
      #expect(try await browser.post("/console/webhooks/1/enable").status == 303)
      #expect(try await managed.send("GET", "/api/v1/webhooks/1").json["enabled"] == true)
      let asked = try await browser.get("/console/webhooks/1/remove")
      #expect(asked.shows("\(Self.url) is told nothing any more"))
      #expect(try await browser.post("/console/webhooks/1/remove").status == 303)
      #expect(try await browser.get("/console/webhooks/1").status == 404)
    }
  }

  @Test func `A test leads to its delivery, and a redelivery has the same id`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      let test = try await browser.post("/console/webhooks/1/test")
      let path = try #require(test.header("Location"))
      #expect(test.status == 303 && path.hasPrefix("/console/webhooks/1/deliveries/"), "\(test.text)")
      func messageID() async throws -> Substring? {
        try await browser.get(path).text.firstMatch(of: #/msg_[0-9a-f-]{36}/#)?.output
      }
      let waiting = try await browser.get(path)
      #expect(waiting.shows("Waiting") && waiting.shows("\"type\":") && waiting.shows("\"webhook.test\""))
      #expect(waiting.shows("/api/v1/webhooks/1/deliveries/") && waiting.text.contains("data-live-page"))
      let first = try await messageID()
      try await managed.database.query(
        "UPDATE webhook_delivery SET state = 'failed', status = 410, problem = 'HTTP410'")
      let failed = try await browser.get(path)
      #expect(failed.shows("Given up") && failed.shows("It answered 410.") && !failed.text.contains("data-live-page"))
      #expect(try await browser.post("\(path)/redeliver").status == 303)
      let again = try await messageID()
      #expect(first != nil && first == again)
      #expect(try await browser.get(path).shows("Trying again"))
      #expect(try await browser.get("/console/webhooks").shows("webhook.test"))
    }
  }

  @Test func `Deliveries are listed by key, the newest first, with what the address answered`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      var numbers: [Int64] = []
      for _ in 1...24 { numbers.append(try await deliver(managed)) }
      numbers.append(try await deliver(managed, state: "waiting", status: 503))
      let first = try await browser.get("/console/webhooks/1")
      #expect(first.shows("Trying again") && first.shows("It answered 503."))
      func lists(_ page: TestReply) -> [Int64] {
        page.text.matches(of: #/href="\/console\/webhooks\/1\/deliveries\/(\d+)"/#).compactMap { Int64($0.output.1) }
      }
      #expect(lists(first) == Array(numbers.reversed().prefix(20)))
      let next = try #require(first.text.firstMatch(of: #/href="([^"]+)" rel="next"/#)).output.1
      #expect(lists(try await browser.get(String(next))) == Array(numbers.prefix(5).reversed()))
    }
  }

  @Test func `Whoever does not see personal fields sees a body without original ids`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      try await addContact(managed)
      let path = "/console/webhooks/1/deliveries/\(try await deliver(managed))"
      let console = ConsoleServer(
        server: managed.server, database: managed.database, vault: managed.vault, customer: managed.customer)
      let blind = try await console.browser(.operator, "olle@example.com", seesPersonal: false)
      for (browser, isShown) in [(browser, true), (blind, false)] {
        let page = try await browser.get(path)
        #expect(page.status == 200 && page.shows("\"suppressionId\"") && page.shows("\"contactId\""), "\(page.text)")
        #expect(page.text.contains("lars@example.com") == isShown)
        #expect(page.shows("without original ids") != isShown)
      }
    }
  }

  @Test func `Whoever does not see personal fields has none posted elsewhere`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      let console = ConsoleServer(
        server: managed.server, database: managed.database, vault: managed.vault, customer: managed.customer)
      let blind = try await console.browser(.operator, "olle@example.com", seesPersonal: false)
      _ = try await blind.get("/console/account")
      for (path, event, status) in [
        ("/console/webhooks", "push.opened", 403), ("/console/webhooks", "contact.suppressed", 403),
        ("/console/webhooks/1", "push.failed", 403), ("/console/webhooks", "sendout.finished", 200),
      ] {
        let reply = try await blind.post(path, ["url": "https://elsewhere.example.com/", "events": event])
        #expect(reply.status == status, "\(path) \(event): \(reply.text)")
      }
      let webhooks = try await managed.send("GET", "/api/v1/webhooks").json.array("items") ?? []
      #expect(webhooks.map { $0["url"] } == [.string(Self.url), "https://elsewhere.example.com/"])
      _ = try await blind.get("/console/account")
      #expect(try await blind.post("/console/webhooks/1/disable").status == 303)
    }
  }

  @Test func `Carma's contact id, which is an original id, is personal too`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser, form: "carma")
      try await addContact(managed)
      let path = "/console/webhooks/1/deliveries/\(try await deliver(managed))"
      let console = ConsoleServer(
        server: managed.server, database: managed.database, vault: managed.vault, customer: managed.customer)
      let blind = try await console.browser(.operator, "olle@example.com", seesPersonal: false)
      let whole = try await browser.get(path)
      #expect(whole.shows("Opt out") && whole.text.contains("lars@example.com"), "\(whole.text)")
      let part = try await blind.get(path)
      #expect(part.shows("Opt out") && !part.text.contains("lars@example.com"))
    }
  }

  @Test func `A long body shows its first items, and says how many follow`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      try await addContact(managed)
      let page = try await browser.get("/console/webhooks/1/deliveries/\(try await deliver(managed, items: 500))")
      #expect(page.shows("And 480 more items") && page.body.count < 60 * 1024, "\(page.body.count)")
      #expect(page.text.matches(of: /suppressionId/).count == 20)
    }
  }

  @Test func `What is erased is not in a body any more`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      try await addContact(managed)
      let path = "/console/webhooks/1/deliveries/\(try await deliver(managed))"
      try await managed.database.query("DELETE FROM contact")
      let page = try await browser.get(path)
      #expect(page.status == 200 && !page.text.contains("lars@example.com") && page.shows("\"contactId\""))
    }
  }

  @Test func `A disabled webhook is an alarm with its fix, and one that takes nothing says so`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.owner)
      try await add(browser)
      #expect(try await browser.get("/console").shows("every address answers"))
      try await managed.database.query(
        "UPDATE webhook SET first_failed_at = now() - interval '2 hours'")
      let failing = try await browser.get("/console/webhooks")
      #expect(failing.shows("Takes nothing") && failing.shows("Webhook 1 takes nothing"))
      try await managed.database.query(
        "UPDATE webhook SET enabled = false, disabled_reason = 'It answered 410, <gone>.'")
      let overview = try await browser.get("/console")
      #expect(overview.shows("Webhook 1, \(Self.url), is disabled") && overview.shows("It answered 410, <gone>."))
      #expect(overview.shows("pushcart webhook update 1 --enabled true --customer \(managed.customer)"))
      #expect(
        overview.text.contains("href=\"/console/webhooks/1\"")
          && !overview.text.contains("href=\"/console/data-trees\""))
      for path in ["/console/webhooks", "/console/webhooks/1"] {
        let page = try await browser.get(path)
        #expect(
          page.shows("It answered 410, <gone>.") && page.text.contains("action=\"/console/webhooks/1/enable\""),
          "\(path)")
      }
      #expect(try await browser.post("/console/webhooks/1/enable").status == 303)
      #expect(try await browser.get("/console").shows("every address answers"))
      // Marketers see the alarm, but no page of webhooks.
      try await managed.database.query("UPDATE webhook SET enabled = false, disabled_reason = 'It answered 410.'")
      let marketer = try await managed.browser(.marketer, "max@example.com")
      let seen = try await marketer.get("/console")
      #expect(seen.shows("It answered 410.") && !seen.text.contains("href=\"/console/webhooks/1\""))
    }
  }

  @Test func `Webhooks of another customer are not there`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await add(browser)
      let delivery = try await deliver(managed)
      let console = ConsoleServer(
        server: managed.server, database: managed.database, vault: managed.vault, customer: managed.customer)
      let other = try await console.browser(.owner, "eve@example.com", of: managed.other)
      _ = try await other.get("/console/account")
      #expect(try await !other.get("/console/webhooks").shows(Self.url))
      let one = "/console/webhooks/1"
      for path in [one, "\(one)/deliveries/\(delivery)", "\(one)/rotate", "\(one)/remove"] {
        #expect(try await other.get(path).status == 404, "\(path)")
      }
      _ = try await other.get("/console/account")
      for path in ["enable", "disable", "rotate", "test", "remove", "deliveries/\(delivery)/redeliver"] {
        #expect(try await other.post("\(one)/\(path)").status == 404, "\(path)")
      }
      #expect(try await managed.send("GET", "/api/v1/webhooks/1").json["enabled"] == true)
    }
  }
}
