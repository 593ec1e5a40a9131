import Content
import Delivery
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

/// What retention deletes, and what it keeps.
@Suite struct RetentionTests {
  /// A sendout to everybody that has ended, with an open and a message, some days ago.
  private func ended(_ bench: SendingBench, daysAgo days: Int32) async throws -> SendoutKey {
    let key = try await bench.send()
    try await bench.withHubs { _ = try await bench.until(key, .finished) }
    let push = try await bench.pushes(key)[0]
    let link = PushLink(
      customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
    #expect(try await OpenLog(bench.pool).record([Open(link, via: .page, by: .person)], of: bench.customer) != [nil])
    try await bench.database.query(
      """
      INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body)
      VALUES ($1::bigint, $2::bigint, 1, 1, '{1}', '{}')
      """, key.customer.rawValue, key.sendout.rawValue)
    try await bench.database.query(
      "UPDATE sendout SET finished_at = now() - make_interval(days => $2::int4) WHERE sendout_id = $1::bigint",
      key.sendout.rawValue, days)
    return key
  }

  private func retention(_ bench: SendingBench, days: Int32?) -> Retention {
    Retention(bench.pool, days: days, logger: TestServer.logger)
  }

  /// Rows of pushes, opens and messages.
  private func rows(_ bench: SendingBench, _ key: SendoutKey) async throws -> [Int] {
    try await ["push", "open_event", "message"].asyncMap { table in
      try await bench.database.query("SELECT FROM \(table) WHERE sendout_id = $1::bigint", key.sendout.rawValue).count
    }
  }

  private func keepFor(_ days: Int32, _ bench: SendingBench) async throws {
    _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(retentionDays: days))
  }

  @Test func `A customer's own limit deletes pushes, opens and messages by row, and keeps totals`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(90)
      try await bench.addDevices(30, from: 1001, prefix: "bb", sandbox: true)
      let old = try await ended(bench, daysAgo: 31)
      let young = try await ended(bench, daysAgo: 29)
      let totals = "SELECT row_to_json(t)::text FROM report.sendout_totals t ORDER BY sendout_id"
      let before = try await bench.database.query(totals).map { try $0.decode(String.self) }
      try await keepFor(30, bench)
      #expect(try await retention(bench, days: nil).run(isTrial: true).customers.map(\.pushes) == [120])
      #expect(try await rows(bench, old) == [120, 1, 1])

      let gone = try await retention(bench, days: 365).run()
      #expect(gone.partitions.isEmpty && gone.customers.map(\.sendouts) == [1] && gone.customers[0].pushes == 120)
      #expect(try await rows(bench, old) == [0, 0, 0])
      #expect(try await rows(bench, young) == [120, 1, 1])
      #expect(try await bench.database.query(totals).map { try $0.decode(String.self) } == before)
      let batches = "SELECT FROM push_batch WHERE sendout_id = $1::bigint AND state = 'settled'"
      #expect(try await bench.database.query(batches, old.sendout.rawValue).count == 2)

      let shown = try await bench.show(old)
      #expect(shown.expiredAt != nil && shown.counts?.accepted == 120 && shown.counts?.opened == 1)
      #expect(try await bench.show(young).expiredAt == nil)
      #expect(try await bench.pushes(old).isEmpty)
      let why = try await bench.sendouts.why(bench.customer, old.sendout, originalID: "user1@example.com")
      #expect(why.lines.last?.text.hasPrefix("Retention had deleted the pushes.") ?? false)
      let link = PushLink(customer: bench.customer, sendout: old.sendout, push: PushNumber(1), device: DeviceID(1))
      let opens = [Open(link, via: .page, by: .person)]
      #expect(try await OpenLog(bench.pool).record(opens, of: bench.customer) == [nil])
      #expect(try await retention(bench, days: 365).run().customers.isEmpty)
    }
  }

  @Test func `The hub's limit drops a partition once all of its sendouts have expired for everybody`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let old = try await ended(bench, daysAgo: 31)
      let last = try await ended(bench, daysAgo: 29)
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      try await retention(bench, days: 30).makePartitions()
      // The last one is kept still, and the old one waits for it.
      #expect(try await retention(bench, days: 30).run().isEmpty)
      #expect(try await rows(bench, old) == [3, 1, 1])

      let trial = try await retention(bench, days: 28).run(isTrial: true)
      #expect(trial.partitions.map(\.name) == ["push_1", "open_event_1"])
      #expect(try await rows(bench, old) == [3, 1, 1])
      let gone = try await retention(bench, days: 28).run()
      #expect(gone.partitions.map(\.name) == ["push_1", "open_event_1"])
      #expect(gone.customers.map(\.sendouts) == [2] && gone.customers.map(\.pushes) == [0])
      for key in [old, last] {
        #expect(try await rows(bench, key) == [0, 0, 0])
        let shown = try await bench.show(key)
        #expect(shown.counts?.accepted == 3 && shown.expiredAt != nil)
      }
      #expect(try await retention(bench, days: 28).run().isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `A late open of a push that retention deletes is counted no more`(isDroppedWhole: Bool) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      _ = try await ended(bench, daysAgo: 31)
      let activity = ContactActivity(bench.pool)
      while try await activity.step(bench.customer) {}
      let opened = "SELECT FROM contact_activity WHERE opened > 0"
      #expect(try await bench.database.query(opened).count == 1)
      if isDroppedWhole {
        try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
        try await retention(bench, days: 30).makePartitions()
        #expect(try await retention(bench, days: 30).run().partitions.count == 2)
      } else {
        try await keepFor(30, bench)
        #expect(try await retention(bench, days: nil).run().customers.map(\.pushes) == [3])
      }
      // What the others received is older than any filter can ask for.
      #expect(try await bench.database.activityNotes() == 1)
      #expect(try await activity.step(bench.customer) == true)
      #expect(try await bench.database.query(opened).isEmpty)
    }
  }

  @Test func `The tables of a range are dropped together or not at all`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let old = try await ended(bench, daysAgo: 31)
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      try await retention(bench, days: 28).makePartitions()
      try await bench.pool.transaction { reader in
        try await reader.query(sql: "SELECT count(*) FROM open_event")
        #expect(try await retention(bench, days: 28).run().partitions.isEmpty)
      }
      #expect(
        try await bench.database.query("SELECT to_regclass('partitions.push_1') IS NOT NULL")[0].decode(Bool.self))
      #expect(try await retention(bench, days: 28).run().partitions.map(\.name) == ["push_1", "open_event_1"])
      #expect(try await rows(bench, old) == [0, 0, 0])
    }
  }

  @Test func `A customer who keeps things for ever keeps the partition, and the others' rows go a month late`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let key = try await ended(bench, daysAgo: 40)
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      _ = try await Customers(bench.pool).add(name: "Archive")
      try await bench.database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message, finished_at)
        OVERRIDING SYSTEM VALUE VALUES (2, '{1}', 'x', 'finished', '{"all":true}', '{}', now() - interval '20 days')
        """)
      try await bench.database.query("UPDATE sendout SET sendout_id = 50 WHERE customer_id = 2")
      try await bench.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, accepted, state)
        VALUES (2, 50, 0, 1, false, 1, 1, 0, 1, 'settled')
        """)
      #expect(try await retention(bench, days: 30).run().isEmpty)
      #expect(try await rows(bench, key) == [3, 1, 1])
      try await bench.database.query(
        "UPDATE sendout SET finished_at = now() - interval '62 days' WHERE customer_id = 1")
      let gone = try await retention(bench, days: 30).run()
      #expect(gone.partitions.isEmpty && gone.customers.map(\.pushes) == [3])
      #expect(try await rows(bench, key) == [0, 0, 0])
    }
  }

  @Test(arguments: [SendoutState.freezing, .running, .paused])
  func `Nothing goes of a sendout that has not ended`(state: SendoutState) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let key = try await ended(bench, daysAgo: 400)
      try await bench.database.query("UPDATE sendout SET state = $1::text", state.rawValue)
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      try await keepFor(1, bench)
      #expect(try await retention(bench, days: 1).run().isEmpty)
      #expect(try await rows(bench, key) == [2, 1, 1])
    }
  }

  @Test func `A draft, and a sendout that nobody got, keep no partition`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let old = try await ended(bench, daysAgo: 31)
      _ = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello")))
      let empty = try await bench.send(audience: .originalIds(["nobody"]))
      try await bench.withHubs { _ = try await bench.until(empty, .finished) }
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      try await retention(bench, days: 30).makePartitions()
      #expect(try await retention(bench, days: 30).run().partitions.map(\.name) == ["push_1", "open_event_1"])
      #expect(try await rows(bench, old) == [0, 0, 0])
    }
  }

  @Test func `A sendout that is paused for longer than its retention is cancelled, and one that was resumed is not`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      var keys: [SendoutKey] = []
      for _ in 0..<3 {
        let key = try await bench.send()
        try await bench.pool.transaction { transaction in
          _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
        }
        try await bench.database.query(
          "UPDATE sendout SET state = 'running', frozen_at = now() WHERE sendout_id = $1::bigint", key.sendout.rawValue)
        _ = try await bench.sendouts.pause(bench.customer, key.sendout)
        keys.append(key)
      }
      try await bench.database.query("UPDATE sendout SET changed_at = now() - interval '31 days'")
      _ = try await bench.sendouts.resume(bench.customer, keys[1].sendout)
      try await bench.database.query(
        "UPDATE sendout SET changed_at = now() - interval '29 days' WHERE sendout_id = $1::bigint",
        keys[2].sendout.rawValue)
      try await retention(bench, days: 30).run()
      let ended = try await bench.show(keys[0])
      #expect(ended.state == .cancelled && ended.counts?.cancelled == 2)
      #expect(ended.haltReason == "paused for longer than its retention")
      #expect(try await bench.show(keys[1]).state == .running)
      #expect(try await bench.show(keys[2]).state == .paused)
    }
  }

  @Test func `A cancelled sendout is kept while a hub has a batch of it in hand`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let key = try await ended(bench, daysAgo: 400)
      try await bench.database.query("UPDATE sendout SET state = 'cancelled'")
      try await bench.database.query("UPDATE push_batch SET state = 'claimed', lease_until = now() + interval '1 hour'")
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      try await keepFor(1, bench)
      #expect(try await retention(bench, days: 1).run().isEmpty)
      #expect(try await rows(bench, key) == [2, 1, 1])
      try await bench.database.query("UPDATE push_batch SET state = 'settled'")
      #expect(try await retention(bench, days: 1).run().customers.map(\.sendouts) == [1])
    }
  }

  @Test func `A sendout to original ids forgets them with its pushes`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let key = try await bench.send(audience: .originalIds(["user1@example.com"]))
      try await bench.withHubs { _ = try await bench.until(key, .finished) }
      try await bench.database.query("UPDATE sendout SET finished_at = now() - interval '2 days'")
      try await keepFor(1, bench)
      try await retention(bench, days: nil).run()
      let shown = try await bench.show(key)
      #expect(shown.audience == nil && shown.counts?.accepted == 1)
      let kept = try await bench.database.query("SELECT audience::text FROM sendout")[0].decode(String.self)
      #expect(!kept.contains("user1"))
    }
  }

  @Test func `What cannot be deleted of one customer is logged once, and what others have goes`() async throws {
    try await withSendingBench { bench in
      let (other, log) = (try await bench.database.customer("Other"), LogCapture())
      for customer in [bench.customer, other] {
        try await bench.database.query(
          "INSERT INTO device_event (customer_id, device_id, contact_id, kind) VALUES (\(customer), 1, 1, 'registered')"
        )
        _ = try await Customers(bench.pool).update(customer, CustomerUpdate(retentionDays: 1))
      }
      try await bench.database.query("UPDATE device_event SET at = now() - interval '2 days'")
      try await bench.database.query(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$")
      try await bench.database.query(
        """
        CREATE TRIGGER refuse BEFORE DELETE ON device_event
          FOR EACH ROW WHEN (old.customer_id = \(bench.customer)) EXECUTE FUNCTION refuse()
        """)
      let expired = try await Retention(bench.pool, days: nil, logger: log.logger).run()
      #expect(expired.failures == 1 && expired.customers.map(\.customer) == [other])
      #expect(log.lines.filter { $0.contains("refused") }.count == 1, "\(log.lines)")
    }
  }

  @Test func `Device events go by customer and by month`() async throws {
    try await withSendingBench { bench in
      _ = try await Customers(bench.pool).add(name: "Other")
      let add = """
        INSERT INTO device_event (customer_id, device_id, contact_id, kind, at)
        SELECT c, n, n, 'registered', now() - make_interval(days => $1::int4)
        FROM generate_series(1, 2) AS c, generate_series(1, 3) AS n
        """
      for age in [1, 200] as [Int32] {
        try await bench.database.query("SELECT make_event_month(now() - make_interval(days => $1::int4))", age)
        try await bench.database.query(add, age)
      }
      try await keepFor(30, bench)
      #expect(try await retention(bench, days: nil).run().customers.map(\.deviceEvents) == [3])
      let left = "SELECT customer_id::int8, count(*) FROM device_event GROUP BY 1 ORDER BY 1"
      #expect(try await bench.database.query(left).map { try $0.decode(Int.self, Int.self).1 } == [3, 6])

      // A month that is past goes whole, once it has expired for both.
      try await bench.database.query("SELECT make_event_month('2020-01-15Z')")
      #expect(try await retention(bench, days: nil).run().partitions.isEmpty)
      #expect(try await retention(bench, days: 365).run().partitions.map(\.name) == ["device_event_2020_01"])
    }
  }
}

extension Sequence {
  fileprivate func asyncMap<Answer>(_ body: (Element) async throws -> Answer) async rethrows -> [Answer] {
    var answers: [Answer] = []
    for element in self { answers.append(try await body(element)) }
    return answers
  }
}
