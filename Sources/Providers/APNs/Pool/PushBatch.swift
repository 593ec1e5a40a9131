import FoundationEssentials
import Synchronization

/// The pushes of one call of `send` on their way. Belongs to the event loop of its pool.
final class PushBatch {
  let pushes: [APNsPush]
  private let outcomes: AsyncStream<[PushOutcome]>.Continuation
  private let withdrawal: Cancellation
  private let isWanted: @Sendable () -> Bool
  private var pending: [PushOutcome] = []
  private var owed: Int

  init(
    _ pushes: [APNsPush], outcomes: AsyncStream<[PushOutcome]>.Continuation, withdrawal: Cancellation,
    while isWanted: @escaping @Sendable () -> Bool
  ) {
    self.pushes = pushes
    self.outcomes = outcomes
    self.withdrawal = withdrawal
    self.isWanted = isWanted
    owed = pushes.count
  }

  /// Whether nobody waits for the outcomes any more.
  var isWithdrawn: Bool { withdrawal.isWithdrawn }

  /// Whether its pushes may leave now.
  var mayLeave: Bool { isWanted() }

  /// Keeps an outcome for the next `deliver`; says whether it is the first one kept.
  func settle(_ outcome: PushOutcome) -> Bool {
    pending.append(outcome)
    return pending.count == 1
  }

  /// Hands out what has been settled since the last time, and ends the stream after the last one.
  func deliver() {
    guard !pending.isEmpty else { return }
    owed -= pending.count
    outcomes.yield(pending)
    pending = []
    if owed == 0 { outcomes.finish() }
  }
}

/// Tells a pool that the reader of a batch has gone away.
final class Cancellation: Sendable {
  private let flag = Atomic(false)
  var isWithdrawn: Bool { flag.load(ordering: .relaxed) }
  func withdraw() { flag.store(true, ordering: .relaxed) }
}

/// One push of a batch, and how often it has come back.
struct PushJob {
  let batch: PushBatch
  let index: Int
  /// It was refused for a reason that a fresh connection may cure; the next verdict holds.
  var isSecondChance = false
  /// How often it was certainly not processed.
  var turnedBack = 0
  /// What it was sent with, the last time.
  var token: ProviderToken?

  var push: APNsPush { batch.pushes[index] }
}
