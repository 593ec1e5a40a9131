import Content
import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct SendoutVerbTests {
  @Test(arguments: [1, 2])
  func `After a pause only pushes in flight leave; resuming sends the rest, each push once`(_ hubs: Int)
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(280)
      bench.simulator.apns.rule(.any, .ignore)
      try await bench.withHubs(hubs, { $0.dispatch.window = 30 }) {
        let key = try await bench.send()
        _ = await bench.simulator.apns.received(count: 1)
        // A hub has a batch in hand, and the next two, of which it lets go when it hears that the sendout is paused.
        _ = try await bench.until(key) { $0.counts?.sending == 120 * hubs }
        try await bench.sendouts.pause(bench.customer, key.sendout)
        _ = try await bench.until(key) { $0.counts?.sending == 40 * hubs }
        bench.simulator.apns.removeRules()
        // The first is alone on its connection until it is answered; what was handed over follows it.
        bench.simulator.apns.answerIgnored()
        let paused = try await bench.until(key) { $0.counts?.sending == 0 }
        #expect(paused.state == .paused && paused.haltReason == nil)
        let sent = try #require(paused.counts).accepted
        #expect((1...30 * hubs).contains(sent))
        #expect(paused.counts?.queued == 280 - sent)

        try await bench.sendouts.resume(bench.customer, key.sendout)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 280, sent: 280, accepted: 280))
        #expect(bench.simulator.apns.count == 280)
      }
    }
  }

  @Test(arguments: [1, 2])
  func `Cancelling counts sent pushes, and the rest never leaves`(_ hubs: Int) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(280)
      bench.simulator.apns.rule(.any, .ignore)
      try await bench.withHubs(hubs, { $0.dispatch.window = 30 }) {
        let key = try await bench.send()
        _ = await bench.simulator.apns.received(count: 1)
        let cancelled = try await bench.sendouts.cancel(bench.customer, key.sendout)
        #expect(cancelled.state == .cancelled && cancelled.finishedAt != nil)
        let atOnce = try #require(cancelled.counts)
        // A hub has a batch in hand, and the next two.
        #expect(atOnce.cancelled >= 280 - 120 * hubs)
        bench.simulator.apns.removeRules()
        bench.simulator.apns.answerIgnored()
        let ended = try await bench.until(key) { $0.counts?.sending == 0 && $0.counts?.queued == 0 }
        let counts = try #require(ended.counts)
        #expect(counts.accepted + counts.cancelled == 280)
        #expect(counts.accepted == bench.simulator.apns.count)
      }
    }
  }

  /// Runs `body` with started sendouts whose freezes cannot go on before it ends, and hubs that have begun with them.
  private func withStuckFreezes(
    _ bench: SendingBench, _ count: Int, _ body: @Sendable ([SendoutKey]) async throws -> Void
  ) async throws -> [SendoutKey] {
    try await bench.database.withPool { other in
      try await other.transaction { transaction in
        try await transaction.query(sql: "LOCK TABLE device IN ACCESS EXCLUSIVE MODE")
        var keys: [SendoutKey] = []
        for _ in 1...count { keys.append(try await bench.send()) }
        let waiting = "SELECT FROM \(TestDatabase.locks) WHERE relation = 'device'::regclass AND NOT granted"
        try await waitUntil { try await !bench.database.query(waiting).isEmpty }
        try await body(keys)
        return keys
      }
    }
  }

  @Test func `Pause and cancel answer during a freeze, and are obeyed when it ends`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.withHubs {
        // More than there are connections for transactions.
        let keys = try await withStuckFreezes(bench, 6) { keys in
          for key in keys.prefix(2) {
            let paused = try await bench.sendouts.pause(bench.customer, key.sendout)
            #expect(paused.state == .paused)
          }
          for key in keys.suffix(3) {
            let cancelled = try await bench.sendouts.cancel(bench.customer, key.sendout)
            #expect(cancelled.state == .cancelled)
          }
          let resumed = try await bench.sendouts.resume(bench.customer, keys[1].sendout)
          #expect(resumed.state == .freezing)
        }
        for key in keys[1...2] {
          let finished = try await bench.until(key, .finished)
          #expect(finished.counts == SendoutCounts(audience: 100, sent: 100, accepted: 100))
        }
        let freezes = "SELECT FROM \(TestDatabase.locks) WHERE locktype = 'advisory'"
        try await waitUntil { try await bench.database.query(freezes).isEmpty }
        for key in keys.suffix(3) {
          let counts = try await bench.show(key).counts
          #expect(counts == SendoutCounts())
        }
        let paused = try await bench.show(keys[0])
        #expect(paused.state == .paused)
        #expect(paused.counts?.sent == 0)
        try await bench.sendouts.resume(bench.customer, keys[0].sendout)
        #expect(try await bench.until(keys[0], .finished).counts?.accepted == 100)
        #expect(bench.simulator.apns.count == 300)
      }
    }
  }

  @Test func `A sendout that is paused during its freeze holds what was frozen`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.withHubs {
        let key = try await withStuckFreezes(bench, 1) { keys in
          try await bench.sendouts.pause(bench.customer, keys[0].sendout)
        }[0]
        let frozen = try await bench.until(key) { $0.frozenAt != nil }
        #expect(frozen.state == .paused && frozen.counts == SendoutCounts(audience: 100, queued: 100))
        let states = try await bench.database.query("SELECT DISTINCT state FROM push_batch")
        #expect(try states.map { try $0.decode(String.self) } == ["held"])
      }
    }
  }

  @Test(arguments: SendoutVerb.allCases) func `A verb counts nothing before it is committed`(verb: SendoutVerb)
    async throws
  {
    try await withSendingBench { bench in
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello"), draft: true,
          campaign: CampaignFields(startAt: Timestamp(Date(timeIntervalSinceNow: 3600)))))
      let earlier: [SendoutVerb] =
        switch verb {
        case .start, .schedule: []
        case .pause, .cancel: [.start]
        case .resume: [.start, .pause]
        case .unschedule: [.schedule]
        }
      for earlier in earlier {
        _ = try await bench.sendouts.apply(earlier, to: draft.sendoutId, of: bench.customer)
      }
      try await bench.pool.transaction { transaction in
        let database = CountingDatabase(transaction)
        let reply = try await SendoutStore(database).apply(verb, to: draft.sendoutId, of: bench.customer)
        #expect(reply.sendout.counts == nil)
        let change = [.schedule, .unschedule].contains(verb) ? "sendout.\(verb.rawValue)" : "sendout.change"
        #expect(database.counts[change] == 1 && database.counts["ledger.counts"] == nil)
      }
    }
  }

  @Test func `A sendout that was paused before its freeze is frozen when resumed`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.send()
      try await bench.sendouts.pause(bench.customer, key.sendout)
      try await bench.withHubs {
        let resumed = try await bench.sendouts.resume(bench.customer, key.sendout)
        #expect(resumed.state == .freezing)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts?.accepted == 3)
      }
    }
  }

  @Test func `A draft waits until it is started`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await bench.withHubs {
        let draft = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello")))
        #expect(draft.state == .draft && draft.startedAt == nil)
        #expect(draft.name == "Hello")
        let key = SendoutKey(bench.customer, draft.sendoutId)
        try await bench.sendouts.start(bench.customer, key.sendout)
        #expect(try await bench.until(key, .finished).counts?.accepted == 2)
      }
    }
  }

  @Test func `A draft uses its template's version at the start`() async throws {
    try await withSendingBench { bench in
      let templates = Templates(bench.pool)
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: "one")
      let draft = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello"), template: "offer"))
      #expect(draft.templateVersion == 1)
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: "two")
      #expect(try await bench.sendouts.start(bench.customer, draft.sendoutId).templateVersion == 2)
      // From then on it is what it is, however often it stops and goes on.
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: "three")
      try await bench.sendouts.pause(bench.customer, draft.sendoutId)
      #expect(try await bench.sendouts.resume(bench.customer, draft.sendoutId).templateVersion == 2)
    }
  }

  @Test func `Refused credentials pause the sendout, and corrected ones let it continue with all pushes`() async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      let apps = PushApps(bench.pool, vault: bench.vault)
      _ = try await apps.update(
        bench.customer, bench.app.id, PushAppUpdate(service: APNsCredentials.fresh().fields))
      try await bench.withHubs(2) {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.haltReason == "InvalidProviderToken")
        let app = try await bench.currentApp()
        #expect(app?.alarm?.reason == "InvalidProviderToken")
        let settled = try await bench.until(key) { $0.counts?.sending == 0 }
        #expect(settled.counts == SendoutCounts(audience: 100, queued: 100))

        _ = try await apps.update(
          bench.customer, bench.app.id, PushAppUpdate(service: APNsCredentials.sample.fields))
        #expect(try await bench.sendouts.resume(bench.customer, key.sendout).haltReason == nil)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 100, sent: 100, accepted: 100))
        #expect(try await bench.pushes(key).allSatisfy { $0.attempts == 1 && $0.resentBecause == nil })
      }
    }
  }

  @Test func `A refusal from before a sendout was resumed does not pause it again`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      bench.simulator.apns.rule(.any, .ignore)
      try await bench.withHubs {
        let key = try await bench.send()
        _ = await bench.simulator.apns.received(count: 1)
        try await bench.database.withPool { other in
          try await other.transaction { transaction in
            // What pausing and resuming do while the hub has a refusal in hand.
            let verbs = "UPDATE sendout SET state_changes = state_changes + 2"
            try await transaction.query(Statement("test.verbs", .write, verbs))
            bench.simulator.apns.removeRules()
            bench.simulator.apns.rule(.any, .refuse(status: 403, reason: "InvalidProviderToken"), times: 1)
            bench.simulator.apns.cut()
            try await bench.database.someoneWaits(as: bench.pool)
          }
        }
        let finished = try await bench.until(key) { $0.state == .finished || $0.haltReason != nil }
        #expect(finished.haltReason == nil)
        #expect(finished.counts?.accepted == 5)
      }
    }
  }

  @Test func `A sendout to an app without credentials is refused, naming what is missing`() async throws {
    try await withSendingBench { bench in
      let bare = try await PushApps(bench.pool, vault: bench.vault).add(
        bench.customer, NewPushApp(appID: "com.acme.bare", type: .ios, name: "Bare"))
      let missing = SendoutError.appWithoutCredentials(
        bench.customer, bare.id, appID: "com.acme.bare", .ios, field: "signingKey")
      await #expect(throws: missing) {
        try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            appIds: [SendingBench.appID, "com.acme.bare"], audience: .all, message: MessageBody(alert: "Hello")))
      }
      #expect(try await bench.database.query("SELECT FROM sendout").isEmpty)
    }
  }
}
