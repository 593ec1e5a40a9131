import FoundationEssentials
import Providers
import Testing

/// What push services are told of a message's time to live.
@Suite struct PushLifetimeTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  @Test(
    arguments: [
      (30.0, 30, 30), (29.9, 30, 30), (30.4, 30, 30), (31, 30, 30), (600, 30, 30), (29, 30, 29), (18.2, 30, 19),
      (0.2, 30, 1), (0, 30, 0), (-5, 30, 0), (3600.2, 3600, 3600), (18.2, nil, 19), (9e15, nil, 1_000_000_000),
    ] as [(Double, Int?, Int)])
  func `It is what is left, rounded up, and never more than was asked for`(left: Double, asked: Int?, seconds: Int) {
    let lifetime = PushLifetime(until: now.addingTimeInterval(left), asked: asked, at: now)
    #expect(lifetime.seconds == seconds && lifetime.end == now.addingTimeInterval(left))
  }

  @Test func `A push at once or never is of the past for services that take a moment`() {
    #expect(PushLifetime.atOnce.seconds == 0 && PushLifetime.atOnce.end.timeIntervalSince1970 == 0)
  }
}
