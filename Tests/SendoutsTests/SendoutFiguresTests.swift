import Content
import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// What pages and commands show of sendouts in numbers.
@Suite struct SendoutFiguresTests {
  private func store(_ bench: SendingBench) -> SendoutStore { SendoutStore(bench.pool) }

  /// A finished sendout to two accepted phones and two refused ones.
  private func finished(_ bench: SendingBench) async throws -> SendoutKey {
    try await bench.addDevices(2)
    try await bench.addDevices(2, from: 3, prefix: "dd")
    bench.simulator.apns.rule(.prefix("dd"), .refuse(status: 400, reason: "BadDeviceToken"))
    let key = try await bench.send()
    try await bench.withHubs { _ = try await bench.until(key, .finished) }
    return key
  }

  @Test func `The figures count a sendout from audience to open, with reasons and what helps`() async throws {
    try await withSendingBench { bench in
      let key = try await finished(bench)
      var figures = try await store(bench).figures(bench.customer, key.sendout)
      #expect(figures.counts.audience == 4 && figures.counts.accepted == 2 && figures.counts.failed == 2)
      #expect(figures.opens == 0 && figures.hours.isEmpty && figures.secondsLeft == nil)
      let reason = try #require(figures.reasons.first)
      #expect(figures.reasons.count == 1)
      #expect(reason.state == .failed && reason.reason == "BadDeviceToken" && reason.pushes == 2 && !reason.isEstimate)
      #expect(reason.meaning != nil && reason.advice != nil)

      let pushes = try await bench.pushes(key).filter { $0.state == .accepted }
      let opens = OpenLog(bench.pool)
      for (index, push) in pushes.enumerated() {
        let link = PushLink(
          customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
        for _ in 0...index { _ = try await opens.record([Open(link, via: .page, by: .person)], of: bench.customer) }
        _ = try await opens.record([Open(link, via: .page, by: .machine)], of: bench.customer)
      }
      figures = try await store(bench).figures(bench.customer, key.sendout)
      #expect(figures.counts.opened == 2 && figures.opens == 3)
      #expect(figures.hours.reduce(0) { $0 + $1.firstOpens } == 2)
      #expect(figures.hours.reduce(0) { $0 + $1.byMachines } == 2)
    }
  }

  @Test func `How long the rest takes is not told while some of it waits for its moment`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      // There the time is over already.
      try await bench.database.query(
        "UPDATE contact SET time_zone = 'Pacific/Kiritimati' WHERE original_id = 'user1@example.com'")
      let key = try await bench.make(
        CampaignFields(localTime: WallTime.fromNow(2 * 3600), onMissed: .now), draft: true)
      try await bench.sendouts.start(bench.customer, key.sendout)
      try await bench.withHubs { _ = try await bench.until(key) { $0.counts?.accepted == 1 } }
      let figures = try await store(bench).figures(bench.customer, key.sendout)
      #expect(figures.state == .running && figures.counts.queued == 1)
      #expect(figures.settledLately == 1 && figures.secondsLeft == nil)
      try await bench.database.query("UPDATE push_batch SET not_before = now() WHERE queued > 0")
      #expect(try await store(bench).figures(bench.customer, key.sendout).secondsLeft != nil)
    }
  }

  @Test func `Opens by hour are those of the report`() async throws {
    try await withSendingBench { bench in
      let key = try await finished(bench)
      let opens = OpenLog(bench.pool)
      for push in try await bench.pushes(key) {
        let link = PushLink(
          customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
        _ = try await opens.record([Open(link, via: .pushreadurl, by: .person)], of: bench.customer)
      }
      let report = try await Reports(bench.pool).read(.opens, bench.customer, sendout: key.sendout)
      let figures = try await store(bench).figures(bench.customer, key.sendout)
      #expect(report.rows.map { $0["opens"] } == figures.hours.map { JSONValue.integer(Int64($0.opens)) })
      #expect(report.rows.map { $0["firstOpens"] } == figures.hours.map { JSONValue.integer(Int64($0.firstOpens)) })
    }
  }

  @Test func `Days count pushes and opens once each`() async throws {
    try await withSendingBench { bench in
      let key = try await finished(bench)
      let push = try #require(try await bench.pushes(key).first)
      let link = PushLink(customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
      let opens = OpenLog(bench.pool)
      for _ in 1...3 { _ = try await opens.record([Open(link, via: .page, by: .person)], of: bench.customer) }
      // Counting twice counts nothing twice.
      for _ in 1...2 { try await DayCounts(bench.pool).count(bench.customer) }
      let days = try await DayCounts(bench.pool).last(3, of: bench.customer)
      #expect(days.count == 3)
      #expect(days.reduce(0) { $0 + $1.sent } == 4)
      #expect(days.reduce(0) { $0 + $1.opened } == 1)
      let other = try await bench.database.customer()
      try await DayCounts(bench.pool).count(other)
      #expect(try await DayCounts(bench.pool).last(3, of: other).allSatisfy { $0.sent == 0 && $0.opened == 0 })
    }
  }

  @Test func `A list is filtered by state, kind and the beginning of names`() async throws {
    try await withSendingBench { bench in
      let key = try await finished(bench)
      for name in ["Friday", "friday evening", "Offer 50 %", "100_% off"] {
        _ = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            name: name, appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "x")))
      }
      func names(_ filter: SendoutFilter) async throws -> [String] {
        try await store(bench).list(bench.customer, matching: filter).items.map(\.name)
      }
      #expect(try await names(SendoutFilter(name: "FRI")) == ["friday evening", "Friday"])
      #expect(try await names(SendoutFilter(name: "100_%")) == ["100_% off"])
      #expect(try await names(SendoutFilter(name: "%")).isEmpty)
      #expect(try await names(SendoutFilter(name: "\0")).isEmpty)
      #expect(try await names(SendoutFilter(states: [.finished])) == ["Offer"])
      #expect(try await names(SendoutFilter(states: [.finished, .draft])).count == 5)
      #expect(try await names(SendoutFilter(kind: .stream)).isEmpty)
      var listed = try await store(bench).list(bench.customer).items
      try await store(bench).addFigures(bench.customer, to: &listed)
      let counted = listed.filter { $0.counts != nil }
      #expect(counted.map(\.sendoutId) == [key.sendout])
      #expect(counted.first?.counts?.accepted == 2)
      #expect(counted.first?.firstOpens == [Int](repeating: 0, count: SendoutReply.hoursOfOpens))
    }
  }

  @Test func `Recipients come by number, by state and by what they begin with`() async throws {
    try await withSendingBench { bench in
      let key = try await finished(bench)
      func ids(
        _ query: String? = nil, _ state: PushState? = nil, opened: Bool = false, after: PushNumber? = nil,
        limit: Int = 100
      ) async throws -> [String?] {
        try await store(bench).recipients(
          bench.customer, key.sendout, query: query, state: state, isOpened: opened,
          PageRequest(after: after, limit: limit)
        ).items.map(\.originalId)
      }
      #expect(Set(try await ids().compactMap(\.self)).count == 4)
      #expect(Set(try await ids(nil, .failed)) == ["user3@example.com", "user4@example.com"])
      #expect(try await ids("user3") == ["user3@example.com"])
      #expect(try await ids("user", .accepted) == ["user1@example.com", "user2@example.com"])
      #expect(try await ids("User3").isEmpty)
      #expect(try await ids("%").isEmpty)
      #expect(try await ids("\0").isEmpty)
      #expect(try await ids(nil, opened: true).isEmpty)
      let contact = try #require(try await bench.pushes(key).first?.contactId)
      #expect(try await ids(contact.description).count == 1)

      var seen: [PushNumber] = []
      var after: PushNumber?
      repeat {
        let page = try await store(bench).recipients(
          bench.customer, key.sendout, PageRequest(after: after, limit: 3))
        seen += page.items.map(\.pushNo)
        after = page.next
      } while after != nil
      #expect(seen == (1...4).map { PushNumber($0) })

      let other = try await bench.database.customer()
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        _ = try await store(bench).recipients(other, key.sendout)
      }
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        _ = try await store(bench).figures(other, key.sendout)
      }
    }
  }
}
