import Locking
import Postgres
import Wire

/// What this hub keeps of each stream that it has accepted messages for.
final class ActiveStreams: Sendable {
  final class Active: Sendable {
    let run = RunID()
    /// The numbers that are left, and how often they were dropped: those that a statement has in hand are dropped with them.
    let reserved = Mutex<(numbers: StreamNumbers?, verifications: Int)>((nil, 0))
    private let pushes = Atomic(0)

    /// Gives the planner statistics whenever this hub's pushes of the stream have doubled. Plans are made once, and one that was made for an empty
    /// table reads all of it for each message.
    func wrote(_ count: Int, _ ledger: MessageLedger) {
      let (before, now) = pushes.add(count, ordering: .relaxed)
      guard now >= 256, before.leadingZeroBitCount != now.leadingZeroBitCount else { return }
      Task {
        _ = try? await ledger.database.query(FreezeQueries.analyze, ledger.key.sendout.rawValue, Int64(now))
      }
    }
  }

  private let streams = Mutex<[SendoutKey: (active: Active, lastUse: ContinuousClock.Instant)]>([:])

  func active(_ key: SendoutKey) -> Active {
    streams.withLock { streams in
      let active = streams[key]?.active ?? Active()
      streams[key] = (active, .now)
      return active
    }
  }

  /// What stops the lanes of a stream.
  private let lanes = Mutex<[@Sendable (SendoutKey?) -> Void]>([])

  func onStop(_ handler: @escaping @Sendable (SendoutKey?) -> Void) { lanes.withLock { $0.append(handler) } }

  /// Drops the numbers that are reserved, as reserving others shows whether the stream still goes on, and stops its lanes.
  /// - Parameter key: nil for all.
  func stop(_ key: SendoutKey?) {
    let all = streams.withLock { streams in key.map { [streams[$0]].compactMap(\.self) } ?? Array(streams.values) }
    for (active, _) in all { active.reserved.withLock { $0 = (nil, $0.verifications + 1) } }
    for stop in lanes.withLock(\.self) { stop(key) }
  }

  /// Forgets streams that had no message for so long that their lanes have ended: each day has new ones.
  func forgetIdle() { streams.withLock { $0 = $0.filter { .now - $0.value.lastUse < .seconds(3600) } } }
}
