import Content
import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Web

/// The console's pages of sendouts, on a hub that sends.
@Suite struct SendoutPagesTests {
  /// A browser of a signed-in user.
  private struct Browser {
    let server: TestWebServer
    let cookie: String
    let csrf: String

    func get(_ path: String) async throws -> TestReply {
      try await server.send("GET", path, headers: [("Cookie", cookie)])
    }

    func post(_ path: String) async throws -> TestReply {
      try await server.send(
        "POST", path, headers: [("Cookie", cookie), ("Content-Type", "application/x-www-form-urlencoded")],
        body: "csrf=\(csrf)")
    }
  }

  private static let passwords = Passwords(cost: 4)

  private func browser(_ bench: SendingBench, _ server: TestWebServer, as role: Role) async throws -> Browser {
    let user = try await bench.pool.transaction {
      try await Users($0, isOperator: true).add(
        bench.customer, UserRequest(email: "\(role.rawValue)@example.com", role: role))
    }
    let token = try #require(user.link?.split(separator: "/").last.map(String.init))
    let session = try await ConsoleSignIn(bench.pool, vault: bench.vault, passwords: Self.passwords).setPassword(
      "correct horse battery", ofLink: token, from: SignInClient(address: nil, network: "test", userAgent: nil))
    let signedIn = try #require(try await Sessions(bench.pool).find(session.token))
    return Browser(server: server, cookie: "pushcart=\(session.token)", csrf: signedIn.csrfToken)
  }

  private func withBrowser(
    as role: Role = .owner, _ body: @Sendable (SendingBench, Browser) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      try await withTestWebServer(try WholeWebServer(bench).routes) { server in
        try await body(bench, try await browser(bench, server, as: role))
      }
    }
  }

  /// A finished sendout to two accepted phones and a refused one.
  private func finished(_ bench: SendingBench, _ name: String = "Offer") async throws -> SendoutKey {
    try await bench.addDevices(2)
    try await bench.addDevices(1, from: 3, prefix: "dd")
    bench.simulator.apns.rule(.prefix("dd"), .refuse(status: 400, reason: "BadDeviceToken"))
    let made = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(
        name: name, appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello"), start: true))
    let key = SendoutKey(bench.customer, made.sendoutId)
    try await bench.withHubs { _ = try await bench.until(key, .finished) }
    return key
  }

  @Test func `Before anything is sent, the first page leads to the first push`() async throws {
    try await withBrowser { _, browser in
      let page = try await browser.get("/console")
      #expect(page.status == 200, "\(page.text)")
      #expect(page.text.contains("Send your first push"))
      #expect(page.text.contains(#"href="/console/new-sendout""#))
      #expect(page.text.contains("Nothing. All credentials are accepted"))
      let list = try await browser.get("/console/sendouts")
      #expect(list.text.contains("Nothing has been sent yet"))
      #expect(list.text.contains("pushcart send --customer "))
    }
  }

  @Test func `The first page shows alarms with what helps, before everything else`() async throws {
    try await withBrowser { bench, browser in
      try await bench.database.query(
        "UPDATE push_app SET alarm = 'InvalidProviderToken', alarm_at = now() WHERE push_app_id = $1::bigint",
        bench.app.id.rawValue)
      let page = try await browser.get("/console").text
      #expect(page.contains("InvalidProviderToken"))
      #expect(page.contains("The key belongs to another team or has another Key Id"))
      #expect(page.contains(#"href="/console/apps/\#(bench.app.id)""#))
      let alarm = try #require(page.range(of: "InvalidProviderToken")?.lowerBound)
      let days = try #require(page.range(of: "The last 30 days")?.lowerBound)
      #expect(alarm < days)
    }
  }

  @Test func `The first page counts pushes of today in its chart`() async throws {
    try await withBrowser { bench, browser in
      _ = try await finished(bench)
      let page = try await browser.get("/console").text
      // It may be tomorrow by now.
      let today = try await bench.database.query(
        "SELECT DISTINCT to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') FROM push_batch"
      ).map { try $0.decode(String.self) }
      try #require(today.count == 1)
      #expect(page.contains(#"<tr><th scope="row">\#(today[0])</th><td class="num">3</td></tr>"#))
      #expect(page.contains("Latest sendouts"))
    }
  }

  @Test func `A sendout is shown from audience to open, with reasons and what helps`() async throws {
    try await withBrowser { bench, browser in
      let key = try await finished(bench)
      let page = try await browser.get("/console/sendouts/\(key.sendout)")
      #expect(page.status == 200, "\(page.text)")
      #expect(page.text.contains(#"<th scope="row">Audience</th><td class="num">3</td>"#))
      #expect(page.text.contains(#"<th scope="row">Accepted</th><td class="num">2</td>"#))
      #expect(page.text.contains("0 times in all: 0.0\u{A0}% of those accepted."), "\(page.text)")
      #expect(page.text.contains("BadDeviceToken"))
      #expect(page.text.contains("<dt>alert</dt>"))
      #expect(page.text.contains("Hello"))
      #expect(page.text.contains("report.funnel WHERE customer_id = \(bench.customer)"))
      #expect(!page.text.contains(#"data-key="p""#))
    }
  }

  @Test func `The list filters by name and state, and links to the next page by key`() async throws {
    try await withBrowser { bench, browser in
      let key = try await finished(bench, "Friday <offer>")
      let found = try await browser.get("/console/sendouts?name=friday&state=finished").text
      #expect(found.contains(#"href="/console/sendouts/\#(key.sendout)""#))
      #expect(found.contains("Friday &lt;offer&gt;") && !found.contains("<offer>"))
      for query in ["name=offer", "state=running", "kind=stream", "after=1"] {
        let page = try await browser.get("/console/sendouts?\(query)")
        #expect(page.text.contains("No sendout matches"), "\(query)")
      }
      #expect(try await browser.get("/console/sendouts?state=").text.contains("Friday"))
      #expect(try await browser.get("/console/sendouts?state=gone").status == 400)
      for number in 1...26 {
        _ = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            name: "Draft \(number)", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "x")))
      }
      let first = try await browser.get("/console/sendouts?name=draft").text
      let next = try #require(first.firstMatch(of: #/href="(\/console\/sendouts\?[^"]*after=[0-9]+)"/#)?.1)
      #expect(next.contains("name=draft"))
      let second = try await browser.get(String(next).replacing("&amp;", with: "&")).text
      #expect(second.contains("Draft 1<") && !second.contains("Draft 26<"))
    }
  }

  @Test func `Pause and cancel are one key away, and say what they do before they do it`() async throws {
    try await withBrowser { bench, browser in
      try await bench.addDevices(2)
      // No hub runs, so it stays as it is.
      let key = try await bench.send()
      let page = try await browser.get("/console/sendouts/\(key.sendout)").text
      #expect(page.contains(#"data-key="p""#) && page.contains(#"data-key="x""#))
      let question = try await browser.get("/console/sendouts/\(key.sendout)/pause").text
      #expect(question.contains("Pause the sendout?") && question.contains("Offer"))
      #expect(try await bench.show(key).state == .freezing)
      let steps: [(String, SendoutState)] = [("pause", .paused), ("resume", .freezing), ("cancel", .cancelled)]
      for (verb, state) in steps {
        let reply = try await browser.post("/console/sendouts/\(key.sendout)/\(verb)")
        #expect(reply.status == 303, "\(reply.text)")
        #expect(reply.header("location") == "/console/sendouts/\(key.sendout)")
        #expect(try await bench.show(key).state == state)
      }
      #expect(try await browser.post("/console/sendouts/\(key.sendout)/resume").status == 409)
    }
  }

  @Test func `A confirmation says how many pushes are concerned`() async throws {
    try await withBrowser { bench, browser in
      try await bench.addDevices(1200)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now()")
      // Of nothing there is no share.
      let page = try await browser.get("/console/sendouts/\(key.sendout)").text
      #expect(page.contains("0 times in all.") && !page.contains("of those accepted"), "\(page)")
      let question = try await browser.get("/console/sendouts/\(key.sendout)/cancel").text
      #expect(question.contains("0 of 1,200 devices"))
      #expect(question.contains("1,200 pushes are not sent yet"))
      #expect(question.contains("This cannot be undone"))
    }
  }

  @Test func `Recipients are searched by original id and by number, and lead to why`() async throws {
    try await withBrowser { bench, browser in
      let key = try await finished(bench)
      let path = "/console/sendouts/\(key.sendout)/recipients"
      let all = try await browser.get(path).text
      for number in 1...3 { #expect(all.contains("user\(number)@example.com")) }
      let failed = try await browser.get("\(path)?state=failed").text
      #expect(failed.contains("user3@example.com") && !failed.contains("user1@example.com"))
      let found = try await browser.get("\(path)?query=user2").text
      #expect(found.contains("user2@example.com") && !found.contains("user1@example.com"))
      #expect(found.contains("/console/sendouts/\(key.sendout)/why?to=user2%40example.com"))
      #expect(try await browser.get("\(path)?query=USER2").text.contains("No such recipient"))
      #expect(try await browser.get("\(path)?state=opened").text.contains("No such recipient"))
      let why = try await browser.get("/console/sendouts/\(key.sendout)/why?to=user3%40example.com").text
      #expect(why.contains("Failed: BadDeviceToken. It is not sent again."))
      let outside = try await browser.get("/console/sendouts/\(key.sendout)/why?to=nobody").text
      #expect(outside.contains("There is no contact with this original id."))
      #expect(try await browser.get("/console/sendouts/\(key.sendout)/why").status == 200)
    }
  }

  @Test func `An analyst sees figures, and neither people nor verbs`() async throws {
    try await withBrowser(as: .analyst) { bench, browser in
      try await bench.addDevices(1)
      let key = try await bench.send()
      let page = try await browser.get("/console/sendouts/\(key.sendout)")
      #expect(page.status == 200)
      #expect(!page.text.contains("data-key=\"x\""))
      #expect(try await browser.get("/console/sendouts/\(key.sendout)/recipients").status == 403)
      #expect(try await browser.post("/console/sendouts/\(key.sendout)/cancel").status == 403)
      #expect(try await bench.show(key).state == .freezing)
    }
  }

  @Test func `Another customer's sendout is not there`() async throws {
    try await withBrowser { bench, browser in
      let other = try await Customers(bench.pool).add(name: "Other").id
      let row = try await bench.database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message)
        VALUES ($1::bigint, '{1}', 'secretive', 'draft', '{"all":true}', '{}') RETURNING sendout_id
        """, other.rawValue)
      let id: Int64 = try row[0].decode(Int64.self)
      for path in ["", "/recipients", "/why?to=x", "/cancel"] {
        let reply = try await browser.get("/console/sendouts/\(id)\(path)")
        #expect(reply.status == 404, "\(path)")
        #expect(!reply.text.contains("secretive"))
      }
      #expect(try await browser.post("/console/sendouts/\(id)/cancel").status == 404)
    }
  }
}
