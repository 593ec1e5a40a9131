import Delivery
import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

/// Messages whose push service is away, or takes the app's credentials no more.
@Suite struct ClosedLaneTests {
  private static let unavailable = SimulatedAPNs.Reply.refuse(status: 503, reason: "ServiceUnavailable")
  private static let refused = SimulatedAPNs.Reply.refuse(status: 403, reason: "InvalidProviderToken")

  /// Accepts messages, and leaves them to other hubs.
  private static func leave(_ messages: [HybridMessage], to hybrid: HybridBench) async throws {
    let (_, hub) = HybridBench.hub(hybrid.bench, confirmationTime: .seconds(3600), sendsItself: false)
    _ = try await hub.accept(hybrid.bench.customer, messages, allOrNothing: false)
  }

  @Test func `A password ends with its life while its push service is away, and that is reported`() async throws {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      // So many that are put off close the lane. Each waits for the 15 minutes that Apple asks for, or as long as it lives.
      try await hybrid.addNumbers(20)
      hybrid.simulator.apns.rule(.prefix("aa"), Self.unavailable)
      try await Self.leave((1...20).map { hybrid.message($0, kind: .otp) }, to: hybrid)
      try await hybrid.bench.withHubs {
        _ = try await hybrid.until { $0.allSatisfy { $0.pushes == ["waiting ServiceUnavailable"] } }
        try await hybrid.expireMessages()
        let rows = try await hybrid.until { $0.allSatisfy { $0.status != "Sent" } }
        #expect(rows == Array(repeating: .init(status: "Failed", pushes: ["failed expired"], sms: nil), count: 20))
      }
      #expect(hybrid.requests("aa").count == 20)
      let reports = try await hybrid.bench.database.query("SELECT event FROM outbox WHERE customer_id > 0")
      #expect(try reports.map { try $0.decode(String.self) } == Array(repeating: "Failed", count: 20))
    }
  }

  @Test func `A password ends with its life while its app has no credentials, and others of the lane stay`()
    async throws
  {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(3)
      try await Self.leave(
        [hybrid.message(1, kind: .otp), hybrid.message(2, kind: .otp), hybrid.message(3, channels: [.push])], to: hybrid
      )
      try await hybrid.removeCredentials()
      // The second one lives on.
      try await hybrid.bench.database.query(
        """
        UPDATE message SET expires_at = message.expires_at + interval '2 hours' FROM tracked_message AS h
         WHERE h.sendout_id = message.sendout_id AND h.message_no = message.message_no AND h.recipient = $1::text
        """, HybridBench.number(2).digits)
      try await hybrid.bench.withHubs {
        try await hybrid.expireMessages()
        let rows = try await hybrid.until { $0.contains { $0.status == "Failed" } }
        #expect(rows.filter { $0.status == "Failed" }.map(\.pushes) == [["failed expired"]])
        #expect(rows.filter { $0.status == "Sent" }.map(\.pushes) == [["queued"], ["queued"]])
      }
      let failed = try await hybrid.bench.database.query(
        "SELECT recipient FROM tracked_message WHERE status = 'Failed'")
      #expect(try failed.map { try $0.decode(String.self) } == [HybridBench.number(1).digits])
    }
  }

  @Test func `Messages whose app has lost its credentials go by SMS at once, and the app gets an alarm`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(4)
      let kinds: [HybridMessage.Kind] = [.standard, .critical]
      try await Self.leave((1...4).map { hybrid.message($0, kind: kinds[$0 % 2]) }, to: hybrid)
      try await hybrid.removeCredentials()
      try await hybrid.bench.withHubs {
        let rows = try await hybrid.until { $0.allSatisfy { $0.sms == "accepted" } }
        #expect(rows.allSatisfy { $0.status == "Accepted" && $0.pushes == ["failed the app has no signingKey"] })
      }
      #expect(hybrid.requests("aa").isEmpty && hybrid.requests("cc").count == 4)
      #expect(try await hybrid.bench.currentApp()?.alarm?.reason == "the app has no signingKey")
    }
  }

  @Test func `Once credentials are corrected, the next message goes by them, and by no SMS`() async throws {
    try await withHybridBench { hybrid in
      let bench = hybrid.bench
      try await hybrid.addNumbers(2)
      let apps = PushApps(bench.pool, vault: bench.vault)
      func save(_ key: String) async throws {
        _ = try await apps.update(
          bench.customer, bench.app.id, PushAppUpdate(service: PushServiceFields([.signingKey: Secret(key)])))
      }
      let dispatcher = bench.dispatcher()
      let (_, hub) = HybridBench.hub(bench, dispatcher, confirmationTime: .seconds(3600), appsLive: .zero)
      try await save(APNsCredentials.fresh().signingKey)
      _ = try await hub.accept(bench.customer, [hybrid.message(1)], allOrNothing: false)
      _ = try await hybrid.until { $0[0].pushes == ["failed InvalidProviderToken"] }

      try await save(APNsCredentials.sample.signingKey)
      // As the hub does when it is told of that.
      DirectSender(dispatcher).reopen(bench.customer)
      _ = try await hub.accept(bench.customer, [hybrid.message(2)], allOrNothing: false)
      let rows = try await hybrid.until { $0.count == 2 && $0[1].pushes != ["queued"] }
      #expect(rows[1].pushes == ["accepted"])
    }
  }

  @Test func `Refused credentials are logged once, however many messages and streams there are`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(600)
      hybrid.simulator.apns.rule(.prefix("aa"), Self.refused)
      let kinds: [HybridMessage.Kind] = [.standard, .critical]
      try await Self.leave((1...600).map { hybrid.message($0, kind: kinds[$0 % 2]) }, to: hybrid)
      let capture = LogCapture()
      try await hybrid.bench.withHubs {
        $0.logger = capture.logger
      } _: {
        let rows = try await hybrid.until { $0.allSatisfy { $0.sms == "accepted" } }
        #expect(rows.allSatisfy { $0.pushes == ["failed InvalidProviderToken"] })
      }
      let errors = capture.lines.filter { $0.hasPrefix("error") }
      #expect(errors.count == 1, "\(errors)")
      #expect(errors.first?.contains("InvalidProviderToken") == true)
      #expect(try await hybrid.bench.currentApp()?.alarm?.reason == "InvalidProviderToken")
    }
  }

  @Test func `An SMS that was answered after another hub gave it up is accepted, and so is its message`() async throws {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(1, phones: 0)
      hybrid.simulator.apns.rule(.prefix("cc"), .ignore)
      try await hybrid.send(hybrid.message(1))
      _ = await hybrid.simulator.apns.received(count: 1)
      // As if its hub had stood still for longer than its lease.
      try await hybrid.bench.endLeases()
      try await hybrid.bench.withHubs {
        _ = try await hybrid.until { $0[0].sms == "uncertain hub_stopped" }
      }
      #expect(try await hybrid.rows()[0].status == "Sent")
      hybrid.simulator.apns.answerIgnored()
      let rows = try await hybrid.until { $0[0].sms != "uncertain hub_stopped" }
      #expect(rows == [.init(status: "Accepted", pushes: [], sms: "accepted")])
      let (unsettled, reports) = try await hybrid.bench.database.query(
        "SELECT unsettled, ARRAY(SELECT event FROM outbox WHERE customer_id > 0) FROM tracked_message")[0].decode(
          Int16.self, [String].self)
      #expect(unsettled == 0 && reports == ["Accepted"])
    }
  }
}
