import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Subscriptions

@Suite struct NotificationTests {
  @Test func `A write tells subscriptions above, at and below it, and subscribing tells nothing`() async throws {
    try await withDataTree { datasync in
      try await datasync.put("/users", #"{"alice":{"age":33,"city":"Breda"},"bob":{"age":40}}"#)
      try await datasync.subscribe("root", "/", .valueHidingData)
      try await datasync.subscribe("users", "/users", .child)
      try await datasync.subscribe("alice", "/users/alice", .value)
      try await datasync.subscribe("age", "/users/alice/age", .value)
      try await datasync.subscribe("city", "/users/alice/city", .value)
      try await datasync.subscribe("other", "/users/bob", .value)
      try await datasync.put("/users/alice", #"{"age":34,"city":"Breda"}"#)
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(
        datasync.received == [
          "root": [map("/", "Value.ChangedHidingData", nil)],
          "users": [
            map(
              "/users", "Children.Updated", #"{"added":{},"changed":{"alice":{"age":34,"city":"Breda"}},"removed":[]}"#)
          ],
          "alice": [map("/users/alice", "Value.Changed", #"{"age":34,"city":"Breda"}"#)],
          "age": [map("/users/alice/age", "Value.Changed", "34")],
        ])
    }
  }

  @Test func `Changes before a notification leaves are merged into the newest state`() async throws {
    try await withDataTree { datasync in
      try await datasync.put("/users", #"{"old":1,"gone":1}"#)
      try await datasync.subscribe("users", "/users", .child)
      try await datasync.subscribe("value", "/users", .value)
      try await datasync.put("/users/new", "1")
      try await datasync.put("/users/brief", "1")
      try await datasync.put("/users/old", "2")
      try await datasync.put("/users/new", "3")
      try await datasync.put("/users/gone", "null")
      try await datasync.put("/users/brief", "null")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(
        datasync.received == [
          "users": [map("/users", "Children.Updated", #"{"added":{"new":3},"changed":{"old":2},"removed":["gone"]}"#)],
          "value": [map("/users", "Value.Changed", #"{"new":3,"old":2}"#)],
        ])
    }
  }

  @Test(arguments: ["QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR"], [0.0, 1])
  func `What passes is tried again after one, two, four and more seconds, and for two hours at most`(
    code: String, jitter: Double
  ) async throws {
    try await withDataTree { datasync in
      // More than a dozen say that the service is away, and each has its own delays nevertheless.
      for number in 1...12 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .refuse(.fcm(code == "QUOTA_EXCEEDED" ? 429 : 503, "UNAVAILABLE", code, "Later")))
      try await datasync.put("/n", "1")
      try await datasync.withRunner(jitter: jitter) {
        for attempt in 1...12 {
          let seconds = Double(min(1 << (attempt - 1), 900)) * (1 + jitter / 2)
          #expect(try await datasync.delays(after: attempt) == [Double](repeating: seconds, count: 12), "\(attempt)")
          try await datasync.makeDue()
        }
        _ = try await datasync.delays(after: 13)
        // The first failure is so long ago that the next one is the last.
        try await datasync.query(
          "UPDATE data_tree_due SET first_failed_at = now() - interval '2 hours' WHERE customer_id > 0")
        try await datasync.makeDue()
        try await datasync.untilIdle()
        let outcomes = try await datasync.outcomes()
        #expect(outcomes.filter { $0 == "retry \(code)" }.count == 13 * 12)
        #expect(outcomes.suffix(12) == [String](repeating: "expired \(code)", count: 12)[...])
        #expect(try await datasync.subscriptionCount() == 12)
        // The subscriptions stay, and are told the next change.
        datasync.fcm.removeRules()
        try await datasync.put("/n", "2")
        try await datasync.untilIdle()
      }
      #expect(datasync.received.count == 12)
      #expect(datasync.received["phone1"] == [map("/n", "Value.Changed", "2")])
    }
  }

  @Test func `A longer Retry-After wins, a shorter one does not, and others are not held up by it`() async throws {
    try await withDataTree { datasync in
      for number in 1...12 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.token("phone"), .refuse(.quotaExceeded(retryAfter: "90")))
      try await datasync.put("/n", "1")
      try await datasync.withRunner(jitter: 1) {
        #expect(try await datasync.delays(after: 1) == [Double](repeating: 90, count: 12))
        datasync.fcm.removeRules()
        datasync.fcm.rule(.token("phone"), .refuse(.unavailable(retryAfter: "2")))
        try await datasync.makeDue()
        #expect(try await datasync.delays(after: 2) == [Double](repeating: 3, count: 12))
        try await datasync.subscribe("other", "/m", .value)
        try await datasync.put("/m", "1")
        try await waitUntil { datasync.received["other"] != nil }
      }
      #expect(datasync.received == ["other": [map("/m", "Value.Changed", "1")]])
    }
  }

  @Test(arguments: ["86400", "4294967295"])
  func `A Retry-After beyond two hours drops the notification alone, and the next change is told at once`(
    seconds: String
  ) async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.subscribe("ended", "/ended", .value)
      try await datasync.query(
        "UPDATE data_tree_subscription SET expires_at = now() - interval '1 s' WHERE path = '/ended/'")
      try await datasync.query(
        """
        INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, expires_at, due_at)
        SELECT customer_id, subscription_id, app_id, service, expires_at, expires_at
          FROM data_tree_subscription WHERE path = '/ended/'
        """)
      datasync.fcm.rule(.any, .refuse(.quotaExceeded(retryAfter: seconds)))
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await waitUntil { try await datasync.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
        #expect(try await datasync.outcomes().contains("expired QUOTA_EXCEEDED"))
        // The end could not be told, and the other one is as it was.
        #expect(try await datasync.subscriptionCount() == 1)
        datasync.fcm.removeRules()
        try await datasync.put("/n", "2")
        try await datasync.untilIdle()
      }
      #expect(datasync.received == ["phone": [map("/n", "Value.Changed", "2")]])
    }
  }

  @Test func `A change that comes shortly before an older one is dropped has two hours of its own`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      datasync.fcm.rule(.any, .refuse(.unavailable()))
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        #expect(try await datasync.delays(after: 1) == [1])
        try await datasync.query(
          "UPDATE data_tree_due SET first_failed_at = now() - interval '2 hours', due_at = 'infinity' WHERE customer_id > 0"
        )
        try await datasync.put("/n", "2")
        try await datasync.makeDue()
        #expect(try await datasync.delays(after: 2) == [2])
        datasync.fcm.removeRules()
        try await datasync.makeDue()
        try await datasync.untilIdle()
      }
      #expect(datasync.received == ["phone": [map("/n", "Value.Changed", "2")]])
      #expect(try await datasync.outcomes() == ["retry UNAVAILABLE", "retry UNAVAILABLE", "accepted"])
    }
  }

  @Test func `Many tokens that look dead raise an alarm, end no subscription and hold up nobody`() async throws {
    try await withDataTree { datasync in
      for number in 1...100 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      for number in 1...30 { datasync.fcm.unregister(token: "phone\(number)") }
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await datasync.untilAlarm()
        try await waitUntil {
          try await datasync.query("SELECT FROM data_tree_due WHERE lease_until IS NOT NULL").isEmpty
        }
        let held = try await datasync.query("SELECT FROM data_tree_due WHERE pending IS NOT NULL").count
        try #require(held == 0)
        #expect(
          try await datasync.app()?.alarm?.reason.hasPrefix("30 of 100 tokens came back from FCM as invalid") == true)
        try await datasync.put("/n", "2")
        try await datasync.untilIdle()
      }
      #expect(try await datasync.subscriptionCount() == 100)
      #expect(try await datasync.outcomes().filter { $0 == "failed UNREGISTERED" }.count == 60)
      let both = ["1", "2"].map { map("/n", "Value.Changed", $0) }
      #expect(datasync.received.count == 70 && datasync.received.values.allSatisfy { $0 == both })
    }
  }

  @Test func `A lane whose service does not answer claims no more of its backlog than was turned away once`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...40 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/n", "1")
      try await datasync.query("CREATE TABLE due_before AS SELECT subscription_id, due_at FROM data_tree_due")
      func turnedAway() async throws -> Int {
        try await datasync.query(
          """
          SELECT count(*) FROM data_tree_due AS d JOIN due_before AS b USING (subscription_id)
           WHERE d.due_at <> b.due_at AND d.lease_until IS NULL
          """)[0].decode(Int.self)
      }
      try await datasync.withRunner(
        groupSize: 2,
        dispatch: {
          $0.window = 10
          // The second batch is claimed before the first counts as unanswered.
          $0.verdictTimeout = .seconds(3)
        }
      ) {
        try await waitUntil { try await turnedAway() > 0 }
        for _ in 1...3 { try await datasync.untilScanned() }
        #expect(try await turnedAway() <= 2)
      }
    }
  }

  @Test func `A dead token with many subscriptions is one token, and their ends count no more`() async throws {
    try await withDataTree { datasync in
      // A tenth of the phones is gone. Their ends are refused, too, and nothing else is sent then.
      for number in 1...50 { try await datasync.subscribe("dead1", "/n/\(number)", .value) }
      for number in 2...55 { try await datasync.subscribe("dead\(number)", "/n/1", .value) }
      for number in 1...500 { try await datasync.subscribe("phone\(number)", "/n/1", .value) }
      for number in 1...55 { datasync.fcm.unregister(token: "dead\(number)") }
      try await datasync.put("/n", "{\((1...50).map { "\"\($0)\":1" }.joined(separator: ","))}")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(try await datasync.app()?.alarm == nil)
      #expect(try await datasync.subscriptionCount() == 500)
      #expect(datasync.received.count == 500)
    }
  }

  @Test func `A token that alone has most subscriptions raises no alarm when it dies`() async throws {
    try await withDataTree { datasync in
      for number in 1...60 { try await datasync.subscribe("dead", "/n/\(number)", .value) }
      datasync.fcm.unregister(token: "dead")
      try await datasync.put("/n", "{\((1...60).map { "\"\($0)\":1" }.joined(separator: ","))}")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(try await datasync.app()?.alarm == nil)
      #expect(try await datasync.subscriptionCount() == 0)
      #expect(try await datasync.outcomes().filter { $0 == "revoked unregistered_device" }.count == 60)
    }
  }

  @Test func `A dead token ends all its subscriptions and no other, and a refused payload ends none`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("dead", "/n", .value)
      try await datasync.subscribe("dead", "/quiet", .value)
      try await datasync.subscribe("alive", "/n", .value)
      try await datasync.subscribe("refused", "/n", .value)
      datasync.fcm.unregister(token: "dead")
      datasync.fcm.rule(
        .token("refused"), .refuse(.fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The message is invalid")))
      try await datasync.put("/n", "1")
      try await datasync.withRunner { try await datasync.untilIdle() }
      let left = try await datasync.query("SELECT target FROM data_tree_subscription ORDER BY target").map {
        try $0.decode(String.self)
      }
      #expect(left == ["alive", "refused"])
      #expect(try await datasync.outcomes().contains("revoked unregistered_device"))
      #expect(try await datasync.outcomes().contains("failed INVALID_ARGUMENT"))
      #expect(datasync.received == ["alive": [map("/n", "Value.Changed", "1")]])
    }
  }

  @Test func `A token of another sender ends its subscriptions, as sendouts retire its device`() async throws {
    try await withDataTree { datasync in
      for name in ["foreign", "alive"] { try await datasync.subscribe(name, "/n", .value) }
      datasync.fcm.rule(.token("foreign"), .refuse(.senderIDMismatch))
      try await datasync.put("/n", "1")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(try await datasync.subscriptionCount() == 1)
      #expect(try await datasync.outcomes().contains("revoked unregistered_device"))
      #expect(try await datasync.app()?.alarm == nil)
    }
  }

  @Test func `Where most tokens are of another sender, none ends, and they are told once the app is corrected`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...60 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .refuse(.senderIDMismatch))
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await datasync.untilAlarm()
        try await waitUntil {
          try await datasync.outcomes().filter { $0 == "retry SENDER_ID_MISMATCH" }.count == 60
        }
        datasync.fcm.removeRules()
        try await datasync.makeDue()
        try await datasync.untilIdle()
      }
      #expect(try await datasync.subscriptionCount() == 60 && datasync.received.count == 60)
    }
  }

  @Test func `Where Firebase cannot sign in to APNs, Apple's phones alone wait until that is corrected, with an alarm`()
    async throws
  {
    try await withDataTree { datasync in
      for name in ["apple", "android"] { try await datasync.subscribe(name, "/n", .value) }
      datasync.fcm.rule(.token("apple"), .refuse(.thirdPartyAuth))
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await datasync.untilAlarm()
        #expect(try await datasync.app()?.alarm?.reason.hasPrefix("THIRD_PARTY_AUTH_ERROR: Firebase's own key") == true)
        try await waitUntil { try await datasync.outcomes().contains("retry THIRD_PARTY_AUTH_ERROR") }
        datasync.fcm.removeRules()
        try await datasync.put("/n", "2")
        try await datasync.query("UPDATE data_tree_due SET due_at = now()")
        try await datasync.untilIdle()
        try await waitUntil { try await datasync.app()?.alarm == nil }
      }
      #expect(datasync.received["apple"]?.count == 1 && datasync.received["android"]?.count == 2)
    }
  }

  @Test func `Connections of an app close at once when it gets other credentials`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await waitUntil { datasync.received["phone"]?.count == 1 && datasync.fcm.openConnections > 0 }
        try await datasync.renewCredentials()
        try await waitUntil { datasync.fcm.openConnections == 0 }
        try await datasync.put("/n", "2")
        try await waitUntil { datasync.received["phone"]?.count == 2 }
      }
    }
  }

  @Test func `Refused credentials end nothing: the lane closes with an alarm, and new credentials open it`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...20 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      try await datasync.put("/n", "1")
      // No minute passes after which a push would try the lane.
      try await datasync.withRunner(clock: SteerableClock()) {
        try await datasync.untilAlarm()
        #expect(try await datasync.subscriptionCount() == 20)
        #expect(try await datasync.outcomes() == [])
        try await datasync.renewCredentials()
        try await datasync.untilIdle()
        try await waitUntil { try await datasync.app()?.alarm == nil }
      }
      #expect(datasync.received.count == 20)
    }
  }

  @Test
  func `A lane that refused credentials closed tries one push a minute, and opens with the first that is accepted`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...20 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .refuse(.permissionDenied(project: "acme-shop")))
      try await datasync.put("/n", "1")
      let clock = SteerableClock()
      try await datasync.withRunner(clock: clock) {
        try await datasync.untilAlarm()
        let first = datasync.fcm.requests.count
        for minute in 1...3 {
          try await datasync.query("UPDATE push_app SET alarm = NULL, alarm_at = NULL")
          clock.advance(by: .milliseconds(59_999))
          try await datasync.untilScanned()
          #expect(datasync.fcm.requests.count == first + minute - 1)
          clock.advance(by: .milliseconds(1))
          // It is raised once the lane is closed again.
          try await datasync.untilAlarm()
          try await datasync.untilScanned()
          #expect(datasync.fcm.requests.count == first + minute)
        }
        #expect(try await datasync.outcomes() == [])
        datasync.fcm.removeRules()
        try await datasync.untilScanned()
        #expect(datasync.fcm.requests.count == first + 3)
        clock.advance(by: .seconds(60))
        try await datasync.untilIdle()
        try await waitUntil { try await datasync.app()?.alarm == nil }
        #expect(datasync.fcm.requests.count == first + 3 + 20)
      }
      #expect(datasync.received.count == 20)
      #expect(try await datasync.outcomes() == Array(repeating: "accepted", count: 20))
    }
  }

  @Test func `A notification that is too large for its service opens no lane that refused credentials closed`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...20 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .refuse(.permissionDenied(project: "acme-shop")))
      try await datasync.put("/n", "1")
      let clock = SteerableClock()
      try await datasync.withRunner(clock: clock) {
        try await datasync.untilAlarm()
        try await datasync.untilScanned()
        let first = datasync.fcm.requests.count
        // Its path alone is longer than a message.
        let path = (1...8).map { "/\(String(repeating: "\($0)", count: 700))" }.joined()
        try await datasync.subscribe("big", path, .value)
        try await datasync.put(path, "1")
        try await datasync.query(
          "UPDATE data_tree_due SET due_at = '-infinity' WHERE pending IS NOT NULL AND attempts = 0")
        try await datasync.query(
          """
          UPDATE data_tree_due SET due_at = now() WHERE subscription_id IN (
            SELECT subscription_id FROM data_tree_subscription WHERE target <> 'big')
          """)
        try await datasync.query("UPDATE push_app SET alarm = NULL, alarm_at = NULL")
        clock.advance(by: .seconds(60))
        // The next push may try at once, and is refused.
        try await datasync.untilAlarm()
        try await datasync.untilScanned()
        #expect(try await datasync.outcomes() == ["failed MessageTooBig"])
        #expect(datasync.fcm.requests.count == first + 1)
      }
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `An accepted check of the credentials opens a lane that refused ones closed`(isByTheHub: Bool) async throws {
    try await withDataTree { datasync in
      for number in 1...20 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      try await datasync.put("/n", "1")
      // For this hub no time passes: what it knows of the failed sign-in does not become old, and no push tries the lane.
      let now = Date()
      try await withProvider(PushServiceSettings(datasync.bench.simulator), now: { now }) { services in
        try await datasync.withRunner(clock: SteerableClock(), services: services) {
          try await datasync.untilAlarm()
          try datasync.fcm.register(keyFile: datasync.serviceAccount)
          let check = CredentialCheck(
            PushCredentialVault(datasync.bench.pool, vault: datasync.bench.vault),
            services: isByTheHub ? services : datasync.bench.services)
          let reply = try await check.check(try #require(try await datasync.app()))
          #expect(reply?.checks.map(\.verdict) == [.accepted])
          try await datasync.untilIdle()
          try await waitUntil { try await datasync.app()?.alarm == nil }
        }
      }
      #expect(datasync.received.count == 20)
    }
  }

  @Test func `A subscription that has expired is told so once and is gone`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.expire()
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        try await waitUntil { try await datasync.subscriptionCount() == 0 }
      }
      #expect(datasync.received == ["phone": [map("/n", "Revoked", #"{"reason":"expired"}"#)]])
    }
  }

  @Test(arguments: [false, true])
  func `A subscription that has ended is gone, even if its key does not open`(isRevoked: Bool) async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe(
        "phone", "/n", .value, key: Data(repeating: 1, count: 32).base64EncodedString())
      try await datasync.query("UPDATE data_tree_subscription SET sealed_key = '\\x00'")
      if isRevoked {
        try await NotificationQueue(database: datasync.bench.pool, run: UUID(), lease: .seconds(20)).revoke(
          "phone", of: datasync.lane, reason: "unregistered_device", before: .now)
      } else {
        try await datasync.expire()
      }
      try await datasync.withRunner {
        try await waitUntil { try await datasync.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
      }
      #expect(try await datasync.subscriptionCount() == 0)
      #expect(try await datasync.outcomes() == ["failed EncryptionKeySealed"])
      #expect(datasync.received == [:])
    }
  }

  @Test(arguments: [false, true])
  func `A subscription that is made again while its notification is on its way ends when it says now`(
    isForEver: Bool
  ) async throws {
    try await withDataTree { datasync in
      func subscribe(_ seconds: Int?) async throws -> SubscriptionID {
        try await datasync.store.add(
          datasync.bench.customer, app: SendingBench.appID,
          SubscriptionRequest(
            path: "/n", event: .value, deviceToken: "phone", service: .fcm, durationSeconds: seconds)
        ).subscriptionId
      }
      let id = try await subscribe(isForEver ? 60 : nil)
      try await datasync.put("/n", "1")
      let queue = NotificationQueue(database: datasync.bench.pool, run: UUID(), lease: .seconds(600))
      let items = try await queue.take(
        datasync.lane, upTo: 10, from: datasync.bench.pool, vault: datasync.bench.vault
      ).items
      #expect(items.map(\.claimed.id) == [id])
      #expect(try await subscribe(isForEver ? nil : 60) == id)
      try await queue.settle([.init(id: id, next: .done)], of: datasync.lane)
      let due = try await datasync.query(
        """
        SELECT d.due_at = s.expires_at FROM data_tree_due AS d JOIN data_tree_subscription AS s USING (customer_id, subscription_id)
        """
      ).map { try $0.decode(Bool.self) }
      #expect(due == (isForEver ? [] : [true]))
    }
  }

  @Test func `A subscription that is made again before its token is told as dead stays, and is told again`()
    async throws
  {
    try await withDataTree { datasync in
      let old = try await datasync.subscribe("phone", "/n", .value).subscriptionId
      try await datasync.subscribe("phone", "/m", .value)
      try await datasync.subscribe("slow", "/n", .value)
      datasync.fcm.rule(.token("phone"), .refuse(.fcm(404, "NOT_FOUND", "UNREGISTERED", "Not found")))
      datasync.fcm.rule(.token("slow"), .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        // Dead tokens are told with the last answer.
        try await waitUntil { Set(datasync.fcm.requests.map(\.token)) == ["phone", "slow"] }
        #expect(try await datasync.subscribe("phone", "/n", .value).subscriptionId == old)
        datasync.fcm.removeRules()
        datasync.fcm.answerIgnored()
        try await waitUntil {
          try await datasync.makeDue()
          return datasync.received["phone"]?.contains(map("/n", "Value.Changed", "1")) == true
        }
        try await datasync.untilIdle()
      }
      let left = try await datasync.query("SELECT concat(target, path) FROM data_tree_subscription ORDER BY 1").map {
        try $0.decode(String.self)
      }
      // The other one of the phone was not made again.
      #expect(left == ["phone/n/", "slow/n/"])
      #expect(
        try await datasync.outcomes().filter { $0.contains("unregistered_device") } == ["retry unregistered_device"])
    }
  }

  @Test(arguments: [false, true])
  func `Whether a subscription is made again or its token is dead first, it stays`(isDeadFirst: Bool) async throws {
    try await withDataTree { datasync in
      let id = try await datasync.subscribe("phone", "/n", .value).subscriptionId
      let (pool, lane, moment) = (datasync.bench.pool, datasync.lane, Date.now)
      @Sendable func revoke(_ database: any Querying) async throws {
        try await NotificationQueue(database: database, run: UUID(), lease: .seconds(20)).revoke(
          "phone", of: lane, reason: "unregistered_device", before: moment)
      }
      try await datasync.bench.database.withPool { observer in
        let other = try await pool.transaction { database in
          if isDeadFirst {
            try await revoke(database)
          } else {
            _ = try await database.query(
              Statement("test.renew", .write, "UPDATE data_tree_subscription SET created_at = now()"))
          }
          let other = Task {
            if isDeadFirst { _ = try await datasync.subscribe("phone", "/n", .value) } else { try await revoke(pool) }
          }
          try await datasync.bench.database.someoneWaits(as: observer)
          return other
        }
        try await other.value
      }
      #expect(try await datasync.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty)
      let left = try await datasync.store.list(lane.customer, app: lane.app, PageRequest(limit: 10)).items
      #expect(left.map(\.subscriptionId) == [id])
    }
  }

  @Test func `What was to end and was made again is told no end`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.expire()
      // As when a write notes it while it is made again.
      try await datasync.query("UPDATE data_tree_subscription SET expires_at = 'infinity'")
      try await datasync.withRunner {
        try await waitUntil { try await datasync.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
      }
      #expect(try await datasync.subscriptionCount() == 1)
      #expect(datasync.received == [:])
    }
  }

  @Test func `An ended subscription of a disabled webhook is gone`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribeDisabledWebhook("/n")
      try await datasync.expire()
      try await datasync.withRunner {
        try await waitUntil { try await !datasync.outcomes().isEmpty }
      }
      #expect(try await datasync.outcomes() == ["failed disabled"])
      #expect(try await datasync.subscriptionCount() == 0)
    }
  }

  @Test func `Events that take longer to make than a claim lasts are sent once`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.put("/n", "1")
      try await datasync.bench.database.withPool { observer in
        try await datasync.withRunner(2, lease: .seconds(1)) {
          try await datasync.bench.pool.transaction { database in
            _ = try await database.query(Statement("test.lock", .write, "LOCK TABLE data_tree_node"))
            try await datasync.bench.database.someoneWaits(as: observer)
            _ = try await database.query(Statement("test.sleep", .write, "SELECT pg_sleep(2.5)"))
          }
          try await datasync.untilIdle()
        }
      }
      #expect(datasync.received == ["phone": [map("/n", "Value.Changed", "1")]])
      #expect(try await datasync.outcomes() == ["accepted"])
    }
  }

  @Test func `A claim that another hub has taken is extended no more, nor is one that is over`() async throws {
    try await withDataTree { datasync in
      for number in 1...2 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      try await datasync.put("/n", "1")
      let (lane, pool) = (datasync.lane, datasync.bench.pool)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let ids = try await queue.take(lane, upTo: 10, from: pool, vault: datasync.bench.vault).items.map(\.claimed.id)
      #expect(ids.count == 2)
      #expect(try await queue.extend(ids, of: lane))
      try await datasync.query(
        "UPDATE data_tree_due SET hub_id = gen_random_uuid() WHERE subscription_id = \(ids[0])")
      #expect(try await queue.extend(ids, of: lane))
      try await datasync.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      #expect(try await !queue.extend(ids, of: lane))
    }
  }

  @Test(arguments: Lock.allCases, [false, true])
  func `Outcomes, claims and revocations come after a write of the same subscriptions, and none of them deadlocks`(
    lock: Lock, isInPortions: Bool
  ) async throws {
    try await withDataTree { datasync in
      // The first of them stands where a write in portions comes last, and in the index behind the other.
      for path in ["/b", "/a"] { try await datasync.subscribe("phone", path, .value) }
      for path in ["/a", "/b"] { try await datasync.put(path, "1") }
      let (pool, lane) = (datasync.bench.pool, datasync.lane)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let batch = try await queue.take(lane, upTo: 10, from: pool, vault: datasync.bench.vault)
      let ids = batch.items.map(\.claimed.id).sorted { $0.rawValue < $1.rawValue }
      if lock == .revoke { try await queue.settle(ids.map { .init(id: $0, next: .blocked) }, of: lane) }
      try await datasync.query(
        "UPDATE data_tree_due SET due_at = '-infinity' WHERE subscription_id = \(ids[0])")
      try await datasync.bench.database.withPool { observer in
        let waiting = try await pool.transaction { database in
          // What the write locks first. So it waits with nothing locked, and comes before the other.
          _ = try await database.query(
            Statement("test.hold", .write, "SELECT FROM data_tree_due WHERE subscription_id = $1 FOR UPDATE"),
            ids[isInPortions ? 1 : 0].rawValue)
          let write = Task {
            try await DataTree(pool, portion: isInPortions ? 1 : 1000).write(
              .put(.null), lane.customer, app: lane.app, at: .root)
          }
          try await datasync.bench.database.someoneWaits(as: observer)
          @Sendable func run() async throws {
            switch lock {
            case .settle:
              try await queue.settle([.init(id: ids[0], next: .remove), .init(id: ids[1], next: .done)], of: lane)
            case .extend: _ = try await queue.extend(ids, of: lane)
            case .revoke: try await queue.revoke("phone", of: lane, reason: "x", before: .distantFuture)
            }
          }
          // For a write that has the tree for itself nothing waits on a connection that others share.
          if isInPortions {
            let error = await #expect(throws: PostgresError.self) { try await run() }
            guard case .server(let error)? = error else { throw CancellationError() }
            #expect(error.sqlState == ServerError.lockNotAvailable)
            let after = Task {
              _ = try await write.value
              try await run()
            }
            return (write, after)
          }
          let other = Task { try await run() }
          try await datasync.bench.database.someoneWaits(2, as: observer)
          return (write, other)
        }
        #expect(try await waiting.0.value == 2)
        try await waiting.1.value
      }
      #expect(try await DataTree(pool).value(lane.customer, app: lane.app, at: .root) == .null)
      #expect(try await datasync.subscriptionCount() == (lock == .settle ? 1 : 2))
    }
  }

  @Test func `Claims last longer by as much as a write had the tree for itself`() async throws {
    try await withDataTree { datasync in
      for path in ["/a", "/b"] {
        try await datasync.subscribe("phone", path, .value)
        try await datasync.put(path, "1")
      }
      let (pool, lane) = (datasync.bench.pool, datasync.lane)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let batch = try await queue.take(lane, upTo: 10, from: pool, vault: datasync.bench.vault)
      let ids = batch.items.sorted { $0.claimed.path < $1.claimed.path }.map(\.claimed.id)
      try await datasync.bench.database.withPool { observer in
        let write = try await pool.transaction { database in
          // What the write locks first, once it has the tree for itself.
          _ = try await database.query(
            Statement("test.hold", .write, "SELECT FROM data_tree_due WHERE subscription_id = $1 FOR UPDATE"),
            ids[0].rawValue)
          let write = Task {
            try await DataTree(pool, portion: 1).write(.put(.null), lane.customer, app: lane.app, at: .root)
          }
          try await datasync.bench.database.someoneWaits(as: observer)
          let lease =
            "UPDATE data_tree_due SET lease_until = clock_timestamp() + interval '0.1 s' WHERE subscription_id = "
          _ = try await database.query(Statement("test.lease", .write, "\(lease) $1"), ids[0].rawValue)
          try await datasync.query("\(lease) \(ids[1])")
          try await waitUntil {
            try await datasync.query(
              "SELECT FROM data_tree_due WHERE lease_until > now() AND subscription_id = \(ids[1])"
            ).isEmpty
          }
          return write
        }
        _ = try await write.value
      }
      // They are still this hub's.
      #expect(try await queue.extend(ids, of: lane))
      try await queue.settle(ids.map { .init(id: $0, next: .done, outcome: "accepted") }, of: lane)
      #expect(try await datasync.outcomes() == ["accepted", "accepted"])
      let left = try await datasync.query("SELECT FROM data_tree_due WHERE lease_until IS NOT NULL").count
      #expect(left == 0)
    }
  }

  @Test func `While a write has a tree for itself, other apps go on, and then each notification is settled once`()
    async throws
  {
    try await withDataTree { datasync in
      for number in 1...30 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/n", "1")
      try await datasync.bench.database.withPool { observer in
        try await datasync.withRunner(2) {
          try await waitUntil { datasync.fcm.requests.count >= 30 }
          try await observer.transaction { database in
            _ = try await database.query(
              DataTreeQueries.lockAlone, datasync.bench.customer.rawValue, SendingBench.appID)
            datasync.fcm.removeRules()
            datasync.fcm.answerIgnored()
            // The last statement of some connection: outcomes were to be written.
            try await waitUntil {
              try await !datasync.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%AS oldest, since%'"
              ).isEmpty
            }
            // Settles what is due of another app.
            for _ in 1...3 { try await datasync.untilScanned() }
            let store = datasync.store
            await #expect(throws: PostgresError.self) {
              try await store.addUnchecked(
                datasync.bench.customer, SendingBench.appID,
                SubscriptionRequest(path: "/m", event: .value, deviceToken: "new", service: .fcm))
            }
            // Whoever waits has a connection of its own.
            let waiting = try await datasync.query(
              "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).map { try $0.decode(String.self) }
            #expect(waiting.allSatisfy { !$0.contains("hub_id = ") })
          }
          try await datasync.untilIdle()
        }
      }
      #expect(datasync.fcm.requests.count == 30)
      #expect(try await datasync.outcomes() == Array(repeating: "accepted", count: 30))
    }
  }

  /// What locks several subscriptions at once.
  enum Lock: CaseIterable { case settle, extend, revoke }

  @Test func `A retry of a killed hub is sent by another one that runs, with the newest state`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      datasync.fcm.rule(.any, .refuse(.unavailable()))
      try await datasync.put("/n", "1")
      try await datasync.withRunner { _ = try await datasync.delays(after: 1) }
      try await datasync.query("UPDATE data_tree_due SET due_at = now() + interval '30 min' WHERE customer_id > 0")
      datasync.fcm.removeRules()
      try await datasync.withRunner {
        try await datasync.put("/n", "2")
        try await datasync.untilScanned()
        #expect(datasync.received == [:])
        // Nobody is notified of that.
        try await datasync.makeDue()
        try await datasync.untilIdle()
      }
      #expect(datasync.received == ["phone": [map("/n", "Value.Changed", "2")]])
      #expect(try await datasync.outcomes() == ["retry UNAVAILABLE", "accepted"])
    }
  }

  @Test func `A child whose change is not told takes no room in a notification`() async throws {
    try await withDataTree { datasync in
      try await datasync.put("/users", #"{"old":1,"gone":1}"#)
      try await datasync.subscribe("phone", "/users", .child, tells: (added: true, changed: false, removed: true))
      // It goes and comes back: a change.
      try await datasync.put("/users/old", "null")
      try await datasync.put("/users/old", #""\#(String(repeating: "x", count: 5000))""#)
      try await datasync.put("/users/new", "2")
      try await datasync.put("/users/gone", "null")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(
        datasync.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{"new":2},"changed":{},"removed":["gone"]}"#)]
        ])
    }
  }

  @Test func `More added children than can be noted do not hide which were removed`() async throws {
    try await withDataTree { datasync in
      try await datasync.put("/users", #"{"gone":1}"#)
      try await datasync.subscribe("phone", "/users", .child, tells: (added: false, changed: false, removed: true))
      try await datasync.put("/users", "{\((0..<8000).map { #""name\#($0)":1"# }.joined(separator: ","))}")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(
        datasync.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{},"changed":{},"removed":["gone"]}"#)]
        ])
    }
  }

  @Test func `A child that comes and goes before its notification leaves is told of neither`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/users", .child)
      try await datasync.put("/users/brief", "1")
      try await datasync.query("UPDATE data_tree_due SET due_at = 'infinity' WHERE customer_id > 0")
      let (customer, place) = (datasync.bench.customer, try DataTreePath(text: "/users/brief"))
      try await datasync.bench.database.withPool { observer in
        try await datasync.withRunner {
          try await datasync.bench.pool.transaction { database in
            _ = try await database.query(DataTreeQueries.lock, customer.rawValue, SendingBench.appID)
            _ = try await database.query(Statement("test.lock", .write, "LOCK TABLE data_tree_node"))
            try await datasync.query("UPDATE data_tree_due SET due_at = '-infinity' WHERE customer_id > 0")
            try await datasync.bench.database.someoneWaits(as: observer)
            _ = try await DataTree(datasync.bench.pool).write(
              .put(.null), customer, app: SendingBench.appID, at: place, database)
          }
          try await datasync.untilIdle()
          try await datasync.put("/users/stays", "1")
          try await datasync.untilIdle()
        }
      }
      #expect(
        datasync.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{"stays":1},"changed":{},"removed":[]}"#)]
        ])
    }
  }

  @Test func `Notifications of a killed hub are sent again, and the log says why`() async throws {
    try await withDataTree { datasync in
      for number in 1...30 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/n", "1")
      try await datasync.withRunner { try await waitUntil { datasync.fcm.requests.count >= 30 } }
      datasync.fcm.removeRules()
      try await datasync.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      try await datasync.withRunner { try await datasync.untilIdle() }
      let outcomes = try await datasync.outcomes()
      #expect(outcomes.filter { $0 == "uncertain hub_stopped" }.count == 30)
      #expect(outcomes.filter { $0 == "accepted" }.count == 30)
      #expect(Set(datasync.received.keys).count == 30)
    }
  }

  @Test func `A child that may have been told is told again when it has changed since a hub was killed`() async throws {
    try await withDataTree { datasync in
      try await datasync.subscribe("phone", "/users", .child)
      try await datasync.put("/users/old", "1")
      try await datasync.withRunner { try await datasync.untilIdle() }
      datasync.fcm.rule(.any, .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/users/new", "1")
      try await datasync.put("/users/old", "null")
      try await datasync.withRunner { try await waitUntil { datasync.fcm.requests.count >= 2 } }
      try await datasync.put("/users/new", "null")
      try await datasync.put("/users/old", "2")
      datasync.fcm.removeRules()
      try await datasync.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      try await datasync.withRunner { try await datasync.untilIdle() }
      #expect(
        datasync.received["phone"]?.last
          == map("/users", "Children.Updated", #"{"added":{"old":2},"changed":{},"removed":["new"]}"#))
    }
  }

  private func map(_ path: String, _ event: String, _ data: String?) -> [String: String] {
    var map = ["webcom.app": SendingBench.appID, "webcom.path": path, "webcom.event": event]
    map["webcom.data"] = data
    return map
  }
}
