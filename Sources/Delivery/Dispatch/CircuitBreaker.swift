/// Keeps a mistake from emptying the register: wrong credentials, a wrong topic or the wrong environment look exactly like
/// dead tokens. Once more than a share of the pushes of one app in one environment come back so, no device is retired for the
/// rest of the run. A token whose death the push service dates is not judged here: that is no mistake of ours.
struct CircuitBreaker: Sendable, Equatable {
  let share: Double
  /// Answers needed before the share says anything.
  let evidence: Int
  private(set) var isOpen = false
  private(set) var answered = 0
  private(set) var dead = 0

  init(share: Double, evidence: Int) {
    self.share = share
    self.evidence = evidence
  }

  /// Takes what became of a batch; it blows on the batch alone, and on all so far.
  /// - Returns: whether the batch's dead may be retired.
  mutating func judge(answered: Int, dead: Int) -> Bool {
    self.answered += answered
    self.dead += dead
    isOpen = isOpen || isTooMuch(dead, of: answered) || isTooMuch(self.dead, of: self.answered)
    return !isOpen
  }

  private func isTooMuch(_ dead: Int, of answered: Int) -> Bool {
    answered >= evidence && Double(dead) > share * Double(answered)
  }
}
