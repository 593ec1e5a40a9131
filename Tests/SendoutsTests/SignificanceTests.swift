import Support
import Testing

@testable import Sendouts

/// Expected figures are R's: `prop.test(…, correct = FALSE)`, `p.adjust`, `chisq.test`, and `power.prop.test`.
@Suite struct SignificanceTests {
  private func isNear(_ value: Double, _ expected: Double, within tolerance: Double = 1e-6) -> Bool {
    abs(value - expected) <= tolerance
  }

  @Test func `Two proportions are tested as statistics programs do`() {
    let p = Significance.twoProportions(.init(contacts: 1000, opened: 100), .init(contacts: 1000, opened: 130))
    #expect(isNear(p, 0.035_488_450_466))
    let same = Significance.Opened(contacts: 500, opened: 50)
    #expect(Significance.twoProportions(same, same) == 1)
  }

  @Test func `Where nothing can be told, nothing is`() {
    let nobody = Significance.Opened(contacts: 0, opened: 0)
    let all = Significance.Opened(contacts: 10, opened: 10)
    #expect(Significance.twoProportions(nobody, all) == 1)
    #expect(Significance.twoProportions(all, all) == 1)
    #expect(Significance.interval(nobody) == 0...1)
    #expect(Significance.sizes([0, 0], shares: [1, 1]) == 1)
    #expect(Significance.compare([all]) == nil)
    #expect(Significance.smallestDifference(from: 0.1, contacts: 0) == nil)
    #expect(Significance.smallestDifference(from: 1, contacts: 10) == nil)
  }

  @Test func `Holm's correction multiplies the least by the count, and never falls`() {
    let adjusted = Significance.holm([0.01, 0.04, 0.03])
    #expect(zip(adjusted, [0.03, 0.06, 0.06]).allSatisfy { isNear($0, $1) })
    #expect(Significance.holm([0.9, 0.8]) == [1, 1])
    #expect(Significance.holm([]) == [])
  }

  @Test func `The best wins if it differs from every other, and of equals the first is the best`() throws {
    let clear = try #require(
      Significance.compare([
        .init(contacts: 5000, opened: 500), .init(contacts: 5000, opened: 700), .init(contacts: 5000, opened: 510),
      ]))
    #expect(clear.best == 1 && clear.winner == 1 && clear.adjusted[1] == nil)
    let close = try #require(
      Significance.compare([
        .init(contacts: 5000, opened: 690), .init(contacts: 5000, opened: 700), .init(contacts: 5000, opened: 500),
      ]))
    #expect(close.best == 1 && close.winner == nil)
    let equal = try #require(
      Significance.compare([.init(contacts: 10, opened: 1), .init(contacts: 20, opened: 2)]))
    #expect(equal.best == 0 && equal.winner == nil)
  }

  @Test func `Wilson's interval stays within 0 and 1`() {
    let some = Significance.interval(.init(contacts: 10, opened: 1))
    #expect(isNear(some.lowerBound, 0.017_876_213) && isNear(some.upperBound, 0.404_150_047))
    let none = Significance.interval(.init(contacts: 1000, opened: 0))
    #expect(none.lowerBound == 0 && isNear(none.upperBound, 0.003_826_759))
    #expect(Significance.interval(.init(contacts: 3, opened: 3)).upperBound == 1)
  }

  @Test func `Sizes are held against their shares`() {
    #expect(isNear(Significance.sizes([10, 20, 30], shares: [1, 1, 1]), 0.006_737_947))
    #expect(isNear(Significance.sizes([48, 52], shares: [50, 50]), 0.689_156_517))
    #expect(Significance.sizes([100, 900], shares: [10, 90]) == 1)
  }

  @Test func `The smallest difference is one that such groups show`() throws {
    let difference = try #require(Significance.smallestDifference(from: 0.1, contacts: 3841))
    #expect(isNear(difference, 0.02, within: 0.0002))
    #expect(Significance.smallestDifference(from: 0.1, contacts: 3) == nil)
  }

  @Test func `Equal variants win by chance in one of twenty tests at most, and a better one is found`() throws {
    var generator = SeededGenerator(seed: 34)
    func opened(_ contacts: Int, _ rate: Double) -> Significance.Opened {
      .init(
        contacts: contacts, opened: (0..<contacts).count { _ in Double.random(in: 0..<1, using: &generator) < rate })
    }
    let runs = sampleSize(of: 1000)
    let chance = (0..<runs).count { _ in
      Significance.compare([opened(1000, 0.1), opened(1000, 0.1), opened(1000, 0.1)])?.winner != nil
    }
    #expect(Double(chance) <= 0.05 * Double(runs) + 3 * (0.0475 * Double(runs)).squareRoot())
    let found = (0..<runs).count { _ in Significance.compare([opened(5000, 0.1), opened(5000, 0.12)])?.winner == 1 }
    #expect(Double(found) >= 0.8 * Double(runs))
  }
}
