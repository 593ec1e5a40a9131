package import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// What caps have counted.
public enum CapCounts {
  /// Deletes what no rule can look back to, and days that are no longer kept.
  public static func forgetOld(_ customer: CustomerID, in database: any Querying) async throws {
    var last: Int64? = 0
    while let contact = last {
      try Task.checkCancellation()
      let rows = try await database.query(LimitQueries.forgetReach, customer.rawValue, contact, portion)
      last = try rows[0].decode(Int64?.self)
    }
    try await database.query(LimitQueries.forgetCaps, customer.rawValue, DayCounts.kept)
  }

  /// How many contacts a statement looks at.
  private static let portion: Int32 = 10_000
}

extension Ledger {
  /// Skips what has not been claimed, as the sendout's end has come. For the rest of the transaction it lifts the time limit, as a cancellation
  /// does.
  /// - Returns: how many pushes were skipped.
  @discardableResult
  package func expire(_ key: SendoutKey) async throws -> Int {
    try await database.query(FreezeQueries.unlimited)
    return try await database.query(LimitQueries.expire, key.customer.rawValue, key.sendout.rawValue)[0]
      .decode(Int.self)
  }

  /// How many of the last pushes were answered, and how many of these failed.
  /// - Parameters:
  ///   - start: batches that were claimed before it do not count.
  ///   - count: about how many are looked at.
  package func recentOutcomes(
    _ key: SendoutKey, since start: Date, last count: Int = 1000
  ) async throws -> (answered: Int, failed: Int) {
    try await database.query(
      LimitQueries.recentOutcomes, key.customer.rawValue, key.sendout.rawValue, start, Int32(count))[0].decode(
        Int.self, Int.self)
  }
}
