import Postgres
import Registry

/// Writes outcomes into the ledger, one statement at a time: what arrives while one is under way travels together in the
/// next, so the more there is to write the less each costs.
final class OutcomeWriter: Sendable {
  /// Outcomes that were added together are one item; an empty one waits for those before it.
  private let batcher: Batcher<[Settlement], Void>
  private let onWritten: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - write: writes outcomes. While it throws what is a `DatabaseUnavailable` it is called again, however long that takes.
  ///     After any other error nothing is written any more.
  ///   - onWritten: told how much room is free again once outcomes have been written.
  init(
    write: @escaping @Sendable ([Settlement]) async throws -> Void, onWritten: @escaping @Sendable (Int) -> Void
  ) {
    self.onWritten = onWritten
    var policy = Batcher<[Settlement], Void>.FailurePolicy()
    policy.isWorthRetrying = { DatabaseUnavailable($0) != nil }
    policy.firstPause = .milliseconds(100)
    policy.longestPause = .seconds(2)
    policy.endsBatcher = true
    batcher = Batcher(
      BatchLimits(batchWeight: .max, batchesPerKey: 1, items: .max), full: CancellationError(), onFailure: policy
    ) { _, additions in
      let settlements = Array(additions.joined())
      if !settlements.isEmpty { try await write(settlements) }
      return additions.map { _ in }
    }
  }

  /// Adds outcomes, to be written soon.
  /// - Parameter room: the room in the window that they hold until then.
  func add(_ settlements: [Settlement], room: Int) {
    guard !settlements.isEmpty else { return }
    batcher.answer(0, settlements, weight: settlements.count) { [onWritten] result in
      if case .success = result { onWritten(room) }
    }
  }

  /// Waits until everything added so far is written, or nothing is written any more.
  /// - Returns: whether everything is written.
  func flush() async -> Bool { (try? await batcher.answer(0, [], weight: 0)) != nil }

  /// Writes nothing more; what is not written is left alone.
  func cancel() { batcher.cancel() }
}
