import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

/// What a preflight tells, and what the freeze then writes.
@Suite struct PreflightTests {
  /// Forty contacts, twenty of them on a list, five without a device, and three who are suppressed.
  private func addContacts(_ bench: SendingBench) async throws -> ListID {
    let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
    try await bench.addDevices(20)
    try await bench.addDevices(20, from: 21, list: list)
    try await bench.database.query(
      "INSERT INTO contact (customer_id, original_id) SELECT $1::bigint, 'bare' || n FROM generate_series(1, 5) AS n",
      bench.customer.rawValue)
    let suppressions = Suppressions(bench.pool, key: .ofTests)
    for number in [1, 2, 30] {
      _ = try await suppressions.add(bench.customer, .contact(originalID: "user\(number)@example.com"), .marketing)
    }
    return list
  }

  private func audience(_ list: ListID, _ random: inout SeededGenerator) -> Audience {
    let numbers = (1...40).filter { _ in Bool.random(using: &random) }
    let included: Audience =
      switch Int.random(in: 0...3, using: &random) {
      case 0: .all
      case 1: .list(list)
      case 2: .originalIds(["bare1", "nobody"] + numbers.map { "user\($0)@example.com" })
      default: .filter(.bucket(from: 0, to: Int.random(in: 20...90, using: &random)))
      }
    guard Bool.random(using: &random) else { return included }
    let from = Int.random(in: 0...80, using: &random)
    return .excluding(included, .bucket(from: from, to: from + 20))
  }

  @Test func `A freeze writes what its preflight has told, whatever the audience`() async throws {
    try await withSendingBench { bench in
      let list = try await addContacts(bench)
      var random = SeededGenerator(seed: 34)
      try await bench.withHubs {
        for _ in 1...sampleSize(of: 80) {
          let audience = audience(list, &random)
          let draft = try await bench.sendouts.create(
            bench.customer, bench.request(audience: audience, campaign: CampaignFields(holdoutPercent: 20)))
          let told = try await bench.preflight(draft.sendoutId)
          #expect(told.digest == draft.digest)
          #expect(told.steps.map(\.name) == PreflightReply.StepName.allCases)
          let everyone = told.steps[0].contacts
          #expect(told.steps.dropFirst().reduce(0) { $0 + $1.contacts } == everyone, "\(audience)")
          let started = try await bench.sendouts.apply(
            .start, to: draft.sendoutId, of: bench.customer, seen: told.digest
          ).sendout
          let finished = try await bench.until(SendoutKey(bench.customer, started.sendoutId), .finished)
          #expect(finished.everyone == everyone && finished.people == told.left, "\(audience)")
          #expect(finished.counts?.accepted == told.apps.reduce(0) { $0 + $1.devices }, "\(audience)")
          let rows = try await bench.database.query(
            "SELECT reason, count(DISTINCT contact_id) FROM push WHERE sendout_id = $1::bigint AND state = 'skipped' GROUP BY 1",
            started.sendoutId.rawValue)
          let skipped = Dictionary(
            uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
          for step in told.steps where [.suppressed, .heldOut].contains(step.name) {
            #expect(skipped[step.name.rawValue] ?? 0 == step.contacts, "\(step) of \(audience)")
          }
        }
      }
    }
  }

  @Test func `What is not stored is told as what is`() async throws {
    try await withSendingBench { bench in
      _ = try await addContacts(bench)
      let request = bench.request(
        MessageBody(alert: "Hello {{firstName}}", translations: ["sv": MessageTranslation(alert: "Hej")]),
        campaign: CampaignFields(
          variants: [
            MessageVariant(name: "A", share: 50, message: MessageBody()),
            MessageVariant(name: "B", share: 50, message: MessageBody(alert: "Hi")),
          ]))
      let unsaved = try await bench.preflight(request)
      let draft = try await bench.sendouts.create(bench.customer, request)
      let saved = try await bench.preflight(draft.sendoutId)
      #expect(unsaved.digest == saved.digest && saved.digest == draft.digest)
      #expect(unsaved.steps == saved.steps && unsaved.apps == saved.apps)
      #expect(
        saved.apps == [PreflightReply.App(appId: SendingBench.appID, appType: .ios, devices: 37)], "\(saved.apps)")
      #expect(try await bench.sendouts.list(bench.customer).items.count == 1)
    }
  }

  @Test func `Of what repeats it tells the first time that matches`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(timeZone: "Europe/Stockholm"))
      // A Tuesday, half past midnight in Stockholm: in UTC it is Monday still. Clocks change on 2032-03-28.
      let tuesday = try #require(Timestamp("2032-03-23T00:30:00+01:00"))
      let end = try #require(Timestamp("2032-03-23T08:00:00+01:00"))
      func told(_ repetition: Repetition, _ campaign: CampaignFields) async throws -> Timestamp? {
        var campaign = campaign
        campaign.repeat = repetition
        let draft = try await bench.sendouts.create(bench.customer, bench.request(campaign: campaign))
        let saved = try await bench.preflight(draft.sendoutId)
        #expect(try await bench.preflight(bench.request(campaign: campaign)).firstAt == saved.firstAt)
        #expect(saved.digest == draft.digest)
        // The schedule gives the sendout the same moment.
        let scheduled = try await bench.sendouts.apply(.schedule, to: draft.sendoutId, of: bench.customer).sendout
        #expect(try await bench.preflight(draft.sendoutId).firstAt == saved.firstAt)
        if campaign.startAt != nil { #expect(scheduled.nextAt == saved.firstAt) }
        return saved.firstAt
      }
      let mondays = Repetition(every: .week, on: [.ofWeek(.mon)])
      let start = CampaignFields(startAt: tuesday, endAt: end)
      #expect(try await told(mondays, start) == Timestamp("2032-03-29T00:30:00+02:00"))
      #expect(try await told(Repetition(every: .week), start) == tuesday)
      let lastDays = Repetition(every: .month, on: [.ofMonth(31)])
      #expect(try await told(lastDays, start) == Timestamp("2032-03-31T00:30:00+02:00"))
      let local = CampaignFields(localTime: WallTime("2032-03-23T00:30"))
      #expect(try await told(mondays, local) == Timestamp("2032-03-29T00:30:00+02:00"))
      let never = Repetition(every: .week, on: [.ofWeek(.mon)], until: CalendarDay("2032-03-28"))
      await #expect(
        throws: SendoutError.invalid(
          field: "repeat.until", problem: "is before the first day that matches: give a later one")
      ) {
        _ = try await bench.preflight(bench.request(campaign: CampaignFields(startAt: tuesday, repeat: never)))
      }
    }
  }

  @Test func `A local time is told by zone, the earliest first`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      for (number, zone) in [(1, "Europe/Stockholm"), (2, "Asia/Tokyo")] {
        try await bench.database.query(
          "UPDATE contact SET time_zone = $1::text WHERE original_id = $2::text", zone, "user\(number)@example.com")
      }
      let day = try #require(CalendarDay(number: Int(Date().timeIntervalSince1970 / 86_400) + 10))
      let noon = WallTime(day: day, time: try #require(TimeOfDay("12:00")))
      let told = try await bench.preflight(bench.request(campaign: CampaignFields(localTime: noon)))
      #expect(told.zones.map(\.zone) == ["Asia/Tokyo", "Europe/Stockholm", "UTC"])
      #expect(told.zones.map(\.source) == [.contact, .contact, .customer])
      #expect(told.zones.map(\.contacts) == [1, 1, 1])
      #expect(told.firstAt == told.zones.first?.plannedAt && told.lastAt == told.zones.last?.plannedAt)
      #expect(told.left == 3)
    }
  }

  @Test func `A preflight is of a sendout that there is, and of no stream`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      await #expect(throws: RegistryError.numberUnknown("sendout")) { _ = try await bench.preflight(SendoutID(99)) }
      let request = MessageRequest(
        appId: SendingBench.appID, to: MessageTarget(originalId: "user1@example.com"), message: MessageBody(alert: "x"))
      let message = try await bench.messageService().send(bench.customer, request).message.messageId
      await #expect(throws: SendoutError.self) { _ = try await bench.preflight(message.sendout) }
    }
  }
}
