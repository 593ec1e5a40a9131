import Foundation
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct LedgerTests {
  private func withFrozen(
    _ count: Int, batchSize: Int, _ body: (SendingBench, SendoutKey) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(count)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        let size = try await Ledger(transaction).freeze(
          key, apps: [bench.app.id], audience: .all, batchSize: batchSize)
        #expect(size == FrozenAudience(devices: count, everyone: count, people: count))
      }
      try await body(bench, key)
    }
  }

  @Test func `A freeze counts whom an audience names as a whole, those without a device too`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      try await bench.database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::bigint, 'bare')", bench.customer.rawValue)
      try await bench.database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT customer_id, $1::bigint, contact_id FROM contact WHERE original_id IN ('user1@example.com', 'bare')
        """, list.rawValue)
      let ids = ["user1@example.com", "user1@example.com", "bare", "nobody"]
      let audiences: [(SelectedAudience, everyone: Int?, people: Int)] = [
        (.all, 4, 3), (.list(list), 2, 1), (.originalIds(ids), 2, 1), (.originalIds(["user2@example.com"]), 1, 1),
        (.meeting(FilterSQL(template: "contact.original_id >= ({literals})[1]", literals: [""])), nil, 3),
      ]
      for (audience, everyone, people) in audiences {
        let key = try await bench.send()
        let frozen = try await bench.pool.transaction { transaction in
          try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: audience)
        }
        let bare = (everyone ?? people) - people
        #expect(
          frozen
            == FrozenAudience(
              devices: people, everyone: everyone, people: people, leftOut: bare > 0 ? [.noDevice: bare] : [:]))
        let noted = try await bench.database.query(
          "SELECT reason || ' ' || contacts FROM sendout_left_out WHERE sendout_id = $1::bigint", key.sendout.rawValue)
        #expect(try noted.map { try $0.decode(String.self) } == (bare > 0 ? ["no_device \(bare)"] : []))
      }
    }
  }

  private func ledger(_ bench: SendingBench, _ key: SendoutKey, lease: Duration = .seconds(60)) -> BatchLedger {
    BatchLedger(
      database: bench.pool, key: key, lane: Lane(app: bench.app.id, isSandbox: false), run: RunID(), lease: lease)
  }

  /// The next batch with its pushes, all of which may have left.
  private func claim(_ ledger: BatchLedger) async throws -> ClaimedBatch? {
    guard var batch = try await ledger.claim() else { return nil }
    batch.pushes = try await ledger.pushes(of: batch)
    let kept = try await ledger.advance([
      WriteAheadMark(claim: batch.claim, push: PushNumber(batch.range.upperBound))
    ])
    #expect(kept == [batch.claim.batch])
    return batch
  }

  private func accepted(_ pushes: some Sequence<QueuedPush>) -> [Settlement] {
    pushes.map { Settlement(push: $0.number, batch: $0.batch, state: .accepted, left: true, sentAt: Date()) }
  }

  private func waiting(_ pushes: some Sequence<QueuedPush>, _ delay: Duration) -> [Settlement] {
    pushes.map {
      Settlement(
        push: $0.number, batch: $0.batch, state: .waiting, reason: "X", left: true, sentAt: Date(), delay: delay,
        timeout: .seconds(7200))
    }
  }

  @Test func `Freezing writes batches that contain every push once`() async throws {
    try await withFrozen(25, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      var devices: [DeviceID] = []
      var sizes: [Int] = []
      while let batch = try await claim(ledger) {
        sizes.append(batch.pushes.count)
        devices += batch.pushes.compactMap(\.device)
      }
      #expect(sizes == [10, 10, 5])
      #expect(try await bench.pushes(key).map(\.deviceId) == devices.sorted())
      #expect(try await bench.show(key).counts?.sending == 25)
    }
  }

  @Test func `A batch is claimed by one of many concurrent runs`() async throws {
    try await withFrozen(40, batchSize: 1) { bench, key in
      let claimed = try await withThrowingTaskGroup(of: [Int32].self) { group in
        for _ in 0..<8 {
          let ledger = ledger(bench, key)
          group.addTask {
            var numbers: [Int32] = []
            while let batch = try await ledger.claim() { numbers.append(batch.claim.batch) }
            return numbers
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      // Who finds a row locked by another passes over it; so at the end somebody may leave one behind.
      let rest = try await ledger(bench, key).claim().map { [$0.claim.batch] } ?? []
      #expect((claimed + rest).sorted() == Array(0..<40))
    }
  }

  @Test func `Writing outcomes again changes nothing`() async throws {
    try await withFrozen(3, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      try await ledger.settle(accepted(batch.pushes))
      try await ledger.settle(waiting(batch.pushes, .seconds(1)))
      let pushes = try await bench.pushes(key)
      #expect(pushes.allSatisfy { $0.state == .accepted && $0.attempts == 1 && $0.notBefore == nil })
      try await ledger.release(batch.claim)
      #expect(try await bench.ledger.remainingWork(key).isDone)
    }
  }

  @Test func `A batch with waiting pushes is claimed again when they are due, with only these`() async throws {
    try await withFrozen(4, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      try await ledger.settle(accepted(batch.pushes.prefix(1)) + waiting(batch.pushes[1...2], .zero))
      try await ledger.settle(waiting(batch.pushes.suffix(1), .seconds(3600)))
      try await ledger.release(batch.claim)
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 4, waiting: 3, sent: 4, accepted: 1))
      try await bench.database.query(
        "UPDATE push SET not_before = now() WHERE not_before < now() + interval '1 minute'")
      try await bench.database.query("UPDATE push_batch SET not_before = now()")

      let again = try #require(try await claim(ledger))
      #expect(again.pushes.map(\.device) == batch.pushes[1...2].map(\.device))
      #expect(again.pushes.allSatisfy { $0.attempts == 1 && $0.giveUpAt != nil })
      // Why they are sent again is on record before they are.
      #expect(try await bench.pushes(key).map(\.resentBecause) == [nil, "X", "X", nil])
      try await ledger.settle(accepted(again.pushes))
      try await ledger.release(again.claim)
      let next = try #require(try await bench.ledger.remainingWork(key).nextClaim)
      #expect(next > .seconds(3000))
      #expect(try await ledger.claim() == nil)
    }
  }

  @Test func `A batch is settled with its last outcome, and not before`() async throws {
    try await withFrozen(5, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      #expect(try await ledger.settle(accepted(batch.pushes.prefix(3))).settled == [])
      #expect(try await ledger.settle(waiting(batch.pushes[3...3], .zero)).settled == [])
      #expect(try await ledger.settle(accepted(batch.pushes.suffix(1))).settled == [])
      try await ledger.release(batch.claim)
      try await bench.database.query("UPDATE push SET not_before = now() WHERE state = 'waiting'")
      try await bench.database.query("UPDATE push_batch SET not_before = now()")
      let again = try #require(try await claim(ledger))
      #expect(try await ledger.settle(accepted(again.pushes)).settled == [batch.claim.batch])
      #expect(try await bench.ledger.remainingWork(key).isDone)
      // Writing again, and releasing what is settled, does nothing.
      #expect(try await ledger.settle(accepted(again.pushes)).settled == [])
      try await ledger.release(again.claim)
      #expect(try await bench.show(key).counts?.accepted == 5)
    }
  }

  @Test func `Releasing a batch of a long stream reads none of the other batches' pushes`() async throws {
    try await withFrozen(2000, batchSize: 2) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      let other = "customer_id = \(key.customer) AND batch_no <> \(batch.claim.batch)"
      for sql in [
        "UPDATE push SET state = 'accepted' WHERE \(other)",
        "UPDATE push_batch SET state = 'settled', queued = 0, accepted = last_push - first_push + 1 WHERE \(other)",
        "VACUUM ANALYZE push", "VACUUM ANALYZE push_batch",
      ] { try await bench.database.query(sql) }
      try await bench.pool.transaction { transaction in
        let ledger = BatchLedger(
          database: transaction, key: ledger.key, lane: ledger.lane, run: ledger.run, lease: ledger.lease)
        try await ledger.settle(accepted(batch.pushes.prefix(1)) + waiting(batch.pushes.suffix(1), .zero))
        let before = try await pushesRead(transaction)
        try await ledger.release(batch.claim)
        #expect(try await pushesRead(transaction) - before <= 4)
      }
    }
  }

  /// How many rows of `push` this transaction has read.
  private func pushesRead(_ transaction: any Querying) async throws -> Int {
    let read = Statement(
      "test.read", .read,
      "SELECT sum(seq_tup_read + idx_tup_fetch)::int8 FROM pg_stat_xact_user_tables WHERE relname LIKE 'push' || '%' AND relname <> 'push_batch'"
    )
    return try await transaction.query(read)[0].decode(Int.self)
  }

  @Test func `Held batches are not claimed, and a claimed one is held at release`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      try await bench.ledger.hold(key)
      #expect(try await ledger.claim() == nil)
      try await ledger.settle(accepted(batch.pushes.prefix(3)))
      try await ledger.release(batch.claim)
      #expect(try await ledger.claim() == nil)
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 20, queued: 17, sent: 3, accepted: 3))
      try await bench.ledger.resume(key)
      let first = try #require(try await claim(ledger))
      let second = try #require(try await claim(ledger))
      #expect(first.pushes.count + second.pushes.count == 17)
    }
  }

  @Test func `A batch claimed when its sendout is cancelled is cancelled at release`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      try await ledger.settle(waiting(batch.pushes.prefix(2), .zero))
      try await bench.ledger.cancel(key)
      #expect(try await bench.show(key).counts?.cancelled == 10)
      try await ledger.settle(accepted(batch.pushes[2...4]))
      try await ledger.release(batch.claim)
      #expect(
        try await bench.show(key).counts == SendoutCounts(audience: 20, sent: 5, accepted: 3, cancelled: 17))
      #expect(try await bench.ledger.remainingWork(key).isDone)
    }
  }

  @Test func `A killed hub's batches are requeued when their lease expires, not before`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let dead = ledger(bench, key)
      let batch = try #require(try await claim(dead))
      try await dead.settle(accepted(batch.pushes.prefix(4)) + waiting(batch.pushes[4...5], .zero))
      #expect(try await bench.ledger.requeueLost(key, .resend) == (0, 0))
      try await bench.endLeases()
      // Whoever is about to write outcomes is waited for.
      #expect(try await bench.ledger.requeueLost(key, .resend, except: [99, batch.claim.batch]) == (0, 0))
      #expect(try await bench.ledger.requeueLost(key, .resend, except: [99]) == (1, 4))
      let pushes = try await bench.pushes(key)
      #expect(pushes.count { $0.state == .queued && $0.attempts == 1 && $0.resentBecause == "hub_stopped" } == 4)
      // Too late: nothing it says now counts, and it cannot let go of what is not its own any more.
      try await dead.release(batch.claim)
      let again = try #require(try await claim(ledger(bench, key)))
      #expect(again.claim.batch == batch.claim.batch && again.pushes.count >= 4)
    }
  }

  @Test func `An expired lease is neither extended, nor does it release a later claim`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let held = try #require(try await claim(ledger))
      let lost = try #require(try await claim(ledger))
      try await bench.database.query(
        "UPDATE push_batch SET lease_until = now() - interval '1 second' WHERE batch_no = $1", lost.claim.batch)
      #expect(try await ledger.extend([held.claim, lost.claim]).kept == [held.claim])

      try await bench.ledger.requeueLost(key, .resend)
      let again = try #require(try await claim(ledger))
      #expect(again.claim.batch == lost.claim.batch && again.claim != lost.claim)
      try await ledger.release(lost.claim)
      #expect(try await ledger.claim() == nil)
      #expect(try await ledger.extend([lost.claim, again.claim]).kept == [again.claim])
    }
  }

  @Test func `Outcomes of a claimed batch are written while a cancellation still works through the others`()
    async throws
  {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      let (locked, lock) = AsyncStream.makeStream(of: Void.self)
      let (settled, settle) = AsyncStream.makeStream(of: Void.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await bench.pool.transaction { other in
            try await other.query(sql: "SELECT FROM push WHERE push_no = 20 FOR UPDATE")
            lock.yield()
            for await _ in settled { break }
          }
        }
        for await _ in locked { break }
        group.addTask { try await bench.pool.transaction { try await Ledger($0).cancel(key) } }
        try await waitUntil {
          try await bench.database.query(
            "SELECT count(*) FROM \(TestDatabase.activity) WHERE wait_event_type = 'Lock'")[0]
            .decode(Int.self) == 1
        }
        try await ledger.settle(accepted(batch.pushes))
        settle.yield()
        try await group.waitForAll()
      }
      #expect(
        try await bench.show(key).counts == SendoutCounts(audience: 20, sent: 10, accepted: 10, cancelled: 10))
    }
  }

  @Test func `Uncertain pushes of a cancelled sendout stay uncertain, whatever the policy`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let dead = ledger(bench, key)
      let batch = try #require(try await claim(dead))
      try await dead.settle(waiting(batch.pushes.prefix(3), .zero))
      try await bench.ledger.cancel(key)
      try await bench.endLeases()
      try await bench.ledger.requeueLost(key, .resend)
      #expect(
        try await bench.show(key).counts == SendoutCounts(audience: 10, sent: 10, uncertain: 7, cancelled: 3))
      #expect(try await bench.ledger.remainingWork(key).isDone)
    }
  }

  @Test func `Only pushes up to the write-ahead mark are uncertain, the others never left`() async throws {
    for policy in [UncertainPolicy.skip, .resend] {
      try await withFrozen(20, batchSize: 10) { bench, key in
        let dead = ledger(bench, key)
        var batch = try #require(try await dead.claim())
        batch.pushes = try await dead.pushes(of: batch)
        for push in [4, 2] {
          #expect(
            try await dead.advance([WriteAheadMark(claim: batch.claim, push: PushNumber(Int64(push)))])
              == [batch.claim.batch])
        }
        try await dead.settle(accepted(batch.pushes.prefix(1)))
        try await bench.endLeases()
        #expect(try await bench.ledger.requeueLost(key, policy) == (1, 3))
        #expect(
          try await bench.show(key).counts
            == (policy == .skip
              ? SendoutCounts(audience: 20, queued: 16, sent: 4, accepted: 1, uncertain: 3)
              : SendoutCounts(audience: 20, queued: 19, sent: 4, accepted: 1)))
        #expect(
          try await bench.pushes(key).map(\.attempts) == Array(repeating: 1, count: 4) + Array(repeating: 0, count: 16))
        // The next claim has a mark of its own.
        let again = try #require(try await ledger(bench, key).claim())
        #expect(again.claim.batch == batch.claim.batch)
        try await bench.endLeases()
        #expect(try await bench.ledger.requeueLost(key, policy) == (1, 0))
      }
    }
  }

  @Test func `Outcomes and the write-ahead mark of what follows are one commit`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let dead = ledger(bench, key)
      let first = try #require(try await claim(dead))
      let second = try #require(try await dead.claim())
      // Of the same batch, and of another one.
      let again = try await dead.settle(
        accepted(first.pushes.prefix(4)), marking: WriteAheadMark(claim: first.claim, push: PushNumber(3)))
      #expect(again.isMarked, "a mark never goes back")
      let next = try await dead.settle(
        accepted(first.pushes.suffix(6)), marking: WriteAheadMark(claim: second.claim, push: PushNumber(13)))
      #expect(next == ([first.claim.batch], true))
      #expect(
        try await bench.show(key).counts
          == SendoutCounts(audience: 20, queued: 0, sending: 10, sent: 10, accepted: 10))
      try await bench.endLeases()
      #expect(try await bench.ledger.requeueLost(key, .skip) == (1, 3))
    }
  }

  @Test func `Outcomes are written although the write-ahead mark's batch is no longer the run's`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let (first, second) = (try #require(try await claim(ledger)), try #require(try await ledger.claim()))
      try await bench.database.query(
        "UPDATE push_batch SET lease_until = now() - interval '1 s' WHERE batch_no = \(second.claim.batch)")
      let mark = WriteAheadMark(claim: second.claim, push: PushNumber(20))
      #expect(try await ledger.settle(accepted(first.pushes), marking: mark) == ([first.claim.batch], false))
      #expect(try await bench.ledger.requeueLost(key, .skip) == (1, 0))
      let later = try #require(try await ledger.claim())
      #expect(later.claim.batch == second.claim.batch)
      #expect(try await !ledger.settle(accepted(first.pushes), marking: mark).isMarked, "it is another claim")
    }
  }

  @Test func `A run whose lease has ended is told that nothing more may leave`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await ledger.claim())
      try await bench.endLeases()
      #expect(try await ledger.advance([WriteAheadMark(claim: batch.claim, push: PushNumber(10))]).isEmpty)
      #expect(try await bench.ledger.requeueLost(key, .skip) == (1, 0))
    }
  }

  @Test func `A hub that was away for longer than its lease corrects what was counted as uncertain`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let away = ledger(bench, key)
      let batch = try #require(try await claim(away))
      try await bench.endLeases()
      #expect(try await bench.ledger.requeueLost(key, .skip) == (1, 10))
      #expect(try await bench.show(key).counts?.uncertain == 10)
      try await away.settle(accepted(batch.pushes.prefix(7)) + waiting(batch.pushes.suffix(3), .zero))
      let counts = try await bench.show(key).counts
      #expect(counts == SendoutCounts(audience: 10, sent: 10, accepted: 7, uncertain: 3))
      #expect(try await bench.pushes(key).allSatisfy { $0.attempts == 1 && $0.notBefore == nil })
    }
  }

  @Test func `A push does not wait in a batch that is requeued while its outcome is written`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let dead = ledger(bench, key)
      let batch = try #require(try await claim(dead))
      try await bench.database.withPool { observer in
        let writing = try await bench.pool.transaction { transaction in
          // The writer of outcomes has begun by then, and has the state before this transaction in view.
          try await transaction.query(sql: "SELECT 1 FROM push_batch FOR UPDATE")
          let writing = Task { _ = try await dead.settle(waiting(batch.pushes, .zero)) }
          try await bench.database.someoneWaits(as: observer)
          try await transaction.query(sql: "UPDATE push_batch SET lease_until = now() - interval '1 second'")
          #expect(try await Ledger(transaction).requeueLost(key, .skip) == (1, 10))
          return writing
        }
        try await writing.value
      }
      #expect(try await bench.pushes(key).allSatisfy { $0.state == .uncertain })
      #expect(try await bench.ledger.remainingWork(key).isDone)
    }
  }

  @Test func `A claim whose reply was lost is released`() async throws {
    try await withFrozen(20, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let known = try #require(try await claim(ledger))
      let lost = try #require(try await claim(ledger))
      try await ledger.releaseUnknownClaims(except: [known.claim.batch])
      let again = try #require(try await claim(ledger))
      #expect(again.claim.batch == lost.claim.batch)
      #expect(again.pushes.allSatisfy { $0.attempts == 0 })
    }
  }

  @Test func `Pushes are listed by state, a page at a time`() async throws {
    try await withFrozen(10, batchSize: 10) { bench, key in
      let ledger = ledger(bench, key)
      let batch = try #require(try await claim(ledger))
      try await ledger.settle(accepted(batch.pushes.prefix(6)))
      let first = try await bench.ledger.pushes(key, state: .accepted, PageRequest(limit: 4))
      #expect(first.items.count == 4)
      let second = try await bench.ledger.pushes(key, state: .accepted, PageRequest(after: first.next, limit: 4))
      #expect(second.items.count == 2 && second.next == nil)
      #expect(
        (first.items + second.items).map(\.pushNo) == batch.pushes.prefix(6).map(\.number))
      #expect(try await bench.ledger.pushes(key, state: .failed).items.isEmpty)
    }
  }
}

@Suite struct PushIdentityTests {
  @Test func `A push's apns-id is a UUID that never changes and is unique`() {
    let key = SendoutKey(CustomerID(1), SendoutID(2))
    let id = PushIdentity.id(key, PushNumber(3))
    #expect(id == PushIdentity.id(key, PushNumber(3)))
    #expect(id.uuidString == "00000000-0001-8000-8000-000200000003")
    let largest = SendoutKey(CustomerID(0xFFFF_FFFF_FFFF), SendoutID(0x3FF_FFFF_FFFF))
    #expect(PushIdentity.id(largest, PushNumber(0xFFFF_FFFF)).uuidString == "FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF")
    #expect(id != PushIdentity.id(SendoutKey(CustomerID(2), SendoutID(1)), PushNumber(3)))
    #expect(PushIdentity.collapseKey(key) == "s2")
  }

  @Test func `A sendout's key is parsed from its description only`() {
    #expect(SendoutKey("12/34") == SendoutKey(CustomerID(12), SendoutID(34)))
    for text in ["", "/", "1/", "1/2/3", "a/b", "-1/2", "1/0", " 1/2", "1/99999999999999999999"] {
      #expect(SendoutKey(text) == nil)
    }
  }
}
