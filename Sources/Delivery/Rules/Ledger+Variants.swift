package import FoundationEssentials
import Postgres
package import Wire

/// What a variant of a sendout came to: contacts, and not pushes.
package struct VariantOutcome: Sendable, Hashable {
  /// Who had an accepted push.
  package let accepted: Int
  /// Those of them who had opened one.
  package let opened: Int

  package init(accepted: Int, opened: Int) {
    self.accepted = accepted
    self.opened = opened
  }
}

extension Ledger {
  /// What each variant of a sendout came to, in their order. Within a transaction it lifts the time limit: it reads all pushes of the test.
  /// - Parameters:
  ///   - count: of its variants.
  ///   - moment: what came later is left out; nil for now.
  package func outcomes(
    _ key: SendoutKey, ofVariants count: Int, until moment: Date? = nil
  ) async throws -> [VariantOutcome] {
    try await database.query(FreezeQueries.unlimited)
    return try Self.outcomes(
      try await database.query(VariantQueries.outcomes, key.customer.rawValue, key.sendout.rawValue, moment),
      ofVariants: count)
  }

  /// Rows of variants, accepted contacts and those who opened, in the order of all variants.
  static func outcomes(_ rows: Rows, ofVariants count: Int) throws -> [VariantOutcome] {
    var outcomes = [VariantOutcome](repeating: VariantOutcome(accepted: 0, opened: 0), count: count)
    for row in rows {
      let (variant, accepted, opened) = try row.decode(Int16.self, Int.self, Int.self)
      guard outcomes.indices.contains(Int(variant) - 1) else { continue }
      outcomes[Int(variant) - 1] = VariantOutcome(accepted: accepted, opened: opened)
    }
    return outcomes
  }

  /// Keeps what a winner was decided on.
  /// - Parameter adjusted: how likely so large a difference to the best is by chance; nil for the best.
  package func note(_ outcomes: [VariantOutcome], adjusted: [Double?], of key: SendoutKey) async throws {
    try await database.query(
      VariantQueries.noteOutcomes, key.customer.rawValue, key.sendout.rawValue,
      outcomes.indices.map { Int16($0 + 1) }, outcomes.map { Int32(clamping: $0.accepted) },
      outcomes.map { Int32(clamping: $0.opened) }, adjusted)
  }

  /// Lets those get their pushes who wait for the winner.
  /// - Parameter moment: of the decision. Whose own moment is later gets them then.
  package func releaseRest(of key: SendoutKey, from moment: Date) async throws {
    try await database.query(FreezeQueries.unlimited)
    try await database.query(VariantQueries.releaseRest, key.customer.rawValue, key.sendout.rawValue, moment)
  }

  /// Cancels the pushes of those who wait for the winner.
  /// - Returns: how many there were.
  @discardableResult
  package func cancelRest(of key: SendoutKey) async throws -> Int {
    try await database.query(FreezeQueries.unlimited)
    return try await database.query(VariantQueries.cancelRest, key.customer.rawValue, key.sendout.rawValue)[0]
      .decode(Int.self)
  }

  /// The versions of templates that variants have of their own, by the variants' numbers.
  package func templateVersions(of key: SendoutKey) async throws -> [Int16: Int32] {
    let rows = try await database.query(VariantQueries.templates, key.customer.rawValue, key.sendout.rawValue)
    return Dictionary(try rows.map { try $0.decode(Int16.self, Int32.self) }) { first, _ in first }
  }

  /// The variant that a push says, from 1 on; nil if there is no such push, or it has none.
  package func variant(of push: PushNumber, _ key: SendoutKey) async throws -> Int16? {
    try await database.query(VariantQueries.ofPush, key.customer.rawValue, key.sendout.rawValue, push.rawValue).first?
      .decode(Int16?.self)
  }
}
