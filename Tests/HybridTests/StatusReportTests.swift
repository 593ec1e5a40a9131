import Delivery
import Foundation
import Outbox
import Postgres
import Providers
import Registry
import Retrying
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Hybrid

@Suite struct StatusReportTests {
  @Test func `A status is posted in the form of CM's status reports until it is taken`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com/status?a=1") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1, reference: "order7"))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 1)
      let reporter = posts.reporter(hybrid)
      let before = try await hybrid.now()
      #expect(try await reporter.postDue() == 1)
      let (attempts, sinceBefore, fromNow) = try await hybrid.postDelay(since: before)
      let (shortest, longest) = (RetryPolicy.posts.first / 2 / .seconds(1), RetryPolicy.posts.first / .seconds(1))
      #expect(attempts == 1 && sinceBefore >= shortest && fromNow <= longest, "\(sinceBefore) s, \(fromNow) s")
      try await hybrid.bench.database.query(
        "UPDATE outbox SET not_before = not_before + interval '1 hour' WHERE customer_id > 0")
      #expect(try await reporter.postDue() == 0)
      // What nobody was asked is no attempt.
      for reason in [HubReason.noPlace, .noAnswer] {
        try await hybrid.bench.database.query("UPDATE outbox SET not_before = now() WHERE customer_id > 0")
        #expect(try await posts.reporter(hybrid, answer: .unsent(reason: .hub(reason))).postDue() == 1)
        let asked = try await hybrid.bench.database.query("SELECT attempts FROM outbox WHERE customer_id > 0")
        #expect(try asked.map { try $0.decode(Int32.self) } == [1])
      }
      // Hubs that are killed, and days without an answer, make many attempts.
      try await hybrid.bench.database.query(
        "UPDATE outbox SET not_before = now(), attempts = 32767 WHERE customer_id > 0")
      #expect(try await reporter.postDue() == 1)
      #expect(try await hybrid.bench.database.query("SELECT 1 FROM outbox WHERE customer_id > 0").isEmpty)
      let all = posts.all
      #expect(all.count == 4 && all[0].url == "https://crm.example.com/status?a=1" && all[0].body == all[3].body)
      let message = try #require(try JSONValue(parsing: Array(all[0].body.utf8))["messages"]?["msg"])
      #expect(message.string("to") == "0031610000001" && message.string("reference") == "order7")
      #expect(message["status"] == ["code": "0", "errorCode": "", "errorDescription": "Accepted"])
    }
  }

  @Test func `A report says by the provider's code and words why a message was not delivered`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com/status") { hybrid in
      try await hybrid.addNumbers(2)
      hybrid.simulator.apns.rule(.prefix("cc"), .refuse(status: 400, reason: "PayloadEmpty"), times: 1)
      try await hybrid.send(hybrid.message(1, channels: [.sms], reference: "refused"))
      _ = try await hybrid.until { $0[0].status == "Rejected" }
      try await hybrid.send(hybrid.message(2, channels: [.sms], reference: "undelivered"))
      _ = try await hybrid.until { $0[1].status == "Accepted" }
      let (sendout, push) = try await hybrid.bench.database.query(
        "SELECT sendout_id, fallback_no FROM tracked_message WHERE reference = 'undelivered'")[0].decode(
          Int64.self, Int32.self)
      let report = DeliveryReport(
        sendout: SendoutID(sendout), push: PushNumber(Int64(push)), app: hybrid.sms.id, isDelivered: false,
        reason: "23 bad number")
      #expect(try await DeliveryReports(hybrid.bench.pool).record(hybrid.bench.customer, [report]).count == 1)
      let posts = Posts(refusals: 0)
      _ = try await posts.reporter(hybrid).postDue()
      let told = try posts.all.compactMap { try JSONValue(parsing: Array($0.body.utf8))["messages"]?["msg"] }
      func statuses(_ reference: String) -> [JSONValue?] {
        told.filter { $0.string("reference") == reference }.map { $0["status"] }
      }
      #expect(statuses("refused") == [["code": "1", "errorCode": "", "errorDescription": "PayloadEmpty"]])
      #expect(statuses("undelivered").contains(["code": "0", "errorCode": "", "errorDescription": "Accepted"]))
      #expect(statuses("undelivered").contains(["code": "3", "errorCode": "23", "errorDescription": "bad number"]))
    }
  }

  @Test func `A message without an app key is told to the customer's first address`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com/status") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1, reference: "keyless", hasKey: false))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 0)
      #expect(try await posts.reporter(hybrid).postDue() == 1)
      #expect(posts.all.map(\.url) == ["https://crm.example.com/status"])
      #expect(posts.all.allSatisfy { $0.body.contains(#""reference":"keyless""#) })
      // Phones of the app do not see it all the same.
      let apps = try await hybrid.bench.database.query("SELECT app_id FROM tracked_message")
      #expect(try apps.map { try $0.decode(String?.self) } == [nil])
    }
  }

  @Test(
    arguments: [
      ("23 bad number", "23", "bad number"),
      ("37 opted out (national blacklist)", "37", "opted out (national blacklist)"),
      ("30006 landline", "30006", "landline"), ("23", "23", "Failed"), ("UNREGISTERED", "", "UNREGISTERED"),
      ("4xx", "", "4xx"), ("", "", "Failed"), (nil, "", "Failed"),
    ] as [(String?, String, String)])
  func `A reason that begins with a number has a code`(reason: String?, code: String, words: String) throws {
    let json = StatusReports.json(
      status: "Failed", at: Date(), number: HybridBench.number(1), reference: nil, reason: reason)
    let status = try JSONValue(json: json)["messages"]?["msg"]?["status"]
    #expect(status == ["code": "3", "errorCode": .string(code), "errorDescription": .string(words)])
  }

  @Test func `A report whose hub was killed is posted by another, and an old one is dropped`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 0, silentURL: "https://crm.example.com")
      let killed = Task { try await posts.reporter(hybrid).postDue() }
      try await waitUntil { !posts.all.isEmpty }
      // While the lease lasts, no other hub posts it.
      #expect(try await Posts(refusals: 0).reporter(hybrid).postDue() == 0)
      killed.cancel()
      _ = try? await killed.value
      try await hybrid.bench.database.query(
        "UPDATE outbox SET not_before = now(), created_at = now() - make_interval(secs => $1::float8) WHERE customer_id > 0",
        RetryPolicy.posts.giveUpAfter / .seconds(1) + 1)
      let other = Posts(refusals: 1)
      #expect(try await other.reporter(hybrid).postDue() == 1)
      #expect(other.all.count == 1)
      try await PostQueue(hybrid.bench.pool).forgetExpired(hybrid.bench.customer)
      #expect(try await hybrid.bench.database.query("SELECT 1 FROM outbox WHERE customer_id > 0").isEmpty)
    }
  }

  @Test func `Removing an app's address deletes the reports that wait for it, together with the change`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      try await hybrid.bench.database.query(
        """
        INSERT INTO outbox (customer_id, kind, sendout_id, item_no, event, receiver)
        SELECT customer_id, kind, sendout_id, item_no + 1, event, 'com.acme.other' FROM outbox WHERE customer_id > 0
        """)
      func change(_ url: String, isTakenBack: Bool = false) async throws {
        try await hybrid.bench.pool.transaction { transaction in
          _ = try await HybridApps(transaction).change(
            hybrid.bench.customer, appID: SendingBench.appID, HybridAppRequest(statusUrl: url))
          if isTakenBack { throw CancellationError() }
        }
      }
      func apps() async throws -> [String] {
        try await hybrid.bench.database.query("SELECT receiver FROM outbox WHERE customer_id > 0 ORDER BY receiver")
          .map { try $0.decode(String.self) }
      }
      try await change("https://crm.example.com/new")
      await #expect(throws: CancellationError.self) { try await change("", isTakenBack: true) }
      #expect(try await apps() == [SendingBench.appID, "com.acme.other"])
      try await change("")
      #expect(try await apps() == ["com.acme.other"])
    }
  }

  @Test func `An address that never answers delays no other, of its customer neither`() async throws {
    try await withHybridBench { hybrid in
      func addReports(of app: String) async throws {
        try await hybrid.bench.database.query(
          """
          WITH app AS (
            INSERT INTO hybrid_app (customer_id, app_id, app_key, pin_text, voice_text, moved_text, secret, status_url)
            VALUES ($1::bigint, $2::text, gen_random_uuid(), '{{pin}}', '{{pin}}', '', '\\x00', 'https://' || $2::text || '.example.com')),
          message AS (
            INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts)
            SELECT $1::bigint, ascii($2::text), n, $2::text, '31610000001', 'Acme', '', 'default', 1
              FROM generate_series(1, 250) AS n
            RETURNING sendout_id, message_no)
          INSERT INTO outbox (customer_id, kind, sendout_id, item_no, event, receiver)
          SELECT $1::bigint, 'message_status', sendout_id, message_no, 'Accepted', $2::text FROM message
          """, hybrid.bench.customer.rawValue, app)
      }
      for app in ["silent", "prompt"] { try await addReports(of: app) }
      let posts = Posts(refusals: 0, silentURL: "https://silent.example.com")
      let reporter = Task { try await posts.reporter(hybrid).run() }
      let end = ContinuousClock.now + .seconds(240)
      // The later ones do not wait for those that are under way.
      for app in ["prompt", "later"] {
        if app == "later" { try await addReports(of: app) }
        try await waitUntil {
          let left = try await hybrid.bench.database.query(
            "SELECT count(*) FROM outbox WHERE receiver = $1::text", app)[0].decode(Int.self)
          guard left == 0 || .now < end else {
            reporter.cancel()
            throw NeverPosted(app: app, left: left)
          }
          return left == 0
        }
      }
      // Of the silent one's, some are under way, and the rest waits for them.
      #expect(posts.all.count { $0.url == "https://silent.example.com" } == 16)
      #expect(posts.all.count == 16 + 2 * 250)
      reporter.cancel()
      try await reporter.value
    }
  }

  @Test func `A post ends by its time limit, and the report is posted again`() async throws {
    try await withHybridBench(statusURL: "https://crm.example.com") { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1))
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      let posts = Posts(refusals: 0, silentURL: "https://crm.example.com")
      let before = try await hybrid.now()
      #expect(try await posts.reporter(hybrid, timeLimit: .milliseconds(10)).postDue() == 1)
      let (attempts, sinceBefore, fromNow) = try await hybrid.postDelay(since: before)
      #expect(attempts == 1 && sinceBefore > 0 && fromNow <= 31, "\(sinceBefore) s, \(fromNow) s")
    }
  }

  @Test func `Reports go to hosts of the internet, and to listed ones`() async throws {
    try await withSimulator { simulator in
      let post = JSONPost(to: "\(simulator.fcmURL)/status", Array("{}".utf8))
      let endpoint = try PushEndpoint(url: post.address)
      try await withProvider(PushServiceSettings(simulator)) { services in
        let verdict = await services.poster.post(post, of: CustomerID(1))
        #expect(verdict == .payloadRefused(reason: "HostNotAllowed"))
      }
      var settings = PushServiceSettings(simulator)
      settings.endpoints.webhook.listed = HostList("\(endpoint.host):\(endpoint.port)")
      try await withProvider(settings) { services in
        // It is there, and does not take it.
        let problem = try #require(await services.poster.post(post, of: CustomerID(1)).problem)
        #expect(problem.hasPrefix("HTTP4"), "\(problem)")
      }
    }
  }
}

extension HybridBench {
  /// The database's moment.
  fileprivate func now() async throws -> Date { try await bench.database.query("SELECT now()")[0].decode(Date.self) }

  /// The attempts of the only post, and the seconds from that moment, and from now, until its next one.
  fileprivate func postDelay(
    since before: Date
  ) async throws -> (attempts: Int32, sinceBefore: Double, fromNow: Double) {
    try await bench.database.query(
      """
      SELECT attempts, extract(epoch FROM not_before - $1::timestamptz)::float8, extract(epoch FROM not_before - now())::float8
        FROM outbox WHERE customer_id > 0
      """, before
    )[0].decode(Int32.self, Double.self, Double.self)
  }
}

/// How many reports were not posted when a test had waited for four minutes.
private struct NeverPosted: Error {
  let app: String
  let left: Int
}

/// What was posted to a customer's address.
private final class Posts: Sendable {
  private let state: Mutex<(refusals: Int, all: [(url: String, body: String)])>
  /// What is never answered.
  private let silentURL: String?

  init(refusals: Int, silentURL: String? = nil) {
    state = Mutex((refusals, []))
    self.silentURL = silentURL
  }

  var all: [(url: String, body: String)] { state.withLock(\.all) }

  /// - Parameter answer: to all posts; nil to refuse some and take the others.
  func reporter(
    _ hybrid: HybridBench, timeLimit: Duration = .seconds(3600), answer: Verdict? = nil
  ) -> OutboxRunner {
    let pool = hybrid.bench.pool
    return OutboxRunner(pool, [StatusReports(pool)], timeLimit: timeLimit, logger: TestServer.logger) { post, _ in
      let isRefused = self.state.withLock { state in
        state.all.append((post.address, String(decoding: post.body, as: UTF8.self)))
        state.refusals -= 1
        return state.refusals >= 0
      }
      let isSilent = post.address == self.silentURL
      if isSilent { try? await Task.sleep(for: .seconds(3600)) }
      if let answer { return answer }
      return isRefused || isSilent ? .retry(after: nil, reason: "HTTP503") : .accepted
    }
  }
}
