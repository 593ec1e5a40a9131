import Testing

@testable import Delivery

@Suite struct FuseTests {
  @Test func `A fifth of dead tokens is no reason, more is`() {
    var fuse = Fuse(share: 0.2, evidence: 50)
    let first = fuse.judge(answered: 100, dead: 20)
    let second = fuse.judge(answered: 100, dead: 21)
    #expect(first && !second)
  }

  @Test func `Fewer answers than the evidence say nothing, until together they do`() {
    var fuse = Fuse(share: 0.2, evidence: 50)
    let first = fuse.judge(answered: 49, dead: 49)
    let second = fuse.judge(answered: 1, dead: 0)
    #expect(first && !second)
  }

  @Test func `One bad batch blows it however good the run was`() {
    var fuse = Fuse(share: 0.2, evidence: 50)
    let good = fuse.judge(answered: 100_000, dead: 10)
    let bad = fuse.judge(answered: 50, dead: 50)
    #expect(good && !bad)
  }

  @Test func `Once blown it stays blown`() {
    var fuse = Fuse(share: 0.2, evidence: 50)
    _ = fuse.judge(answered: 50, dead: 50)
    let later = fuse.judge(answered: 100_000, dead: 0)
    #expect(!later && fuse.isBlown)
  }
}
