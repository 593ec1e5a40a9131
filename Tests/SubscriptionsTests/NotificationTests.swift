import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Subscriptions

@Suite struct NotificationTests {
  @Test func `A write tells subscriptions above, at and below it, and subscribing tells nothing`() async throws {
    try await withDatasync { datasync in
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
    try await withDatasync { datasync in
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

  @Test func `An unavailable service is tried again after one, two and four seconds, and for two hours at most`()
    async throws
  {
    try await withDatasync { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      datasync.fcm.rule(.token("phone"), .refuse(.unavailable()))
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        for attempt in 1...4 {
          let seconds = try await datasync.waiting(after: attempt)
          #expect(seconds == Double(1 << (attempt - 1)), "attempt \(attempt)")
          try await datasync.makeDue()
        }
        _ = try await datasync.waiting(after: 5)
        // The first failure is so long ago that the next one is the last.
        try await datasync.query("UPDATE datasync_subscription SET first_failed_at = now() - interval '2 hours'")
        try await datasync.makeDue()
        try await datasync.untilIdle()
        #expect(
          try await datasync.outcomes() == [String](repeating: "retry UNAVAILABLE", count: 5) + ["expired UNAVAILABLE"])
        #expect(try await datasync.subscriptionCount() == 1)
        // The subscription stays, and is told the next change.
        datasync.fcm.removeRules()
        try await datasync.put("/n", "2")
        try await datasync.untilIdle()
      }
      #expect(datasync.received == ["phone": [map("/n", "Value.Changed", "2")]])
    }
  }

  @Test func `A dead token ends all its subscriptions and no other, and a refused payload ends none`() async throws {
    try await withDatasync { datasync in
      try await datasync.subscribe("dead", "/n", .value)
      try await datasync.subscribe("dead", "/quiet", .value)
      try await datasync.subscribe("alive", "/n", .value)
      try await datasync.subscribe("refused", "/n", .value)
      datasync.fcm.unregister(token: "dead")
      datasync.fcm.rule(
        .token("refused"), .refuse(.fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The message is invalid")))
      try await datasync.put("/n", "1")
      try await datasync.withRunner { try await datasync.untilIdle() }
      let left = try await datasync.query("SELECT target FROM datasync_subscription ORDER BY target").map {
        try $0.decode(String.self)
      }
      #expect(left == ["alive", "refused"])
      #expect(try await datasync.outcomes().contains("revoked unregistered_device"))
      #expect(try await datasync.outcomes().contains("failed INVALID_ARGUMENT"))
      #expect(datasync.received == ["alive": [map("/n", "Value.Changed", "1")]])
    }
  }

  @Test func `Refused credentials end nothing: the lane closes with an alarm, and new credentials open it`()
    async throws
  {
    try await withDatasync { datasync in
      for number in 1...20 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        while try await datasync.app()?.alarm == nil { try Task.checkCancellation() }
        #expect(try await datasync.subscriptionCount() == 20)
        #expect(try await datasync.outcomes() == [])
        try await datasync.renewCredentials()
        try await datasync.untilIdle()
        #expect(try await datasync.app()?.alarm == nil)
      }
      #expect(datasync.received.count == 20)
    }
  }

  @Test func `A subscription that has expired is told so once and is gone`() async throws {
    try await withDatasync { datasync in
      try await datasync.subscribe("phone", "/n", .value)
      try await datasync.query(
        "UPDATE datasync_subscription SET expires_at = now() - interval '1 s', due_at = now() - interval '1 s'")
      try await datasync.put("/n", "1")
      try await datasync.withRunner {
        while try await datasync.subscriptionCount() > 0 { try Task.checkCancellation() }
      }
      #expect(datasync.received == ["phone": [map("/n", "Revoked", #"{"reason":"expired"}"#)]])
    }
  }

  @Test func `Notifications of a killed hub are sent again, and the log says why`() async throws {
    try await withDatasync { datasync in
      for number in 1...30 { try await datasync.subscribe("phone\(number)", "/n", .value) }
      datasync.fcm.rule(.any, .ignore)
      defer { datasync.fcm.answerIgnored() }
      try await datasync.put("/n", "1")
      try await datasync.withRunner { while datasync.fcm.requests.count < 30 { try Task.checkCancellation() } }
      datasync.fcm.removeRules()
      try await datasync.query("UPDATE datasync_subscription SET lease_until = now() - interval '1 s'")
      try await datasync.withRunner { try await datasync.untilIdle() }
      let outcomes = try await datasync.outcomes()
      #expect(outcomes.filter { $0 == "uncertain hub_stopped" }.count == 30)
      #expect(outcomes.filter { $0 == "accepted" }.count == 30)
      #expect(Set(datasync.received.keys).count == 30)
    }
  }

  private func map(_ path: String, _ event: String, _ data: String?) -> [String: String] {
    var map = ["webcom.app": SendingBench.appID, "webcom.path": path, "webcom.event": event]
    map["webcom.data"] = data
    return map
  }
}
