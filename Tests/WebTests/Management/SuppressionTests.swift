import Delivery
import Foundation
import Operations
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct SuppressionTests {
  // MARK: What is sent

  /// A way on which pushes to contacts come about.
  struct SendingPath: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let purpose: MessagePurpose
    /// Sends to all of the contacts.
    let send: @Sendable (SuppressionBench, _ contacts: [Int]) async throws -> Void
  }

  /// A hub over a bench with two contacts, whose original ids are numbers and who have a device each.
  struct SuppressionBench: Sendable {
    let bench: SendingBench
    let server: TestWebServer
    let key: String
    let gatewayKey: String

    func originalID(_ contact: Int) -> String { "003160000000\(contact)" }

    @discardableResult
    func send(
      _ method: String, _ path: String, _ json: String, key: String? = nil,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestReply {
      let reply = try await server.send(method, path, key: key ?? self.key, json: json)
      #expect(reply.status < 300, "\(path): \(reply.text)", sourceLocation: sourceLocation)
      return reply
    }

    /// State and reason of each push, by the contact's original id, once all have theirs.
    func outcomes(of count: Int) async throws -> [String: String] {
      let settled =
        """
        SELECT c.original_id, concat_ws(' ', p.state, p.reason)
          FROM push p JOIN contact c USING (customer_id, contact_id)
         WHERE p.state NOT IN ('queued', 'waiting')
        """
      var outcomes: [(String, String)] = []
      try await waitUntil {
        outcomes = try await bench.database.query(settled).map { try $0.decode(String.self, String.self) }
        return outcomes.count == count
      }
      return Dictionary(outcomes) { "\($0), \($1)" }
    }
  }

  private static func sendout(_ purpose: MessagePurpose?) -> SendingPath {
    SendingPath(testDescription: "sendout \(purpose?.rawValue ?? "")", purpose: purpose ?? .marketing) {
      bench, contacts in
      let ids = contacts.map { "\"\(bench.originalID($0))\"" }.joined(separator: ",")
      try await bench.send(
        "POST", "/api/v1/sendouts",
        #"{"appId":"com.acme.app","audience":{"originalIds":[\#(ids)]},"message":{"alert":"x"},"start":true\#(member(purpose))}"#
      )
    }
  }

  private static func message(_ purpose: MessagePurpose?) -> SendingPath {
    SendingPath(testDescription: "message \(purpose?.rawValue ?? "")", purpose: purpose ?? .transactional) {
      bench, contacts in
      for contact in contacts { try await bench.send("POST", "/api/v1/messages", body(bench, contact, purpose)) }
    }
  }

  private static func trigger(_ purpose: MessagePurpose?) -> SendingPath {
    SendingPath(testDescription: "trigger \(purpose?.rawValue ?? "")", purpose: purpose ?? .transactional) {
      bench, contacts in
      let trigger = try await bench.send(
        "POST", "/api/v1/triggers", #"{"name":"t","appId":"com.acme.app","message":{"alert":"x"}\#(member(purpose))}"#)
      let id = try #require(try trigger.json.integer("triggerId"))
      for contact in contacts {
        try await bench.send(
          "POST", "/rest/\(bench.bench.customer)/triggers/\(id)/messages",
          #"{"originalId":"\#(bench.originalID(contact))"}"#)
      }
    }
  }

  private static func member(_ purpose: MessagePurpose?) -> String {
    purpose.map { #","purpose":"\#($0.rawValue)""# } ?? ""
  }

  private static func body(_ bench: SuppressionBench, _ contact: Int, _ purpose: MessagePurpose? = nil) -> String {
    #"{"appId":"com.acme.app","to":{"originalId":"\#(bench.originalID(contact))"},"message":{"alert":"x"}\#(member(purpose))}"#
  }

  static let paths: [SendingPath] = [
    sendout(nil), sendout(.transactional), message(nil), message(.marketing), trigger(nil), trigger(.marketing),
    SendingPath(testDescription: "list of messages", purpose: .transactional) { bench, contacts in
      let messages = contacts.map { body(bench, $0) }.joined(separator: ",")
      try await bench.send("POST", "/api/v1/messages", "[\(messages)]")
    },
    SendingPath(testDescription: "message once only", purpose: .transactional) { bench, contacts in
      for contact in contacts {
        let reply = try await bench.server.send(
          "POST", "/api/v1/messages", key: bench.key, headers: [("Idempotency-Key", "once \(contact)")],
          json: body(bench, contact))
        #expect(reply.status < 300)
      }
    },
    SendingPath(testDescription: "message to a token", purpose: .transactional) { bench, contacts in
      for contact in contacts {
        try await bench.send(
          "POST", "/api/v1/messages",
          #"{"appId":"com.acme.app","to":{"deviceToken":"\#(bench.bench.token(contact))"},"message":{"alert":"x"}}"#)
      }
    },
    SendingPath(testDescription: "message that a hub finds due", purpose: .marketing) { bench, contacts in
      for contact in contacts {
        try await bench.send(
          "POST", "/api/v1/messages",
          #"{"appId":"com.acme.app","to":{"originalId":"\#(bench.originalID(contact))"},"message":{"alert":"x"},"#
            + #""purpose":"marketing","deliverAt":"\#(Timestamp(Date(timeIntervalSinceNow: 3600)))"}"#)
      }
      for table in ["push_batch", "push"] {
        try await bench.bench.database.query("UPDATE \(table) SET not_before = now() WHERE not_before > now()")
      }
    },
    SendingPath(testDescription: "softphone", purpose: .transactional) { bench, contacts in
      for contact in contacts {
        let digits = Array(bench.bench.token(contact).utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
          UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
        let push =
          #"{"verb":"NotifyReprovision","AppId":"com.acme.app","Selector":"\#(bench.originalID(contact))","#
          + #""DeviceToken":"\#(Data(bytes).base64EncodedString())"}"#
        try await bench.send("POST", "/k/\(bench.key)/pnm2/send", push)
      }
    },
    SendingPath(testDescription: "Hybrid gateway", purpose: .transactional) { bench, contacts in
      let messages = contacts.map {
        #"{"from":"A","to":[{"number":"\#(bench.originalID($0))"}],"body":{"content":"x"},"appKey":"\#(appKey)"}"#
      }
      try await bench.send(
        "POST", "/gateway.ashx",
        #"{"messages":{"authentication":{"producttoken":"\#(bench.gatewayKey)"},"msg":[\#(messages.joined(separator: ","))]}}"#
      )
    },
  ]

  private static let appKey = "00000000-0001-8000-8000-000000000001"

  private func withBench(_ body: @escaping @Sendable (SuppressionBench) async throws -> Void) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await bench.database.query("UPDATE contact SET original_id = '003160000000' || substr(first_name, 2)")
      try await bench.database.query(
        """
        INSERT INTO hybrid_app (customer_id, app_id, app_key, pin_text, voice_text, moved_text, secret)
        VALUES ($1::bigint, 'com.acme.app', $2::text::uuid, '', '', '', '')
        """, bench.customer.rawValue, Self.appKey)
      let keys = AccessKeys(bench.pool)
      let key = try await keys.make(bench.customer, name: "admin", scope: .admin).token
      let gateway = try await keys.make(bench.customer, name: "gateway", scope: .gateway).token
      try await bench.withHubs {
        try await bench.withWholeServer { server in
          try await body(SuppressionBench(bench: bench, server: server, key: key, gatewayKey: gateway))
        }
      }
    }
  }

  @Test(arguments: paths, SuppressionScope.allCases)
  func `Who is suppressed is left out on every path, with the reason in the ledger, and others get theirs`(
    path: SendingPath, scope: SuppressionScope
  ) async throws {
    try await withBench { bench in
      try await bench.send(
        "POST", "/api/v1/suppressions", #"{"originalId":"\#(bench.originalID(1))","scope":"\#(scope.rawValue)"}"#)
      try await path.send(bench, [1, 2])
      let isStopped = scope.stops(path.purpose)
      #expect(
        try await bench.outcomes(of: 2) == [
          bench.originalID(1): isStopped ? "skipped suppressed" : "accepted", bench.originalID(2): "accepted",
        ])
      let tokens = Set(bench.bench.simulator.apns.requests.map(\.token))
      #expect(tokens.contains(bench.bench.token(1)) == !isStopped && tokens.contains(bench.bench.token(2)))
    }
  }

  @Test(arguments: [
    #"{"originalId":"0031600000001"}"#, #"{"number":"+31 6 00 00 00 01"}"#,
    #"{"deviceToken":"TOKEN","appId":"com.acme.app"}"#, #"{"deviceToken":"TOKEN","appId":"com.acme.app","appType":1}"#,
  ])
  func `A contact, its number and its device are suppressed alike, and sent to again once that is lifted`(
    whose: String
  ) async throws {
    try await withBench { bench in
      let whose = whose.replacing("TOKEN", with: bench.bench.token(1).uppercased())
      let made = try await bench.send("POST", "/api/v1/suppressions", whose).json
      try await Self.sendout(nil).send(bench, [1, 2])
      #expect(
        try await bench.outcomes(of: 2) == [
          bench.originalID(1): "skipped suppressed", bench.originalID(2): "accepted",
        ])
      let lifted = try await bench.send("DELETE", "/api/v1/suppressions", whose).json
      #expect(lifted.array("lifted") == [made])
      try await Self.sendout(nil).send(bench, [1])
      #expect(try await bench.outcomes(of: 3)[bench.originalID(1)]?.contains("accepted") == true)
    }
  }

  @Test func `A message that waits for its verdicts shows the push skipped`() async throws {
    try await withBench { bench in
      try await bench.send("POST", "/api/v1/suppressions", #"{"originalId":"0031600000001","scope":"all"}"#)
      let reply = try await bench.send(
        "POST", "/api/v1/messages",
        #"{"appId":"com.acme.app","to":{"originalId":"0031600000001"},"message":{"alert":"x"},"wait":30}"#
      ).json
      let push = try #require(reply.array("pushes")?.first)
      #expect(
        reply.string("state") == "failed" && push.string("state") == "skipped" && push.string("reason") == "suppressed")
    }
  }

  @Test func `A PIN goes to no number whose scope is all, though its owner may have asked for it`() async throws {
    try await withBench { bench in
      let number = try #require(PhoneNumber("0031600000001"))
      #expect(try await bench.isSuppressed(number) == false)
      try await bench.send("POST", "/api/v1/suppressions", #"{"number":"0031600000001"}"#)
      #expect(try await bench.isSuppressed(number) == false)
      try await bench.send("POST", "/api/v1/suppressions", #"{"number":"0031600000001","scope":"all"}"#)
      #expect(try await bench.isSuppressed(number))
    }
  }

  // MARK: Management

  @Test func `What is suppressed is listed by number, asked for by person, and lifted`() async throws {
    try await withManagementServer { managed in
      let path = "/api/v1/suppressions"
      for json in [
        #"{"originalId":"lars@example.com","reason":"asked"}"#, #"{"originalId":"0031612345678","scope":"all"}"#,
        #"{"number":"0031612345678","until":"2999-01-01T00:00:00Z"}"#,
      ] { #expect(try await managed.send("POST", path, json: json).status == 201) }
      let first = try await managed.send("GET", "\(path)?limit=2").json
      #expect(first.array("items")?.map { $0.string("kind") } == ["contact", "contact"] && first.integer("next") == 2)
      let second = try await managed.send("GET", "\(path)?limit=2&after=2").json
      #expect(
        second.array("items")?.map { $0.string("until") } == ["2999-01-01T00:00:00.000Z"] && second["next"] == nil)
      func numbers(_ query: String) async throws -> [Int64?]? {
        try await managed.send("GET", "\(path)?\(query)").json.array("items")?.map { $0.integer("suppressionId") }
      }
      #expect(try await numbers("originalId=lars%40example.com") == [1])
      #expect(try await numbers("originalId=0031612345678") == [2, 3])
      #expect(try await numbers("number=%2B31612345678") == [2, 3])
      #expect(try await numbers("originalId=nobody") == [])
      #expect(
        try await managed.send("DELETE", path, json: #"{"number":"0031612345678"}"#).json.array("lifted")?.count == 1)
      #expect(try await managed.send("DELETE", "\(path)/2").status == 200)
      #expect(try await managed.send("DELETE", "\(path)/2").status == 404)
      #expect(try await numbers("originalId=0031612345678") == [])
      #expect(try await managed.send("GET", path, key: managed.otherKey).json.array("items") == [])
      let log = try await managed.send("GET", "/api/v1/audit").text
      #expect(!log.contains("lars") && !log.contains("31612345678") && !log.contains("asked"))
    }
  }

  @Test(arguments: [
    ("{}", "originalId is missing"), (#"{"originalId":"a","number":"0031612345678"}"#, "originalId is not alone"),
    (#"{"number":"0612345678"}"#, "number is no telephone number"), (#"{"deviceToken":"aa"}"#, "appId is missing"),
    (#"{"originalId":"a","appId":"com.acme.app"}"#, "appId is there without deviceToken"),
    (#"{"originalId":"a","until":"2020-01-01T00:00:00Z"}"#, "until is past"),
    (#"{"originalId":"a","reason":" "}"#, "reason is empty"), (#"{"originalId":"a","scope":"some"}"#, "scope"),
    (#"{"originalId":"a\u0000"}"#, "originalId must not hold U+0000"),
  ])
  func `A request that names nobody, or several, is refused with the field`(json: String, problem: String) async throws
  {
    try await withManagementServer { managed in
      let reply = try await managed.send("POST", "/api/v1/suppressions", json: json)
      #expect(try reply.status == 400 && reply.json.string("error")?.hasPrefix(problem) == true, "\(reply.text)")
      #expect(try await managed.database.query("SELECT FROM suppression").isEmpty)
    }
  }

  @Test func `The report counts them by kind, scope and reason`() async throws {
    try await withManagementServer { managed in
      for (name, scope) in [("a", "marketing"), ("b", "marketing"), ("c", "all")] {
        _ = try await managed.send(
          "POST", "/api/v1/suppressions", json: #"{"originalId":"\#(name)","scope":"\#(scope)","reason":"=asked"}"#)
      }
      let rows = try await managed.send("GET", "/api/v1/reports/suppressions").json.array("rows")
      #expect(rows?.map { $0.integer("suppressions") } == [2, 1])
      #expect(rows?.map { $0.string("reason") } == ["=asked", "=asked"])
      let cells = try await managed.database.query(
        "SELECT DISTINCT reason FROM report.suppressions WHERE customer_id = 1")
      #expect(try cells.map { try $0.decode(String.self) } == ["'=asked"])
    }
  }

  @Test func `A draft, a trigger and a sendout keep the purpose that they were given`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let sendout = #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}PURPOSE}"#
      func made(_ method: String, _ path: String, _ json: String, _ purpose: String?) async throws -> String? {
        let member = purpose.map { #","purpose":"\#($0)""# } ?? ""
        return try await managed.send(method, path, json: json.replacing("PURPOSE", with: member)).json.string(
          "purpose")
      }
      #expect(try await made("POST", "/api/v1/sendouts", sendout, nil) == "marketing")
      #expect(try await made("POST", "/api/v1/sendouts", sendout, "transactional") == "transactional")
      #expect(try await made("PUT", "/api/v1/sendouts/2", sendout, nil) == "marketing")
      let trigger = #"{"name":"NAME","appId":"com.acme.app","message":{"alert":"x"}PURPOSE}"#
      #expect(try await made("POST", "/api/v1/triggers", trigger.replacing("NAME", with: "a"), nil) == "transactional")
      #expect(
        try await made("POST", "/api/v1/triggers", trigger.replacing("NAME", with: "b"), "marketing") == "marketing")
      #expect(try await made("PATCH", "/api/v1/triggers/2", #"{"active":false}"#, nil) == "marketing")
      #expect(try await managed.send("GET", "/api/v1/sendouts").text.contains(#""purpose":"transactional""#) == false)
    }
  }
}

extension SuppressionTests.SuppressionBench {
  /// As the hub asks before it makes a PIN.
  func isSuppressed(_ number: PhoneNumber) async throws -> Bool {
    let dispatcher = bench.dispatcher()
    let service = MessageService(
      bench.pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: false),
      apps: PushAppCache(bench.pool), credentials: PushCredentialVault(bench.pool, vault: bench.vault),
      registrations: RegistrationBatcher(bench.pool, limits: .patient))
    return try await service.isSuppressed(number, of: bench.customer)
  }
}
