import Content
import Delivery
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct DraftTests {
  private func draft(
    _ alert: String = "Hello {{firstName}}", appID: String = SendingBench.appID, audience: Audience = .all,
    template: String? = nil, start: Bool? = nil
  ) -> SendoutRequest {
    SendoutRequest(
      name: "Offer", appId: appID, audience: audience, message: MessageBody(alert: alert), template: template,
      start: start)
  }

  @Test func `A draft is changed as a whole, and then sent as it is`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: .html, body: "<p>x</p>")
      let made = try await bench.sendouts.create(bench.customer, draft("Old", template: "offer"))
      #expect(made.templateVersion == 1)
      let new = SendoutRequest(
        name: "New", appId: SendingBench.appID, audience: .originalIds(["user2@example.com", "nobody"]),
        message: MessageBody(alert: "New {{firstName}}", ttl: 60), onUncertain: .skip)
      let (before, after) = try await bench.sendouts.change(bench.customer, made.sendoutId, new)
      #expect(before.name == "Offer" && before.message?.alert == "Old" && before.template == "offer")
      #expect(after.name == "New" && after.message == new.message && after.audience == new.audience)
      #expect(after.template == nil && after.templateVersion == nil && after.onUncertain == .skip)
      #expect(after.unknownOriginalIds == 1 && after.state == .draft && after.createdAt == made.createdAt)
      let key = SendoutKey(bench.customer, made.sendoutId)
      try await bench.withHubs {
        try await bench.sendouts.start(bench.customer, made.sendoutId)
        _ = try await bench.until(key, .finished)
      }
      #expect(bench.simulator.apns.requests.map(\.token) == [bench.token(2)])
    }
  }

  @Test func `What was started, or is nobody's, is not changed`() async throws {
    try await withSendingBench { bench in
      let made = try await bench.sendouts.create(bench.customer, draft())
      try await bench.sendouts.cancel(bench.customer, made.sendoutId)
      await #expect(throws: SendoutError.notDraft(made.sendoutId, .cancelled)) {
        try await bench.sendouts.change(bench.customer, made.sendoutId, draft("New"))
      }
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        try await bench.sendouts.change(bench.customer, SendoutID(999_999), draft("New"))
      }
      #expect(try await bench.sendouts.find(bench.customer, made.sendoutId).message?.alert == "Hello {{firstName}}")
    }
  }

  @Test func `A change that is refused leaves the draft as it was`() async throws {
    try await withSendingBench { bench in
      let made = try await bench.sendouts.create(bench.customer, draft())
      await #expect(throws: (any Error).self) {
        try await bench.sendouts.change(bench.customer, made.sendoutId, draft("{{#open"))
      }
      await #expect(throws: (any Error).self) {
        try await bench.sendouts.change(bench.customer, made.sendoutId, draft(audience: .list(ListID(99))))
      }
      await #expect(throws: RegistryError.appUnknown(appID: "com.none")) {
        try await bench.sendouts.change(bench.customer, made.sendoutId, draft(appID: "com.none"))
      }
      #expect(try await bench.sendouts.find(bench.customer, made.sendoutId).message == made.message)
    }
  }

  @Test func `An audience is counted by app, up to a limit, and without invalid devices`() async throws {
    try await withSendingBench { bench in
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "friends").listId
      let devices = try await bench.addDevices(5)
      try await bench.addDevices(3, from: 6, list: list)
      try await bench.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 1 WHERE device_id = $1::bigint",
        devices[0].rawValue)
      func count(_ audience: Audience, limit: Int? = nil) async throws -> AudienceReply {
        try await bench.sendouts.count(
          bench.customer, AudienceRequest(appId: SendingBench.appID, audience: audience, limit: limit))
      }
      let all = try await count(.all)
      #expect(all.apps.map(\.pushAppId) == [bench.app.id] && all.devices == 7 && !all.isMore)
      #expect(all.unknownOriginalIds == nil)
      let few = try await count(.all, limit: 6)
      #expect(few.devices == 6 && few.isMore)
      #expect(try await count(.all, limit: 7).isMore == false)
      #expect(try await count(.list(list)).devices == 3)
      let ids = try await count(
        .originalIds(["user1@example.com", "user2@example.com", "nobody", "user2@example.com"]))
      #expect(ids.devices == 1 && ids.unknownOriginalIds == 1)
      await #expect(throws: SendoutError.self) { _ = try await count(.list(ListID(99))) }
      #expect(try await bench.sendouts.list(bench.customer).items.isEmpty)
    }
  }

  @Test func `A draft that says anything else than somebody has seen is not started`() async throws {
    try await withSendingBench { bench in
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let templates = Templates(bench.pool)
      _ = try await templates.put(customer, name: "offer", format: .html, body: "<p>1</p>")
      let made = try await sendouts.create(customer, draft(template: "offer"))
      let seen = try #require(made.digest)
      #expect(try await sendouts.find(customer, made.sendoutId).digest == seen)
      // How many people it reaches is not what it says.
      try await bench.addDevices(2)
      // Saved again as it was, it says the same.
      #expect(try await sendouts.change(customer, made.sendoutId, draft(template: "offer")).after.digest == seen)
      func refuse() async throws {
        await #expect(throws: SendoutError.changed(made.sendoutId)) {
          _ = try await sendouts.apply(.start, to: made.sendoutId, of: customer, seen: seen)
        }
        #expect(try await sendouts.find(customer, made.sendoutId).state == .draft)
      }
      var (named, skipping) = (draft(template: "offer"), draft(template: "offer"))
      named.name = "Other"
      skipping.onUncertain = .skip
      let others = [
        draft("Other", template: "offer"), draft(), draft(audience: .originalIds(["a"]), template: "offer"), named,
        skipping,
      ]
      for other in others {
        let changed = try await sendouts.change(customer, made.sendoutId, other)
        #expect(changed.before.digest == seen && changed.after.digest != seen, "\(other)")
        try await refuse()
        try await sendouts.change(customer, made.sendoutId, draft(template: "offer"))
      }
      _ = try await templates.put(customer, name: "offer", format: .html, body: "<p>2</p>")
      try await refuse()
      let now = try await sendouts.find(customer, made.sendoutId)
      #expect(now.templateVersion == 2 && now.digest != seen)
      let started = try await sendouts.apply(.start, to: made.sendoutId, of: customer, seen: now.digest).sendout
      #expect(started.state == .freezing && started.templateVersion == 2 && started.digest == nil)
      // A repetition changes nothing, whatever it has seen.
      _ = try await sendouts.apply(.start, to: made.sendoutId, of: customer, seen: seen)
    }
  }

  @Test func `Where the customer wants approval, a second person starts what one wrote`() async throws {
    try await withSendingBench { bench in
      let (mia, noah) = (UserID(1), UserID(2))
      let (customer, sendouts) = (bench.customer, bench.sendouts)
      let made = try await sendouts.create(customer, draft(), by: mia)
      #expect(made.writtenBy == mia)
      _ = try await Customers(bench.pool).update(customer, CustomerUpdate(approval: true))
      await #expect(throws: SendoutError.needsApproval(made.sendoutId)) {
        _ = try await sendouts.apply(.start, to: made.sendoutId, of: customer, by: mia)
      }
      #expect(try await sendouts.find(customer, made.sendoutId).state == .draft)
      // Who changes it last has written it.
      try await sendouts.change(customer, made.sendoutId, draft("New"), by: noah)
      await #expect(throws: SendoutError.needsApproval(made.sendoutId)) {
        _ = try await sendouts.apply(.start, to: made.sendoutId, of: customer, by: noah)
      }
      #expect(try await sendouts.apply(.start, to: made.sendoutId, of: customer, by: mia).sendout.state == .freezing)

      let started = draft(start: true)
      await #expect(throws: SendoutError.self) { _ = try await sendouts.create(customer, started, by: mia) }
      // A key and the command line are no persons.
      #expect(try await sendouts.create(customer, started).state == .freezing)
      _ = try await Customers(bench.pool).update(customer, CustomerUpdate(approval: false))
      #expect(try await sendouts.create(customer, started, by: mia).state == .freezing)
    }
  }
}
