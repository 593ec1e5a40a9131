import Retrying
import Postgres
import Registry
import Locking

/// Writes outcomes to the ledger, one statement at a time.
///
/// Outcomes that arrive during a statement are written together by the next one, so each costs less under load.
final class OutcomeWriter: Sendable {
  /// What one call of `add` adds.
  private struct Addition: Sendable {
    var settlements: [Settlement] = []
    var capacity = Capacity()
  }

  /// `flush` adds an empty item, which is answered after those before it.
  private let batcher: Batcher<Addition, Void>
  private let sendout: SendoutKey?
  private let unwritten: UnwrittenOutcomes

  /// - Parameters:
  ///   - sendout: of all that is written.
  ///   - unwritten: keeps the batches whose outcomes are not written yet.
  ///   - executor: where outcomes are written; `nil` for anywhere.
  ///   - write: writes outcomes, which hold these capacities in the window. It is retried without limit while the database is
  ///     unavailable. Any other error ends the writer.
  init(
    of sendout: SendoutKey? = nil, unwritten: UnwrittenOutcomes = UnwrittenOutcomes(),
    on executor: (any TaskExecutor)? = nil,
    write: @escaping @Sendable (_ settlements: [Settlement], _ capacities: [Capacity]) async throws -> Void
  ) {
    self.sendout = sendout
    self.unwritten = unwritten
    var policy = Batcher<Addition, Void>.FailurePolicy()
    policy.isWorthRetrying = { DatabaseUnavailable($0) != nil }
    policy.retry = .sharedOutage
    policy.endsBatcher = true
    batcher = Batcher(
      BatchLimits(batchWeight: .max, batchesPerKey: 1, items: .max), full: CancellationError(), onFailure: policy,
      on: executor
    ) { _, additions in
      let settlements = additions.flatMap(\.settlements)
      let capacities = additions.map(\.capacity).filter { $0.count > 0 }
      if !settlements.isEmpty { try await write(settlements, capacities) }
      return additions.map { _ in }
    }
  }

  /// Adds outcomes of one batch to the next write.
  /// - Parameter capacity: the capacity that they take in the window until they are written.
  func add(_ settlements: [Settlement], capacity: Capacity = Capacity()) {
    guard let batch = settlements.first?.batch else { return }
    if let sendout { unwritten.add(batch, of: sendout) }
    batcher.answer(0, Addition(settlements: settlements, capacity: capacity), weight: settlements.count) {
      [sendout, unwritten] _ in
      if let sendout { unwritten.remove(batch, of: sendout) }
    }
  }

  /// Waits until all outcomes added so far are written or the writer has ended.
  /// `unwritten` may name their batches a moment longer.
  /// - Returns: whether all are written.
  func flush() async -> Bool { (try? await batcher.answer(0, Addition(), weight: 0)) != nil }

  /// Ends the writer. Outcomes that are not written yet are dropped.
  func cancel() { batcher.cancel() }
}

/// The batches of which this hub knows outcomes that are not written yet, as while the database is away; and until when others may have such
/// batches, too.
final class UnwrittenOutcomes: Sendable {
  private let othersEnd = Mutex(ContinuousClock.now)
  /// How many additions of each batch are not written.
  private let additions = Mutex<[SendoutKey: [Int32: Int]]>([:])

  /// Whether other hubs may know outcomes that are not written yet.
  var waitsForOthers: Bool { .now < othersEnd.withLock(\.self) }

  func waitForOthers(until end: ContinuousClock.Instant) { othersEnd.withLock { $0 = max($0, end) } }

  func batches(of sendout: SendoutKey) -> [Int32] { additions.withLock { $0[sendout].map { Array($0.keys) } ?? [] } }

  func add(_ batch: Int32, of sendout: SendoutKey) {
    additions.withLock { $0[sendout, default: [:]][batch, default: 0] += 1 }
  }

  func remove(_ batch: Int32, of sendout: SendoutKey) {
    additions.withLock { additions in
      let left = additions[sendout]?[batch].map { $0 - 1 } ?? 0
      additions[sendout]?[batch] = left > 0 ? left : nil
      if additions[sendout]?.isEmpty == true { additions[sendout] = nil }
    }
  }
}

extension Batcher where Item == WriteAheadMark, Answer == Bool {
  /// Commits write-ahead marks, those that arrive during a commit together in the next one. A database that is away is waited for:
  /// nothing leaves meanwhile.
  /// - Parameter advance: moves the marks, one for each batch, and returns the batches that are still the run's.
  static func ofMarks(_ advance: @escaping @Sendable ([WriteAheadMark]) async throws -> Set<Int32>) -> Batcher {
    var policy = FailurePolicy()
    policy.isWorthRetrying = { DatabaseUnavailable($0) != nil }
    policy.retry = .sharedOutage
    return Batcher(
      BatchLimits(batchWeight: .max, batchesPerKey: 1, items: .max), full: CancellationError(), onFailure: policy
    ) { _, marks in
      let furthest = Dictionary(marks.map { ($0.claim, $0) }) { $0.push < $1.push ? $1 : $0 }
      let kept = try await advance(Array(furthest.values))
      return marks.map { kept.contains($0.claim.batch) }
    }
  }
}
