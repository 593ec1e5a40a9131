import Synchronization

/// What a run has claimed, and until when each batch is its own for certain.
///
/// A hub that stood still for a while, since its process or its machine was stopped, wakes up with batches that another hub may
/// have taken back: nothing of a batch leaves from the moment on at which its lease may be over.
final class Leases: Sendable {
  private struct State {
    var ends: [Claim: ContinuousClock.Instant] = [:]
    /// Batches that were claimed and are held no more, though never released: pushes of them may have left.
    var left: Set<Int32> = []
  }
  private let state = Mutex(State())

  func take(_ claim: Claim, until end: ContinuousClock.Instant) {
    state.withLock { state in
      state.ends[claim] = end
      state.left.remove(claim.batch)
    }
  }

  /// Whether the lease cannot be over.
  func holds(_ claim: Claim) -> Bool {
    state.withLock { $0.ends[claim].map { .now < $0 } ?? false }
  }

  /// What is to be extended.
  var held: [Claim] { state.withLock { Array($0.ends.keys) } }

  /// Of what was to be extended, the rest is lost.
  func extend(_ asked: [Claim], kept: [Claim], until end: ContinuousClock.Instant) {
    let kept = Set(kept)
    for claim in asked {
      if !kept.contains(claim) {
        leave(claim)
      } else {
        state.withLock { if $0.ends[claim] != nil { $0.ends[claim] = end } }
      }
    }
  }

  func release(_ claim: Claim) { state.withLock { _ = $0.ends.removeValue(forKey: claim) } }

  /// Holds on no longer to a batch that is not released either.
  func leave(_ claim: Claim) {
    state.withLock { state in
      if state.ends.removeValue(forKey: claim) != nil { state.left.insert(claim.batch) }
    }
  }

  /// The batches that this run knows it has claimed and not released.
  var batches: Set<Int32> { state.withLock { $0.left.union($0.ends.keys.map(\.batch)) } }
}
