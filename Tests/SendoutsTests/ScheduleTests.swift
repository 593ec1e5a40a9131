import Content
import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Sendouts that start by themselves.
@Suite struct ScheduleTests {
  @Test func `Null in a change removes a field, and lifts quiet hours`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts, start) = (bench.customer, bench.sendouts, Timestamp.fromNow(3600))
      let made = try await sendouts.create(
        customer,
        bench.campaign(
          CampaignFields(
            startAt: start, endAt: .fromNow(7200), repeat: Repetition(every: .day), spreadMinutes: 5, holdoutPercent: 5)
        ))
      let changed = try await sendouts.change(
        customer, made.sendoutId,
        SendoutChange(["endAt": nil, "repeat": nil, "holdoutPercent": nil, "quietHours": nil, "name": nil])
      ).after
      #expect(changed.campaign == CampaignFields(startAt: start, spreadMinutes: 5, quietHours: .lifted))
      #expect(changed.state == .scheduled && changed.name == "Hello")
      // Nothing follows any more.
      let ended = try await bench.database.query("SELECT ended_at IS NOT NULL FROM series")
      #expect(try ended.map { try $0.decode(Bool.self) } == [true])
      for name in ["message", "audience"] as [UTF8String] {
        await #expect(throws: (any Error).self, "\(name)") {
          try await sendouts.change(customer, made.sendoutId, SendoutChange([name: .null]))
        }
      }
      let field = "startAt"
      let problem = "is missing, and the sendout is scheduled: give a time, or unschedule it first"
      await #expect(throws: SendoutError.invalid(field: field, problem: problem)) {
        try await sendouts.change(customer, made.sendoutId, SendoutChange(["startAt": nil]))
      }
    }
  }

  @Test func `A sendout with a time is scheduled at once, unless it is to stay a draft`() async throws {
    try await withSendingBench { bench in
      let moment = Timestamp.fromNow(3600)
      let made = try await bench.sendouts.create(bench.customer, bench.campaign(CampaignFields(startAt: moment)))
      #expect(made.state == .scheduled && made.campaign.startAt == moment && made.nextAt == moment)
      #expect(made.scheduledAt != nil && made.startedAt == nil && made.digest != nil)
      let draft = try await bench.sendouts.create(
        bench.customer, bench.campaign(CampaignFields(startAt: moment), draft: true))
      #expect(draft.state == .draft && draft.campaign.startAt == moment && draft.nextAt == nil)
      #expect(try await bench.sendouts.create(bench.customer, bench.campaign(CampaignFields())).state == .draft)
      #expect(try await bench.sendouts.list(bench.customer).items.map(\.state) == [.draft, .draft, .scheduled])
    }
  }

  @Test func `A draft is scheduled as somebody has seen it, and brought back`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let moment = Timestamp.fromNow(3600)
      let key = try await bench.make(CampaignFields(startAt: moment, spreadMinutes: 5), draft: true)
      let seen = try #require(try await bench.show(key).digest)
      try await sendouts.change(customer, key.sendout, SendoutChange(["spreadMinutes": 6]))
      await #expect(throws: SendoutError.changed(key.sendout)) {
        _ = try await sendouts.apply(.schedule, to: key.sendout, of: customer, seen: seen)
      }
      let now = try #require(try await bench.show(key).digest)
      #expect(now != seen)
      let (before, scheduled) = try await sendouts.apply(
        .schedule, to: key.sendout, of: customer, seen: now, maximumContacts: 10)
      #expect(before == .draft && scheduled.state == .scheduled && scheduled.nextAt == moment)
      #expect(scheduled.maximumContacts == 10 && scheduled.digest == now)
      // A repetition changes nothing.
      let again = try await sendouts.apply(.schedule, to: key.sendout, of: customer)
      #expect(again.before == .scheduled && again.sendout.scheduledAt == scheduled.scheduledAt)
      let back = try await sendouts.apply(.unschedule, to: key.sendout, of: customer).sendout
      #expect(back.state == .draft && back.nextAt == nil && back.scheduledAt == nil && back.maximumContacts == nil)
      #expect(back.campaign.startAt == moment && back.digest == now)
      #expect(try await sendouts.apply(.unschedule, to: key.sendout, of: customer).before == .draft)
    }
  }

  @Test func `A draft whose times have passed starts only if somebody would get it`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let wall = try #require(WallTime.fromNow(3600))
      for (campaign, field) in [
        (CampaignFields(endAt: .fromNow(3600)), "endAt" as String?),
        (CampaignFields(startAt: .fromNow(1800), endAt: .fromNow(3600)), "endAt"),
        (CampaignFields(localTime: wall), "localTime"), (CampaignFields(localTime: wall, onMissed: .now), nil),
        (CampaignFields(startAt: .fromNow(3600)), nil),
      ] {
        let key = try await bench.make(campaign, draft: true)
        try await bench.pass("2 days", for: key)
        var refused: String?
        do {
          try await sendouts.start(customer, key.sendout)
        } catch SendoutError.invalid(let named, _) {
          refused = named
        }
        #expect(refused == field, "\(campaign)")
        #expect(try await bench.show(key).state == (field == nil ? .freezing : .draft), "\(campaign)")
      }
    }
  }

  @Test func `What is scheduled already is held to the conditions of another schedule`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let made = try await sendouts.create(customer, bench.campaign(CampaignFields(startAt: .fromNow(3600))))
      let limited = try await sendouts.apply(
        .schedule, to: made.sendoutId, of: customer, seen: made.digest, maximumContacts: 10
      ).sendout
      #expect(limited.state == .scheduled && limited.maximumContacts == 10 && limited.digest == made.digest)
      #expect(limited.scheduledAt == made.scheduledAt)
      try await sendouts.change(customer, made.sendoutId, SendoutChange(["spreadMinutes": 6]))
      await #expect(throws: SendoutError.changed(made.sendoutId)) {
        _ = try await sendouts.apply(
          .schedule, to: made.sendoutId, of: customer, seen: made.digest, maximumContacts: 20)
      }
      #expect(try await sendouts.find(customer, made.sendoutId).maximumContacts == 10)
      // Nobody alone lets it reach more than two have approved.
      _ = try await Customers(bench.pool).update(customer, CustomerUpdate(approval: true))
      await #expect(throws: SendoutError.changeNeedsApproval(made.sendoutId)) {
        _ = try await sendouts.apply(
          .schedule, to: made.sendoutId, of: customer, by: UserID(2), maximumContacts: 20)
      }
      let same = try await sendouts.apply(
        .schedule, to: made.sendoutId, of: customer, by: UserID(2), maximumContacts: 10)
      #expect(same.sendout.maximumContacts == 10)
    }
  }

  @Test func `A draft without a time starts in some seconds, and brought back it has no time again`() async throws {
    try await withSendingBench { bench in
      let (customer, pool) = (bench.customer, bench.pool)
      let key = try await bench.make(CampaignFields(spreadMinutes: 5), draft: true)
      let seen = try #require(try await bench.show(key).digest)
      @Sendable func apply(_ verb: SendoutVerb, _ conditions: SendoutStart) async throws -> SendoutReply {
        try await pool.transaction(of: customer.rawValue) {
          try await SendoutStore($0).apply(verb, to: key.sendout, of: customer, conditions).sendout
        }
      }
      func refusal(of verb: SendoutVerb, _ conditions: SendoutStart) async -> String? {
        do {
          _ = try await apply(verb, conditions)
          return nil
        } catch SendoutError.invalid(let field, _) {
          return field
        } catch {
          return "\(error)"
        }
      }
      #expect(await refusal(of: .start, SendoutStart(inSeconds: 60)) == "inSeconds")
      #expect(await refusal(of: .schedule, SendoutStart()) == "startAt")
      let scheduled = try await apply(.schedule, SendoutStart(digest: seen, maximumContacts: 5, inSeconds: 600))
      let moment = try #require(scheduled.campaign.startAt)
      #expect(scheduled.state == .scheduled && scheduled.nextAt == moment && scheduled.maximumContacts == 5)
      #expect(abs(moment.date.timeIntervalSince(try #require(scheduled.scheduledAt).date) - 600) < 0.01)
      // A repetition is answered as the first request was.
      let again = try await apply(.schedule, SendoutStart(digest: seen, maximumContacts: 5, inSeconds: 600))
      #expect(again.nextAt == moment && again.scheduledAt == scheduled.scheduledAt && again.maximumContacts == 5)
      let back = try await apply(.unschedule, SendoutStart())
      #expect(back.state == .draft && back.campaign == CampaignFields(spreadMinutes: 5) && back.digest == seen)
      _ = try await apply(.schedule, SendoutStart(digest: seen, inSeconds: 60))
      try await bench.pass("2 minutes", for: key)
      try await bench.step(key)
      #expect(try await bench.show(key).state == .freezing)
      let timed = try await bench.make(CampaignFields(startAt: .fromNow(3600)), draft: true)
      await #expect(throws: SendoutError.self) {
        try await pool.transaction(of: customer.rawValue) {
          _ = try await SendoutStore($0).apply(
            .schedule, to: timed.sendout, of: customer, SendoutStart(inSeconds: 60))
        }
      }
      #expect(try await bench.show(timed).state == .draft)
    }
  }

  @Test func `Where the customer wants approval, a second person schedules what one wrote`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts, mia, noah) = (bench.customer, bench.sendouts, UserID(1), UserID(2))
      _ = try await Customers(bench.pool).update(customer, CustomerUpdate(approval: true))
      let request = bench.campaign(CampaignFields(startAt: .fromNow(3600)), draft: true)
      let made = try await sendouts.create(customer, request, by: mia)
      let refused = SendoutError.needsApproval(made.sendoutId)
      await #expect(throws: refused) {
        _ = try await sendouts.apply(.schedule, to: made.sendoutId, of: customer, by: mia)
      }
      let scheduled = try await sendouts.apply(.schedule, to: made.sendoutId, of: customer, by: noah).sendout
      #expect(scheduled.state == .scheduled && scheduled.writtenBy == mia)
      // What was approved is not changed by anybody alone, and a key of the API is nobody.
      await #expect(throws: SendoutError.changeNeedsApproval(made.sendoutId)) {
        try await sendouts.change(customer, made.sendoutId, SendoutChange(["name": "Other"]), by: noah)
      }
      try await sendouts.change(customer, made.sendoutId, SendoutChange(["name": "Other"]))
      #expect(try await sendouts.find(customer, made.sendoutId).name == "Other")
      await #expect(throws: (any Error).self) {
        _ = try await sendouts.create(customer, bench.campaign(CampaignFields(startAt: .fromNow(3600))), by: mia)
      }
    }
  }

  @Test func `Times that are over, or say two things, are refused with the name of the field`() async throws {
    try await withSendingBench { bench in
      func refuses(_ field: String, _ problem: String, _ request: SendoutRequest) async {
        await #expect(throws: SendoutError.invalid(field: field, problem: problem)) {
          _ = try await bench.sendouts.create(bench.customer, request)
        }
      }
      let (past, future) = (Timestamp.fromNow(-60), Timestamp.fromNow(3600))
      await refuses("startAt", "is over: give a moment to come", bench.campaign(CampaignFields(startAt: past)))
      await refuses(
        "startAt", "is over: give a moment to come", bench.campaign(CampaignFields(startAt: past), draft: true))
      await refuses("endAt", "is over: give a moment to come", bench.campaign(CampaignFields(endAt: past)))
      await refuses(
        "localTime", "is over in every zone: give a time to come",
        bench.campaign(CampaignFields(localTime: .fromNow(-13 * 3600))))
      await refuses(
        "start", "is there beside startAt: leave it out, it starts then",
        bench.campaign(CampaignFields(startAt: future), start: true))
      await refuses(
        "start", "is there beside localTime: leave it out, it starts then",
        bench.campaign(CampaignFields(localTime: .fromNow(3600)), start: true))
      await refuses(
        "draft", "is there beside start: leave out one of them",
        bench.campaign(CampaignFields(), start: true, draft: true))
      await refuses(
        "localTime", "is there beside startAt: give one of them",
        bench.campaign(CampaignFields(startAt: future, localTime: .fromNow(3600))))
      await refuses(
        "quietHours", "has no meaning for transactional messages: leave it out",
        bench.campaign(CampaignFields(quietHours: .lifted), purpose: .transactional))
      // Somewhere it is still to come.
      let west = try await bench.make(CampaignFields(localTime: .fromNow(-3600)))
      #expect(try await bench.show(west).state == .scheduled)
      // A draft without a time cannot wait for one.
      let draft = try await bench.make(CampaignFields())
      await #expect(
        throws: SendoutError.invalid(
          field: "startAt", problem: "is missing: give the draft a time first, or start it")
      ) { _ = try await bench.sendouts.apply(.schedule, to: draft.sendout, of: bench.customer) }
      #expect(try await bench.show(draft).state == .draft)
      // A draft waits until its time is over.
      let late = try await bench.make(CampaignFields(startAt: future), draft: true)
      try await bench.pass("2 hours", for: late)
      await #expect(throws: SendoutError.invalid(field: "startAt", problem: "is over: give a moment to come")) {
        _ = try await bench.sendouts.apply(.schedule, to: late.sendout, of: bench.customer)
      }
    }
  }

  @Test func `A change of a scheduled sendout keeps it scheduled, at its new moment`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), lateMinutes: 30))
      let seen = try await bench.show(key).digest
      let later = Timestamp.fromNow(7200)
      let moved = try await sendouts.change(
        customer, key.sendout, SendoutChange(["startAt": .string(later.description)]))
      #expect(moved.before.state == .scheduled && moved.before.digest == seen)
      #expect(moved.after.state == .scheduled && moved.after.nextAt == later && moved.after.digest != seen)
      #expect(moved.after.campaign == CampaignFields(startAt: later, lateMinutes: 30))
      // The other kind of time takes its place, and what belongs to that one goes with it.
      let wall = try #require(WallTime.fromNow(48 * 3600))
      let local = try await sendouts.change(
        customer, key.sendout,
        SendoutChange(["localTime": .string(wall.description), "onMissed": "nextDay", "quietHours": nil])
      ).after
      #expect(
        local.campaign
          == CampaignFields(localTime: wall, onMissed: .nextDay, lateMinutes: 30, quietHours: .lifted))
      let first = try #require(Timestamp("\(wall):00Z")).date.addingTimeInterval(-14 * 3600)
      #expect(local.nextAt?.date == first)
      let back = try await sendouts.change(
        customer, key.sendout, SendoutChange(["startAt": .string(later.description)])
      ).after
      #expect(back.campaign == CampaignFields(startAt: later, lateMinutes: 30, quietHours: .lifted))
      // All of it, without a time: then it would wait for nothing.
      await #expect(
        throws: SendoutError.invalid(
          field: "startAt", problem: "is missing, and the sendout is scheduled: give a time, or unschedule it first")
      ) { try await sendouts.change(customer, key.sendout, bench.campaign(CampaignFields())) }
      await #expect(throws: (any Error).self) {
        try await sendouts.change(customer, key.sendout, SendoutChange(["winner": ["afterMinutes": 5]]))
      }
      #expect(try await bench.show(key).campaign == back.campaign)
    }
  }

  @Test func `A change of some fields leaves the others, and the apps, as they are`() async throws {
    try await withSendingBench { bench in
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: .html, body: "<p>x</p>")
      var request = bench.campaign(CampaignFields(holdoutPercent: 5), purpose: .marketing)
      (request.template, request.onUncertain, request.audience) = ("offer", .skip, .originalIds(["nobody"]))
      let made = try await bench.sendouts.create(bench.customer, request)
      // A second platform of the same appId, which the draft was not written for.
      _ = try await SendoutService.fcm.app(bench)
      let changed = try await bench.sendouts.change(
        bench.customer, made.sendoutId, SendoutChange(["message": ["alert": "New"]])
      ).after
      #expect(changed.message == MessageBody(alert: "New") && changed.name == "Offer" && changed.apps == made.apps)
      #expect(changed.template == "offer" && changed.onUncertain == .skip && changed.audience == request.audience)
      #expect(changed.campaign == CampaignFields(holdoutPercent: 5) && changed.unknownOriginalIds == 1)
      let renamed = try await bench.sendouts.change(
        bench.customer, made.sendoutId, SendoutChange(["appId": .string(SendingBench.appID)])
      ).after
      #expect(renamed.apps.count == 2)
    }
  }

  @Test func `A scheduled sendout starts at its moment, and not before`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600)))
      #expect(try await bench.step(key) == .done)
      #expect(try await bench.show(key).state == .scheduled)
      try await bench.pass("61 minutes", for: key)
      let moment = try await bench.show(key).campaign.startAt
      try await bench.withHubs { try await bench.until(key, .finished) }
      let ended = try await bench.show(key)
      #expect(bench.simulator.apns.count == 3 && ended.counts?.accepted == 3)
      #expect(ended.people == 3 && ended.everyone == 3 && ended.nextAt == nil)
      // The moment that was planned stays, however late a hub looked.
      #expect(ended.campaign.startAt == moment)
    }
  }

  @Test func `What should have started long ago waits for a person, who starts it now`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), lateMinutes: 10))
      try await bench.pass("75 minutes", for: key)
      try await bench.step(key)
      let late = try await bench.show(key)
      #expect(late.state == .paused && late.haltReason == "late" && late.nextAt == nil && late.frozenAt == nil)
      #expect(late.pausedAt != nil && late.startedAt == nil)
      #expect(try await bench.step(key) == .done)
      #expect(try await bench.show(key).state == .paused)
      let resumed = try await bench.sendouts.resume(bench.customer, key.sendout)
      #expect(resumed.state == .freezing && resumed.haltReason == nil)
      #expect(resumed.campaign.startAt == resumed.startedAt)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(bench.simulator.apns.count == 3)
    }
  }

  @Test func `Within the time that it may be late, it starts by itself`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600), lateMinutes: 10))
      try await bench.pass("65 minutes", for: key)
      try await bench.step(key)
      #expect(try await bench.show(key).state == .freezing)
    }
  }

  @Test func `Whoever starts a scheduled sendout by hand starts it now`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600)))
      let started = try await bench.sendouts.start(bench.customer, key.sendout)
      #expect(started.state == .freezing && started.nextAt == nil && started.campaign.startAt == started.startedAt)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(bench.simulator.apns.count == 2)
    }
  }

  @Test func `A sendout by local time starts once somebody's clock shows it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await bench.database.query("UPDATE contact SET time_zone = 'Etc/GMT-1'")
      // At UTC+14 it was nine hours ago, and at UTC+1 it is in four.
      let key = try await bench.make(CampaignFields(localTime: .fromNow(5 * 3600)))
      let before = Date.now
      try await bench.step(key)
      let waiting = try await bench.show(key)
      let next = try #require(waiting.nextAt).date
      #expect(waiting.state == .scheduled)
      #expect(next > before && next < Date(timeIntervalSinceNow: 15 * 60 + 5))
      // Five hours later it has been at UTC+1 for an hour.
      try await bench.pass("5 hours", for: key)
      try await bench.step(key)
      #expect(try await bench.show(key).state == .freezing)
    }
  }

  @Test func `A sendout by local time that nobody's clock has shown ends once all zones are over`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      try await bench.database.query("UPDATE contact SET time_zone = 'Pacific/Kiritimati'")
      // There it was over before it was scheduled.
      let key = try await bench.make(CampaignFields(localTime: .fromNow(5 * 3600)))
      try await bench.step(key)
      #expect(try await bench.show(key).state == .scheduled)
      try await bench.pass("18 hours", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 2, skipped: 2))
      #expect(Set(try await bench.pushes(key).map(\.reason)) == ["missed"])
    }
  }

  @Test func `Two hubs that see its moment at once start it once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await bench.make(CampaignFields(startAt: .fromNow(3600)))
      try await bench.pass("61 minutes", for: key)
      let before = try await changes(bench, key)
      async let first = bench.step(key)
      async let second = bench.step(key)
      _ = try await (first, second)
      let state = try await bench.show(key).state
      #expect(state == .freezing || state == .running)
      // A freeze is no change of its own.
      #expect(try await changes(bench, key) == before + 1)
    }
  }

  private func changes(_ bench: SendingBench, _ key: SendoutKey) async throws -> Int32 {
    try await bench.database.query(
      "SELECT state_changes FROM sendout WHERE sendout_id = $1::bigint", key.sendout.rawValue)[0].decode(Int32.self)
  }

  @Test func `A sendout that starts at once obeys the caps of its customer`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      _ = try await Customers(bench.pool).update(
        bench.customer, CustomerUpdate(caps: [Cap(count: 1, per: try #require(CapPeriod("24h")))]))
      let first = try await bench.make(CampaignFields(), start: true)
      try await bench.withHubs { try await bench.until(first, .finished) }
      let second = try await bench.make(CampaignFields(), start: true)
      try await bench.withHubs { try await bench.until(second, .finished) }
      #expect(bench.simulator.apns.count == 2)
      #expect(try await bench.show(second).counts == SendoutCounts(audience: 2, skipped: 2))
      #expect(try await bench.show(second).people == 0)
    }
  }
}
