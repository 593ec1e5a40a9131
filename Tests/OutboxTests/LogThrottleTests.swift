import Testing

@testable import Outbox

@Suite struct LogThrottleTests {
  @Test func `One line goes out in each interval, and says how many were left out`() {
    let throttle = LogThrottle(interval: .seconds(60))
    let start = ContinuousClock.now
    let moments = [0, 0, 10, 59.9, 60, 61, 300].map { throttle.admit(at: start + .seconds($0)) }
    #expect(moments == [0, nil, nil, nil, 3, nil, 1])
  }
}
