import Delivery
import Foundation
import Hybrid
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// Messages to numbers whose customer has caps or quiet hours.
@Suite struct CappedMessageTests {
  private func limit(_ hybrid: HybridBench, _ caps: String..., quietHours: QuietHours? = nil) async throws {
    _ = try await Customers(hybrid.bench.pool).update(
      hybrid.bench.customer,
      CustomerUpdate(quietHours: quietHours.map { .set($0) } ?? .keep, caps: caps.compactMap { Cap($0) }))
  }

  private static let capped = HybridBench.Row(
    status: "Failed", pushes: ["skipped capped 1/24h"], sms: "skipped capped 1/24h")

  @Test func `A message beyond a cap is accepted, and fails without a push or an SMS`() async throws {
    try await withHybridBench(statusURL: "https://status.example.com/reports") { hybrid in
      try await limit(hybrid, "1/24h")
      try await hybrid.addNumbers(2)
      try await hybrid.send(hybrid.message(1))
      let answers = try await hybrid.send(hybrid.message(1, "Again"), hybrid.message(2))
      #expect(answers == [.accepted(parts: 1), .accepted(parts: 1)])
      let rows = try await hybrid.until { $0[0].status == "Accepted" && $0[2].status == "Accepted" }
      #expect(rows[1] == Self.capped)
      #expect(hybrid.requests("aa").count == 2 && hybrid.requests("cc").isEmpty)
      let told = try await hybrid.bench.database.query(
        "SELECT count(*) FROM outbox WHERE kind = 'message_status' AND event = 'Failed'")
      #expect(try told[0].decode(Int.self) == 1)
      let (counted, capped) = try await hybrid.bench.database.query(
        "SELECT sum(contacts)::bigint, sum(capped)::bigint FROM cap_day")[0].decode(Int.self, Int.self)
      #expect(counted == 2 && capped == 1)
      try await hybrid.bench.database.checkBatchCounts()
    }
  }

  @Test(arguments: [true, false])
  func `Of two messages to a number in one request, each is decided about`(allOrNothing: Bool) async throws {
    try await withHybridBench { hybrid in
      try await limit(hybrid, "1/24h/transactional")
      try await hybrid.addNumbers(2)
      let answers = try await hybrid.send(
        hybrid.message(1), hybrid.message(1, "Again"), hybrid.message(2, channels: [.sms]), allOrNothing: allOrNothing)
      #expect(answers == [.accepted(parts: 1), .accepted(parts: 1), .accepted(parts: 1)])
      let rows = try await hybrid.until { $0.count { $0.status == "Accepted" } == 2 }
      #expect(rows.count { $0.sms == "skipped capped 1/24h transactional" } == 1)
      #expect(hybrid.requests("aa").count == 1)
    }
  }

  @Test func `A push and the SMS that stands in for it count once`() async throws {
    try await withHybridBench { hybrid in
      try await limit(hybrid, "2/24h")
      try await hybrid.addNumbers(1, phones: 2)
      hybrid.simulator.apns.rule(.prefix("aa"), .refuse(status: 400, reason: "BadMessageId"))
      try await hybrid.bench.withHubs {
        for text in ["One", "Two", "Three"] { try await hybrid.send(hybrid.message(1, text)) }
        let rows = try await hybrid.until { $0[0].status == "Accepted" && $0[1].status == "Accepted" }
        #expect(rows[2].sms == "skipped capped 2/24h")
      }
      #expect(hybrid.requests("cc").count == 2)
    }
  }

  @Test func `Passwords, quiet hours and caps of marketing stop no message to a number`() async throws {
    try await withHybridBench { hybrid in
      try await limit(hybrid, "1/24h/marketing", quietHours: QuietHours("00:00-23:59/skip"))
      try await hybrid.addNumbers(1)
      for text in ["One", "Two"] { try await hybrid.send(hybrid.message(1, text)) }
      _ = try await hybrid.until { $0.count == 2 && $0.allSatisfy { $0.status == "Accepted" } }
    }
    try await withHybridBench { hybrid in
      try await limit(hybrid, "1/24h")
      try await hybrid.addNumbers(1)
      for text in ["123", "456"] { try await hybrid.send(hybrid.message(1, text, kind: .otp)) }
      _ = try await hybrid.until { $0.count == 2 && $0.allSatisfy { $0.status == "Accepted" } }
      #expect(try await hybrid.bench.database.query("SELECT FROM reach").isEmpty)
    }
  }

  @Test func `An SMS that is capped withdraws no password`() async throws {
    try await withHybridBench { hybrid in
      try await limit(hybrid, "1/24h")
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1))
      try await hybrid.send(hybrid.message(1, "123", kind: .otp))
      _ = try await hybrid.until { $0.count == 2 && $0.allSatisfy { $0.status == "Accepted" } }
      try await hybrid.send(hybrid.message(1, "123", channels: [.sms]))
      let rows = try await hybrid.rows()
      #expect(rows.map(\.status).sorted() == ["Accepted", "Accepted", "Failed"])
    }
  }
}
