import Audience
import Content
import Delivery
import Postgres
import Registry
public import Wire

extension SendoutStore {
  /// Makes a draft that says what a sendout says, without its times.
  /// - Parameter audience: which of the sendout's contacts it is for; `nil` for the sendout's audience as it is now.
  /// - Returns: the draft, without counts.
  /// - Throws: `RegistryError.numberUnknown`; `SendoutError.withoutPushes` before the freeze and once retention has deleted the pushes;
  ///   `.invalid` for a stream, and for a template or an audience that is gone.
  public func copy(
    _ customer: CustomerID, _ id: SendoutID, for audience: CopiedAudience? = nil
  ) async throws -> SendoutReply {
    guard let row = try await database.query(SendoutQueries.lock, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    guard !sendout.isStream else {
      throw SendoutError.invalid(
        field: "id", problem: "names a stream of single messages, which have neither audience nor text in common")
    }
    var chosen: JSONB?
    if let audience {
      guard sendout.frozenAt != nil, sendout.expiredAt == nil else { throw SendoutError.withoutPushes(id) }
      chosen = try JSONB(encoding: Audience.filter(.outcome(FilterOutcome(audience.outcome, of: id.rawValue))))
    } else {
      let own = try sendout.audience()
      guard own.included != .originalIds([]) else {
        throw SendoutError.invalid(
          field: "audience", problem: "is missing, and retention has deleted the sendout's original ids")
      }
      _ = try await segments.resolve(customer, own, holding: true)
    }
    let template = try await SendoutRules.currentTemplate(
      customer, sendout.template?.name, in: database, isHeld: true)
    let draft = try Sendout(
      try await database.query(
        SendoutQueries.copy, customer.rawValue, id.rawValue, chosen, template?.version, user?.rawValue)[0])
    return try await reply(draft, nil)
  }
}

extension CopiedAudience {
  fileprivate var outcome: FilterOutcome.Kind {
    switch self {
    case .same: .any
    case .failed: .failed
    case .notOpened: .notOpened
    case .opened: .opened
    case .uncertain: .uncertain
    }
  }
}
