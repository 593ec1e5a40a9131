import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Drafts that are made of other sendouts.
@Suite struct CopyTests {
  private func copy(
    _ bench: SendingBench, _ sendout: SendoutID, _ audience: CopiedAudience? = nil
  ) async throws -> SendoutReply {
    try await bench.pool.transaction(of: bench.customer.rawValue) {
      try await SendoutStore($0).copy(bench.customer, sendout, for: audience)
    }
  }

  @Test func `A copy says the same at no time`() async throws {
    try await withSendingBench { bench in
      let request = SendoutRequest(
        name: "Offer", appId: SendingBench.appID, audience: .originalIds(["user1@example.com", "nobody"]),
        message: MessageBody(alert: "Hello", ttl: 60), purpose: .marketing, onUncertain: .skip, draft: true,
        campaign: CampaignFields(
          localTime: WallTime("2090-01-01T12:00"), endAt: Wire.Timestamp(Date(timeIntervalSince1970: 4_000_000_000)),
          onMissed: .now, repeat: Repetition(every: .day), spreadMinutes: 20, holdoutPercent: 5))
      let first = try await bench.sendouts.create(bench.customer, request)
      let made = try await copy(bench, first.sendoutId)
      #expect(made.sendoutId != first.sendoutId && made.state == .draft && made.name == "Offer")
      #expect(made.audience == request.audience && made.unknownOriginalIds == 2)
      #expect(made.message == request.message && made.onUncertain == .skip)
      #expect(made.campaign == CampaignFields(spreadMinutes: 20, holdoutPercent: 5))
      #expect(made.apps == first.apps && made.scheduledAt == nil && made.seriesId == nil)
      #expect(try await bench.sendouts.find(bench.customer, made.sendoutId).digest == made.digest)
    }
  }

  @Test func `A copy can be for those of whom something is true by then`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.addDevices(1, from: 4, prefix: "dd")
      bench.simulator.apns.rule(.prefix("dd"), .refuse(status: 413, reason: "PayloadTooLarge"))
      let key = try await bench.send()
      try await bench.withHubs { try await bench.until(key, .finished) }
      try await bench.database.query("UPDATE push SET opened_at = now() WHERE push_no = 1")
      try await bench.database.recountBatches()
      for (audience, line, count) in [
        (CopiedAudience.same, "any", 4), (.failed, "failed", 1), (.notOpened, "notOpened", 2), (.opened, "opened", 1),
        (.uncertain, "uncertain", 0),
      ] {
        let made = try await copy(bench, key.sendout, audience)
        #expect(made.audience == .filter(try Filter(text: "outcome of sendout \(key.sendout) = '\(line)'")))
        #expect(try await bench.preflight(made.sendoutId).left == count, "\(audience)")
      }
    }
  }

  @Test func `What has no pushes is copied as it is alone`() async throws {
    try await withSendingBench { bench in
      let draft = try await bench.sendouts.create(bench.customer, bench.request())
      await #expect(throws: SendoutError.withoutPushes(draft.sendoutId)) {
        _ = try await copy(bench, draft.sendoutId, .same)
      }
      await #expect(throws: RegistryError.numberUnknown("sendout")) { _ = try await copy(bench, SendoutID(99)) }
      let gone = try await bench.sendouts.create(
        bench.customer, bench.request(audience: .originalIds(["user1@example.com"])))
      try await bench.database.query(
        """
        UPDATE sendout SET state = 'finished', frozen_at = now(), expired_at = now(), audience = '{"originalIds":[]}'
         WHERE sendout_id = $1::bigint
        """, gone.sendoutId.rawValue)
      await #expect(throws: SendoutError.withoutPushes(gone.sendoutId)) {
        _ = try await copy(bench, gone.sendoutId, .failed)
      }
      await #expect(throws: SendoutError.self) { _ = try await copy(bench, gone.sendoutId) }
    }
  }
}
