import Testing

@testable import Delivery

@Suite struct BackOffTests {
  @Test func `Delays double from a second to a quarter of an hour`() {
    let delays = (1...13).map { RetrySchedule().delay(after: $0, jitter: 1) / .seconds(1) }
    #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
  }

  @Test func `Luck takes a share of it, and never less than the push service asked for`() {
    #expect(RetrySchedule().delay(after: 3, jitter: 0.5) == .seconds(2))
    #expect(RetrySchedule().delay(after: 3, jitter: 0) == .zero)
    #expect(RetrySchedule().delay(after: 3, jitter: 0, atLeast: .seconds(60)) == .seconds(60))
  }

  @Test func `What the push service asks for is where the doubling begins`() {
    let delays = (1...6).map { RetrySchedule().delay(after: $0, jitter: 1, atLeast: .seconds(60)) / .seconds(1) }
    #expect(delays == [60, 120, 240, 480, 900, 900])
    #expect(RetrySchedule().delay(after: 2, jitter: 0.5, atLeast: .seconds(60)) == .seconds(90))
    #expect(RetrySchedule().delay(after: 5, jitter: 1, atLeast: .seconds(1200)) == .seconds(1200))
  }
}
