import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Sendouts that repeat.
@Suite struct SeriesTests {
  /// A case of `next`: when the first time is asked for, how it repeats, and the wall times of the first sendouts by the customer's zone.
  struct Case: Sendable, CustomTestStringConvertible {
    let start: String
    let repetition: Repetition
    let times: [String]

    var testDescription: String { "\(start) \(repetition.every.rawValue)" }
  }

  /// 2032-01-05 is a Monday; 2032 is a leap year; clocks change in Stockholm on 2032-03-28 and 2032-10-31.
  private static let cases = [
    Case(
      start: "2032-01-05T10:00:00+01:00", repetition: Repetition(every: .day),
      times: ["2032-01-05 10:00", "2032-01-06 10:00", "2032-01-07 10:00"]),
    // The wall time stays, and on the day that skips it the sendout is later by the gap.
    Case(
      start: "2032-03-27T02:30:00+01:00", repetition: Repetition(every: .day),
      times: ["2032-03-27 02:30", "2032-03-28 03:30", "2032-03-29 02:30"]),
    Case(
      start: "2032-10-30T10:00:00+02:00", repetition: Repetition(every: .day),
      times: ["2032-10-30 10:00", "2032-10-31 10:00", "2032-11-01 10:00"]),
    Case(
      start: "2032-01-05T10:00:00+01:00", repetition: Repetition(every: .week),
      times: ["2032-01-05 10:00", "2032-01-12 10:00"]),
    // The first time is the first that matches.
    Case(
      start: "2032-01-06T10:00:00+01:00",
      repetition: Repetition(every: .week, on: [.ofWeek(.thu), .ofWeek(.mon)]),
      times: ["2032-01-08 10:00", "2032-01-12 10:00", "2032-01-15 10:00"]),
    // The day is that of the customer's zone: in UTC it is a day before.
    Case(
      start: "2032-01-05T00:30:00+01:00", repetition: Repetition(every: .week, on: [.ofWeek(.mon)]),
      times: ["2032-01-05 00:30", "2032-01-12 00:30"]),
    Case(
      start: "2032-01-31T10:00:00+01:00", repetition: Repetition(every: .month),
      times: ["2032-01-31 10:00", "2032-02-29 10:00", "2032-03-31 10:00", "2032-04-30 10:00", "2032-05-31 10:00"]),
    // Two days that coincide are one.
    Case(
      start: "2032-01-30T10:00:00+01:00", repetition: Repetition(every: .month, on: [.ofMonth(31), .ofMonth(30)]),
      times: ["2032-01-30 10:00", "2032-01-31 10:00", "2032-02-29 10:00", "2032-03-30 10:00", "2032-03-31 10:00"]),
    // The last day is included.
    Case(
      start: "2032-01-05T10:00:00+01:00", repetition: Repetition(every: .day, until: CalendarDay("2032-01-06")),
      times: ["2032-01-05 10:00", "2032-01-06 10:00"]),
  ]

  @Test(arguments: cases)
  func `Each time follows the one before on the next day that matches`(_ one: Case) async throws {
    try await withSendingBench { bench in
      _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(timeZone: "Europe/Stockholm"))
      let start = try #require(Timestamp(one.start))
      let key = try await bench.make(CampaignFields(startAt: start, repeat: one.repetition))
      let series = try #require(try await bench.show(key).seriesId)
      for _ in one.times.dropFirst() { try await goOn(bench, series) }
      #expect(try await times(bench) == one.times)
      if let until = one.repetition.until, one.times.last?.hasPrefix(until.description) == true {
        try await goOn(bench, series)
        #expect(try await times(bench) == one.times)
        #expect(try await isEnded(bench))
      } else {
        #expect(try await !isEnded(bench))
      }
    }
  }

  @Test func `Local times repeat by days of each contact's own clock`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(
        CampaignFields(
          localTime: WallTime("2032-01-06T18:30"), repeat: Repetition(every: .week, on: [.ofWeek(.fri)])))
      let first = try await bench.show(key)
      #expect(first.campaign.localTime == WallTime("2032-01-09T18:30") && first.seriesNo == 1)
      try await goOn(bench, try #require(first.seriesId))
      let all = try await bench.sendouts.list(bench.customer).items
      #expect(all.map(\.campaign.localTime) == [WallTime("2032-01-16T18:30"), WallTime("2032-01-09T18:30")])
      #expect(all.map(\.seriesNo) == [2, 1] && Set(all.map(\.seriesId)).count == 1)
      // Fourteen hours before, the first zone has it.
      #expect(all[0].nextAt == Timestamp("2032-01-16T04:30:00Z"))
    }
  }

  @Test func `A series goes on where PostgreSQL does not know the customer's zone, by the clocks of UTC`() async throws
  {
    try await withSendingBench { bench in
      // The hub's tzdata may be newer than the server's.
      try await bench.database.query("UPDATE customer SET time_zone = 'Europe/Nowhere'")
      let start = try #require(Timestamp("2032-01-05T10:00:00Z"))
      let key = try await bench.make(CampaignFields(startAt: start, repeat: Repetition(every: .day)))
      try await goOn(bench, try #require(try await bench.show(key).seriesId))
      let starts = try await bench.sendouts.list(bench.customer).items.map(\.campaign.startAt)
      #expect(starts == [Timestamp("2032-01-06T10:00:00Z"), start])
    }
  }

  @Test func `A series needs a day that matches, and a schedule`() async throws {
    try await withSendingBench { bench in
      let never = CampaignFields(
        startAt: Timestamp("2032-01-06T10:00:00Z"),
        repeat: Repetition(every: .week, on: [.ofWeek(.mon)], until: CalendarDay("2032-01-11")))
      await #expect(
        throws: SendoutError.invalid(
          field: "repeat.until", problem: "is before the first day that matches: give a later one")
      ) { _ = try await bench.make(never) }
      let draft = try await bench.make(
        CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)), draft: true)
      await #expect(
        throws: SendoutError.invalid(
          field: "repeat", problem: "needs a schedule: schedule the draft, or remove repeat")
      ) { try await bench.sendouts.start(bench.customer, draft.sendout) }
      #expect(try await bench.show(draft).seriesId == nil)
      let scheduled = try await bench.sendouts.apply(.schedule, to: draft.sendout, of: bench.customer).sendout
      #expect(scheduled.seriesId != nil && scheduled.seriesNo == 1)
    }
  }

  @Test func `The commit that takes a time up makes the next, with all that it says`() async throws {
    try await withSendingBench { bench in
      let start = Timestamp.fromNow(3600)
      let end = Timestamp(start.date.addingTimeInterval(1800))
      let key = try await bench.make(
        CampaignFields(startAt: start, endAt: end, repeat: Repetition(every: .day), spreadMinutes: 5))
      try await bench.pass("61 minutes", for: key)
      // Two hubs see its moment.
      async let first = bench.step(key)
      async let second = bench.step(key)
      _ = try await (first, second)
      let all = try await bench.sendouts.list(bench.customer).items
      #expect(all.map(\.seriesNo) == [2, 1] && all[0].state == .scheduled && all[1].state != .scheduled)
      #expect(all[0].campaign.spreadMinutes == 5 && all[0].campaign.repeat == Repetition(every: .day))
      let next = try await bench.show(SendoutKey(bench.customer, all[0].sendoutId))
      #expect(next.message == MessageBody(alert: "Hello") && next.audience == .all)
      let (begins, ends) = (try #require(next.campaign.startAt), try #require(next.campaign.endAt))
      #expect(next.nextAt == begins && ends.milliseconds - begins.milliseconds == 1_800_000)
      #expect(next.seriesId == all[1].seriesId && next.startedAt == nil && next.frozenAt == nil)
    }
  }

  @Test func `What passed while hubs were away for days waits as late, each time of it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(4 * 3600), repeat: Repetition(every: .day)))
      try await bench.pass("5 days", for: key)
      try await bench.withHubs {
        try await waitUntil {
          let all = try await bench.sendouts.list(bench.customer).items
          return all.count == 6 && !all.dropFirst().contains { $0.state == .scheduled }
        }
      }
      let all = try await bench.sendouts.list(bench.customer).items
      #expect(all.map(\.state) == [.scheduled] + Array(repeating: .paused, count: 5))
      #expect(all.map(\.haltReason) == [nil] + Array(repeating: "late", count: 5))
      #expect(all.map(\.seriesNo) == [6, 5, 4, 3, 2, 1])
      let starts = all.compactMap { $0.campaign.startAt?.date }
      #expect(starts.count == 6 && starts[0] > Date.now && starts[1] < Date.now)
      #expect(bench.simulator.apns.count == 0)
    }
  }

  @Test func `A time that is cancelled, started or brought back makes room for the next`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)))
      func newest() async throws -> SendoutReply { try await sendouts.list(customer).items[0] }
      let first = try #require(try await bench.show(key).campaign.startAt)
      try await sendouts.cancel(customer, key.sendout)
      let second = try await newest()
      #expect(second.seriesNo == 2 && second.state == .scheduled && (second.campaign.startAt ?? first) > first)
      try await sendouts.start(customer, second.sendoutId)
      let third = try await newest()
      #expect(third.seriesNo == 3 && third.state == .scheduled)
      // It follows from the time that was planned, and not from that of the start.
      let (earlier, later) = (try #require(second.campaign.startAt), try #require(third.campaign.startAt))
      #expect((23 * 3_600_000...25 * 3_600_000).contains(later.milliseconds - earlier.milliseconds))
      _ = try await sendouts.apply(.unschedule, to: third.sendoutId, of: customer)
      #expect(try await newest().seriesNo == 4)
      // The one that was brought back can be scheduled again, and is no newest one.
      _ = try await sendouts.apply(.schedule, to: third.sendoutId, of: customer)
      let again = try await bench.show(SendoutKey(customer, third.sendoutId))
      #expect(again.state == .scheduled && again.seriesNo == 3)
      try await sendouts.cancel(customer, third.sendoutId)
      #expect(try await newest().seriesNo == 4)
    }
  }

  @Test func `A series whose only time is brought back has never been`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)))
      let back = try await bench.sendouts.apply(.unschedule, to: key.sendout, of: bench.customer).sendout
      #expect(back.state == .draft && back.seriesId == nil && back.campaign.repeat == Repetition(every: .day))
      #expect(try await bench.database.query("SELECT FROM series").isEmpty)
      #expect(try await bench.sendouts.list(bench.customer).items.count == 1)
    }
  }

  @Test func `The end of a series cancels what is scheduled, and leaves the rest`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)))
      let series = try #require(try await bench.show(key).seriesId)
      try await bench.sendouts.start(bench.customer, key.sendout)
      let next = try await bench.sendouts.list(bench.customer).items[0].sendoutId
      func end() async throws -> [SendoutID] {
        try await bench.pool.transaction(of: bench.customer.rawValue) { database in
          try await SendoutStore(database).endSeries(bench.customer, series).map(\.sendoutId)
        }
      }
      #expect(try await end() == [next])
      #expect(try await end() == [])
      #expect(try await bench.show(SendoutKey(bench.customer, next)).state == .cancelled)
      #expect(try await bench.show(key).state == .freezing)
      await fill(bench)
      #expect(try await bench.sendouts.list(bench.customer).items.count == 2)
      let stranger = try await bench.database.customer("Other")
      await #expect(throws: SendoutError.seriesUnknown) {
        try await bench.pool.transaction(of: stranger.rawValue) { database in
          _ = try await SendoutStore(database).endSeries(stranger, series)
        }
      }
    }
  }

  @Test func `A change of one time is one of those after it`() async throws {
    try await withSendingBench { bench in
      _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(timeZone: "Europe/Stockholm"))
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let key = try await bench.make(
        CampaignFields(startAt: Timestamp("2032-01-31T10:00:00+01:00"), repeat: Repetition(every: .month)))
      let series = try #require(try await bench.show(key).seriesId)
      try await goOn(bench, series)
      let february = try await sendouts.list(customer).items[0].sendoutId
      // Its own day is the last of a short month, and does not become that of later ones.
      try await sendouts.change(customer, february, SendoutChange(["message": ["alert": "New"]]))
      try await goOn(bench, series)
      #expect(try await times(bench) == ["2032-01-31 10:00", "2032-02-29 10:00", "2032-03-31 10:00"])
      let march = try await sendouts.list(customer).items[0].sendoutId
      #expect(try await sendouts.find(customer, march).message == MessageBody(alert: "New"))
      try await sendouts.change(customer, march, SendoutChange(["startAt": "2032-03-31T12:00:00+02:00"]))
      try await goOn(bench, series)
      let april = try await sendouts.list(customer).items[0].sendoutId
      try await sendouts.change(customer, april, SendoutChange(["repeat": ["every": "week", "on": ["mon"]]]))
      try await goOn(bench, series)
      #expect(try await times(bench).suffix(2) == ["2032-05-03 12:00", "2032-05-10 12:00"])
      // Without days, it is the last one.
      let last = try await sendouts.list(customer).items[0].sendoutId
      var request = bench.campaign(CampaignFields(startAt: Timestamp("2032-05-10T10:00:00Z")))
      request.name = "Last"
      try await sendouts.change(customer, last, request)
      #expect(try await isEnded(bench))
      try await goOn(bench, series)
      #expect(try await times(bench).count == 5)
    }
  }

  @Test func `A series whose newest time has gone otherwise is found by the scan`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)))
      try await bench.database.query(
        "UPDATE sendout SET state = 'cancelled', next_at = NULL WHERE sendout_id = $1::bigint", key.sendout.rawValue)
      await fill(bench)
      await fill(bench)
      #expect(try await bench.sendouts.list(bench.customer).items.map(\.state) == [.scheduled, .cancelled])
    }
  }

  @Test func `A series that somebody has locked holds up no other`() async throws {
    try await withSendingBench { bench in
      for _ in 1...2 {
        _ = try await bench.make(CampaignFields(startAt: .fromNow(3600), repeat: Repetition(every: .day)))
      }
      try await bench.database.query("UPDATE sendout SET state = 'cancelled', next_at = NULL")
      try await bench.pool.transaction { transaction in
        try await transaction.query(
          sql: "SELECT FROM series WHERE series_id = (SELECT min(series_id) FROM series) FOR UPDATE")
        await fill(bench)
      }
      #expect(try await scheduled(bench) == [0, 1])
      await fill(bench)
      #expect(try await scheduled(bench) == [1, 1])
    }
  }

  // MARK: What tests do

  /// How many scheduled sendouts each series has.
  private func scheduled(_ bench: SendingBench) async throws -> [Int] {
    try await bench.database.query(
      "SELECT count(*) FILTER (WHERE state = 'scheduled') FROM sendout GROUP BY series_id ORDER BY series_id"
    ).map { try $0.decode(Int.self) }
  }

  /// Makes the next time, as if the newest was taken up.
  private func goOn(_ bench: SendingBench, _ series: SeriesID) async throws {
    let newest = try await bench.sendouts.list(bench.customer).items[0].sendoutId
    try await bench.pool.transaction(of: bench.customer.rawValue) { database in
      try await Series(database).makeNext(bench.customer, series, leaving: newest)
    }
  }

  private func fill(_ bench: SendingBench) async {
    let worker = SendoutWorker(
      pool: bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault,
      credentials: PushCredentialVault(bench.pool, vault: bench.vault), settings: RunnerSettings(),
      freezes: CustomerPermits(1), logger: TestServer.logger)
    await worker.fillSeries()
  }

  /// Of all sendouts, in their order, by the customer's clock.
  private func times(_ bench: SendingBench) async throws -> [String] {
    try await bench.database.query(
      """
      SELECT to_char(start_at AT TIME ZONE time_zone, 'YYYY-MM-DD HH24:MI') FROM sendout JOIN customer USING (customer_id)
       ORDER BY series_no
      """
    ).map { try $0.decode(String.self) }
  }

  private func isEnded(_ bench: SendingBench) async throws -> Bool {
    try await bench.database.query("SELECT ended_at IS NOT NULL FROM series")[0].decode(Bool.self)
  }
}
