import Operations
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct AppPagesTests {
  @Test func `The form of a new app says of each credential where it comes from`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser(.operator)
      let choice = try await browser.get("/console/new-app")
      #expect(choice.status == 200)
      for type in AppType.ofApps {
        #expect(choice.text.contains("/console/new-app/\(type)"))
        let page = try await browser.get("/console/new-app/\(type)")
        #expect(page.status == 200, "\(type)")
        for field in type.service.fields {
          #expect(!field.label.isEmpty && !field.origin.isEmpty, "\(type) \(field.name)")
          #expect(page.text.contains("name=\"\(field.name)\""), "\(type) \(field.name)")
          #expect(page.shows(field.label) && page.shows(field.origin), "\(type) \(field.name)")
        }
      }
    }
  }

  @Test func `An app is added by its form, and its push service is asked at once`() async throws {
    try await withSimulator { simulator in
      try await withManagementServer(apns: .init(simulator)) { managed in
        let browser = try await managed.browser(.operator)
        let sample = APNsCredentials.sample
        let added = try await browser.post(
          "/console/new-app/ios",
          [
            "name": "Acme <i>", "appId": " com.acme.app ", "kind": "app", "teamId": sample.teamID,
            "keyId": sample.keyID, "signingKey": sample.signingKey,
          ])
        #expect(added.status == 303 && added.header("Location") == "/console/apps/1")
        let page = try await browser.get("/console/apps/1")
        #expect(page.status == 200 && page.shows("Acme <i>") && !page.text.contains("Acme <i>"))
        #expect(page.text.contains("badge ok") && page.text.contains("Accepted"))
        #expect(!page.text.contains("BEGIN PRIVATE KEY"))
        let list = try await browser.get("/console/apps")
        #expect(list.text.contains("/console/apps/1") && list.shows("Accepted"))
        let app = try await managed.send("GET", "/api/v1/apps/1").json
        #expect(app["lastCheck"]?.array("checks")?.map { $0.string("verdict") } == ["accepted", "accepted"])
      }
    }
  }

  @Test func `Without scripts a credential's file is sent with the form, and counts before a text`() async throws {
    try await withSimulator { simulator in
      try await withManagementServer(apns: .init(simulator)) { managed in
        let browser = try await managed.browser(.operator)
        let form = try await browser.get("/console/new-app/ios").text
        #expect(
          form.contains(#"enctype="multipart/form-data""#) && form.contains(#"<input type="file" name="signingKey""#))
        let sample = APNsCredentials.sample
        let fields = [("name", "Acme"), ("appId", "com.acme.app"), ("teamId", sample.teamID), ("keyId", sample.keyID)]
        let wrong = try await browser.upload(
          "/console/new-app/ios", fields + [("signingKey", "")], files: [("signingKey", "no key")])
        #expect(wrong.status == 400 && wrong.text.contains("id=\"f-signingKey-error\"") && wrong.shows("no key"))
        let added = try await browser.upload(
          "/console/new-app/ios", fields + [("signingKey", "old text")],
          files: [("signingKey", sample.signingKey), ("developmentCertificate", "")])
        #expect(added.status == 303 && added.header("Location") == "/console/apps/1", "\(added.text)")
        #expect(try await browser.get("/console/apps/1").text.contains("badge ok"))
      }
    }
  }

  @Test func `What the push service refuses stands at the field that it concerns`() async throws {
    try await withSimulator { simulator in
      try await withManagementServer(apns: .init(simulator)) { managed in
        let browser = try await managed.browser()
        let fresh = APNsCredentials.fresh()
        let added = try await browser.post(
          "/console/new-app/ios",
          [
            "name": "Acme", "appId": "com.acme.app", "teamId": fresh.teamID, "keyId": fresh.keyID,
            "signingKey": fresh.signingKey,
          ])
        #expect(added.status == 303 && added.header("Location") == "/console/apps/1/change")
        let page = try await browser.get("/console/apps/1/change")
        #expect(page.status == 200 && page.text.contains("id=\"f-signingKey-error\""))
        #expect(page.text.contains("InvalidProviderToken"))
      }
    }
  }

  @Test func `A file that belongs elsewhere is named at its field, and nothing that was typed is lost`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let reply = try await browser.post(
        "/console/new-app/firebase",
        [
          "name": "Acme for Android", "appId": "com.acme.app",
          "serviceAccount": #"{"project_info":{"project_number":"1"},"client":[]}"#,
        ])
      #expect(reply.status == 400)
      #expect(reply.shows("This is a google-services.json of Firebase"))
      #expect(reply.text.contains("id=\"f-serviceAccount-error\"") && reply.shows("Acme for Android"))
      #expect(try await managed.send("GET", "/api/v1/apps").json.array("items")?.isEmpty == true)
    }
  }

  @Test func `An app is removed with its devices, which the question counts first`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let id = try await managed.addApp()
      for token in ["aa", "bb"] {
        let put = try await managed.send(
          "PUT", "/rest/\(managed.customer)/apps/com.acme.app/pushdevices",
          json: #"{"originalId":"me","deviceInfo":[{"devicetoken":"\#(String(repeating: token, count: 32))"}]}"#)
        #expect(put.status == 200)
      }
      #expect(try await browser.get("/console/apps/\(id)/remove").shows("its 2 devices"))
      let removed = try await browser.post("/console/apps/\(id)/remove")
      #expect(removed.status == 303 && removed.header("Location") == "/console/apps")
      #expect(try await browser.get("/console/apps/\(id)").status == 404)
      let rows = try await managed.database.query("SELECT count(*) FROM device WHERE customer_id = 1")
      #expect(try rows[0].decode(Int.self) == 0)
    }
  }

  @Test func `An app that a sendout names is not removed`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let id = try await managed.addApp()
      let sendout = try await managed.send(
        "POST", "/api/v1/sendouts",
        json: #"{"name":"Offer","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"Hi"}}"#)
      #expect(sendout.status == 201)
      let refused = try await browser.post("/console/apps/\(id)/remove")
      #expect(refused.status == 409 && refused.shows("Sendout 1 names this app"))
      #expect(try await managed.send("DELETE", "/api/v1/apps/\(id)").status == 409)
    }
  }

  @Test func `An app that a trigger or Hybrid Messaging needs is not removed, and the refusal names it`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let trigger = try await managed.send(
        "POST", "/api/v1/triggers", json: #"{"name":"Shipped","appId":"com.acme.app","message":{"alert":"Hi"}}"#)
      #expect(trigger.status == 201)
      let number = try trigger.json.integer("triggerId") ?? 0
      func remove(_ id: Int64) async throws -> TestReply { try await managed.send("DELETE", "/api/v1/apps/\(id)") }
      let refused = try await remove(id)
      #expect(refused.status == 409 && refused.error?.hasPrefix("Trigger \(number) goes to this app.") == true)
      // With another platform the trigger has where to go.
      let android = try await managed.send(
        "POST", "/api/v1/apps", json: #"{"name":"Acme","appId":"com.acme.app","appType":2}"#)
      let second = try android.json.integer("pushAppId") ?? 0
      #expect(try await remove(second).status == 200)
      #expect(try await remove(id).status == 409)
      #expect(try await managed.send("DELETE", "/api/v1/triggers/\(number)").status == 200)
      let hybrid = try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#)
      #expect(hybrid.status == 201)
      let needed = try await remove(id)
      #expect(needed.status == 409 && needed.error?.hasPrefix("Hybrid Messaging is enabled for this app") == true)
      #expect(try await managed.send("GET", "/api/v1/apps/\(id)").status == 200)
    }
  }

  @Test func `An identity secret is shown once, by a reply that nobody keeps`() async throws {
    try await withManagementServer { managed in
      let browser = try await managed.browser()
      let id = try await managed.addApp()
      let made = try await browser.post("/console/apps/\(id)/identity")
      #expect(made.status == 200 && made.header("Cache-Control") == "no-store" && made.text.contains("pis_"))
      #expect(try await !browser.get("/console/apps/\(id)").text.contains("pis_"))
    }
  }

  @Test func `Devices are counted by day for each app, once`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      try await managed.database.query(
        """
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, sandbox)
        SELECT 1, 1, n, n::text, sha256(n::text::bytea), n % 4 = 0 FROM generate_series(1, 1200) AS n
        """)
      for _ in 0..<2 {
        try await managed.database.pool.transaction { try await DeviceCounts($0).countDay(managed.customer) }
      }
      let page = try await managed.send("GET", "/api/v1/device-counts?pushAppId=\(id)").json
      let count = try #require(page.array("items")?.first)
      #expect(count.integer("devices") == 1000 && count["areMore"] == true)
      #expect(count.array("days")?.map { $0.integer("devices") } == [900])
      #expect(count.array("days")?.map { $0.integer("sandboxDevices") } == [300])
      let browser = try await managed.browser()
      #expect(try await browser.get("/console/apps").text.contains("1,200"))
      #expect(try await browser.get("/console/apps/\(id)").text.contains("<svg"))
    }
  }

  @Test func `A customer without devices is counted once a day, too`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let counting = CountingDatabase(managed.database.pool)
      for _ in 0..<3 { try await DeviceCounts(counting).countDay(managed.customer) }
      #expect(counting.count(of: "device.count_day") == 1)
      let page = try await managed.send("GET", "/api/v1/device-counts?pushAppId=\(id)").json
      #expect(page.array("items")?.first?.array("days")?.map { $0.integer("devices") } == [0])
    }
  }

  @Test func `A marketer sees apps and changes none, and an analyst sees none`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let marketer = try await managed.browser(.marketer, "max@example.com")
      let page = try await marketer.get("/console/apps/\(id)")
      #expect(page.status == 200 && !page.text.contains("/console/apps/\(id)/remove"))
      #expect(try await marketer.post("/console/apps/\(id)/remove").status == 403)
      #expect(try await marketer.post("/console/new-app/ios", ["name": "A", "appId": "a.b"]).status == 403)
      let analyst = try await managed.browser(.analyst, "ann@example.com")
      #expect(try await analyst.get("/console/apps").status == 403)
    }
  }
}
