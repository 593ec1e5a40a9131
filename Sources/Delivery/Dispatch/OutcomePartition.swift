import Providers

/// A group of outcomes, sorted by what they mean.
struct OutcomePartition: Sendable {
  let outcomes: [PushOutcome]
  var settlements: [Settlement] = []
  var datedDead: [DeadToken] = []
  var undatedDead: [DeadToken] = []
  /// Why some did not leave.
  var unsentReason: String?
  /// Pushes that were not looked at, as the app's credentials are refused.
  var halted: [QueuedPush] = []
  /// Why they are.
  var haltReason: String?
  /// Pushes that the push service looked at.
  var answered = 0

  init(_ outcomes: [PushOutcome], _ slice: PreparedBatch.Slice, _ outcomePolicy: OutcomePolicy) {
    self.outcomes = outcomes
    for outcome in outcomes {
      let push = slice.pushes[outcome.index]
      switch outcomePolicy.action(of: outcome, for: push, in: slice.environment) {
      case .settled(let settlement):
        settlements.append(settlement)
        answered += 1
      case .dead(let dead):
        if dead.isDated { datedDead.append(dead) } else { undatedDead.append(dead) }
        answered += 1
      case .unsent(let settlement):
        settlements.append(settlement)
        unsentReason = settlement.reason
      case .halts(let reason):
        halted.append(push)
        haltReason = reason
      }
    }
  }
}
