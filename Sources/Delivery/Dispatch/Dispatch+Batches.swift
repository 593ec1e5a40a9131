import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Locking
import Wire

// Claiming and preparing batches, and starting the slices that send them.
extension Dispatch {
  func sendLoop(_ slices: inout DiscardingTaskGroup) async {
    await withTaskGroup(of: PreparedBatch?.self) { ahead in
      for _ in 0..<(source == nil ? Self.batchesAhead : 1) { ahead.addTask { await self.claimNext() } }
      for await next in ahead {
        guard var batch = next else { continue }
        ahead.addTask { await self.claimNext() }
        await send(batch, &slices)
        // The next batch may wait for the permit.
        batch.permit = nil
      }
    }
  }

  /// How many batches are ahead of the one that is sent: one is claimed while another is prepared. With caps a claim takes as long as sending a
  /// batch. One after the other they would hold up the sendout, and a core would be idle.
  private static let batchesAhead = 2

  /// The next batch, claimed and prepared; `nil` when there is none now, or the window is closed.
  func claimNext() async -> PreparedBatch? {
    if let source { return await nextHanded(source) }
    guard window.end == nil, let permit = await dispatcher.permits.acquire(plan.key.customer, until: stop),
      window.end == nil, var prepared = await claimAndPrepare()
    else { return nil }
    prepared.permit = permit
    return prepared
  }

  func claimAndPrepare() async -> PreparedBatch? {
    guard var batch = try? await claims.withPermit(claim) else { return nil }
    var run = BatchRun(batch, dispatcher.outcomePolicy(of: plan, for: lane.app))
    guard
      let pushes = await persistently("read a batch", { [batch] in try await self.ledger.pushes(of: batch) })
    else { return nil }
    batch.pushes = pushes
    if case .ofMessages(let traits?) = plan.content {
      let messages = Messages(dispatcher.database)
      let numbers = Array(Set(batch.pushes.compactMap(\.message)))
      guard
        let contents = await persistently(
          "read messages", { try await messages.contents(numbers, of: self.plan.key, traits) })
      else {
        await release(run)
        return nil
      }
      batch.contents = contents
      run = BatchRun(batch, run.outcomePolicy)
    }
    let readAt = ContinuousClock.now
    guard let prepared = await prepare(batch.pushes, of: run) else {
      await release(run)
      return nil
    }
    run.markPrepared(at: readAt)
    return prepared
  }

  /// Reads what the message names of the recipients, for so many at a time that their bytes are bounded: a contact can have 64 KiB of
  /// properties.
  func prepare(_ all: [QueuedPush], of run: BatchRun) async -> PreparedBatch? {
    let devices = Devices(dispatcher.database)
    let fields = preparation.recipientFields(run.contents)
    let atOnce = Self.maximumRecipientsSize / fields.maximumSize
    var prepared = PreparedBatch(run: run)
    for start in stride(from: 0, to: all.count, by: atOnce) {
      let pushes = all[start..<min(start + atOnce, all.count)]
      guard
        let recipients = await persistently(
          "load recipients",
          {
            try await devices.recipients(
              self.plan.key.customer, pushes.map(\.device), with: fields, suppressedBy: self.dispatcher.suppressions)
          })
      else { return nil }
      let found = Set(recipients.map(\.device.id))
      let missing = pushes.filter { !found.contains($0.device) }.map(\.contact)
      var erased: Set<ContactID> = []
      if !missing.isEmpty {
        guard
          let gone = await persistently(
            "look for erased contacts",
            { try await Person.missing(self.plan.key.customer, missing, in: self.dispatcher.database) })
        else { return nil }
        erased = gone
      }
      await preparation.prepare(pushes, for: recipients, erased: erased, into: &prepared)
    }
    return prepared
  }

  /// Most bytes of the recipients that are read at once: some 190 with properties, or 3,000 with a name.
  private static let maximumRecipientsSize = 16 << 20

  /// The next batch that is handed over. Once the window is closed, all go back to the ledger.
  func nextHanded(_ source: InMemoryBatchQueue) async -> PreparedBatch? {
    while let handed = window.end == nil ? await source.next() : source.takeWaiting() {
      let run = BatchRun(
        handed.batch, dispatcher.outcomePolicy(of: plan, for: lane.app), marked: handed.marked, memory: handed.memory)
      guard window.end == nil else {
        await release(run)
        continue
      }
      var prepared = PreparedBatch(run: run)
      if handed.readAt + dispatcher.settings.recipientAge > .now {
        await preparation.prepare(handed.batch.pushes[...], for: handed.recipients, into: &prepared)
        run.markPrepared(at: handed.readAt)
        return prepared
      }
      // It has waited for others: its recipients may have changed.
      run.markPrepared(at: .now)
      if let prepared = await prepare(handed.batch.pushes, of: run) { return prepared }
      await release(run)
    }
    return nil
  }

  /// Claims the next batch, one claim at a time. If the reply to a claim is lost, what it claimed is released first. Nothing is claimed once a claim
  /// has found nothing.
  func claim() async -> ClaimedBatch? {
    guard !isDrained.load(ordering: .relaxed) else { return nil }
    await releaseLostClaims()
    let batch = await persistently("claim a batch") { try await self.claimOnce() } ?? nil
    if batch == nil { isDrained.store(true, ordering: .relaxed) }
    return batch
  }

  private func claimOnce() async throws -> ClaimedBatch? {
    guard window.end == nil else { return nil }
    do {
      let batch = try await ledger.claim()
      if let batch { leases.add(batch.claim, until: batch.leaseEnd) }
      return batch
    } catch PostgresError.unknownOutcome(let statement) {
      hasLostClaim.store(true, ordering: .relaxed)
      await releaseLostClaims()
      throw PostgresError.connectionLost(statement: statement)
    }
  }

  /// Releases what claims without a reply may have claimed, however often that takes: before the next claim, and before the run ends.
  /// The server may commit such a claim later than the loss is noticed, so each of these moments looks again.
  func releaseLostClaims() async {
    guard hasLostClaim.load(ordering: .relaxed) else { return }
    await persistently("release a batch whose claim had no reply") {
      try await self.ledger.releaseUnknownClaims(except: self.leases.batches)
    }
  }

  /// Starts a task for each slice of a batch, as long as the window is open. What is not started stays queued.
  func send(_ batch: PreparedBatch, _ slices: inout DiscardingTaskGroup) async {
    // The slices' tasks hold no permit.
    let run = batch.run
    let count = run.capacity(min(batch.settlements.count, dispatcher.window.share))
    if let capacity = await window.acquire(count) { outcomeWriter.add(batch.settlements, capacity: capacity) }
    var waiting = batch.slices[...]
    while !waiting.isEmpty {
      let needs = waiting.map {
        SliceNeed(capacity: capacity(of: $0, run).held.count, last: $0.pushes[$0.pushes.count - 1].number)
      }
      guard let grant = await window.acquire(needs, of: run.claim) else { break }
      guard leases.holds(run.claim) else {
        window.releaseUnsent(grant.capacity)
        break
      }
      for slice in waiting.prefix(grant.count) {
        run.beginSlice()
        // All cores encrypt. The rest stays where the run's own task is.
        slices.addTask(executorPreference: app.account.encryptsEachPush ? globalConcurrentExecutor : nil) {
          await self.send(slice, of: run, in: grant)
        }
      }
      waiting = waiting.dropFirst(grant.count)
    }
    slices.addTask { await self.endSlice(of: run) }
  }

  /// Commits that the slice's pushes may have left. Marks of all slices that wait are committed together.
  /// - Parameter isMarked: whether the mark is committed already, with outcomes before it; `nil` if that was not tried.
  /// - Returns: whether they may leave now: the batch is still this run's, and nobody has stopped the run.
  func mayLeave(_ slice: PreparedBatch.Slice, of run: BatchRun, isMarked: Bool?) async -> Bool {
    if let isMarked {
      if !isMarked { leases.abandon(run.claim) }
      return isMarked && window.end == nil
    }
    guard let last = slice.pushes.last?.number else { return false }
    do {
      let isOurs = try await writeAhead.answer(0, WriteAheadMark(claim: run.claim, push: last))
      if !isOurs { leases.abandon(run.claim) }
      return isOurs && window.end == nil
    } catch {
      if !Task.isCancelled, !Self.isRetryable(error, "mark pushes as sent", logger) {
        window.close(.unavailable(reason: "the hub failed to mark pushes as sent", after: nil))
      }
      return false
    }
  }
}
