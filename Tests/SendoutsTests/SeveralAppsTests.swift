import Content
import Delivery
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts to several apps.
@Suite struct SeveralAppsTests {
  private static let otherID = "com.acme.other"

  /// Another iOS app of the bench's customer, with 30 devices of 30 of its contacts.
  private func addApp(_ bench: SendingBench, _ credentials: APNsCredentials = .sample) async throws -> PushApp {
    let app = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(appID: Self.otherID, type: .ios, name: "Other", service: credentials.fields))
    try await bench.database.query(
      """
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
      SELECT customer_id, $1::bigint, contact_id, 'bb' || lpad(to_hex(contact_id), 62, '0'),
             decode('bb' || lpad(to_hex(contact_id), 62, '0'), 'hex')
        FROM contact ORDER BY contact_id LIMIT 30
      """, app.id.rawValue)
    return app
  }

  private func send(_ bench: SendingBench) async throws -> SendoutKey {
    let reply = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(
        appIds: [SendingBench.appID, Self.otherID], audience: .all, message: MessageBody(alert: "Hello {{app.name}}"),
        start: true))
    return SendoutKey(bench.customer, reply.sendoutId)
  }

  @Test func `A sendout goes to every device of its apps, each with its app's topic and name`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(50)
      let other = try await addApp(bench)
      try await bench.withHubs {
        let key = try await send(bench)
        let finished = try await bench.until(key, .finished)
        #expect(finished.apps.map(\.pushAppId) == [bench.app.id, other.id])
        #expect(finished.counts == SendoutCounts(audience: 80, sent: 80, accepted: 80))
      }
      let received = bench.simulator.apns.requests
      for (topic, name, prefix, count) in [(SendingBench.appID, "Acme", "aa", 50), (Self.otherID, "Other", "bb", 30)] {
        let own = received.filter { $0.header("apns-topic") == topic }
        #expect(own.count == count)
        #expect(own.allSatisfy { $0.token.hasPrefix(prefix) })
        #expect(own.allSatisfy { String(decoding: $0.payload, as: UTF8.self).contains("Hello \(name)") })
      }
    }
  }

  @Test func `An app whose key is refused gets an alarm and pauses the sendout once the others are done`() async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(50)
      let other = try await addApp(bench, .fresh())
      try await bench.withHubs {
        let key = try await send(bench)
        let paused = try await bench.until(key, .paused)
        #expect(paused.haltReason == "com.acme.other (app type 1): InvalidProviderToken")
        #expect(paused.counts?.accepted == 50 && paused.counts?.queued == 30)
        let apps = try await PushApps(bench.pool).list(bench.customer)
        #expect(apps.first { $0.id == bench.app.id }?.alarm == nil)
        #expect(apps.first { $0.id == other.id }?.alarm?.reason == "InvalidProviderToken")
        _ = try await PushApps(bench.pool, vault: bench.vault).update(
          bench.customer, other.id, PushAppUpdate(service: APNsCredentials.sample.fields))
        try await bench.sendouts.resume(bench.customer, key.sendout)
        #expect(try await bench.until(key, .finished).counts?.accepted == 80)
      }
    }
  }

  @Test func `An app that has lost its credentials does not keep the others from being sent`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(50)
      let other = try await addApp(bench)
      let key = try await send(bench)
      try await bench.database.query(
        "DELETE FROM push_credential WHERE push_app_id = $1::bigint", other.id.rawValue)
      try await bench.withHubs {
        let paused = try await bench.until(key, .paused)
        #expect(paused.haltReason == "com.acme.other (app type 1): the app has no signingKey")
        #expect(paused.counts?.accepted == 50 && paused.counts?.queued == 30)
      }
    }
  }

  @Test func `An appId stands for all its platforms`() async throws {
    try await withSendingBench { bench in
      let apps = PushApps(bench.pool, vault: bench.vault)
      let firebase = try await apps.add(
        bench.customer,
        NewPushApp(
          appID: SendingBench.appID, type: .firebase, name: "Acme for Android",
          service: PushServiceFields([.serviceAccount: Secret(try bench.simulator.issueServiceAccount())])))
      let windows = try await apps.add(
        bench.customer,
        NewPushApp(
          appID: SendingBench.appID, type: .windows, name: "Acme for Windows",
          service: PushServiceFields([.clientSecret: Secret("s"), .packageSID: Secret("ms-app://s-1-15-2-1")])))
      func sentTo(_ type: AppType?) async throws -> [PushAppID] {
        try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            appId: SendingBench.appID, appType: type, audience: .all, message: MessageBody(alert: "Hello"))
        ).apps.map(\.pushAppId)
      }
      #expect(Set(try await sentTo(nil)) == [bench.app.id, firebase.id, windows.id])
      #expect(try await sentTo(.firebase) == [firebase.id])
    }
  }
}
