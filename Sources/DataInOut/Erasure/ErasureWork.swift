package import Postgres
package import Registry
package import Wire

/// Does what there is to do of erasures, a portion of a table at a time. Steps take turns by `StepRunner`.
package struct ErasureWork: SteppedWork {
  package let pool: Pool
  private let steps: [(name: String, statement: Statement)]

  package init(_ pool: Pool, _ tables: [PersonalTable]) {
    self.pool = pool
    steps = tables.compactMap { table in
      if case .inPortions(let statement) = table.erasure { (table.name, statement) } else { nil }
    }
  }

  package let name = "erasure"

  package static let queries = ErasureQueries.steps

  /// An erasure is never given up. One whose step has failed too often has an alarm (`Erasures.failing`).
  package func giveUp(_ customer: CustomerID, _ number: ErasureID, after failures: Int, _ fault: String) {}

  private static let start: [Int64] = [0, 0]

  /// Erases the next portion. A step of an import, whose row it needs, can take as long as the limit. So it gives its place to other customers
  /// rather than waiting for that, and is tried again with the next scan.
  /// - Returns: whether there is more to do at once. It is false, too, if another hub is at it.
  package func step(_ customer: CustomerID, _ number: ErasureID) async throws -> Bool {
    try await inStep(of: customer, locks: .brief) { transaction in
      guard let row = try await transaction.query(ErasureQueries.lock, customer.rawValue, number.rawValue).first else {
        return false
      }
      let (contact, names, step, cursor) = try row.decode(Int64.self, [String].self, String?.self, [Int64].self)
      // Another version's step that is not known begins all of them anew.
      let place = step.flatMap { name in steps.firstIndex { $0.name == name } }
      let current = place ?? 0
      guard current < steps.count else { return false }
      let next = try await transaction.query(
        steps[current].statement, customer.rawValue, contact, names, place == nil ? Self.start : cursor,
        number.rawValue
      ).first?.decode([Int64]?.self)
      if let cursor = next ?? nil {
        try await transaction.query(
          ErasureQueries.advance, customer.rawValue, number.rawValue, steps[current].name, cursor)
      } else if current + 1 < steps.count {
        try await transaction.query(
          ErasureQueries.advance, customer.rawValue, number.rawValue, steps[current + 1].name, Self.start)
      } else {
        try await transaction.query(ErasureQueries.end, customer.rawValue, number.rawValue)
        return false
      }
      return true
    }
  }
}
