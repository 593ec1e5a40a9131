import Delivery
import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

extension SendingBench {
  /// The tokens to which more than one push came. Pushes that had not left when the write failed do not come at all.
  fileprivate var receivedTwice: [String] {
    Dictionary(grouping: simulator.apns.requests, by: \.token).filter { $0.value.count > 1 }.map(\.key)
  }
}

/// A hub whose outcomes PostgreSQL refuses to write.
@Suite struct FailedWriteTests {
  /// A finished sendout to 100 phones, whose first statement that fires `trigger` was refused.
  private func finished(
    _ policy: UncertainPolicy, refusing trigger: String, rule: SimulatedAPNs.Reply = .accept,
    _ check: (SendingBench, SendoutCounts, [PushReply]) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      bench.simulator.apns.rule(.any, rule)
      for sql in [
        // A sequence is not rolled back, so only the first statement is refused.
        "CREATE SEQUENCE refusals",
        """
        CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('refusals') = 1 THEN RAISE EXCEPTION 'refused'; END IF;
          RETURN NEW;
        END $$
        """,
        "CREATE TRIGGER refuse_once \(trigger) EXECUTE FUNCTION refuse_once()",
      ] { try await bench.database.query(sql) }
      try await bench.withHubs(1, { $0.dispatch.lease = .seconds(4) }) {
        let key = try await bench.send("Hello", onUncertain: policy)
        let sendout = try await bench.until(key, .finished)
        try await check(bench, try #require(sendout.counts), try await bench.pushes(key))
      }
    }
  }

  private static let outcomes = "BEFORE UPDATE ON push FOR EACH ROW WHEN (NEW.state = 'accepted')"
  private static let retirements = "BEFORE UPDATE ON device FOR EACH ROW WHEN (NEW.invalidated_at IS NOT NULL)"

  @Test func `With skip, accepted pushes whose outcome could not be written are not sent again`() async throws {
    try await finished(.skip, refusing: Self.outcomes) { bench, counts, pushes in
      #expect(bench.receivedTwice.isEmpty)
      #expect(counts.uncertain >= 1 && counts.accepted + counts.uncertain == 100)
      #expect(pushes.allSatisfy { $0.attempts == 1 && ($0.state == .accepted || $0.reason == "hub_stopped") })
    }
  }

  @Test func `With resend, pushes that may be sent twice record why`() async throws {
    try await finished(.resend, refusing: Self.outcomes) { bench, counts, pushes in
      #expect(counts.accepted == 100)
      let tokens = try await bench.tokens()
      let received = Dictionary(grouping: bench.simulator.apns.requests, by: \.token).mapValues(\.count)
      let resent = pushes.filter { $0.resentBecause != nil }
      #expect(!resent.isEmpty && resent.allSatisfy { $0.resentBecause == "hub_stopped" && $0.attempts == 2 })
      for push in pushes where push.resentBecause == nil {
        #expect(received[tokens[push.deviceId] ?? ""] == 1)
      }
    }
  }

  @Test func `With skip, invalid tokens whose devices could not be retired are not sent to again`() async throws {
    let reply = SimulatedAPNs.Reply.refuse(status: 410, reason: "Unregistered", since: Date(timeIntervalSinceNow: -60))
    try await finished(.skip, refusing: Self.retirements, rule: reply) { bench, counts, _ in
      #expect(bench.receivedTwice.isEmpty)
      #expect(counts.uncertain >= 1 && counts.failed + counts.uncertain == 100)
    }
  }
}
