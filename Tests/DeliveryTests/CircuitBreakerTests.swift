import Testing

@testable import Delivery

@Suite struct FuseTests {
  @Test func `A fifth of dead tokens is no reason, more is`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.judge(answered: 100, dead: 20)
    let second = circuitBreaker.judge(answered: 100, dead: 21)
    #expect(first && !second)
  }

  @Test func `Fewer answers than the evidence say nothing, until together they do`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.judge(answered: 49, dead: 49)
    let second = circuitBreaker.judge(answered: 1, dead: 0)
    #expect(first && !second)
  }

  @Test func `One bad batch blows it however good the run was`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let good = circuitBreaker.judge(answered: 100_000, dead: 10)
    let bad = circuitBreaker.judge(answered: 50, dead: 50)
    #expect(good && !bad)
  }

  @Test func `Once blown it stays blown`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    _ = circuitBreaker.judge(answered: 50, dead: 50)
    let later = circuitBreaker.judge(answered: 100_000, dead: 0)
    #expect(!later && circuitBreaker.isOpen)
  }
}
