import Audience
import Content
import Foundation
import Registry
import Sendouts
import Support
import Testing
import Wire

/// What a digest stands for: whatever decides about a sendout changes it, and nothing else does.
@Suite struct DigestTests {
  private let message = MessageBody(
    alert: "Hello", ttl: 600, translations: ["sv": MessageTranslation(alert: "Hej")])

  private var campaign: CampaignFields {
    CampaignFields(
      startAt: Wire.Timestamp(Date(timeIntervalSince1970: 4_000_000_000)), spreadMinutes: 10,
      variants: [
        MessageVariant(name: "A", share: 40, message: MessageBody()),
        MessageVariant(name: "B", share: 40, message: MessageBody(alert: "Hi")),
      ], winner: WinnerRule(afterMinutes: 60), holdoutPercent: 5)
  }

  @Test func `Each part of what a sendout says changes its digest`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      for name in ["offer", "other"] {
        _ = try await Templates(bench.pool).put(customer, name: name, format: .html, body: "<p>x</p>")
      }
      let first = bench.request(message, audience: .all, template: "offer", campaign: campaign)
      let made = try await sendouts.create(customer, first)
      let seen = try #require(made.digest)
      let changes: [(String, (inout SendoutRequest) throws -> Void)] = [
        ("name", { $0.name = "Other" }), ("audience", { $0.audience = .originalIds(["a"]) }),
        ("exclusion", { $0.audience = .excluding(.all, .bucket(from: 0, to: 1)) }),
        ("alert", { $0.message.alert = "Bye" }), ("ttl", { $0.message.ttl = 601 }),
        ("translation", { $0.message.translations = ["sv": MessageTranslation(alert: "Tja")] }),
        ("purpose", { $0.purpose = .transactional }), ("template", { $0.template = "other" }),
        ("policy", { $0.onUncertain = .skip }),
        ("startAt", { $0.campaign.startAt = Wire.Timestamp(Date(timeIntervalSince1970: 4_000_000_060)) }),
        (
          "localTime",
          {
            $0.campaign.startAt = nil
            $0.campaign.localTime = WallTime("2090-01-01T12:00")
          }
        ),
        ("endAt", { $0.campaign.endAt = Wire.Timestamp(Date(timeIntervalSince1970: 4_000_009_000)) }),
        ("lateMinutes", { $0.campaign.lateMinutes = 30 }), ("spread", { $0.campaign.spreadMinutes = 11 }),
        ("rate", { $0.campaign.ratePerSecond = 10 }), ("quiet hours", { $0.campaign.quietHours = .lifted }),
        ("caps", { $0.campaign.ignoreCaps = true }), ("winner", { $0.campaign.winner = WinnerRule(afterMinutes: 61) }),
        ("holdout", { $0.campaign.holdoutPercent = 6 }), ("pause", { $0.campaign.pauseAtFailed = 0.5 }),
        ("share", { $0.campaign.variants?[0].share = 41 }), ("variant", { $0.campaign.variants?[1].name = "C" }),
        ("words", { $0.campaign.variants?[1].message.alert = "Hey" }),
        ("page", { $0.campaign.variants?[1].template = "other" }),
      ]
      var digests: Set<String> = [seen]
      for (part, change) in changes {
        var other = first
        try change(&other)
        let changed = try await sendouts.change(customer, made.sendoutId, other)
        #expect(changed.before.digest == seen, "\(part)")
        #expect(digests.insert(try #require(changed.after.digest)).inserted, "\(part)")
        await #expect(throws: SendoutError.changed(made.sendoutId), "\(part)") {
          _ = try await sendouts.apply(.start, to: made.sendoutId, of: customer, seen: seen)
        }
        #expect(try await sendouts.change(customer, made.sendoutId, first).after.digest == seen, "\(part)")
      }
    }
  }

  @Test func `So does what decides about it elsewhere, but not how many people there are`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let segments = Segments(bench.pool)
      let inner = try await segments.add(customer, SegmentRequest(name: "inner", filter: .bucket(from: 0, to: 50)))
      let outer = try await segments.add(
        customer, SegmentRequest(name: "outer", filter: .segment(.number(inner.segmentId.rawValue))))
      let templates = Templates(bench.pool)
      for name in ["offer", "other"] {
        _ = try await templates.put(customer, name: name, format: .html, body: "<p>1</p>")
      }
      var request = bench.request(message, audience: .segment(outer.segmentId), template: "offer", campaign: campaign)
      request.campaign.variants?[0].template = "other"
      let made = try await sendouts.create(customer, request)
      var digests: Set<String> = [try #require(made.digest)]
      func expectAnother(_ part: String) async throws {
        let digest = try #require(try await sendouts.find(customer, made.sendoutId).digest)
        #expect(digests.insert(digest).inserted, "\(part)")
        let told = try await bench.preflight(made.sendoutId).digest
        #expect(told == digest, "\(part)")
      }
      func update(_ update: CustomerUpdate) async throws {
        _ = try await Customers(bench.pool).update(customer, update)
      }
      _ = try await segments.change(
        customer, inner.segmentId, SegmentRequest(name: "inner", filter: .bucket(from: 0, to: 51)))
      try await expectAnother("a segment inside")
      try await update(CustomerUpdate(quietHours: .set(QuietHours.example)))
      try await expectAnother("quiet hours")
      try await update(CustomerUpdate(caps: [.example]))
      try await expectAnother("caps")
      try await update(CustomerUpdate(timeZone: "Europe/Stockholm"))
      try await expectAnother("time zone")
      _ = try await templates.put(customer, name: "offer", format: .html, body: "<p>2</p>")
      try await expectAnother("template")
      _ = try await templates.put(customer, name: "other", format: .html, body: "<p>2</p>")
      try await expectAnother("a variant's template")
      let last = try await sendouts.find(customer, made.sendoutId).digest
      try await bench.addDevices(3)
      try await update(CustomerUpdate(name: "Other", sendThreshold: 7))
      #expect(try await sendouts.find(customer, made.sendoutId).digest == last)
      // What no rule of its purpose is changes nothing either.
      try await update(
        CustomerUpdate(caps: [.example, Cap(count: 1, per: try #require(CapPeriod("1h")), purpose: .transactional)]))
      #expect(try await sendouts.find(customer, made.sendoutId).digest == last)
    }
  }
}
