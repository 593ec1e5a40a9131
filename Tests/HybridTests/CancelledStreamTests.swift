import Delivery
import Hybrid
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// What becomes of messages to numbers whose stream is cancelled.
@Suite struct CancelledStreamTests {
  private func reports(_ hybrid: HybridBench) async throws -> [String] {
    try await hybrid.bench.database.query("SELECT event FROM outbox WHERE customer_id > 0 ORDER BY item_no, event").map
    {
      try $0.decode(String.self)
    }
  }

  private func streams(_ hybrid: HybridBench) async throws -> [SendoutID] {
    try await hybrid.bench.database.query("SELECT sendout_id FROM sendout ORDER BY sendout_id").map {
      SendoutID(try $0.decode(Int64.self))
    }
  }

  @Test func `What waits in a stream that is cancelled has the status Cancelled, and is reported`() async throws {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(3)
      let (_, messages) = HybridBench.hub(hybrid.bench, confirmationTime: .seconds(3600), sendsItself: false)
      let answers = try await messages.accept(
        hybrid.bench.customer, (1...3).map { hybrid.message($0) }, allOrNothing: false)
      #expect(answers.allSatisfy { $0 == .accepted(parts: 1) })
      // Of this one a push was taken already.
      try await hybrid.bench.database.query(
        "UPDATE tracked_message SET status = 'Accepted', unsettled = unsettled - 1 WHERE message_no = 3")
      for stream in try await streams(hybrid) {
        _ = try await hybrid.bench.sendouts.cancel(hybrid.bench.customer, stream)
        _ = try await hybrid.bench.sendouts.cancel(hybrid.bench.customer, stream)
      }
      let rows = try await hybrid.rows()
      #expect(rows.map(\.status) == ["Cancelled", "Cancelled", "Accepted"])
      #expect(rows.allSatisfy { $0.pushes == ["cancelled"] && $0.sms == "cancelled" })
      #expect(try await reports(hybrid) == ["Cancelled", "Cancelled"])
    }
  }

  @Test func `What is in flight when its stream is cancelled has the status that its outcome says`() async throws {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(1)
      hybrid.simulator.apns.rule(.prefix("aa"), .ignore)
      try await hybrid.send(hybrid.message(1))
      _ = await hybrid.simulator.apns.received(count: 1)
      for stream in try await streams(hybrid) {
        _ = try await hybrid.bench.sendouts.cancel(hybrid.bench.customer, stream)
      }
      #expect(try await hybrid.rows() == [.init(status: "Sent", pushes: ["queued"], sms: "cancelled")])
      hybrid.simulator.apns.removeRules()
      hybrid.simulator.apns.answerIgnored()
      _ = try await hybrid.until { $0[0].status == "Accepted" }
      #expect(try await reports(hybrid) == ["Accepted"])
    }
  }

  @Test func `What a hub has claimed, and gives back after the cancellation, is cancelled with its message`()
    async throws
  {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(2)
      let (_, messages) = HybridBench.hub(hybrid.bench, confirmationTime: .seconds(3600), sendsItself: false)
      _ = try await messages.accept(
        hybrid.bench.customer, [hybrid.message(1), hybrid.message(2)], allOrNothing: false)
      // A hub that stopped had claimed the pushes, and nothing had left.
      try await hybrid.bench.database.query(
        """
        UPDATE push_batch SET state = 'claimed', hub_id = gen_random_uuid(), claims = 1, claimed_at = now(),
               sent_to = first_push - 1, lease_until = now() - interval '1 second'
         WHERE queued > 0
        """)
      for stream in try await streams(hybrid) {
        _ = try await hybrid.bench.sendouts.cancel(hybrid.bench.customer, stream)
      }
      #expect(try await hybrid.rows().map(\.status) == ["Sent", "Sent"])
      try await hybrid.bench.withHubs {
        _ = try await hybrid.until { $0.allSatisfy { $0.status == "Cancelled" } }
      }
      #expect(try await hybrid.rows().allSatisfy { $0.pushes == ["cancelled"] && $0.sms == "cancelled" })
      #expect(try await reports(hybrid) == ["Cancelled", "Cancelled"])
    }
  }
}
