package import FoundationEssentials
import Postgres
package import Registry
package import Wire

/// What a preflight counts, by the SQL of the freeze.
package struct PreflightCounts: Sendable, Equatable {
  /// The moment of the counts.
  package var asOf: Date
  /// All steps, in their order.
  package var steps: [PreflightReply.Step]
  /// How many of those left would wait until quiet hours end.
  package var held: Int
  /// Devices that would get a push.
  package var devices: [Lane: Int]
  /// The earliest first. Empty where no zone is asked for.
  package var zones: [PreflightReply.Zone]
  /// The first and the last planned moment; nil without any push.
  package var firstAt: Date?
  package var lastAt: Date?
  /// Those left who meet each of the conditions that were given, in their order.
  package var met: [Met] = []

  /// How many meet a condition, and the original id of one; "" for none.
  package struct Met: Sendable, Equatable {
    package var contacts: Int
    package var example: String
  }
}

extension Ledger {
  func freeze(
    _ key: SendoutKey, apps: [PushAppID], audience: SelectedAudience, excluded: FilterSQL?, planned plan: FreezePlan,
    batchSize: Int
  ) async throws -> FrozenAudience {
    // With a rate, a claim waits for its turn as a whole.
    let size = plan.rules.ratePerSecond.map { min(batchSize, max(1, $0)) } ?? batchSize
    let sql = PlannedAudienceSQL(audience, excluded: excluded, isZoned: plan.asksForZones)
    var parameters = plan.parameters(key.customer, sendout: key.sendout, apps: apps, sql.selection)
    PlannedFreezeQueries.append(plan, batchSize: size, to: &parameters)
    try await database.query(FreezeQueries.unlimited)
    let count = try await runPlanned(
      key.customer, sql, PlannedFreezeQueries.freeze(audience, sql), parameters
    ).affected
    let customer = key.customer.rawValue, sendout = key.sendout.rawValue
    try await database.query(
      PlannedFreezeQueries.batches, customer, sendout, Int32(count), Int32(clamping: size), apps.map(\.rawValue))
    var frozen = FrozenAudience(devices: count, everyone: 0, people: 0)
    for row in try await database.query(PlannedFreezeQueries.steps, customer, sendout) {
      let (name, contacts, firstAt, lastAt) = try row.decode(String.self, Int32.self, Date?.self, Date?.self)
      (frozen.firstAt, frozen.lastAt) = (firstAt, lastAt)
      // What is no step is a part of one: those held, of those left.
      guard let step = PreflightReply.StepName(reason: name) else {
        frozen.held = Int(contacts)
        continue
      }
      frozen.everyone = (frozen.everyone ?? 0) + Int(contacts)
      if step == .left { frozen.people = Int(contacts) } else { frozen.leftOut[step, default: 0] += Int(contacts) }
    }
    return frozen
  }

  /// Counts whom a freeze with this plan would write into the ledger now. Nothing is written. The database is a pool or a transaction: anywhere
  /// else PostgreSQL compiles the statement, which takes longer than to run it.
  /// - Parameters:
  ///   - sendout: by whose number holdout and variants are drawn; nil for one that is not stored yet.
  ///   - audience: all of it, those excluded too.
  ///   - conditions: by which those left are counted, 30 at most; about fields of contacts alone, and with the same literals.
  package func preflight(
    _ customer: CustomerID, sendout: SendoutID?, apps: [PushAppID], audience: SelectedAudience, excluded: FilterSQL?,
    plan: FreezePlan, conditions: [FilterSQL] = []
  ) async throws -> PreflightCounts {
    let sql = PlannedAudienceSQL(
      audience, excluded: excluded, isZoned: plan.asksForZones, conditions: conditions)
    var parameters = plan.parameters(customer, sendout: sendout, apps: apps, sql.selection)
    if let condition = conditions.first { parameters.append(condition.literals) }
    let lines = try await runPlanned(customer, sql, PlannedFreezeQueries.preflight(audience, sql), parameters)
    return try PreflightCounts(lines)
  }

  /// Whether the local time of a plan has come in the zone of a contact of the audience. It may look at all of them, so it has no time limit:
  /// a sendout that could not be looked at in time would never start.
  /// - Parameter audience: without those excluded.
  package func hasDueZone(
    _ customer: CustomerID, audience: SelectedAudience, plan: FreezePlan
  ) async throws -> Bool {
    let sql = PlannedAudienceSQL(audience, excluded: nil, isZoned: true)
    return try await runPlanned(
      customer, sql, PlannedFreezeQueries.hasDueZone(audience, sql),
      plan.parameters(customer, sendout: nil, apps: [], sql.selection), isLimited: false)[0].decode(Bool.self)
  }

  /// Runs a statement that is planned for its audience alone. The settings for that last as long as a transaction.
  private func runPlanned(
    _ customer: CustomerID, _ sql: PlannedAudienceSQL, _ statement: Statement, _ parameters: ParameterBuffer,
    isLimited: Bool = true
  ) async throws -> Rows {
    if !isLimited, let pool = database as? Pool {
      return try await pool.transaction(of: customer.rawValue, limit: Self.wholeSendoutLimit) {
        try await Ledger($0).runPlanned(customer, sql, statement, parameters, isLimited: false)
      }
    }
    return try await database.inTransaction(of: customer.rawValue) { transaction in
      if !isLimited { try await transaction.query(FreezeQueries.unlimited) }
      try await transaction.query(PlannedFreezeQueries.settings)
      try await FilterSQL.shareMemory(among: sql.selection.lookUps, in: transaction)
      return try await transaction.run(statement, parameters)
    }
  }
}

extension PreflightReply.StepName {
  /// The step that counts whom a freeze leaves out for a reason: those whose moment comes only after the sendout's end have missed it.
  package init?(reason: String) {
    self.init(rawValue: reason == HubReason.expired.rawValue ? Self.missed.rawValue : reason)
  }
}

extension PreflightCounts {
  init(_ rows: Rows) throws {
    self.init(asOf: Date(timeIntervalSince1970: 0), steps: [], held: 0, devices: [:], zones: [])
    var counts: [PreflightReply.StepName: Int] = [:]
    var met: [Int64: Met] = [:]
    for row in rows {
      let (line, name, detail, app, flag, first, last, count) = try row.decode(
        String.self, String?.self, String?.self, Int64?.self, Bool?.self, Date?.self, Date?.self, Int64.self)
      switch PlannedFreezeQueries.Line(rawValue: line) {
      case .step:
        let step = name.flatMap(PreflightReply.StepName.init(reason:)) ?? .left
        counts[step, default: 0] += Int(count)
        counts[.everyone, default: 0] += Int(count)
        guard step == .left else { continue }
        if flag == true { held += Int(count) }
        firstAt = [firstAt, first].compactMap(\.self).min()
        lastAt = [lastAt, last].compactMap(\.self).max()
      case .zone:
        zones.append(
          PreflightReply.Zone(
            zone: name ?? "", source: detail.flatMap(ZoneSource.init(rawValue:)) ?? .customer,
            plannedAt: first.map(Wire.Timestamp.init), contacts: Int(count)))
      case .lane: devices[Lane(app: PushAppID(app ?? 0), isSandbox: flag ?? false)] = Int(count)
      case .condition: met[app ?? 0] = Met(contacts: Int(count), example: name ?? "")
      case .moment, nil: asOf = first ?? asOf
      }
    }
    self.met = met.sorted { $0.key < $1.key }.map(\.value)
    steps = PreflightReply.StepName.allCases.map { PreflightReply.Step(name: $0, contacts: counts[$0] ?? 0) }
    zones.sort { one, other in
      let (first, second) = (one.plannedAt?.date ?? .distantFuture, other.plannedAt?.date ?? .distantFuture)
      return first == second ? one.zone.utf8.lexicographicallyPrecedes(other.zone.utf8) : first < second
    }
  }
}
