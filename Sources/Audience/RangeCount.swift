import FoundationEssentials
import Locking
import Postgres
import Registry
import Wire

/// A count of all of a customer's contacts, range by range of their numbers, in one snapshot: the sum is right for one moment.
///
/// Two connections share the ranges, so that a second core has work where a statement keeps to one process. The second joins if there is one
/// for the customer before the ranges are over.
struct RangeCount: Sendable {
  let pool: Pool
  let customer: CustomerID
  let filter: ResolvedFilter
  /// How many numbers a range has at least.
  var leastPortion: Int64 = 50_000
  /// Called with how many percent are counted.
  let progress: @Sendable (Int32) async throws -> Void

  /// How long each statement may take.
  private static let limit = Duration.seconds(600)
  /// A count is done in about so many statements; in one where each would read a sendout.
  private static let portions: Int64 = 20

  /// The numbers that nobody has taken yet.
  private final class Ranges: Sendable {
    private let (first, last, size): (Int64, Int64, Int64)
    private let state: Mutex<(next: Int64?, counted: Double, isShared: Bool)>

    init(_ first: Int64, _ last: Int64, size: Int64) {
      (self.first, self.last, self.size) = (first, last, size)
      state = Mutex((first, 0, false))
    }

    /// - Parameter isSecond: whether the second connection takes it.
    func take(isSecond: Bool) -> ClosedRange<Int64>? {
      state.withLock { state in
        guard let from = state.next else { return nil }
        let (end, isOver) = from.addingReportingOverflow(size - 1)
        let to = isOver ? last : min(end, last)
        state.next = to < last ? to + 1 : nil
        state.isShared = state.isShared || isSecond
        return from...to
      }
    }

    /// - Returns: how many percent are counted.
    func end(_ range: ClosedRange<Int64>) -> Int32 {
      state.withLock { state in
        state.counted += Double(range.upperBound - range.lowerBound) + 1
        return Int32(state.counted / (Double(last - first) + 1) * 100)
      }
    }

    /// Whether the second connection has taken any.
    var isShared: Bool { state.withLock { $0.isShared } }
  }

  func run() async throws -> ContactCount {
    let sql = filter.sql(for: SegmentCountQueries.Scope.numbers.reach)
    return try await pool.transaction(of: customer.rawValue, limit: Self.limit) { transaction in
      try await transaction.query(SegmentCountQueries.snapshot)
      try await transaction.query(SegmentCountQueries.unlimited, FilterSQL.memory(lookUps: sql.lookUps))
      let (first, last, now, snapshot) = try await transaction.query(
        SegmentCountQueries.bounds, customer.rawValue)[0].decode(Int64?.self, Int64?.self, Date.self, String.self)
      guard let first, let last else { return ContactCount(asOf: now) }
      let size = filter.namesSendout ? last - first + 1 : max((last - first) / Self.portions + 1, leastPortion)
      let ranges = Ranges(first, last, size: size)
      return try await withThrowingTaskGroup(of: ContactCount.self) { group in
        if last - first >= size { group.addTask { try await join(ranges, sql, snapshot, now) } }
        var count = try await counted(ranges, sql, in: transaction, isSecond: false, now)
        if ranges.isShared { for try await other in group { count.add(other) } }
        group.cancelAll()
        return count
      }
    }
  }

  /// Counts by a second connection in the first one's snapshot.
  private func join(_ ranges: Ranges, _ sql: FilterSQL, _ snapshot: String, _ now: Date) async throws -> ContactCount {
    do {
      return try await pool.transaction(of: customer.rawValue, limit: Self.limit) { transaction in
        try await transaction.runScript(
          SegmentCountQueries.snapshot.name, SegmentCountQueries.adopting(snapshot: snapshot))
        try await transaction.query(SegmentCountQueries.unlimited, FilterSQL.memory(lookUps: sql.lookUps))
        return try await counted(ranges, sql, in: transaction, isSecond: true, now)
      }
    } catch {
      // Without a connection, the first one counts all.
      guard ranges.isShared else { return ContactCount(asOf: now) }
      throw error
    }
  }

  private func counted(
    _ ranges: Ranges, _ sql: FilterSQL, in transaction: Transaction, isSecond: Bool, _ now: Date
  ) async throws -> ContactCount {
    var count = ContactCount(asOf: now)
    while let range = ranges.take(isSecond: isSecond) {
      try count.add(
        try await transaction.query(
          SegmentCountQueries.count(sql, .numbers), customer.rawValue, sql.literals, range.lowerBound, range.upperBound)
      )
      try await progress(ranges.end(range))
    }
    return count
  }
}
