import Foundation
import Support
import Testing
import Wire

@testable import Sendouts

/// Variants decided on simulated people, a thousand times. The throws are the same at every run, since one in twenty comparisons of equals ends
/// with a winner, and as often more as fewer of a thousand do.
@Suite struct VariantSimulationTests {
  private static let runs = 1000

  /// What each variant comes to whose contacts open with these probabilities.
  private func outcomes(
    _ rates: [Double], of contacts: Int, _ generator: inout SeededGenerator
  ) -> [Significance.Opened] {
    rates.map { rate in
      // From one contact who opens to the next, which takes as many throws as there are openers.
      var (opened, place) = (0, 0)
      while true {
        let chance = Double(generator.next() >> 11) * 0x1p-53
        place += Int(log(1 - chance) / log(1 - rate)) + 1
        guard place <= contacts else { return Significance.Opened(contacts: contacts, opened: opened) }
        opened += 1
      }
    }
  }

  private func verdicts(_ rates: [Double], of contacts: Int) -> [WinnerVerdict] {
    var generator = SeededGenerator(seed: 2026)
    return (0..<Self.runs).map { _ in
      WinnerVerdict(Significance.compare(outcomes(rates, of: contacts, &generator)), undecided: .hold)
    }
  }

  @Test func `Of equal variants one wins in at most one of twenty sendouts`() {
    let wins = verdicts([0.1, 0.1], of: 2000).count { $0 != .waits }
    #expect(wins <= Self.runs / 20 && wins > 0, "\(wins)")
  }

  @Test func `Holm's correction keeps it so with five variants`() {
    let wins = verdicts([0.1, 0.1, 0.1, 0.1, 0.1], of: 2000).count { $0 != .waits }
    #expect(wins <= Self.runs / 20, "\(wins)")
  }

  @Test func `A variant that a fifth more open of 10,000 is found in nine of ten sendouts`() {
    let verdicts = verdicts([0.1, 0.12], of: 10_000)
    let found = verdicts.count { $0 == .variant(1, by: .test) }
    #expect(found >= Self.runs * 9 / 10, "\(found)")
    #expect(!verdicts.contains(.variant(0, by: .test)))
  }
}
