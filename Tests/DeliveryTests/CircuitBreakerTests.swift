import Testing

@testable import Delivery

@Suite struct FuseTests {
  @Test func `It opens above a fifth of invalid tokens`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.record(answered: 100, invalid: 20)
    let second = circuitBreaker.record(answered: 100, invalid: 21)
    #expect(first && !second)
  }

  @Test func `Fewer answers than the evidence count together only`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let first = circuitBreaker.record(answered: 49, invalid: 49)
    let second = circuitBreaker.record(answered: 1, invalid: 0)
    #expect(first && !second)
  }

  @Test func `One bad batch opens it, however good the run was`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    let good = circuitBreaker.record(answered: 100_000, invalid: 10)
    let bad = circuitBreaker.record(answered: 50, invalid: 50)
    #expect(good && !bad)
  }

  @Test func `Once open it stays open`() {
    var circuitBreaker = CircuitBreaker(share: 0.2, evidence: 50)
    _ = circuitBreaker.record(answered: 50, invalid: 50)
    let later = circuitBreaker.record(answered: 100_000, invalid: 0)
    #expect(!later && circuitBreaker.isOpen)
  }
}
