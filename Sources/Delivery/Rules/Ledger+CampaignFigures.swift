import FoundationEssentials
import Postgres
package import Wire

/// A variant's row: those whom it fell to, and what the winner was decided on.
package struct VariantRow: Sendable {
  /// From 1 on; 0 for those who wait for the winner.
  package let number: Int16
  package let name: String
  package let share: Int
  package let contacts: Int
  /// What it had come to at the decision; nil before.
  package let decided: VariantOutcome?
  package let pAdjusted: Double?
  /// What it had come to when retention deleted the pushes; nil before.
  package let kept: VariantOutcome?
}

extension Ledger {
  /// The variants of a sendout, those who wait for the winner first; none before the freeze.
  package func variants(of key: SendoutKey) async throws -> [VariantRow] {
    try await database.query(CampaignFigureQueries.variants, key.customer.rawValue, key.sendout.rawValue).map { row in
      let (number, name, share, contacts, accepted, opened, p, keptAccepted, keptOpened) = try row.decode(
        Int16.self, String.self, Int32.self, Int32.self, Int32?.self, Int32?.self, Double?.self, Int32?.self,
        Int32?.self)
      return VariantRow(
        number: number, name: name, share: Int(share), contacts: Int(contacts),
        decided: VariantOutcome(accepted, opened), pAdjusted: p, kept: VariantOutcome(keptAccepted, keptOpened))
    }
  }

  /// What each variant of a large sendout has come to in a part of its pushes.
  /// - Parameters:
  ///   - count: of its variants.
  ///   - pushes: how many are looked at, about.
  package func sampledOutcomes(
    _ key: SendoutKey, ofVariants count: Int, pushes: Int
  ) async throws -> [VariantOutcome] {
    try Self.outcomes(
      try await database.query(
        CampaignFigureQueries.sampledOutcomes, key.customer.rawValue, key.sendout.rawValue, Int64(pushes)),
      ofVariants: count)
  }

  /// The time zones of a sendout's contacts, the earliest first.
  /// - Parameter isCounted: whether it is told what became of the contacts. This reads all of the sendout's pushes, while they are there.
  package func zones(of key: SendoutKey, limit: Int, isCounted: Bool) async throws -> [CampaignFigures.Zone] {
    try await database.query(
      isCounted ? CampaignFigureQueries.zones : CampaignFigureQueries.uncountedZones, key.customer.rawValue,
      key.sendout.rawValue, Int64(limit)
    ).map { row in
      let (zone, source, plannedAt, contacts, accepted, opened) = try row.decode(
        String.self, String.self, Date?.self, Int32.self, Int?.self, Int?.self)
      return CampaignFigures.Zone(
        zone: zone, source: ZoneSource(rawValue: source) ?? .customer, plannedAt: plannedAt.map(Wire.Timestamp.init),
        contacts: Int(contacts), accepted: accepted, opened: opened)
    }
  }

  /// How many contacts were left out when the audience was fixed, by the names of a preflight's steps.
  package func leftOutAtFreeze(of key: SendoutKey) async throws -> [String: Int] {
    let rows = try await database.query(CampaignFigureQueries.leftOut, key.customer.rawValue, key.sendout.rawValue)
    return Dictionary(
      try rows.map { row in
        let (reason, contacts) = try row.decode(String.self, Int32.self)
        return (reason, Int(contacts))
      }, uniquingKeysWith: +)
  }

  /// How many contacts with pushes have been left out by now, by reason. It reads all of the sendout's pushes.
  package func leftOutByNow(of key: SendoutKey) async throws -> [String: Int] {
    let rows = try await database.query(CampaignFigureQueries.leftOutByNow, key.customer.rawValue, key.sendout.rawValue)
    return Dictionary(try rows.map { try $0.decode(String.self, Int.self) }, uniquingKeysWith: +)
  }
}

extension VariantOutcome {
  /// - Returns: nil where nothing is written.
  fileprivate init?(_ accepted: Int32?, _ opened: Int32?) {
    guard let accepted, let opened else { return nil }
    self.init(accepted: Int(accepted), opened: Int(opened))
  }
}
