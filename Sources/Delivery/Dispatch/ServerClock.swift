public import FoundationEssentials
import Postgres
import Locking

/// The time of day by the database's clock, which all hubs share. So a hub whose own clock is wrong fails no push as expired, retires no token
/// that was registered again, and asks push services for the right lifetimes. A hub has one, which dates its pushes, access tokens and outcomes.
public final class ServerClock: Sendable {
  /// By how many seconds the database's clock is ahead.
  private let lead = Mutex(0.0)
  private let hubClock: @Sendable () -> Date
  /// Longest answer that says enough of the moment at which it was given.
  private static let longestAnswer = Duration.milliseconds(100)

  /// - Parameter hubClock: this machine's.
  public init(_ hubClock: @escaping @Sendable () -> Date = { Date() }) { self.hubClock = hubClock }

  /// The moment by the database's clock, once `set` has asked for it; until then, by this machine's.
  public func now() -> Date { hubClock().addingTimeInterval(lead.withLock(\.self)) }

  /// Asks the database for its time. After an answer that was slow, the last one counts.
  func set(by database: any Querying) async throws {
    let (start, asked) = (ContinuousClock.now, hubClock())
    let moment = try await database.query(LedgerQueries.moment)[0].decode(Date.self)
    let took = ContinuousClock.now - start
    guard took <= Self.longestAnswer else { return }
    lead.withLock { $0 = moment.timeIntervalSince(asked) - took.inSeconds / 2 }
  }
}
