import Audience
import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import Delivery
@testable import Sendouts

/// A case as it goes in a database with a clock of its own: people do what the case says, and a hub whatever its sendouts ask for. Push services
/// accept everything.
struct CampaignRun {
  /// What of a case cannot go as it is.
  struct Stuck: Error, CustomStringConvertible {
    let description: String
  }

  private let bench: SendingBench
  private let clock: MovedClock
  private let worker: SendoutWorker
  private var given: CampaignCase
  private var pausedByPeople: Set<Int> = []

  /// Runs a case from its start to its end.
  /// - Returns: the case, with the numbers that contacts, devices and sendouts have, and what became of each sendout.
  static func outcomes(
    of given: CampaignCase, _ bench: SendingBench, _ clock: MovedClock
  ) async throws -> (given: CampaignCase, outcomes: [CampaignOutcome]) {
    let own = try await bench.ofAnother(
      CustomerUpdate(
        timeZone: given.timeZone, quietHours: given.quietHours.map { .set($0) } ?? .keep, caps: given.caps))
    var run = CampaignRun(given, own, clock)
    try await run.addContacts()
    try await run.run()
    var outcomes: [CampaignOutcome] = []
    for sendout in run.given.sendouts { outcomes.append(try await run.outcome(of: run.key(of: sendout))) }
    return (run.given, outcomes)
  }

  private init(_ given: CampaignCase, _ bench: SendingBench, _ clock: MovedClock) {
    self.given = given
    self.bench = bench
    self.clock = clock
    worker = SendoutWorker(
      pool: bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault,
      credentials: PushCredentialVault(bench.pool, vault: bench.vault), settings: RunnerSettings(),
      freezes: CustomerPermits(1), logger: TestServer.logger)
  }

  private func key(of sendout: CampaignCase.Sendout) -> SendoutKey {
    SendoutKey(bench.customer, SendoutID(sendout.id))
  }

  private static func date(_ moment: Int) -> Date { Date(timeIntervalSince1970: Double(moment)) }

  // MARK: Contacts

  private mutating func addContacts() async throws {
    let customer = bench.customer.rawValue
    let contacts = given.contacts
    // Numbers are given in the order of rows.
    let numbers = try await bench.database.query(
      """
      INSERT INTO contact (customer_id, original_id, time_zone, country, last_name)
      SELECT $1::bigint, 'c' || n, zone, country, name
        FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS contact (zone, country, name, n) ORDER BY n
      RETURNING contact_id
      """, customer, contacts.map(\.zone), contacts.map(\.country), contacts.map { $0.isExcluded ? "Out" : "In" }
    ).map { try $0.decode(Int64.self) }.sorted()
    for (index, number) in numbers.enumerated() { given.contacts[index].id = number }
    let devices = given.contacts.flatMap { contact in contact.devices.map { (contact: contact.id, device: $0) } }
    let ids = try await bench.database.query(
      """
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, time_zone, country, registered_at, sandbox,
                          invalidated_at, invalidation_type)
      SELECT $1::bigint, $2::bigint, contact_id, token, decode(token, 'hex'), zone, country, registered_at, sandbox = 1,
             CASE WHEN valid = 0 THEN registered_at END, CASE WHEN valid = 0 THEN 1 ELSE 0 END
        FROM unnest($3::bigint[], $4::text[], $5::text[], $6::timestamptz[], $7::int2[], $8::int2[])
               WITH ORDINALITY AS device (contact_id, zone, country, registered_at, sandbox, valid, n)
       CROSS JOIN LATERAL (SELECT lpad(to_hex(n), 64, '0') AS token) AS t
       ORDER BY n
      RETURNING device_id
      """, customer, bench.app.id.rawValue, devices.map(\.contact), devices.map(\.device.zone),
      devices.map(\.device.country), devices.map { Self.date($0.device.registeredAt) },
      devices.map { $0.device.isSandbox ? Int16(1) : 0 }, devices.map { $0.device.isValid ? Int16(1) : 0 }
    ).map { try $0.decode(Int64.self) }.sorted()
    var next = 0
    for index in contacts.indices {
      for place in contacts[index].devices.indices {
        given.contacts[index].devices[place].id = ids[next]
        next += 1
      }
    }
    try await suppress()
    for contact in given.contacts where !contact.reached.isEmpty { try await addReach(of: contact) }
  }

  private func suppress() async throws {
    let suppressions = Suppressions(bench.pool, key: .ofTests)
    var number = 0
    for (index, contact) in given.contacts.enumerated() {
      if let scope = contact.suppression {
        _ = try await suppressions.add(bench.customer, .contact(originalID: "c\(index + 1)"), scope)
      }
      for device in contact.devices {
        number += 1
        guard let scope = device.suppression else { continue }
        let digits = String(number, radix: 16)
        let token = try DeviceToken(
          String(repeating: "0", count: 64 - digits.count) + digits, type: .ios, field: "token")
        _ = try await suppressions.add(bench.customer, .device(bench.app.id, token), scope)
      }
    }
  }

  private func addReach(of contact: CampaignCase.Contact) async throws {
    func milliseconds(_ purpose: MessagePurpose?) -> [Int64] {
      contact.reached.reversed().filter { purpose == nil || $0.purpose == purpose }.map { Int64($0.at) * 1000 }
    }
    try await bench.database.query(
      """
      INSERT INTO reach (customer_id, contact_id, marketing, transactional, every)
      VALUES ($1::bigint, $2::bigint, $3::bigint[], $4::bigint[], $5::bigint[])
      """, bench.customer.rawValue, contact.id, milliseconds(.marketing), milliseconds(.transactional),
      milliseconds(nil))
  }

  // MARK: People

  private enum Act {
    case make, start, resumeLate, pause, resume
  }

  /// What people do, in its order.
  private var acts: [(at: Int, sendout: Int, act: Act)] {
    var acts: [(at: Int, sendout: Int, act: Act)] = []
    for (index, sendout) in given.sendouts.enumerated() {
      acts.append((sendout.madeAt, index, .make))
      if let at = sendout.startedAt, sendout.campaign.hasTime { acts.append((at, index, .start)) }
      if let at = sendout.resumedAt { acts.append((at, index, .resumeLate)) }
      if let pause = sendout.pause {
        acts.append((pause.lowerBound, index, .pause))
        acts.append((pause.upperBound, index, .resume))
      }
    }
    return acts.sorted { $0.at < $1.at }
  }

  private mutating func perform(_ act: Act, on index: Int) async throws {
    let sendout = given.sendouts[index]
    guard act != .make else {
      given.sendouts[index].id = try await bench.sendouts.create(bench.customer, request(sendout)).sendoutId.rawValue
      return
    }
    let (key, shown) = (key(of: sendout), try await bench.show(key(of: sendout)))
    switch act {
    case .make: break
    case .start:
      if shown.state == .scheduled { try await bench.sendouts.start(bench.customer, key.sendout) }
    case .resumeLate:
      if shown.state == .paused, shown.frozenAt == nil {
        try await bench.sendouts.resume(bench.customer, key.sendout)
      }
    case .pause:
      guard shown.state == .running else { return }
      pausedByPeople.insert(index)
      try await bench.sendouts.pause(bench.customer, key.sendout)
    case .resume:
      if pausedByPeople.contains(index), shown.state == .paused {
        try await bench.sendouts.resume(bench.customer, key.sendout)
      }
    }
  }

  private func request(_ sendout: CampaignCase.Sendout) throws -> SendoutRequest {
    SendoutRequest(
      name: "Offer", appId: SendingBench.appID,
      audience: .excluding(.all, try Filter(text: "lastName = 'Out'")),
      message: MessageBody(alert: "Hello", ttl: sendout.ttl), purpose: sendout.purpose,
      start: sendout.campaign.hasTime ? nil : true, campaign: sendout.campaign)
  }

  // MARK: Time

  private mutating func run() async throws {
    var acts = acts[...]
    var now = acts.first?.at ?? 0
    while true {
      try await clock.move(to: Self.date(now))
      while let next = acts.first, next.at <= now {
        acts.removeFirst()
        try await perform(next.act, on: next.sendout)
      }
      for sendout in given.sendouts where sendout.id > 0 { try await work(key(of: sendout), at: now) }
      let due = try await nextDue().map { given.available($0) }
      guard let next = [due, acts.first?.at].compactMap(\.self).min() else { return }
      guard next > now else { throw Stuck(description: "at \(now) the hub has left what is due at \(next)") }
      now = next
    }
  }

  /// When a hub has something to do next.
  private func nextDue() async throws -> Int? {
    let moment = try await bench.database.query(
      """
      SELECT min(at) FROM (
        SELECT next_at AS at FROM sendout WHERE customer_id = $1::bigint AND state IN ('scheduled', 'running', 'paused')
         UNION ALL
        SELECT batch.not_before FROM push_batch AS batch JOIN sendout USING (customer_id, sendout_id)
         WHERE customer_id = $1::bigint AND sendout.state = 'running' AND batch.state = 'queued'
           AND isfinite(batch.not_before)) AS due
      """, bench.customer.rawValue)[0].decode(Date?.self)
    return moment.map { Int($0.timeIntervalSince1970.rounded(.up)) }
  }

  // MARK: The hub

  /// Does all that is to be done for a sendout now.
  private func work(_ key: SendoutKey, at now: Int) async throws {
    for _ in 0..<1000 {
      guard let sendout = try await worker.find(key) else { return }
      if sendout.nextAt != nil, let next = try await worker.attend(to: sendout) {
        if next == .done { return }
        continue
      }
      switch sendout.state {
      case .freezing:
        var failures = 0
        _ = try await worker.step(SendoutTask(key), consecutiveFailures: &failures)
      case .running: return try await send(sendout, at: now)
      case .draft, .scheduled, .paused, .cancelled, .finished: return
      }
    }
    throw Stuck(description: "\(key) is never done")
  }

  private func send(_ sendout: Sendout, at now: Int) async throws {
    for (lane, isDue) in try await Ledger(bench.pool).lanes(sendout.key) where isDue {
      let ledger = BatchLedger(
        database: bench.pool, key: sendout.key, lane: lane, run: RunID(), lease: .seconds(60), rules: sendout.rules,
        endAt: sendout.endAt)
      while let batch = try await ledger.claim() {
        let settlements = try await ledger.pushes(of: batch).map { push in
          Settlement(
            push: push.number, batch: push.batch, state: .accepted, left: true, sentAt: Self.date(now))
        }
        let settled = settlements.isEmpty ? [] : try await ledger.settle(settlements).settled
        if !settled.contains(batch.claim.batch) { try await ledger.release(batch.claim) }
      }
    }
  }

  // MARK: What came of it

  private func outcome(of key: SendoutKey) async throws -> CampaignOutcome {
    var outcome = CampaignOutcome()
    let (customer, number) = (key.customer.rawValue, key.sendout.rawValue)
    let shown = try await bench.show(key)
    guard let frozenAt = shown.frozenAt else { return outcome }
    outcome.frozenAt = Int(frozenAt.date.timeIntervalSince1970)
    for row in try await bench.database.query(
      "SELECT reason, contacts FROM sendout_left_out WHERE customer_id = $1::bigint AND sendout_id = $2::bigint",
      customer, number)
    {
      let (reason, contacts) = try row.decode(String.self, Int32.self)
      guard let step = PreflightReply.StepName(reason: reason) else {
        throw Stuck(description: "\(key) has left out contacts as \(reason)")
      }
      outcome.steps[step, default: 0] += Int(contacts)
    }
    if let people = shown.people, people > 0 { outcome.steps[.left] = people }
    guard shown.everyone == outcome.steps.values.reduce(0, +) else {
      throw Stuck(description: "\(key) is to \(shown.everyone ?? -1) and comes to \(outcome.steps)")
    }
    for row in try await bench.database.query(
      """
      SELECT push.device_id, push.state, push.reason, push.variant, push.sent_at, batch.planned_at
        FROM push LEFT JOIN push_batch AS batch USING (customer_id, sendout_id, batch_no)
       WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
      """, customer, number)
    {
      let (device, state, reason, variant, sentAt, plannedAt) = try row.decode(
        Int64.self, String.self, String?.self, Int16?.self, Date?.self, Date?.self)
      func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970.rounded()) }
      outcome.pushes[device] =
        if state == PushState.accepted.rawValue, let sentAt {
          .sent(planned: plannedAt.map(seconds), at: seconds(sentAt), variant: variant.map(Int.init))
        } else {
          .ended(PushState(rawValue: state) ?? .failed, reason)
        }
    }
    return outcome
  }
}
