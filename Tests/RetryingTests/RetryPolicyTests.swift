import Foundation
import Retrying
import Testing

@Suite struct RetryPolicyTests {
  private static func seconds(_ policy: RetryPolicy, _ failures: ClosedRange<Int>, random: Double) -> [Double] {
    failures.map { policy.delay(after: $0, random: random) / .seconds(1) }
  }

  @Test func `Delays of pushes double from a second to a quarter of an hour`() {
    #expect(
      Self.seconds(.pushes, 1...13, random: 1) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
  }

  @Test func `Full jitter takes a share of the delay, never less than the push service asked for`() {
    #expect(RetryPolicy.pushes.delay(after: 3, random: 0.5) == .seconds(2))
    #expect(RetryPolicy.pushes.delay(after: 3, random: 0) == .zero)
    #expect(RetryPolicy.pushes.delay(after: 3, atLeast: .seconds(60), random: 0) == .seconds(60))
  }

  @Test func `With full jitter the doubling begins with the delay that the push service asked for`() {
    let delays = (1...6).map { RetryPolicy.pushes.delay(after: $0, atLeast: .seconds(60), random: 1) / .seconds(1) }
    #expect(delays == [60, 120, 240, 480, 900, 900])
    #expect(RetryPolicy.pushes.delay(after: 2, atLeast: .seconds(60), random: 0.5) == .seconds(90))
    #expect(RetryPolicy.pushes.delay(after: 5, atLeast: .seconds(1200), random: 1) == .seconds(1200))
  }

  @Test func `Delays of notifications get longer by chance, and not shorter`() {
    #expect(Self.seconds(.notifications, 1...3, random: 0) == [1, 2, 4])
    #expect(Self.seconds(.notifications, 1...3, random: 1) == [1.5, 3, 6])
    #expect(RetryPolicy.notifications.delay(after: 1, atLeast: .seconds(9), random: 1) == .seconds(9))
  }

  @Test func `Equal jitter takes between half of the delay and all of it`() {
    #expect(Self.seconds(.posts, 1...12, random: 1).suffix(3) == [15_360, 21_600, 21_600])
    #expect(Self.seconds(.posts, 1...2, random: 0) == [15, 30])
  }

  @Test func `What is unavailable is tried after 1, 2, 4, up to 30 seconds`() {
    #expect(Self.seconds(.unavailable, 1...7, random: 0.3) == [1, 2, 4, 8, 16, 30, 30])
    #expect(RetryPolicy.unavailable.delay(after: .max) == .seconds(30))
    #expect(RetryPolicy.unavailable.delay(after: 1, atLeast: .seconds(60)) == .seconds(60))
  }

  @Test func `A step that fails for ever is tried for about a quarter of an hour`() throws {
    let delays = Self.seconds(.steps, 1...RetryPolicy.mostStepFailures - 1, random: 1)
    #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    #expect((900...1200).contains(delays.reduce(0, +)))
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    for name in ["imports.md", "privacy.md", "design/states.md"] {
      let page = try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
      #expect(page.contains("\(RetryPolicy.mostStepFailures) times in a row"), "\(name)")
    }
  }

  @Test func `The page of CM Hybrid says how posts of the outbox are tried again`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/dialects/cm-hybrid.md"), encoding: .utf8)
    let policy = RetryPolicy.posts
    let (first, longest) = (Int(policy.first / .seconds(1)), Int(policy.longest / .seconds(3600)))
    #expect(page.contains("again after \(first) seconds, then") && page.contains("minutes, up to \(longest) hours"))
    #expect(page.contains("\(Int(policy.giveUpAfter / .seconds(86_400))) days are over"))
  }
}
