import NIOCore
import Testing

@testable import Providers

/// Which requests are overtaken, by a clock that the test sets.
@Suite struct OvertakingTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private func answer(_ overtaking: inout Overtaking, _ stream: Int, at seconds: Int64) {
    overtaking.answered(stream)
    overtaking.received(oldest: 1, now: start + .seconds(seconds))
  }

  @Test func `What began sixteen requests before an answered one is overtaken after the delay`() {
    var overtaking = Overtaking(after: .seconds(10))
    #expect(overtaking.nextDeadline == .distantFuture)
    answer(&overtaking, 101, at: 0)
    #expect(overtaking.nextDeadline == start + .seconds(10))
    #expect(overtaking.overtaken(now: start + .seconds(9)) == nil)
    #expect(overtaking.overtaken(now: start + .seconds(10)) == 101 - 32)
    #expect(overtaking.overtaken(now: start + .seconds(11)) == nil)
  }

  @Test func `Later responses neither postpone earlier ones, nor do many cost much`() {
    var overtaking = Overtaking(after: .seconds(10))
    for second in 0...100 { answer(&overtaking, 101 + 2 * second, at: Int64(second)) }
    // The responses of the first two seconds and a half count as one.
    #expect(overtaking.nextDeadline == start + .seconds(12))
    #expect(overtaking.overtaken(now: start + .seconds(12)) == 105 - 32)
    #expect(overtaking.overtaken(now: start + .seconds(110)) == 301 - 32)
    #expect(overtaking.nextDeadline == .distantFuture)
  }

  @Test func `Where nothing is old enough to be overtaken, nothing is waited for`() {
    var overtaking = Overtaking(after: .seconds(10))
    overtaking.answered(101)
    overtaking.received(oldest: 101 - 30, now: start)
    #expect(overtaking.nextDeadline == .distantFuture)
  }

  @Test func `A response to an old request overtakes nothing`() {
    var overtaking = Overtaking(after: .seconds(10))
    answer(&overtaking, 101, at: 0)
    answer(&overtaking, 3, at: 5)
    #expect(overtaking.overtaken(now: start + .seconds(10)) == 101 - 32)
    #expect(overtaking.nextDeadline == .distantFuture)
  }
}
