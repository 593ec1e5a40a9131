import Providers

/// A group of outcomes, sorted by what they mean.
struct SortedOutcomes: Sendable {
  let outcomes: [PushOutcome]
  var settlements: [Settlement] = []
  var datedDead: [DeadToken] = []
  var undatedDead: [DeadToken] = []
  /// Pushes that stay queued, for whatever reason.
  var unsent = 0
  /// Why they did not leave.
  var unsentReason: String?
  /// Why the app's credentials are refused.
  var haltReason: String?
  /// Pushes that the push service looked at.
  var answered = 0

  init(_ outcomes: [PushOutcome], _ slice: PreparedBatch.Slice, _ judgement: Judgement) {
    self.outcomes = outcomes
    for outcome in outcomes {
      switch judgement.consequence(of: outcome, for: slice.pushes[outcome.index], in: slice.environment) {
      case .settled(let settlement):
        settlements.append(settlement)
        answered += 1
      case .dead(let dead):
        if dead.since == nil { undatedDead.append(dead) } else { datedDead.append(dead) }
        answered += 1
      case .unsent(let reason):
        unsent += 1
        unsentReason = reason
      case .halts(let reason):
        unsent += 1
        haltReason = reason
      }
    }
  }
}
