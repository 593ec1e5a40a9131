import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// How sure figures of variants are. Everything here is about contacts: who had an accepted push, and who of them opened.
package enum Significance {
  /// Contacts with an accepted push, and those of them who opened.
  package struct Opened: Sendable, Hashable {
    package let contacts: Int
    package let opened: Int

    package init(contacts: Int, opened: Int) {
      self.contacts = contacts
      self.opened = opened
    }

    /// 0 to 1; 0 where there is nobody.
    package var rate: Double { contacts == 0 ? 0 : Double(opened) / Double(contacts) }
  }

  /// At most this, and a difference is no chance.
  package static let level = 0.05
  /// Below this, the sizes of groups do not fit their shares.
  package static let sizeLevel = CampaignFigures.sizeLevel

  /// What a test of the best variant against each other one found.
  package struct Comparison: Sendable, Equatable {
    /// Index of the best: the first of those with the highest rate.
    package let best: Int
    /// For each variant how likely so large a difference is by chance, after Holm; nil for the best.
    package let adjusted: [Double?]

    /// The best, if it differs from every other.
    package var winner: Int? { adjusted.allSatisfy { $0.map { $0 <= Significance.level } ?? true } ? best : nil }
  }

  /// - Returns: nil for fewer than two variants.
  package static func compare(_ variants: [Opened]) -> Comparison? {
    guard variants.count > 1 else { return nil }
    let best = variants.indices.reduce(0) { variants[$1].rate > variants[$0].rate ? $1 : $0 }
    let others = variants.indices.filter { $0 != best }
    var adjusted = [Double?](repeating: nil, count: variants.count)
    for (other, p) in zip(others, holm(others.map { twoProportions(variants[best], variants[$0]) })) {
      adjusted[other] = p
    }
    return Comparison(best: best, adjusted: adjusted)
  }

  /// The pooled two-sided test of two proportions: how likely a difference at least as large is if both are the same.
  /// - Returns: 1 where nothing can be told, as of an empty group.
  package static func twoProportions(_ one: Opened, _ other: Opened) -> Double {
    guard one.contacts > 0, other.contacts > 0 else { return 1 }
    let (n, m) = (Double(one.contacts), Double(other.contacts))
    let pooled = Double(one.opened + other.opened) / (n + m)
    let variance = pooled * (1 - pooled) * (1 / n + 1 / m)
    guard variance > 0 else { return 1 }
    return erfc(abs(one.rate - other.rate) / (2 * variance).squareRoot())
  }

  /// Holm's correction (1979) of several tests: adjusted so that each can be compared with the level itself. In the order of `p`.
  package static func holm(_ p: [Double]) -> [Double] {
    var adjusted = p
    var least = 0.0
    for (rank, index) in p.indices.sorted(by: { p[$0] < p[$1] }).enumerated() {
      least = max(least, min(1, p[index] * Double(p.count - rank)))
      adjusted[index] = least
    }
    return adjusted
  }

  /// Wilson's interval of a rate at 95 % (1927), which stays within 0 and 1; 0 to 1 where there is nobody.
  package static func interval(_ count: Opened) -> ClosedRange<Double> {
    guard count.contacts > 0 else { return 0...1 }
    let (n, z) = (Double(count.contacts), 1.959_963_984_540_054)
    let middle = (count.rate + z * z / (2 * n)) / (1 + z * z / n)
    let half = z / (1 + z * z / n) * (count.rate * (1 - count.rate) / n + z * z / (4 * n * n)).squareRoot()
    // Rounding must leave no trace where nobody or everybody opened.
    return
      (count.opened == 0 ? 0 : max(0, middle - half))...(count.opened == count.contacts ? 1 : min(1, middle + half))
  }

  /// The chi-squared test of sizes against shares: how likely sizes so far from their shares are by chance.
  /// - Parameter shares: in any unit, each above 0.
  /// - Returns: 1 where there is nobody, or one group alone.
  package static func sizes(_ sizes: [Int], shares: [Int]) -> Double {
    let (all, whole) = (Double(sizes.reduce(0, +)), Double(shares.reduce(0, +)))
    guard all > 0, sizes.count == shares.count, sizes.count > 1, shares.allSatisfy({ $0 > 0 }) else { return 1 }
    let sum = zip(sizes, shares).reduce(0.0) { sum, group in
      let expected = all * Double(group.1) / whole
      return sum + (Double(group.0) - expected) * (Double(group.0) - expected) / expected
    }
    return upperTail(ofChiSquared: sum, degrees: sizes.count - 1)
  }

  /// The least difference of two rates that groups of this size show with a power of 80 % at the level 5 %, two-sided.
  /// - Parameters:
  ///   - rate: of the usual message, 0 to 1.
  ///   - contacts: in the smaller of the two groups.
  /// - Returns: nil if even a rate of 1 could not be told from it.
  package static func smallestDifference(from rate: Double, contacts: Int) -> Double? {
    guard contacts > 0 else { return nil }
    func isShown(_ difference: Double) -> Bool {
      let (one, other) = (rate, rate + difference)
      let mean = (one + other) / 2
      let under = 1.959_963_984_540_054 * (2 * mean * (1 - mean)).squareRoot()
      let over = 0.841_621_233_572_914 * (one * (1 - one) + other * (1 - other)).squareRoot()
      return (under + over) * (under + over) <= Double(contacts) * difference * difference
    }
    guard rate < 1, isShown(1 - rate) else { return nil }
    var (low, high) = (0.0, 1 - rate)
    for _ in 0..<50 {
      let middle = (low + high) / 2
      if isShown(middle) { high = middle } else { low = middle }
    }
    return high
  }

  /// Of few degrees of freedom, by the recurrence of the incomplete gamma function (Abramowitz and Stegun, 26.4.4 and 26.4.5).
  private static func upperTail(ofChiSquared x: Double, degrees: Int) -> Double {
    guard x > 0 else { return 1 }
    var (tail, term, k) =
      degrees % 2 == 1
      ? (erfc((x / 2).squareRoot()), (2 * x / Double.pi).squareRoot() * exp(-x / 2), 1)
      : (exp(-x / 2), x / 2 * exp(-x / 2), 2)
    while k < degrees {
      tail += term
      term *= x / Double(k + 2)
      k += 2
    }
    return min(1, tail)
  }
}
