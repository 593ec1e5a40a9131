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
    try await withDataTree { tree in
      try await tree.put("/users", #"{"alice":{"age":33,"city":"Breda"},"bob":{"age":40}}"#)
      try await tree.subscribe("root", "/", .valueHidingData)
      try await tree.subscribe("users", "/users", .child)
      try await tree.subscribe("alice", "/users/alice", .value)
      try await tree.subscribe("age", "/users/alice/age", .value)
      try await tree.subscribe("city", "/users/alice/city", .value)
      try await tree.subscribe("other", "/users/bob", .value)
      try await tree.put("/users/alice", #"{"age":34,"city":"Breda"}"#)
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(
        tree.received == [
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

  @Test func `A token whose scope is all is told nothing, which the log says, and keeps its subscription`() async throws
  {
    try await withDataTree { tree in
      let app = try await PushApps(tree.bench.pool).resolve(
        tree.bench.customer, appID: SendingBench.appID, type: .firebase)
      let suppressions = Suppressions(tree.bench.pool, key: .ofTests)
      for (token, scope) in [("stopped", SuppressionScope.all), ("marketing", .marketing)] {
        let token = try DeviceToken(token, type: .firebase, field: "token")
        _ = try await suppressions.add(tree.bench.customer, .device(app.id, token), scope)
      }
      for token in ["stopped", "marketing", "other"] { try await tree.subscribe(token, "/users", .value) }
      try await tree.put("/users", "1")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(Set(tree.received.keys) == ["marketing", "other"])
      let log = try await tree.query(
        "SELECT concat_ws(' ', outcome, reason) FROM data_tree_notification ORDER BY 1"
      ).map { try $0.decode(String.self) }
      #expect(log == ["accepted", "accepted", "failed suppressed"])
      #expect(try await tree.query("SELECT FROM data_tree_subscription").count == 3)
    }
  }

  @Test func `Changes before a notification leaves are merged into the newest state`() async throws {
    try await withDataTree { tree in
      try await tree.put("/users", #"{"old":1,"gone":1}"#)
      try await tree.subscribe("users", "/users", .child)
      try await tree.subscribe("value", "/users", .value)
      try await tree.put("/users/new", "1")
      try await tree.put("/users/brief", "1")
      try await tree.put("/users/old", "2")
      try await tree.put("/users/new", "3")
      try await tree.put("/users/gone", "null")
      try await tree.put("/users/brief", "null")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(
        tree.received == [
          "users": [map("/users", "Children.Updated", #"{"added":{"new":3},"changed":{"old":2},"removed":["gone"]}"#)],
          "value": [map("/users", "Value.Changed", #"{"new":3,"old":2}"#)],
        ])
    }
  }

  @Test(arguments: [("QUOTA_EXCEEDED", 0.0), ("UNAVAILABLE", 1), ("INTERNAL", 0), ("UNSPECIFIED_ERROR", 1)])
  func `What passes is tried again after one, two, four and more seconds, and for two hours at most`(
    code: String, jitter: Double
  ) async throws {
    try await withDataTree { tree in
      try await tree.holdRetries()
      // More than a dozen say that the service is away, and each has its own delays nevertheless.
      for number in 1...12 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .refuse(.fcm(code == "QUOTA_EXCEEDED" ? 429 : 503, "UNAVAILABLE", code, "Later")))
      try await tree.put("/n", "1")
      try await tree.withRunner(jitter: jitter) {
        for attempt in 1...12 {
          let seconds = Double(min(1 << (attempt - 1), 900)) * (1 + jitter / 2)
          #expect(try await tree.delays(after: attempt) == [Double](repeating: seconds, count: 12), "\(attempt)")
          try await tree.makeDue()
        }
        _ = try await tree.delays(after: 13)
        // The first failure is so long ago that the next one is the last.
        try await tree.query(
          "UPDATE data_tree_due SET first_failed_at = now() - interval '2 hours' WHERE customer_id > 0")
        try await tree.makeDue()
        try await tree.untilIdle()
        let outcomes = try await tree.outcomes()
        #expect(outcomes.filter { $0 == "retry \(code)" }.count == 13 * 12)
        #expect(outcomes.suffix(12) == [String](repeating: "expired \(code)", count: 12)[...])
        #expect(try await tree.subscriptionCount() == 12)
        // The subscriptions stay, and are told the next change.
        tree.fcm.removeRules()
        try await tree.put("/n", "2")
        try await tree.untilIdle()
      }
      #expect(tree.received.count == 12)
      #expect(tree.received["phone1"] == [map("/n", "Value.Changed", "2")])
    }
  }

  @Test func `A longer Retry-After wins, a shorter one does not, and others are not held up by it`() async throws {
    try await withDataTree { tree in
      try await tree.holdRetries()
      for number in 1...12 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.prefix("phone"), .refuse(.quotaExceeded(retryAfter: "90")))
      try await tree.put("/n", "1")
      try await tree.withRunner(jitter: 1) {
        #expect(try await tree.delays(after: 1) == [Double](repeating: 90, count: 12))
        tree.fcm.removeRules()
        tree.fcm.rule(.prefix("phone"), .refuse(.unavailable(retryAfter: "2")))
        try await tree.makeDue()
        #expect(try await tree.delays(after: 2) == [Double](repeating: 3, count: 12))
        try await tree.subscribe("other", "/m", .value)
        try await tree.put("/m", "1")
        try await waitUntil { tree.received["other"] != nil }
      }
      #expect(tree.received == ["other": [map("/m", "Value.Changed", "1")]])
    }
  }

  @Test(arguments: ["86400", "4294967295"])
  func `A Retry-After beyond two hours drops the notification alone, and the next change is told at once`(
    seconds: String
  ) async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.subscribe("ended", "/ended", .value)
      try await tree.query(
        "UPDATE data_tree_subscription SET expires_at = now() - interval '1 s' WHERE path = '/ended/'")
      try await tree.query(
        """
        INSERT INTO data_tree_due (customer_id, subscription_id, app_id, service, expires_at, due_at)
        SELECT customer_id, subscription_id, app_id, service, expires_at, expires_at
          FROM data_tree_subscription WHERE path = '/ended/'
        """)
      tree.fcm.rule(.any, .refuse(.quotaExceeded(retryAfter: seconds)))
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await waitUntil { try await tree.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
        #expect(try await tree.outcomes().contains("expired QUOTA_EXCEEDED"))
        // The end could not be told, and the other one is as it was.
        #expect(try await tree.subscriptionCount() == 1)
        tree.fcm.removeRules()
        try await tree.put("/n", "2")
        try await tree.untilIdle()
      }
      #expect(tree.received == ["phone": [map("/n", "Value.Changed", "2")]])
    }
  }

  @Test func `A change that comes shortly before an older one is dropped has two hours of its own`() async throws {
    try await withDataTree { tree in
      try await tree.holdRetries()
      try await tree.subscribe("phone", "/n", .value)
      tree.fcm.rule(.any, .refuse(.unavailable()))
      try await tree.put("/n", "1")
      try await tree.withRunner {
        #expect(try await tree.delays(after: 1) == [1])
        try await tree.query(
          "UPDATE data_tree_due SET first_failed_at = now() - interval '2 hours', due_at = 'infinity' WHERE customer_id > 0"
        )
        try await tree.put("/n", "2")
        try await tree.makeDue()
        #expect(try await tree.delays(after: 2) == [2])
        tree.fcm.removeRules()
        try await tree.makeDue()
        try await tree.untilIdle()
      }
      #expect(tree.received == ["phone": [map("/n", "Value.Changed", "2")]])
      #expect(try await tree.outcomes() == ["retry UNAVAILABLE", "retry UNAVAILABLE", "accepted"])
    }
  }

  @Test func `Many tokens that look dead raise an alarm, end no subscription and hold up nobody`() async throws {
    try await withDataTree { tree in
      for number in 1...100 { try await tree.subscribe("phone\(number)", "/n", .value) }
      for number in 1...30 { tree.fcm.unregister(token: "phone\(number)") }
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await tree.untilAlarm()
        try await tree.untilReleased()
        let held = try await tree.query("SELECT FROM data_tree_due WHERE pending IS NOT NULL").count
        try #require(held == 0)
        #expect(
          try await tree.app()?.alarm?.reason.hasPrefix("30 of 100 tokens came back from FCM as invalid") == true)
        try await tree.put("/n", "2")
        try await tree.untilIdle()
      }
      #expect(try await tree.subscriptionCount() == 100)
      #expect(try await tree.outcomes().filter { $0 == "failed UNREGISTERED" }.count == 60)
      let both = ["1", "2"].map { map("/n", "Value.Changed", $0) }
      #expect(tree.received.count == 70 && tree.received.values.allSatisfy { $0 == both })
    }
  }

  @Test func `A lane whose service does not answer claims no more of its backlog than was turned away once`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...40 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .ignore)
      defer { tree.fcm.answerIgnored() }
      try await tree.put("/n", "1")
      try await tree.query("CREATE TABLE due_before AS SELECT subscription_id, due_at FROM data_tree_due")
      func turnedAway() async throws -> Int {
        try await tree.query(
          """
          SELECT count(*) FROM data_tree_due AS d JOIN due_before AS b USING (subscription_id)
           WHERE d.due_at <> b.due_at AND d.lease_until IS NULL
          """)[0].decode(Int.self)
      }
      try await tree.withRunner(
        groupSize: 2,
        dispatch: {
          $0.window = 10
          // The second batch is claimed before the first counts as unanswered, on a busy machine, too.
          $0.verdictTimeout = .seconds(10)
        }
      ) {
        try await waitUntil { try await turnedAway() > 0 }
        for _ in 1...3 { try await tree.untilScanned() }
        #expect(try await turnedAway() <= 2)
      }
    }
  }

  @Test func `A dead token with many subscriptions is one token, and their ends count no more`() async throws {
    try await withDataTree { tree in
      // A tenth of the phones is gone. Their ends are refused, too, and nothing else is sent then.
      for number in 1...50 { try await tree.subscribe("dead1", "/n/\(number)", .value) }
      for number in 2...55 { try await tree.subscribe("dead\(number)", "/n/1", .value) }
      for number in 1...500 { try await tree.subscribe("phone\(number)", "/n/1", .value) }
      for number in 1...55 { tree.fcm.unregister(token: "dead\(number)") }
      try await tree.put("/n", "{\((1...50).map { "\"\($0)\":1" }.joined(separator: ","))}")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(try await tree.app()?.alarm == nil)
      #expect(try await tree.subscriptionCount() == 500)
      #expect(tree.received.count == 500)
    }
  }

  @Test func `A token that alone has most subscriptions raises no alarm when it dies`() async throws {
    try await withDataTree { tree in
      for number in 1...60 { try await tree.subscribe("dead", "/n/\(number)", .value) }
      tree.fcm.unregister(token: "dead")
      try await tree.put("/n", "{\((1...60).map { "\"\($0)\":1" }.joined(separator: ","))}")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(try await tree.app()?.alarm == nil)
      #expect(try await tree.subscriptionCount() == 0)
      #expect(try await tree.outcomes().filter { $0 == "revoked unregistered_device" }.count == 60)
    }
  }

  @Test func `A dead token ends all its subscriptions and no other, and a refused payload ends none`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("dead", "/n", .value)
      try await tree.subscribe("dead", "/quiet", .value)
      try await tree.subscribe("alive", "/n", .value)
      try await tree.subscribe("refused", "/n", .value)
      tree.fcm.unregister(token: "dead")
      tree.fcm.rule(
        .prefix("refused"), .refuse(.fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The message is invalid")))
      try await tree.put("/n", "1")
      try await tree.withRunner { try await tree.untilIdle() }
      let left = try await tree.query("SELECT target FROM data_tree_subscription ORDER BY target").map {
        try $0.decode(String.self)
      }
      #expect(left == ["alive", "refused"])
      #expect(try await tree.outcomes().contains("revoked unregistered_device"))
      #expect(try await tree.outcomes().contains("failed INVALID_ARGUMENT"))
      #expect(tree.received == ["alive": [map("/n", "Value.Changed", "1")]])
    }
  }

  @Test func `A token of another sender ends its subscriptions, as sendouts retire its device`() async throws {
    try await withDataTree { tree in
      for name in ["foreign", "alive"] { try await tree.subscribe(name, "/n", .value) }
      tree.fcm.rule(.prefix("foreign"), .refuse(.senderIDMismatch))
      try await tree.put("/n", "1")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(try await tree.subscriptionCount() == 1)
      #expect(try await tree.outcomes().contains("revoked unregistered_device"))
      #expect(try await tree.app()?.alarm == nil)
    }
  }

  @Test func `Where most tokens are of another sender, none ends, and they are told once the app is corrected`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...60 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .refuse(.senderIDMismatch))
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await tree.untilAlarm()
        try await waitUntil {
          try await tree.outcomes().filter { $0 == "retry SENDER_ID_MISMATCH" }.count == 60
        }
        tree.fcm.removeRules()
        try await tree.makeDue()
        try await tree.untilIdle()
      }
      #expect(try await tree.subscriptionCount() == 60 && tree.received.count == 60)
    }
  }

  @Test func `Where Firebase cannot sign in to APNs, Apple's phones alone wait until that is corrected, with an alarm`()
    async throws
  {
    try await withDataTree { tree in
      for name in ["apple", "android"] { try await tree.subscribe(name, "/n", .value) }
      tree.fcm.rule(.prefix("apple"), .refuse(.thirdPartyAuth))
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await tree.untilAlarm()
        #expect(try await tree.app()?.alarm?.reason.hasPrefix("THIRD_PARTY_AUTH_ERROR: Firebase's own key") == true)
        try await waitUntil { try await tree.outcomes().contains("retry THIRD_PARTY_AUTH_ERROR") }
        tree.fcm.removeRules()
        try await tree.put("/n", "2")
        try await tree.query("UPDATE data_tree_due SET due_at = now()")
        try await tree.untilIdle()
        try await waitUntil { try await tree.app()?.alarm == nil }
      }
      #expect(tree.received["apple"]?.count == 1 && tree.received["android"]?.count == 2)
    }
  }

  @Test func `Connections of an app close at once when it gets other credentials`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await waitUntil { tree.received["phone"]?.count == 1 && tree.fcm.openConnections > 0 }
        try await tree.renewCredentials()
        try await waitUntil { tree.fcm.openConnections == 0 }
        try await tree.put("/n", "2")
        try await waitUntil { tree.received["phone"]?.count == 2 }
      }
    }
  }

  @Test func `Refused credentials end nothing: the lane closes with an alarm, and new credentials open it`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...20 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      try await tree.put("/n", "1")
      // No minute passes after which a push would try the lane.
      try await tree.withRunner(clock: SteerableClock()) {
        try await tree.untilAlarm()
        try await tree.untilReleased()
        #expect(try await tree.subscriptionCount() == 20)
        #expect(try await tree.outcomes() == [])
        try await tree.renewCredentials()
        try await tree.untilIdle()
        try await waitUntil { try await tree.app()?.alarm == nil }
      }
      #expect(tree.received.count == 20)
    }
  }

  @Test
  func `A lane that refused credentials closed tries one push a minute, and opens with the first that is accepted`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...20 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .refuse(.permissionDenied(project: "acme-shop")))
      try await tree.put("/n", "1")
      let clock = SteerableClock()
      try await tree.withRunner(clock: clock) {
        try await tree.untilAlarm()
        try await tree.untilReleased()
        let first = tree.fcm.requests.count
        for minute in 1...3 {
          try await tree.query("UPDATE push_app SET alarm = NULL, alarm_at = NULL")
          clock.advance(by: .milliseconds(59_999))
          try await tree.untilScanned()
          #expect(tree.fcm.requests.count == first + minute - 1)
          clock.advance(by: .milliseconds(1))
          // It is raised once the lane is closed again.
          try await tree.untilAlarm()
          try await tree.untilScanned()
          #expect(tree.fcm.requests.count == first + minute)
        }
        #expect(try await tree.outcomes() == [])
        tree.fcm.removeRules()
        try await tree.untilScanned()
        #expect(tree.fcm.requests.count == first + 3)
        clock.advance(by: .seconds(60))
        try await tree.untilIdle()
        try await waitUntil { try await tree.app()?.alarm == nil }
        #expect(tree.fcm.requests.count == first + 3 + 20)
      }
      #expect(tree.received.count == 20)
      #expect(try await tree.outcomes() == Array(repeating: "accepted", count: 20))
    }
  }

  @Test func `A notification that is too large for its service opens no lane that refused credentials closed`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...20 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .refuse(.permissionDenied(project: "acme-shop")))
      try await tree.put("/n", "1")
      let clock = SteerableClock()
      try await tree.withRunner(clock: clock) {
        try await tree.untilAlarm()
        try await tree.untilReleased()
        let first = tree.fcm.requests.count
        // Its path alone is longer than a message.
        let path = (1...8).map { "/\(String(repeating: "\($0)", count: 700))" }.joined()
        try await tree.subscribe("big", path, .value)
        try await tree.put(path, "1")
        try await tree.query(
          "UPDATE data_tree_due SET due_at = '-infinity' WHERE pending IS NOT NULL AND attempts = 0")
        try await tree.query(
          """
          UPDATE data_tree_due SET due_at = now() WHERE subscription_id IN (
            SELECT subscription_id FROM data_tree_subscription WHERE target <> 'big')
          """)
        try await tree.query("UPDATE push_app SET alarm = NULL, alarm_at = NULL")
        clock.advance(by: .seconds(60))
        // The next push may try at once, and is refused.
        try await tree.untilAlarm()
        try await tree.untilScanned()
        #expect(try await tree.outcomes() == ["failed MessageTooBig"])
        #expect(tree.fcm.requests.count == first + 1)
      }
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `An accepted check of the credentials opens a lane that refused ones closed`(isByTheHub: Bool) async throws {
    try await withDataTree { tree in
      for number in 1...20 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      try await tree.put("/n", "1")
      // For this hub no time passes: what it knows of the failed sign-in does not become old, and no push tries the lane.
      let now = Date()
      try await withProvider(PushServiceSettings(tree.bench.simulator), now: { now }) { services in
        try await tree.withRunner(clock: SteerableClock(), services: services) {
          try await tree.untilAlarm()
          // A push that is still on its way would be refused after the check.
          try await tree.untilReleased()
          try tree.fcm.register(keyFile: tree.serviceAccount)
          let check = CredentialCheck(
            PushCredentialVault(tree.bench.pool, vault: tree.bench.vault),
            services: isByTheHub ? services : tree.bench.services)
          let reply = try await check.check(try #require(try await tree.app()))
          #expect(reply?.checks.map(\.verdict) == [.accepted])
          try await tree.untilIdle()
          try await waitUntil { try await tree.app()?.alarm == nil }
        }
      }
      #expect(tree.received.count == 20)
    }
  }

  @Test func `A subscription that has expired is told so once and is gone`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.expire()
      try await tree.put("/n", "1")
      try await tree.withRunner {
        try await waitUntil { try await tree.subscriptionCount() == 0 }
      }
      #expect(tree.received == ["phone": [map("/n", "Revoked", #"{"reason":"expired"}"#)]])
    }
  }

  @Test(arguments: [false, true])
  func `A subscription that has ended is gone, even if its key does not open`(isRevoked: Bool) async throws {
    try await withDataTree { tree in
      try await tree.subscribe(
        "phone", "/n", .value, key: Data(repeating: 1, count: 32).base64EncodedString())
      try await tree.query("UPDATE data_tree_subscription SET sealed_key = '\\x00'")
      if isRevoked {
        try await NotificationQueue(database: tree.bench.pool, run: UUID(), lease: .seconds(20)).revoke(
          "phone", of: tree.lane, reason: "unregistered_device", before: .now)
      } else {
        try await tree.expire()
      }
      try await tree.withRunner {
        try await waitUntil { try await tree.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
      }
      #expect(try await tree.subscriptionCount() == 0)
      #expect(try await tree.outcomes() == ["failed EncryptionKeySealed"])
      #expect(tree.received == [:])
    }
  }

  @Test(arguments: [false, true])
  func `A subscription that is made again while its notification is on its way ends when it says now`(
    isForEver: Bool
  ) async throws {
    try await withDataTree { tree in
      func subscribe(_ seconds: Int?) async throws -> SubscriptionID {
        try await tree.store.add(
          tree.bench.customer, app: SendingBench.appID,
          SubscriptionRequest(
            path: "/n", event: .value, deviceToken: "phone", service: .fcm, durationSeconds: seconds)
        ).subscriptionId
      }
      let id = try await subscribe(isForEver ? 60 : nil)
      try await tree.put("/n", "1")
      let queue = NotificationQueue(database: tree.bench.pool, run: UUID(), lease: .seconds(600))
      let items = try await queue.take(
        tree.lane, upTo: 10, from: tree.bench.pool, vault: tree.bench.vault
      ).items
      #expect(items.map(\.claimed.id) == [id])
      #expect(try await subscribe(isForEver ? nil : 60) == id)
      try await queue.settle([.init(id: id, next: .done)], of: tree.lane)
      let due = try await tree.query(
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
    try await withDataTree { tree in
      let old = try await tree.subscribe("phone", "/n", .value).subscriptionId
      try await tree.subscribe("phone", "/m", .value)
      try await tree.subscribe("slow", "/n", .value)
      tree.fcm.rule(.prefix("phone"), .refuse(.fcm(404, "NOT_FOUND", "UNREGISTERED", "Not found")))
      tree.fcm.rule(.prefix("slow"), .ignore)
      defer { tree.fcm.answerIgnored() }
      try await tree.put("/n", "1")
      try await tree.withRunner {
        // Dead tokens are told with the last answer.
        try await waitUntil { Set(tree.fcm.requests.map(\.token)) == ["phone", "slow"] }
        #expect(try await tree.subscribe("phone", "/n", .value).subscriptionId == old)
        tree.fcm.removeRules()
        tree.fcm.answerIgnored()
        try await waitUntil {
          try await tree.makeDue()
          return tree.received["phone"]?.contains(map("/n", "Value.Changed", "1")) == true
        }
        try await tree.untilIdle()
      }
      let left = try await tree.query("SELECT concat(target, path) FROM data_tree_subscription ORDER BY 1").map {
        try $0.decode(String.self)
      }
      // The other one of the phone was not made again.
      #expect(left == ["phone/n/", "slow/n/"])
      #expect(
        try await tree.outcomes().filter { $0.contains("unregistered_device") } == ["retry unregistered_device"])
    }
  }

  @Test(arguments: [false, true])
  func `Whether a subscription is made again or its token is dead first, it stays`(isDeadFirst: Bool) async throws {
    try await withDataTree { tree in
      let id = try await tree.subscribe("phone", "/n", .value).subscriptionId
      let (pool, lane, moment) = (tree.bench.pool, tree.lane, Date.now)
      @Sendable func revoke(_ database: any Querying) async throws {
        try await NotificationQueue(database: database, run: UUID(), lease: .seconds(20)).revoke(
          "phone", of: lane, reason: "unregistered_device", before: moment)
      }
      try await tree.bench.database.withPool { observer in
        let other = try await pool.transaction { database in
          if isDeadFirst {
            try await revoke(database)
          } else {
            try await database.query(sql: "UPDATE data_tree_subscription SET created_at = now()")
          }
          let other = Task {
            if isDeadFirst { _ = try await tree.subscribe("phone", "/n", .value) } else { try await revoke(pool) }
          }
          try await tree.bench.database.someoneWaits(as: observer)
          return other
        }
        try await other.value
      }
      #expect(try await tree.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty)
      let left = try await tree.store.list(lane.customer, app: lane.app, PageRequest(limit: 10)).items
      #expect(left.map(\.subscriptionId) == [id])
    }
  }

  @Test func `What was to end and was made again is told no end`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.expire()
      // As when a write notes it while it is made again.
      try await tree.query("UPDATE data_tree_subscription SET expires_at = 'infinity'")
      try await tree.withRunner {
        try await waitUntil { try await tree.query("SELECT FROM data_tree_due WHERE customer_id > 0").isEmpty }
      }
      #expect(try await tree.subscriptionCount() == 1)
      #expect(tree.received == [:])
    }
  }

  @Test func `An ended subscription of a disabled webhook is gone`() async throws {
    try await withDataTree { tree in
      try await tree.subscribeDisabledWebhook("/n")
      try await tree.expire()
      try await tree.withRunner {
        try await waitUntil { try await !tree.outcomes().isEmpty }
      }
      #expect(try await tree.outcomes() == ["failed disabled"])
      #expect(try await tree.subscriptionCount() == 0)
    }
  }

  @Test func `Events that take longer to make than a claim lasts are sent once`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.put("/n", "1")
      try await tree.bench.database.withPool { observer in
        // Afterwards a busy machine has this lease for sending.
        try await tree.withRunner(2, lease: .seconds(10)) {
          try await tree.bench.pool.transaction { database in
            try await database.query(sql: "LOCK TABLE data_tree_node")
            try await tree.bench.database.someoneWaits(as: observer)
            try await database.query(sql: "SELECT pg_sleep(11)")
          }
          try await tree.untilIdle()
        }
      }
      #expect(tree.received == ["phone": [map("/n", "Value.Changed", "1")]])
      #expect(try await tree.outcomes() == ["accepted"])
    }
  }

  @Test func `A claim that another hub has taken is extended no more, nor is one that is over`() async throws {
    try await withDataTree { tree in
      for number in 1...2 { try await tree.subscribe("phone\(number)", "/n", .value) }
      try await tree.put("/n", "1")
      let (lane, pool) = (tree.lane, tree.bench.pool)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let ids = try await queue.take(lane, upTo: 10, from: pool, vault: tree.bench.vault).items.map(\.claimed.id)
      #expect(ids.count == 2)
      #expect(try await queue.extend(ids, of: lane))
      try await tree.query(
        "UPDATE data_tree_due SET hub_id = gen_random_uuid() WHERE subscription_id = \(ids[0])")
      #expect(try await queue.extend(ids, of: lane))
      try await tree.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      #expect(try await !queue.extend(ids, of: lane))
    }
  }

  @Test(arguments: Lock.allCases, [false, true])
  func `Outcomes, claims and revocations come after a write of the same subscriptions, and none of them deadlocks`(
    lock: Lock, isInPortions: Bool
  ) async throws {
    try await withDataTree { tree in
      // The first of them stands where a write in portions comes last, and in the index behind the other.
      for path in ["/b", "/a"] { try await tree.subscribe("phone", path, .value) }
      for path in ["/a", "/b"] { try await tree.put(path, "1") }
      let (pool, lane) = (tree.bench.pool, tree.lane)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let batch = try await queue.take(lane, upTo: 10, from: pool, vault: tree.bench.vault)
      let ids = batch.items.map(\.claimed.id).sorted { $0.rawValue < $1.rawValue }
      if lock == .revoke { try await queue.settle(ids.map { .init(id: $0, next: .blocked) }, of: lane) }
      try await tree.query(
        "UPDATE data_tree_due SET due_at = '-infinity' WHERE subscription_id = \(ids[0])")
      try await tree.bench.database.withPool { observer in
        let waiting = try await pool.transaction { database in
          // What the write locks first. So it waits with nothing locked, and comes before the other.
          try await database.query(
            sql: "SELECT FROM data_tree_due WHERE subscription_id = $1 FOR UPDATE",
            ids[isInPortions ? 1 : 0].rawValue)
          let write = Task {
            try await DataTree(pool, portion: isInPortions ? 1 : 1000).write(
              .put(.null), lane.customer, app: lane.app, at: .root)
          }
          try await tree.bench.database.someoneWaits(as: observer)
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
          try await tree.bench.database.someoneWaits(2, as: observer)
          return (write, other)
        }
        #expect(try await waiting.0.value == 2)
        try await waiting.1.value
      }
      #expect(try await DataTree(pool).value(lane.customer, app: lane.app, at: .root) == .null)
      #expect(try await tree.subscriptionCount() == (lock == .settle ? 1 : 2))
    }
  }

  @Test func `Claims last longer by as much as a write had the tree for itself`() async throws {
    try await withDataTree { tree in
      for path in ["/a", "/b"] {
        try await tree.subscribe("phone", path, .value)
        try await tree.put(path, "1")
      }
      let (pool, lane) = (tree.bench.pool, tree.lane)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let batch = try await queue.take(lane, upTo: 10, from: pool, vault: tree.bench.vault)
      let ids = batch.items.sorted { $0.claimed.path < $1.claimed.path }.map(\.claimed.id)
      try await tree.bench.database.withPool { observer in
        let write = try await pool.transaction { database in
          // What the write locks first, once it has the tree for itself.
          try await database.query(
            sql: "SELECT FROM data_tree_due WHERE subscription_id = $1 FOR UPDATE",
            ids[0].rawValue)
          let write = Task {
            try await DataTree(pool, portion: 1).write(.put(.null), lane.customer, app: lane.app, at: .root)
          }
          try await tree.bench.database.someoneWaits(as: observer)
          let lease =
            "UPDATE data_tree_due SET lease_until = clock_timestamp() + interval '0.1 s' WHERE subscription_id = "
          try await database.query(sql: "\(lease) $1", ids[0].rawValue)
          try await tree.query("\(lease) \(ids[1])")
          try await waitUntil {
            try await tree.query(
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
      #expect(try await tree.outcomes() == ["accepted", "accepted"])
      let left = try await tree.query("SELECT FROM data_tree_due WHERE lease_until IS NOT NULL").count
      #expect(left == 0)
    }
  }

  @Test func `While a write has a tree for itself, other apps go on, and then each notification is settled once`()
    async throws
  {
    try await withDataTree { tree in
      for number in 1...30 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .ignore)
      defer { tree.fcm.answerIgnored() }
      try await tree.put("/n", "1")
      try await tree.bench.database.withPool { observer in
        try await tree.withRunner(2) {
          try await waitUntil { tree.fcm.requests.count >= 30 }
          try await observer.transaction { database in
            _ = try await database.query(
              DataTreeQueries.lockAlone, tree.bench.customer.rawValue, SendingBench.appID)
            tree.fcm.removeRules()
            tree.fcm.answerIgnored()
            // The last statement of some connection: outcomes were to be written.
            try await waitUntil {
              try await !tree.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%AS oldest, since%'"
              ).isEmpty
            }
            // Settles what is due of another app.
            for _ in 1...3 { try await tree.untilScanned() }
            let store = tree.store
            await #expect(throws: PostgresError.self) {
              try await store.addUnchecked(
                tree.bench.customer, SendingBench.appID,
                SubscriptionRequest(path: "/m", event: .value, deviceToken: "new", service: .fcm))
            }
            // Whoever waits has a connection of its own.
            let waiting = try await tree.query(
              "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).map { try $0.decode(String.self) }
            #expect(waiting.allSatisfy { !$0.contains("hub_id = ") })
          }
          try await tree.untilIdle()
        }
      }
      #expect(tree.fcm.requests.count == 30)
      #expect(try await tree.outcomes() == Array(repeating: "accepted", count: 30))
    }
  }

  /// What locks several subscriptions at once.
  enum Lock: CaseIterable { case settle, extend, revoke }

  @Test func `A retry of a killed hub is sent by another one that runs, with the newest state`() async throws {
    try await withDataTree { tree in
      try await tree.holdRetries()
      try await tree.subscribe("phone", "/n", .value)
      tree.fcm.rule(.any, .refuse(.unavailable()))
      try await tree.put("/n", "1")
      try await tree.withRunner { _ = try await tree.delays(after: 1) }
      try await tree.query("UPDATE data_tree_due SET due_at = now() + interval '30 min' WHERE customer_id > 0")
      tree.fcm.removeRules()
      try await tree.withRunner {
        try await tree.put("/n", "2")
        try await tree.untilScanned()
        #expect(tree.received == [:])
        // Nobody is notified of that.
        try await tree.makeDue()
        try await tree.untilIdle()
      }
      #expect(tree.received == ["phone": [map("/n", "Value.Changed", "2")]])
      #expect(try await tree.outcomes() == ["retry UNAVAILABLE", "accepted"])
    }
  }

  @Test func `A child whose change is not told takes no room in a notification`() async throws {
    try await withDataTree { tree in
      try await tree.put("/users", #"{"old":1,"gone":1}"#)
      try await tree.subscribe("phone", "/users", .child, tells: (added: true, changed: false, removed: true))
      // It goes and comes back: a change.
      try await tree.put("/users/old", "null")
      try await tree.put("/users/old", #""\#(String(repeating: "x", count: 5000))""#)
      try await tree.put("/users/new", "2")
      try await tree.put("/users/gone", "null")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(
        tree.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{"new":2},"changed":{},"removed":["gone"]}"#)]
        ])
    }
  }

  @Test func `More added children than can be noted do not hide which were removed`() async throws {
    try await withDataTree { tree in
      try await tree.put("/users", #"{"gone":1}"#)
      try await tree.subscribe("phone", "/users", .child, tells: (added: false, changed: false, removed: true))
      try await tree.put("/users", "{\((0..<8000).map { #""name\#($0)":1"# }.joined(separator: ","))}")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(
        tree.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{},"changed":{},"removed":["gone"]}"#)]
        ])
    }
  }

  @Test func `A child that comes and goes before its notification leaves is told of neither`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/users", .child)
      try await tree.put("/users/brief", "1")
      try await tree.query("UPDATE data_tree_due SET due_at = 'infinity' WHERE customer_id > 0")
      let (customer, place) = (tree.bench.customer, try DataTreePath(text: "/users/brief"))
      try await tree.bench.database.withPool { observer in
        try await tree.withRunner {
          try await tree.bench.pool.transaction { database in
            _ = try await database.query(DataTreeQueries.lock, customer.rawValue, SendingBench.appID)
            try await database.query(sql: "LOCK TABLE data_tree_node")
            try await tree.query("UPDATE data_tree_due SET due_at = '-infinity' WHERE customer_id > 0")
            try await tree.bench.database.someoneWaits(as: observer)
            _ = try await DataTree(tree.bench.pool).write(
              .put(.null), customer, app: SendingBench.appID, at: place, database)
          }
          try await tree.untilIdle()
          try await tree.put("/users/stays", "1")
          try await tree.untilIdle()
        }
      }
      #expect(
        tree.received == [
          "phone": [map("/users", "Children.Updated", #"{"added":{"stays":1},"changed":{},"removed":[]}"#)]
        ])
    }
  }

  @Test func `Notifications of a killed hub are sent again, and the log says why`() async throws {
    try await withDataTree { tree in
      for number in 1...30 { try await tree.subscribe("phone\(number)", "/n", .value) }
      tree.fcm.rule(.any, .ignore)
      defer { tree.fcm.answerIgnored() }
      try await tree.put("/n", "1")
      try await tree.withRunner { try await waitUntil { tree.fcm.requests.count >= 30 } }
      tree.fcm.removeRules()
      try await tree.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      try await tree.withRunner { try await tree.untilIdle() }
      let outcomes = try await tree.outcomes()
      #expect(outcomes.filter { $0 == "uncertain hub_stopped" }.count == 30)
      #expect(outcomes.filter { $0 == "accepted" }.count == 30)
      #expect(Set(tree.received.keys).count == 30)
    }
  }

  @Test func `A child that may have been told is told again when it has changed since a hub was killed`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/users", .child)
      try await tree.put("/users/old", "1")
      try await tree.withRunner { try await tree.untilIdle() }
      tree.fcm.rule(.any, .ignore)
      defer { tree.fcm.answerIgnored() }
      try await tree.put("/users/new", "1")
      try await tree.put("/users/old", "null")
      try await tree.withRunner { try await waitUntil { tree.fcm.requests.count >= 2 } }
      try await tree.put("/users/new", "null")
      try await tree.put("/users/old", "2")
      tree.fcm.removeRules()
      try await tree.query("UPDATE data_tree_due SET lease_until = now() - interval '1 s' WHERE customer_id > 0")
      try await tree.withRunner { try await tree.untilIdle() }
      #expect(
        tree.received["phone"]?.last
          == map("/users", "Children.Updated", #"{"added":{"old":2},"changed":{},"removed":["new"]}"#))
    }
  }

  private func map(_ path: String, _ event: String, _ data: String?) -> [String: String] {
    var map = ["webcom.app": SendingBench.appID, "webcom.path": path, "webcom.event": event]
    map["webcom.data"] = data
    return map
  }
}
