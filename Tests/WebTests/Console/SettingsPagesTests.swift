import Operations
import Registry
import Subscriptions
import Support
import Testing
import Wire

@testable import Web

@Suite struct SettingsPagesTests {
  @Test func `A key is shown once, with the line that uses it`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.owner)
      #expect(try await browser.get("/console/new-key").status == 200)
      let made = try await browser.post("/console/keys", ["name": "back <b> end", "scope": "admin"])
      #expect(made.status == 200 && made.header("Cache-Control") == "no-store")
      let token = try #require(made.text.firstMatch(of: #/pck_[A-Za-z0-9_-]+/#)).output
      #expect(made.text.contains("Authorization: Bearer \(token)"))
      #expect(try await managed.send("GET", "/api/v1/keys", key: String(token)).status == 200)
      let list = try await browser.get("/console/keys")
      #expect(list.shows("back <b> end") && !list.text.contains(token))
    }
  }

  @Test func `An operator makes no key that opens what the console keeps from operators`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      for (scope, status) in [("admin", 403), ("backend", 403), ("send", 200), ("device", 200)] {
        #expect(try await browser.post("/console/keys", ["name": "app", "scope": scope]).status == status, "\(scope)")
      }
    }
  }

  @Test func `A key that is refused keeps what was typed, with the sentence at its field`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let refused = try await browser.post("/console/keys", ["name": "for the tree", "scope": "datasync"])
      #expect(refused.status == 400 && refused.shows("for the tree"))
      #expect(refused.text.contains("id=\"f-appId-error\""))
    }
  }

  @Test func `The question before a key is revoked says which keys it had made`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"child","scope":"backend"}"#)
      let child = try #require(try made.json.integer("keyId"))
      #expect(try await browser.get("/console/keys/1/revoke").shows("stay valid: \(child) (child)"))
      #expect(
        try await browser.get("/console/keys/1/revoke?withCreated=true").shows("Revoked with it: \(child) (child)"))
      let revoked = try await browser.post("/console/keys/1/revoke", ["withCreated": "true"])
      #expect(revoked.status == 303)
      #expect(try await managed.server.send("GET", "/api/v1/keys", key: managed.key).status == 401)
      #expect(try await AccessKeys(managed.database.pool).list(managed.customer).allSatisfy { $0.revokedAt != nil })
    }
  }

  @Test func `The customer's settings are saved, and a refused number keeps all that was typed`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let typed: KeyValuePairs = [
        "timeZone": "Europe/Amsterdam", "sendThreshold": "500", "linkMaxAgeDays": "90", "retentionDays": "0",
        "devicesPerContact": "0",
      ]
      let refused = try await browser.post("/console/settings", typed)
      #expect(refused.status == 400 && refused.text.contains("id=\"f-devicesPerContact-error\""))
      #expect(refused.shows("Europe/Amsterdam"))
      let saved = try await browser.post(
        "/console/settings",
        [
          "timeZone": "Europe/Amsterdam", "sendThreshold": "500", "linkMaxAgeDays": "90", "retentionDays": "0",
          "devicesPerContact": "20", "approval": "true",
        ])
      #expect(saved.status == 303)
      let customer = try await managed.send("GET", "/api/v1/customer").json
      #expect(customer.string("timeZone") == "Europe/Amsterdam" && customer["approval"] == true)
      #expect(customer.integer("devicesPerContact") == 20 && customer["retentionDays"] == nil)
      #expect(try await browser.get("/console/settings").shows("Europe/Amsterdam"))
    }
  }

  @Test func `The audit log is filtered by who, what and when, and shows what changed`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      _ = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"Food"}"#)
      _ = try await browser.post("/console/keys", ["name": "by hand", "scope": "send"])
      _ = try await managed.send("PATCH", "/api/v1/customer", json: #"{"devicesPerContact":7}"#)
      let all = try await browser.get("/console/audit")
      for action in ["list.add", "key.add", "customer.change", "user.add"] {
        #expect(all.text.contains(action) == (action != "user.add"), "\(action)")
      }
      #expect(all.text.contains("<del dir=\"auto\">50</del>") && all.text.contains("<ins dir=\"auto\">7</ins>"))
      #expect(all.text.contains("mia@example.com"))

      func actions(_ query: String) async throws -> [String?]? {
        try await managed.send("GET", "/api/v1/audit?\(query)").json.array("items")?.map { $0.string("action") }
      }
      #expect(try await actions("user=1") == ["key.add"])
      #expect(try await actions("key=1") == ["customer.change", "list.add"])
      #expect(try await actions("action=list.") == ["list.add"])
      #expect(try await actions("since=2999-01-01T00:00:00Z") == [])
      #expect(try await managed.send("GET", "/api/v1/audit?since=yesterday").status == 400)
      let filtered = try await browser.get("/console/audit?action=key.")
      #expect(filtered.text.contains("key.add") && !filtered.text.contains("list.add"))
    }
  }

  @Test func `The difference of a change has a row for each field that differs`() {
    let rows = AuditDifference.rows(
      ["name": "A", "kept": 1, "gone": true], ["name": "B", "kept": 1, "new": ["x", "y"]])
    #expect(rows.map { $0["field"] as? String } == ["gone", "name", "new"])
    #expect(rows.map { $0["before"] as? String } == ["true", "A", nil])
    #expect(rows.map { $0["after"] as? String } == [nil, "B", #"["x","y"]"#])
    #expect(AuditDifference.rows(nil, ["a": 1]).count == 1 && AuditDifference.rows(nil, nil).isEmpty)
  }

  @Test func `A line that uses a key goes to where its scope is served`() async throws {
    try await withConsole { console in
      let browser = try await console.browser()
      _ = try await browser.get("/console/account")
      for (scope, address) in [
        ("device", "\(WholeWebServer.publicURL)/rest/"), ("backend", "\(WholeWebServer.publicURL)/rest/"),
        ("gateway", "\(WholeWebServer.publicURL)/gateway.ashx"), ("send", "http://127.0.0.1/api/v1/messages"),
        ("admin", "http://127.0.0.1/api/v1/apps"),
      ] {
        let made = try await browser.post("/console/keys", ["name": "Key of \(scope)", "scope": scope])
        #expect(made.status == 200 && made.shows(address), "\(scope): \(made.text)")
      }
    }
  }

  @Test func `An owner invites a user, whose link is shown once, and changes and disables them`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let invited = try await browser.post(
        "/console/users", ["email": "lars@example.com", "name": "Lars", "role": "analyst"])
      #expect(invited.status == 200 && invited.header("Cache-Control") == "no-store")
      #expect(invited.text.contains("https://push.example.com/console/welcome/"))
      let users = try await browser.get("/console/users")
      #expect(users.text.contains("lars@example.com") && !users.text.contains("/console/welcome/"))

      let changed = try await browser.post(
        "/console/users/2", ["name": "Lars", "role": "marketer", "seesPersonal": "false"])
      #expect(changed.status == 303)
      let user = try await managed.send("GET", "/api/v1/users/2").json
      #expect(user.string("role") == "marketer" && user["seesPersonal"] == true)
      #expect(try await browser.get("/console/users/2/disable").shows("Lars sees nothing of this customer"))
      #expect(try await browser.post("/console/users/2/disable").status == 303)
      #expect(try await managed.send("GET", "/api/v1/users/2").json["disabled"] == true)
      // Nobody locks themselves out.
      #expect(try await browser.post("/console/users/1/disable").status == 409)
    }
  }

  @Test func `Users are for owners, and keys for operators too`() async throws {
    try await withManagementServer { managed in
      let worker = try await managed.browser(.operator)
      #expect(try await worker.get("/console/users").status == 403)
      #expect(try await worker.post("/console/users", ["email": "a@example.com", "role": "owner"]).status == 403)
      let keys = try await worker.get("/console/keys")
      #expect(keys.status == 200 && !keys.text.contains("/console/users"))
      let marketer = try await managed.browser(.marketer, "max@example.com")
      for path in ["/console/keys", "/console/settings", "/console/audit", "/console/users", "/console/sms"] {
        #expect(try await marketer.get(path).status == 403, "\(path)")
      }
    }
  }

  @Test func `Channels are set up by their pages, and secrets are shown once`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      try await managed.addApp()
      for path in ["/console/sms", "/console/softphones", "/console/hybrid", "/console/data-trees"] {
        let empty = try await browser.get(path)
        #expect(empty.status == 200 && empty.text.contains("pushcart "), "\(path)")
      }

      let sms = try await browser.post(
        "/console/sms", ["provider": "cm", "sender": "Acme", "productToken": "00000000-0000-4000-8000-000000000000"])
      #expect(sms.status == 303)
      let shown = try await browser.get("/console/sms")
      #expect(shown.text.contains("/sms/status/") && !shown.text.contains("00000000-0000-4000-8000-000000000000"))
      #expect(try await browser.post("/console/sms/optouts", ["number": "none"]).status == 400)

      let hybrid = try await browser.post("/console/hybrid", ["appId": "com.acme.app", "sender": "Acme"])
      #expect(hybrid.status == 200 && hybrid.header("Cache-Control") == "no-store")
      #expect(try await browser.get("/console/hybrid").text.contains("com.acme.app"))
      let app = try await browser.get("/console/hybrid/com.acme.app")
      #expect(app.status == 200 && app.shows("App key"))
      let changed = try await browser.post(
        "/console/hybrid/com.acme.app",
        ["messageType": "critical", "sender": "Acme", "pinDigits": "6", "clockZone": "UTC", "pinsPerHour": "10"])
      #expect(changed.status == 303)
      #expect(try await managed.send("GET", "/api/v1/hybrid/com.acme.app").json.integer("pinDigits") == 6)
      #expect(try await browser.get("/console/hybrid/com.acme.app/phones").status == 200)
      #expect(try await browser.get("/console/hybrid/com.acme.app/phones?number=none").status == 400)

      let tree = try await browser.post("/console/data-trees", ["app": "com.acme.app"])
      #expect(tree.status == 200 && tree.text.contains("pck_") && tree.header("Cache-Control") == "no-store")
      #expect(try await browser.get("/console/data-trees").text.contains("/datasync/v2/com.acme.app/data/"))
      try await manageWebhooks(browser, managed)
      #expect(try await browser.post("/console/softphones", ["field.selector": "acc"]).status == 303)
      let customer = try await managed.send("GET", "/api/v1/customer").json
      #expect(customer["reporterFields"]?.string("selector") == "acc")
    }
  }

  private func manageWebhooks(_ browser: ConsoleBrowser, _ managed: ManagementServer) async throws {
    let path = "/console/data-trees/com.acme.app/webhooks"
    #expect(try await browser.get(path).text.contains("pushcart datasync webhook set com.acme.app"))
    let uri = "https://hooks.example.com/changes"
    let added = try await browser.post(
      path, ["name": "orders & more", "uris": "\(uri)?a=b\r\n\r\n", "token": "bar", "enabled": "true"])
    #expect(added.status == 303, "\(added.text)")
    let again = try await browser.post(path, ["name": "orders & more", "uris": uri, "enabled": "true"])
    #expect(again.status == 400 && again.shows("Name is that of another webhook."))
    let wrong = try await browser.post(path, ["name": "other", "uris": "http://hooks.example.com", "enabled": "true"])
    #expect(wrong.status == 400 && wrong.text.contains(#"value="other""#) && wrong.text.contains("has-error"))
    let list = try await browser.get(path)
    #expect(list.shows("orders & more") && list.text.contains(uri) && !list.text.contains("a=b"))

    let one = "\(path)/orders%20%26%20more"
    #expect(try await browser.get(one).shows("A token is sent."))
    // The address is shown without its query, and keeps it.
    #expect(try await browser.post(one, ["uris": uri]).status == 303)
    let store = WebhookStore(managed.database.pool, vault: managed.vault)
    let changed = try #require(
      try await store.settings(managed.customer, app: "com.acme.app").destinations["orders & more"])
    #expect(changed.destinationUris.map(\.uri) == ["\(uri)?a=b"] && !changed.enabled)
    #expect(changed.headers == [WebhookDestination.tokenHeader: "bar"])
    #expect(try await browser.post(one, ["uris": uri, "withoutToken": "true"]).status == 303)
    #expect(try await browser.get(one).shows("No token is sent."))
    #expect(try await browser.get("\(one)/remove").shows("All subscriptions to orders & more end"))
    #expect(try await browser.post("\(one)/remove").status == 303)
    #expect(try await browser.get(one).status == 404)
  }
}
