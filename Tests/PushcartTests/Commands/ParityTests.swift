import Content
import Delivery
import Foundation
import Hybrid
import Operations
import Postgres
import Registry
import Sendouts
import Simulator
import Subscriptions
import Support
import Testing
import Wire

/// The command line and the REST API over the same database.
@Suite struct ParityTests {
  @Test func `Commands with --json print exactly what the REST API answers`() async throws {
    try await withSendingBench { bench in
      let sendout = try await sent(bench)
      try await PushApps(bench.pool, vault: bench.vault).addSMS(bench.customer)
      var whole = WholeWebServer(bench)
      whole.smsAddresses = try await SMSStatusAddresses.load(
        bench.pool, vault: bench.vault, publicURL: WholeWebServer.publicURL)
      let pushcart = Pushcart(
        databaseURL: bench.database.connectionString, masterKey: bench.masterKey,
        environment: ["PUSHCART_PUBLIC_URL": WholeWebServer.publicURL])
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "parity", scope: .admin).token
      let customer = ["--customer", "\(bench.customer)", "--json"]
      for days in ["90", "30"] { _ = try await pushcart.run(["links", "max-age", "--days", days] + customer) }
      // Two say when they were asked.
      var pairs = ManagedCommand.readings(["id": "1", "appId": SendingBench.appID])
        .filter { $0.path != "calendar" && !$0.path.hasSuffix("/campaign") }
      #expect(pairs.count > 5)
      pairs += [
        ("audit?limit=1", ["audit", "--limit", "1"]),
        ("templates/offer", ["template", "show", "offer"]),
        ("templates/offer/versions?limit=1", ["template", "versions", "offer", "--limit", "1"]),
        ("templates/offer/uses", ["template", "uses", "offer"]),
        ("templates/offer?version=1", ["template", "show", "offer", "--version", "1"]),
        (
          "hybrid/com.acme.app/phones?number=0031612345678&limit=1",
          ["hybrid", "phones", "com.acme.app", "--number", "0031612345678", "--limit", "1"]
        ),
        (
          "contacts?query=user&field=originalId&limit=2",
          ["contact", "list", "--query", "user", "--field", "originalId", "--limit", "2"]
        ),
        ("contacts/user1@example.com", ["contact", "show", "user1@example.com"]),
        ("sendouts?limit=1", ["sendout", "list", "--limit", "1"]),
        ("sendouts/\(sendout)", ["sendout", "show", "\(sendout)"]),
        ("sendouts/\(sendout)/pushes", ["sendout", "show", "\(sendout)", "--pushes"]),
        (
          "sendouts/\(sendout)/pushes?state=accepted&limit=2&after=1",
          ["sendout", "show", "\(sendout)", "--pushes", "--state", "accepted", "--limit", "2", "--after", "1"]
        ),
        (
          "sendouts/\(sendout)/why?originalId=user1@example.com",
          ["why", "--sendout", "\(sendout)", "--to", "user1@example.com"]
        ),
        ("reports/failures?sendout=\(sendout)", ["report", "failures", "--sendout", "\(sendout)"]),
        (
          "reports/timeline?contact=user1@example.com", ["report", "timeline", "--contact", "user1@example.com"]
        ),
      ]
      for report in Report.allCases where report != .timeline {
        pairs.append(("reports/\(report.rawValue)", ["report", report.rawValue]))
      }
      try await withTestWebServer(try whole.routes) { [pairs] server in
        try await ExampleRequests.addEach(to: server, key: key)
        let message = try await self.message(server, key: key)
        for (path, command) in pairs + [
          ("messages/\(message)", ["message", "show", message]),
          ("messages/\(message)/why", ["message", "why", message]),
        ] {
          let reply = try await server.send("GET", "/api/v1/\(path)", key: key)
          let outcome = try await pushcart.run(command + customer)
          #expect(reply.status == 200, "\(path): \(reply.text)")
          #expect(outcome.output == reply.text + "\n", "\(command): \(outcome.errors)")
        }
      }
    }
  }

  /// The id of a message that is due in an hour, so that it stays as it is.
  private func message(_ server: TestWebServer, key: String) async throws -> String {
    let due = Timestamp(Date(timeIntervalSinceNow: 3600))
    let reply = try await server.send(
      "POST", "/api/v1/messages", key: key,
      json: """
        {"appId":"\(SendingBench.appID)","to":{"originalId":"user1@example.com"},"message":{"alert":"Hi"},"deliverAt":"\(due)"}
        """)
    return try #require(try reply.json.string("messageId"), "\(reply.text)")
  }

  /// Operations that no command calls by itself, and why.
  private static let withoutCommand: [String: String] = [
    "showApp": "app list shows all of them", "showCustomer": "customer list shows all of them",
    "rotateAppIdentity": "app identity asks by app id, too", "revokePreviousAppIdentity": "app identity does it",
    "addSendout": "send waits for the sendout", "showSendout": "sendout show has it with its apps",
    "preflightSendoutBody": "sendout preflight tells it of a draft",
    "changeSendoutFields": "sendout change replaces all that it says",
    "listPushes": "sendout show --pushes has them",
    "previewMessage": "message preview takes several apps", "showMessage": "message show has its number in words",
    "showTemplate": "template show prints the text as it is",
    "previewPage": "template preview prints the page as it is",
    "addImport": "import sends the file, too, and waits", "startImport": "import start takes columns as options",
    "countSegment": "segment count asks until the count is there",
  ]

  @Test func `Every operation has a command, and commands call what routes are made from`() {
    let operations = ManagementOperations.all.map(\.description.id)
    #expect(Set(operations).count == operations.count)
    let called = Set(ManagedCommand.all.map(\.operation.id))
    #expect(called.subtracting(operations) == [])
    #expect(Set(operations).subtracting(called) == Set(Self.withoutCommand.keys))
  }

  @Test func `The API, the command line and the view give the same numbers`() async throws {
    try await withSendingBench { bench in
      let sendout = try await sent(bench)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: MasterKeys.generate())
      let api = try await bench.sendouts.find(bench.customer, sendout).counts
      let outcome = try await pushcart.run(
        "report", "sendouts", "--customer", "\(bench.customer)", "--sendout", "\(sendout)", "--json")
      let row = try #require(try outcome.json.array("rows")?.first)
      let view = try await bench.database.query(
        """
        SELECT array[audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened]
        FROM report.sendout_totals WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
        """, bench.customer.rawValue, sendout.rawValue)[0].decode([Int64].self)
      let names = [
        "audience", "queued", "sending", "waiting", "sent", "accepted", "failed", "uncertain", "skipped", "cancelled",
        "opened",
      ]
      #expect(names.map { row.integer($0) } == view.map { Optional($0) })
      #expect(
        api
          == SendoutCounts(audience: 5, sent: 5, accepted: 4, failed: 1, opened: 1))
      #expect(view == [5, 0, 0, 0, 5, 4, 1, 0, 0, 0, 1])
    }
  }

  /// A finished sendout to five contacts. One has a token that APNs does not know, and one opened.
  private func sent(_ bench: SendingBench) async throws -> SendoutID {
    let templates = Templates(bench.pool)
    for body in ["<p>1</p>", "<p>Hi {{firstName}}</p>"] {
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: body)
    }
    _ = try await HybridApps(bench.pool).enable(
      bench.customer, HybridAppRequest(appId: SendingBench.appID, sender: "ACME"), vault: bench.vault)
    for number in ["31612345678", "31687654321"] {
      try await bench.database.query(
        """
        INSERT INTO hybrid_registration (customer_id, device_hash, app_id, platform, user_agent, number, status, token_changed_at,
          token_changed_from)
        VALUES ($1::bigint, sha256(convert_to($2::text, 'UTF8')), $3::text, 'iOS', 'ios', $2::text, 'WaitingForPin', now(), '203.0.113.7')
        """, bench.customer.rawValue, number, SendingBench.appID)
    }
    try await ContactLists(bench.pool).add(bench.customer, name: "first", id: ListID(1))
    try await bench.pool.transaction { transaction in
      _ = try await DataTreeApps(transaction).enable(bench.customer, app: SendingBench.appID, createdBy: nil)
      _ = try await WebhookStore(transaction, vault: bench.vault).save(
        WebhookRequest(uris: ["https://hooks.example.com/a?b=c"], token: "bar"), named: "orders", bench.customer,
        app: SendingBench.appID, rule: EndpointRules().webhook)
    }
    let devices = try await bench.addDevices(4)
    bench.simulator.apns.rule(.prefix("dead"), .refuse(status: 400, reason: "BadDeviceToken"))
    try await bench.addDevices(1, from: 5, prefix: "dead")
    let key = try await bench.send(template: "offer")
    try await bench.withHubs { _ = try await bench.until(key, .finished) }
    let link = PushLink(
      customer: bench.customer, sendout: key.sendout, push: PushNumber(1), device: devices[0])
    try await withTestWebServer(try WholeWebServer(bench).routes) { server in
      let page = try await server.send(
        "GET", "/c/\(bench.signer.token(for: link, .page))", headers: [("User-Agent", "Mozilla/5.0 (iPhone)")])
      #expect(page.text == "<p>Hi N1</p>")
    }
    return key.sendout
  }
}
