import Delivery
import Locking
import Logging
import Postgres
import Registry
import Wire

/// Watches what comes of a sendout's pushes on this hub, and pauses the sendout where too many fail: then something is wrong with it, and
/// the rest would fail, too.
///
/// It asks the ledger, which knows the outcomes of all hubs. It does so once this hub has written so many. It also does at the end of a step that
/// leaves pushes behind: the sendout has a rate, or a push service is away. It does not ask while few of this hub's own are failures: of too many
/// failures some hub has its share.
final class FailureWatch: Sendable {
  /// Outcomes that are looked at, and how many there have to be.
  static let looksAt = 1000
  static let least = 500

  private let sendout: Sendout
  private let limit: Double
  private let pool: Pool
  /// Outcomes that were written since the last look.
  private let unlooked = Mutex((all: 0, failed: 0))
  private let onHalt: @Sendable () -> Void

  /// - Parameter onHalt: called once the sendout is paused.
  init(_ sendout: Sendout, _ campaign: CampaignFields, pool: Pool, onHalt: @escaping @Sendable () -> Void) {
    self.sendout = sendout
    limit = campaign.pauseAtFailed ?? CampaignFields.usualPauseAtFailed
    self.pool = pool
    self.onHalt = onHalt
  }

  /// Counts outcomes that were written.
  @Sendable func add(_ outcomes: Int, failed: Int) async throws {
    let isEnough = unlooked.withLock { count in
      count.all += outcomes
      count.failed += failed
      return count.all >= Self.least
    }
    if isEnough { try await lookIfNeeded() }
  }

  /// Looks if many of this hub's outcomes since the last look are failures: half of the limit, as outcomes do not come evenly.
  func lookIfNeeded() async throws {
    let isNeeded = unlooked.withLock { count in
      defer { count = (0, 0) }
      return count.failed > 0 && 2 * Double(count.failed) >= limit * Double(count.all)
    }
    if isNeeded { try await look() }
  }

  /// Pauses the sendout if too many of its last outcomes are failures. A limit of 1 is for never. It waits for no one who has the sendout locked for
  /// long, as outcomes are written only after it.
  func look() async throws {
    guard limit < 1 else { return }
    let key = sendout.key
    let (all, failed) = try await Ledger(pool).recentOutcomes(
      key, since: sendout.changedAt ?? sendout.createdAt, last: Self.looksAt)
    guard all >= Self.least, Double(failed) >= limit * Double(all) else { return }
    let reason = "\(HaltReason.tooManyFailures.rawValue) \(100 * failed / all) % of the last \(all)"
    let isHalted = try await pool.transaction(of: key.customer.rawValue, locks: .brief) { database in
      let halted = try await database.query(
        SendoutQueries.halt, key.customer.rawValue, key.sendout.rawValue, reason, self.sendout.stateChanges)
      if halted.isEmpty { return false }
      try await Ledger(database).hold(key)
      try await database.notify(.sendout, key.description)
      return true
    }
    if isHalted { onHalt() }
  }
}

extension SendoutWorker {
  /// What counts a broadcast's outcomes while it is sent. Nobody can pause what is left of a stream's day.
  func failureWatch(of sendout: Sendout, _ stop: StopSignal) throws -> FailureWatch? {
    guard !sendout.isStream else { return nil }
    return FailureWatch(sendout, try sendout.campaign(), pool: pool) {
      logger.error(
        "sendout paused: too many of its pushes fail", metadata: ["sendout": "\(sendout.key)"])
      stop.stop()
    }
  }
}

extension Sendout {
  /// Why a sendout pauses at its freeze that would reach more contacts than it may; nil if it would not.
  func tooMany(_ people: Int?) -> String? {
    guard let most = maximumContacts, let people, people > Int(most) else { return nil }
    return "\(HaltReason.tooManyContacts.rawValue) \(people) > \(most)"
  }
}
