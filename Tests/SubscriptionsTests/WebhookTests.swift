import Foundation
import Postgres
import Providers
import PushcartClient
import Registry
import Support
import Testing
import Wire

@testable import Subscriptions

/// Webhooks from a change to a back end that listens.
@Suite struct WebhookTests {
  @Test func `A webhook gets the phone's map as JSON with its token`() async throws {
    try await withWebhook { tree, hook in
      try await hook.save(hook.receiver.url + "/changes?a=1", token: "bar")
      try await hook.subscribe("/users")
      try await tree.put("/users", #"{"alice":"Ålice \"A\" \\","n":1}"#)
      try await hook.withRunner { try await tree.untilIdle() }
      let request = try #require(hook.receiver.requests.first)
      #expect(hook.receiver.requests.count == 1 && request.line == "POST /changes?a=1")
      #expect(request.headers["x-webcom-webhook-token"] == "bar")
      #expect(request.headers["content-type"] == "application/json")
      #expect(request.headers["host"] == hook.receiver.authority)
      let known: Set = ["host", "content-type", "content-length", "x-webcom-webhook-token", "user-agent"]
      #expect(Set(request.headers.keys).subtracting(known).isEmpty)
      let map = try JSONValue(parsing: Array(request.body.utf8))
      #expect(
        map == [
          "webcom.app": "com.acme.app", "webcom.path": "/users", "webcom.event": "Value.Changed",
          "webcom.data": #"{"alice":"Ålice \"A\" \\","n":1}"#,
        ])
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["accepted"])
    }
  }

  @Test func `Webhooks change one by one, and of changes at once none is lost`() async throws {
    try await withDataTree { tree in
      let (pool, vault, customer) = (tree.bench.pool, tree.bench.vault, tree.bench.customer)
      @Sendable func save(_ name: String, _ request: WebhookRequest) async throws {
        _ = try await pool.transaction {
          try await WebhookStore($0, vault: vault).save(
            request, named: name, customer, app: SendingBench.appID, rule: EndpointRules().webhook)
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in ["a", "b", "c"] {
          group.addTask { try await save(name, WebhookRequest(uris: ["https://hooks.example.com/\(name)?x=1"])) }
        }
        try await group.waitForAll()
      }
      try await save("b", WebhookRequest(enabled: false, token: "bar"))
      let store = WebhookStore(pool, vault: vault)
      let webhooks = try await store.settings(customer, app: SendingBench.appID).destinations
      #expect(webhooks.keys.sorted() == ["a", "b", "c"])
      #expect(webhooks["b"]?.destinationUris.map(\.uri) == ["https://hooks.example.com/b?x=1"])
      #expect(webhooks["b"]?.enabled == false && webhooks["a"]?.enabled == true)
      #expect(webhooks["b"]?.headers == [WebhookDestination.tokenHeader: "bar"])
      for name in ["\u{E9}", "e\u{301}"] { try await save(name, WebhookRequest(uris: ["https://hooks.example.com/"])) }
      #expect(try await store.settings(customer, app: SendingBench.appID).destinations.count == 5)

      await #expect(throws: SubscriptionsError.webhookUnknown(name: "d")) {
        try await pool.transaction {
          try await WebhookStore($0, vault: vault).remove("d", customer, app: SendingBench.appID)
        }
      }
      for (name, request, field) in [
        ("d", WebhookRequest(), "uris"), ("", WebhookRequest(uris: ["https://hooks.example.com/"]), "name"),
        ("d", WebhookRequest(uris: ["https://10.0.0.1/"]), "uris[0]"),
        ("d", WebhookRequest(uris: ["https://hooks.example.com/"], token: "\u{1}"), "token"),
      ] {
        let error = await #expect(throws: SubscriptionsError.self) { try await save(name, request) }
        guard case .invalid(field, _)? = error else {
          Issue.record("\(field): \(String(describing: error))")
          continue
        }
      }
    }
  }

  @Test func `A webhook that fails is tried again as pushes are, with the newest state`() async throws {
    try await withWebhook(requestTimeout: .seconds(10)) { tree, hook in
      try await tree.holdRetries()
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      hook.receiver.answer(.status(500), .status(429), .status(408), .silence)
      try await tree.put("/n", "1")
      try await hook.withRunner {
        for attempt in 1...4 {
          #expect(try await tree.delays(after: attempt) == [Double(1 << (attempt - 1))], "\(attempt)")
          try await tree.put("/n", "\(attempt + 1)")
          try await tree.makeDue()
        }
        try await tree.untilIdle()
      }
      let told = try hook.receiver.requests.map { try JSONValue(parsing: Array($0.body.utf8))["webcom.data"] }
      #expect(told == ["1", "2", "3", "4", "5"])
      let outcomes = try await tree.outcomes()
      #expect(
        outcomes == [
          "retry HTTP500", "retry HTTP429", "retry HTTP408", "uncertain RequestTimeout", "accepted",
        ])
    }
  }

  @Test func `Each attempt takes the next address, and one where nobody listens is passed over`() async throws {
    try await withWebhook { tree, hook in
      try await tree.holdRetries()
      try await hook.save("https://127.0.0.1:\(hook.closed.number)", hook.receiver.url)
      try await hook.subscribe("/n")
      try await tree.put("/n", "1")
      try await hook.withRunner {
        #expect(try await tree.delays(after: 1) == [1])
        try await tree.makeDue()
        try await tree.untilIdle()
      }
      #expect(hook.receiver.requests.count == 1)
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["retry ConnectionRefused", "accepted"])
    }
  }

  @Test func `A webhook that does not answer holds up no other of its app`() async throws {
    // It is waited for longer than this test lasts.
    try await withWebhook { tree, hook in
      let silent = hook.silent
      try await hook.save(hook.receiver.url, beside: ["silent": silent.url])
      for number in 1...80 { try await hook.subscribe("/n/\(number)", "silent") }
      try await hook.subscribe("/n")
      try await tree.put("/n", "{\((1...80).map { "\"\($0)\":1" }.joined(separator: ","))}")
      try await hook.withRunner {
        try await waitUntil { !silent.requests.isEmpty && !hook.receiver.requests.isEmpty }
        for number in 1...3 {
          // It is 1 already.
          try await tree.put("/n/1", "\(number + 1)")
          try await waitUntil { hook.receiver.requests.count >= 1 + number }
        }
        #expect(try await Set(tree.outcomes()) == ["accepted"])
        await silent.stop()
      }
    }
  }

  @Test func `A webhook that does not answer holds up no other at the same origin`() async throws {
    try await withWebhook { tree, hook in
      hook.receiver.fallSilent(at: "/silent")
      try await hook.save(hook.receiver.url + "/quick", beside: ["silent": hook.receiver.url + "/silent"])
      for number in 1...80 { try await hook.subscribe("/n/\(number)", "silent") }
      try await hook.subscribe("/n")
      try await tree.put("/n", "{\((1...80).map { "\"\($0)\":1" }.joined(separator: ","))}")
      func quick() -> Int { hook.receiver.requests.count { $0.line == "POST /quick" } }
      try await hook.withRunner {
        // As many as are claimed at once.
        try await waitUntil { hook.receiver.requests.count - quick() == 16 && quick() > 0 }
        for number in 1...3 {
          let before = quick()
          try await tree.put("/n/1", "\(number + 1)")
          try await waitUntil { quick() > before }
        }
        #expect(try await Set(tree.outcomes()) == ["accepted"])
        await hook.receiver.stop()
      }
    }
  }

  @Test func `A value of many leaves below long names is told as long as its JSON fits`() async throws {
    try await withWebhook { tree, hook in
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      // The paths of its leaves have four megabytes, its JSON less than 20,000.
      let leaves = "{\((0..<1500).map { #""\#($0)":1"# }.joined(separator: ","))}"
      let value = ["a", "b", "c", "d"].reduce(leaves) { #"{"\#(String(repeating: $1, count: 768))":\#($0)}"# }
      try await tree.put("/n", value)
      try await hook.withRunner { try await tree.untilIdle() }
      let told = try JSONValue(parsing: Array(try #require(hook.receiver.requests.first).body.utf8))
      #expect(told["webcom.event"] == "Value.Changed")
      #expect(
        try told["webcom.data"]?.text.map { try JSONValue(parsing: Array($0.utf8)) }
          == JSONValue(parsing: Array(value.utf8)))
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308, 400, 401, 404, 410] as [UInt])
  func `A redirect is not followed, and what a webhook refuses is dropped alone`(status: UInt) async throws {
    try await withWebhook { tree, hook in
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      hook.receiver.answer(.status(status, location: "\(hook.receiver.url)/elsewhere"))
      try await tree.put("/n", "1")
      try await hook.withRunner {
        try await tree.untilIdle()
        #expect(hook.receiver.requests.map(\.line) == ["POST /"])
        try await tree.put("/n", "2")
        try await tree.untilIdle()
      }
      #expect(hook.receiver.requests.map(\.line) == ["POST /", "POST /"])
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["failed HTTP\(status)", "accepted"])
    }
  }

  @Test func `A private address that is no longer listed gets nothing`() async throws {
    try await withWebhook { tree, hook in
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      try await tree.put("/n", "1")
      // The bench's own services list no host.
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(hook.receiver.requests.isEmpty)
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["failed HostNotAllowed"])
      #expect(try await tree.subscriptionCount() == 1)
    }
  }

  @Test func `A webhook that is switched off keeps what is due, and one that is deleted ends its subscriptions`()
    async throws
  {
    try await withWebhook { tree, hook in
      try await tree.holdRetries()
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      try await hook.save(hook.receiver.url, enabled: false)
      try await tree.put("/n", "1")
      try await hook.withRunner {
        #expect(try await tree.delays(after: 1) == [60])
        #expect(hook.receiver.requests.isEmpty)
        try await hook.save(hook.receiver.url)
        try await tree.makeDue()
        try await tree.untilIdle()
        #expect(hook.receiver.requests.count == 1)
        try await hook.save()
        try await tree.put("/n", "2")
        try await waitUntil { try await tree.subscriptionCount() == 0 }
      }
      #expect(hook.receiver.requests.count == 1)
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["retry disabled", "accepted", "revoked destination_removed"])
    }
  }

  @Test func `Nothing goes to a webhook that is switched off while a claim waits`() async throws {
    try await withWebhook { tree, hook in
      try await tree.holdRetries()
      try await hook.save(hook.receiver.url)
      try await hook.subscribe("/n")
      try await tree.put("/n", "1")
      try await tree.query("UPDATE data_tree_due SET due_at = 'infinity' WHERE customer_id > 0")
      try await tree.bench.database.withPool { observer in
        try await hook.withRunner {
          try await tree.bench.pool.transaction { database in
            try await database.query(DataTreeQueries.lock, tree.bench.customer.rawValue, SendingBench.appID)
            try await tree.query("UPDATE data_tree_due SET due_at = now() WHERE customer_id > 0")
            try await tree.bench.database.someoneWaits(as: observer)
            try await hook.save(hook.receiver.url, enabled: false, in: database)
          }
          #expect(try await tree.delays(after: 1) == [60])
        }
      }
      #expect(hook.receiver.requests.isEmpty)
      let outcomes = try await tree.outcomes()
      #expect(outcomes == ["retry disabled"])
    }
  }

  @Test func `After a rotation of the master key, encryption and webhooks work with the new one alone`() async throws {
    try await withWebhook { tree, hook in
      let key = Data((0..<32).map { UInt8($0) })
      try await hook.save(hook.receiver.url, token: "bar")
      try await hook.subscribe("/n")
      try await tree.subscribe("phone", "/n", .value, key: key.base64EncodedString())
      let new = MasterKeys.generate()
      let both = Vault(try MasterKeys(current: new, older: [tree.bench.masterKey]))
      let progress = try await Rekey(
        tree.bench.pool, vault: both, by: "root", columns: SealedColumn.registry + SealedColumn.dataTrees
      ).run()
      // The credentials of two apps, the key and the webhooks' settings.
      #expect(progress.resealed == 4 && progress.unreadable == [])
      try await tree.put("/n", "1")
      try await hook.withRunner(vault: Vault(try MasterKeys(current: new))) { try await tree.untilIdle() }
      #expect(hook.receiver.requests.map { $0.headers["x-webcom-webhook-token"] } == ["bar"])
      let payload = try #require(tree.received["phone"]?.first)
      #expect(Set(payload.keys) == ["webcom.app", "webcom.path", "webcom.sealed"])
      #expect(try PushNotificationEvent(payload, key: key).event == .valueChange(.value(1)))
    }
  }
}

/// A webhook of a data tree, `hook`, with the back end that it leads to.
private struct WebhookBench: Sendable {
  let tree: DataTreeBench
  let receiver: WebhookReceiver
  /// Another back end, which answers nothing.
  let silent: WebhookReceiver
  /// May send to these and to `closed`.
  let services: PushServices
  let rule: EndpointRule
  /// A port at which nobody listens.
  let closed: ClosedPort

  /// Stores the webhook with these addresses, or no webhook without any.
  /// - Parameters:
  ///   - others: the addresses of further webhooks, by their names.
  ///   - transaction: stores them, in place of the bench's pool.
  func save(
    _ addresses: String..., enabled: Bool = true, token: String? = nil, beside others: [String: String] = [:],
    in transaction: (any Querying)? = nil
  ) async throws {
    var destinations = Dictionary(
      named: others.map { name, uri in
        (
          name,
          WebhookDestination(
            enabled: true, subscribeDurationSeconds: 3600, destinationUris: [DestinationURI(uri: uri)])
        )
      })
    if !addresses.isEmpty {
      destinations["hook"] = WebhookDestination(
        enabled: enabled, subscribeDurationSeconds: 3600, destinationUris: addresses.map { DestinationURI(uri: $0) },
        headers: token.map { [WebhookDestination.tokenHeader: $0] })
    }
    try await WebhookStore(transaction ?? tree.bench.pool, vault: tree.bench.vault).save(
      WebhookSettings(destinations: destinations), tree.bench.customer, app: SendingBench.appID, rule: rule)
  }

  func subscribe(_ path: String, _ webhook: String = "hook") async throws {
    _ = try await tree.store.add(
      tree.bench.customer, app: SendingBench.appID,
      SubscriptionRequest(path: path, event: .value, webhook: webhook))
  }

  /// - Parameter vault: opens what is sealed, in place of the bench's own.
  func withRunner(vault: Vault? = nil, _ body: () async throws -> Void) async throws {
    try await tree.withRunner(services: services, vault: vault, body)
  }
}

private func withWebhook(
  requestTimeout: Duration = .seconds(600), _ body: @Sendable (DataTreeBench, WebhookBench) async throws -> Void
) async throws {
  try await withDataTree { tree in
    let (receiver, silent, closed) = (WebhookReceiver(), WebhookReceiver(), ClosedPort())
    for one in [receiver, silent] { try await one.start(tree.bench.simulator) }
    silent.fallSilent()
    var settings = PushServiceSettings(tree.bench.simulator, isPatient: false)
    settings.requestTimeout = requestTimeout
    settings.endpoints.webhook.listed = HostList(
      "\(receiver.authority), \(silent.authority), 127.0.0.1:\(closed.number)")
    let rule = settings.endpoints.webhook
    do {
      try await withProvider(settings) { services in
        try await body(
          tree,
          WebhookBench(
            tree: tree, receiver: receiver, silent: silent, services: services, rule: rule, closed: closed))
      }
    } catch {
      for one in [receiver, silent] { await one.stop() }
      throw error
    }
    for one in [receiver, silent] { await one.stop() }
  }
}
