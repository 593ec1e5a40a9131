import Locking

/// The claims of a run, and until when each is certainly valid.
///
/// After a hub's process or machine was suspended, another hub may have claimed its batches. So nothing of a batch leaves once its
/// lease may have expired.
final class Leases: Sendable {
  private struct State {
    var ends: [Claim: ContinuousClock.Instant] = [:]
    /// Batches whose claim ended without a release: pushes of them may have left.
    var abandoned: Set<Int32> = []
    /// Batches that were settled with their last outcome.
    var settled: Set<Int32> = []
  }
  private let state = Mutex(State())

  func add(_ claim: Claim, until end: ContinuousClock.Instant) {
    state.withLock { state in
      state.ends[claim] = end
      state.abandoned.remove(claim.batch)
      state.settled.remove(claim.batch)
    }
  }

  /// How many claims there are.
  var count: Int { state.withLock(\.ends.count) }

  /// Whether the lease is certainly valid.
  func holds(_ claim: Claim) -> Bool {
    state.withLock { $0.ends[claim].map { .now < $0 } ?? false }
  }

  /// The claims to be extended.
  var held: [Claim] { state.withLock { Array($0.ends.keys) } }

  /// Sets the new end of the claims that were extended; the others are abandoned.
  func extend(_ asked: [Claim], kept: [Claim], until end: ContinuousClock.Instant) {
    let kept = Set(kept)
    for claim in asked {
      if !kept.contains(claim) {
        if !isSettled(claim) { abandon(claim) }
      } else {
        state.withLock { if $0.ends[claim] != nil { $0.ends[claim] = end } }
      }
    }
  }

  func settled(_ batches: [Int32]) { state.withLock { $0.settled.formUnion(batches) } }

  func isSettled(_ claim: Claim) -> Bool { state.withLock { $0.settled.contains(claim.batch) } }

  func remove(_ claim: Claim) {
    state.withLock { state in
      state.ends.removeValue(forKey: claim)
      state.settled.remove(claim.batch)
    }
  }

  /// Ends a claim without a release.
  func abandon(_ claim: Claim) {
    state.withLock { state in
      if state.ends.removeValue(forKey: claim) != nil { state.abandoned.insert(claim.batch) }
    }
  }

  /// The batches that this run has claimed and not released, as far as it knows.
  var batches: Set<Int32> { state.withLock { $0.abandoned.union($0.ends.keys.map(\.batch)) } }
}
