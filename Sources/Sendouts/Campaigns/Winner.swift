import Delivery
import FoundationEssentials
import Logging
import Postgres
import Registry
public import Wire

/// What becomes of the contacts of a sendout who wait for a winner.
enum WinnerVerdict: Sendable, Equatable {
  /// They get this variant, by its index in the list.
  case variant(Int, by: DecisionMaker)
  /// They wait until a person decides.
  case waits
  /// They get nothing.
  case stop

  /// - Parameter comparison: of all variants.
  init(_ comparison: Significance.Comparison?, undecided: UndecidedPolicy?) {
    guard let comparison else {
      self = .waits
      return
    }
    if let winner = comparison.winner {
      self = .variant(winner, by: .test)
      return
    }
    switch undecided ?? .hold {
    case .best: self = .variant(comparison.best, by: .best)
    case .hold: self = .waits
    case .stop: self = .stop
    }
  }

  /// The variant's number, from 1 on.
  var number: Int16? { if case .variant(let index, _) = self { Int16(index + 1) } else { nil } }

  var decisionMaker: DecisionMaker? {
    switch self {
    case .variant(_, let maker): maker
    case .waits: nil
    case .stop: .stop
    }
  }
}

extension Sendout {
  /// Whether a hub has to decide about the variants at `nextAt`, which is the sendout's end otherwise.
  func awaitsDecision(_ campaign: CampaignFields) -> Bool {
    guard campaign.winner != nil, winner == nil, frozenAt != nil, state == .running || state == .paused, let nextAt
    else { return false }
    return endAt.map { nextAt < $0 } ?? true
  }
}

extension SendoutWorker {
  /// Decides which variant those get who wait for it, on what had been opened by the moment that was planned for that, however late it is by
  /// now. Decision, counts and moments of batches are one commit; whichever hub comes first makes it. Where a pause has kept every push back there is
  /// nothing to decide on, and none is looked for until the sendout is resumed (`WinnerQueries.putOff`).
  /// - Parameter sendout: whose `nextAt` has come, and is the decision's (`Sendout.awaitsDecision`).
  func decideWinner(of sendout: Sendout) async throws {
    let (key, campaign) = (sendout.key, try sendout.campaign())
    guard sendout.awaitsDecision(campaign), let moment = sendout.nextAt, let rule = campaign.winner,
      let variants = campaign.variants
    else { return }
    let verdict: WinnerVerdict? = try await pool.transaction(
      of: key.customer.rawValue, limit: Ledger.wholeSendoutLimit
    ) { database in
      // It may read a million pushes, and the sendout can be paused and cancelled meanwhile.
      let outcomes = try await Ledger(database).outcomes(key, ofVariants: variants.count, until: moment)
      guard let row = try await database.query(SendoutQueries.lock, key.customer.rawValue, key.sendout.rawValue).first,
        case let now = try Sendout(row), now.nextAt == moment, now.awaitsDecision(campaign)
      else { return nil }
      if now.state == .paused, outcomes.allSatisfy({ $0.accepted == 0 }) {
        try await database.query(
          ScheduleQueries.postponeLook, key.customer.rawValue, key.sendout.rawValue, now.endAt)
        return nil
      }
      let comparison = Significance.compare(outcomes.map { Significance.Opened($0) })
      let verdict = WinnerVerdict(comparison, undecided: rule.undecided)
      try await Self.write(verdict, outcomes, comparison, of: key, since: moment, in: database)
      return verdict
    }
    guard let verdict else { return }
    let said: Logger.Message =
      switch verdict {
      case .variant: "winner decided: those who waited get its variant"
      case .waits: "no variant won: those who waited go on waiting until somebody chooses a winner"
      case .stop: "no variant won: those who waited get nothing"
      }
    logger.info(
      said,
      metadata: [
        "sendout": "\(key)", "variant": "\(verdict.number.map { variants[Int($0) - 1].name } ?? "-")",
        "by": "\(verdict.decisionMaker?.rawValue ?? "-")",
      ])
  }

  private static func write(
    _ verdict: WinnerVerdict, _ outcomes: [VariantOutcome], _ comparison: Significance.Comparison?, of key: SendoutKey,
    since moment: Date, in database: any Querying
  ) async throws {
    let ledger = Ledger(database)
    try await ledger.note(
      outcomes, adjusted: comparison?.adjusted ?? outcomes.map { _ in nil }, of: key)
    try await database.query(
      WinnerQueries.decide, key.customer.rawValue, key.sendout.rawValue, verdict.number,
      verdict.decisionMaker?.rawValue)
    switch verdict {
    case .variant: try await ledger.releaseRest(of: key, from: moment)
    case .waits: break
    case .stop: try await ledger.cancelRest(of: key)
    }
    try await database.notify(.sendout, key.description)
  }
}

extension SendoutStore {
  /// Gives those who wait for a winner a variant that a person has chosen: where no variant won, or before the hub decides. Choosing the same
  /// again changes nothing.
  /// - Returns: the decision as it was, and the sendout as it is.
  /// - Throws: `RegistryError.numberUnknown`; `SendoutError.invalid`, `.winnerDecided`, `.winnerNotOpen`.
  public func chooseWinner(
    _ customer: CustomerID, _ sendout: SendoutID, _ choice: WinnerChoice
  ) async throws -> (before: WinnerDecision?, sendout: SendoutReply) {
    let (key, ledger) = (SendoutKey(customer, sendout), Ledger(database))
    let first = try await choosable(key, choice, by: SendoutQueries.find)
    // Where the hub has decided nothing yet, what there is by now is what it was decided on. It may read a million pushes, and the sendout can be
    // paused and cancelled meanwhile. What the counts are by this moment does not change until the lock.
    var outcomes: [VariantOutcome]?
    if first.sendout.winner == nil {
      outcomes = try await ledger.outcomes(key, ofVariants: try first.sendout.campaign().variants?.count ?? 0)
    }
    let (known, number) = try await choosable(key, choice, by: SendoutQueries.lock)
    let before = known.decision(try known.campaign())
    if known.winner?.by != nil { return (before, try await find(customer, sendout)) }
    // A hub may have left it to a person meanwhile, by counts of its own.
    if known.winner == nil, let outcomes {
      let comparison = Significance.compare(outcomes.map { Significance.Opened($0) })
      try await ledger.note(outcomes, adjusted: comparison?.adjusted ?? outcomes.map { _ in nil }, of: key)
    }
    let now = try await database.query(
      WinnerQueries.decide, customer.rawValue, sendout.rawValue, number, DecisionMaker.person.rawValue)[0]
      .decode(Date.self)
    try await ledger.releaseRest(of: key, from: now)
    try await database.notify(.sendout, key.description)
    return (before, try await find(customer, sendout))
  }

  /// A sendout whose winner can be chosen, or has been chosen so before, and the variant's number.
  /// - Parameter statement: reads the sendout, and locks it or not.
  private func choosable(
    _ key: SendoutKey, _ choice: WinnerChoice, by statement: Statement
  ) async throws -> (sendout: Sendout, number: Int16) {
    guard let row = try await database.query(statement, key.customer.rawValue, key.sendout.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let known = try Sendout(row)
    let campaign = try known.campaign()
    guard campaign.winner != nil, let variants = campaign.variants else {
      throw SendoutError.invalid(field: "variant", problem: "has no meaning: nobody waits for a winner of this sendout")
    }
    guard let index = variants.firstIndex(where: { $0.name.hasSameBytes(as: choice.variant) }) else {
      throw SendoutError.unknownVariant(among: variants)
    }
    let number = Int16(index + 1)
    if let winner = known.winner, winner.by != nil {
      guard winner.by == .person, winner.number == number else { throw SendoutError.winnerDecided(key.sendout) }
    } else {
      guard known.frozenAt != nil, known.state == .running || known.state == .paused else {
        throw SendoutError.winnerNotOpen(key.sendout, known.state)
      }
    }
    return (known, number)
  }
}

extension Significance.Opened {
  init(_ outcome: VariantOutcome) { self.init(contacts: outcome.accepted, opened: outcome.opened) }
}

/// Statements on the decision about variants. `$1` is the customer, `$2` the sendout.
enum WinnerQueries {
  static let all: [Statement] = [decide, putOff]

  /// Writes that those who wait get the variant `$3`, NULL for none, by `$4`: NULL leaves it to a person. A hub looks at the sendout next at
  /// its end. Returns the moment.
  static let decide = Statement(
    "winner.decide", .write,
    """
    UPDATE sendout
       SET winner_no = $3::int2, winner_by = $4::text, winner_at = now(), next_at = end_at
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
    RETURNING winner_at
    """)

  /// Puts the decision of a resumed sendout off, which comes `$3` minutes after the first planned moment, if nothing has been accepted yet, or its
  /// moment has passed like that: then it comes as long after the resume. What the freeze has skipped has no moment. Returns nothing otherwise.
  static let putOff = Statement(
    "winner.put_off", .write,
    """
    UPDATE sendout
       SET next_at = least(moment.of_decision, end_at)
      FROM (SELECT greatest(now(), min(coalesce(planned_at, not_before))) + make_interval(mins => $3::int4) AS of_decision
              FROM push_batch
             WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
               AND (planned_at IS NOT NULL OR claims > 0 OR state <> 'settled')
            OFFSET 0) AS moment
     WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND frozen_at IS NOT NULL AND winner_at IS NULL
       AND (next_at IS NULL OR next_at = end_at
            OR NOT EXISTS (SELECT FROM push_batch AS sent
                            WHERE sent.customer_id = $1::bigint AND sent.sendout_id = $2::bigint AND sent.accepted > 0))
    RETURNING \(SendoutQueries.columns)
    """)
}
