import Retrying
import Foundation
import Providers
import Testing
import Wire

@testable import Delivery

@Suite struct OutcomePolicyTests {
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)
  private let start = ContinuousClock.now
  private let push = QueuedPush(
    number: PushNumber(3), batch: 1, device: DeviceID(7), contact: ContactID(8), attempts: 0, giveUpAt: nil)

  private func outcomePolicy(_ policy: UncertainPolicy = .resend) -> OutcomePolicy {
    OutcomePolicy(policy: policy, random: 1, now: { noon }, clock: { start })
  }

  private func outcome(_ verdict: Verdict) -> PushOutcome { PushOutcome(index: 0, verdict: verdict, sentAt: noon) }

  private func settlement(
    _ verdict: Verdict, _ push: QueuedPush? = nil, _ policy: UncertainPolicy = .resend
  ) -> Settlement? {
    let action = outcomePolicy(policy).action(of: outcome(verdict), for: push ?? self.push, in: .production)
    if case .settled(let settlement) = action { return settlement } else { return nil }
  }

  private func written(
    _ state: PushState, _ reason: String? = nil, _ cause: FailureCause = .unavailable, delay: Duration? = nil
  ) -> Settlement {
    Settlement(
      push: PushNumber(3), batch: 1, state: state, reason: reason, left: true, sentAt: noon, delay: delay,
      timeout: delay == nil ? nil : RetryPolicy.pushes.giveUpAfter, cause: state == .accepted ? nil : cause)
  }

  private func finding(
    _ verdicts: [Verdict], _ evidence: OutageEvidence = .anyFailure
  ) -> ServiceAvailability.Finding {
    var service = ServiceAvailability()
    for verdict in verdicts { service.record(verdict) }
    return service.finding(by: evidence)
  }

  @Test func `Pushes without an answer say nothing for their push service, and ten alone speak against it`() {
    let lost = Verdict.uncertain(reason: "RequestTimeout")
    #expect(finding(Array(repeating: lost, count: 9)) == .unknown)
    #expect(finding(Array(repeating: lost, count: 10)) == .unavailable(reason: "RequestTimeout", retryAfter: .zero))
    #expect(finding(Array(repeating: lost, count: 10), .answers) == .unknown)
    #expect(finding(Array(repeating: lost, count: 10) + [.accepted]) == .available)
  }

  @Test func `A wait closes the lane for as long as it applies to the service, and no place says nothing of it`() {
    let put = Array(repeating: Verdict.retry(after: nil, reason: "HTTP503"), count: 29)
    let advised = Verdict.retry(after: .seconds(900), reason: "ServiceUnavailable")
    #expect(finding(put + [advised]) == .unavailable(reason: "ServiceUnavailable", retryAfter: .zero))
    let asked = Verdict.retry(after: .seconds(60), reason: "HTTP503", appliesToService: true)
    #expect(finding(put + [advised, asked]) == .unavailable(reason: "HTTP503", retryAfter: .seconds(60)))
    #expect(finding(Array(repeating: .unsent(reason: .hub(.noPlace)), count: 30)) == .unknown)
    #expect(finding([.uncertain(reason: "HTTP200", isAnswered: true)]) == .available)
  }

  @Test func `A push without a place waits, however long, and counts no attempt`() {
    var push = push
    push.messageExpiresAt = nil
    let none = PushOutcome(index: 0, verdict: .unsent(reason: .hub(.noPlace)), sentAt: nil)
    guard case .unsent(let settlement) = outcomePolicy().action(of: none, for: push, in: .production) else {
      Issue.record("it was sent")
      return
    }
    #expect(settlement.state == .waiting && !settlement.left && settlement.timeout == nil)
    #expect(settlement.delay.map { $0 >= .seconds(1) && $0 <= .milliseconds(1500) } == true)
  }

  @Test func `A push that waits for a correction does not expire, and fails where another stands in for it`() {
    let verdict = Verdict.waitsForCorrection(reason: "THIRD_PARTY_AUTH_ERROR")
    func settled(_ policy: OutcomePolicy, isOnce: Bool = false) -> Settlement? {
      guard
        case .settled(let settlement) = policy.action(of: outcome(verdict), for: push, in: .production, isOnce: isOnce)
      else { return nil }
      return settlement
    }
    let waiting = settled(outcomePolicy())
    #expect(waiting?.state == .waiting && waiting?.cause == .credentialsRefused && waiting?.timeout == nil)
    #expect(waiting?.delay.map { $0 >= .seconds(60) } == true)
    #expect(settled(outcomePolicy(), isOnce: true)?.state == .failed)
    var policy = outcomePolicy()
    policy.hasFallback = true
    #expect(settled(policy)?.state == .failed)
  }

  @Test func `What was answered is never sent again`() {
    for policy in [UncertainPolicy.skip, .resend] {
      #expect(settlement(.uncertain(reason: "X", isAnswered: true), nil, policy) == written(.uncertain, "X"))
    }
  }

  @Test func `Accepted pushes and refused payloads are final`() {
    #expect(settlement(.accepted) == written(.accepted))
    #expect(settlement(.payloadRefused(reason: "BadTopic")) == written(.failed, "BadTopic", .payloadRefused))
  }

  @Test func `A retry waits at least as long as the push service asks`() {
    #expect(settlement(.retry(after: nil, reason: "X")) == written(.waiting, "X", delay: .seconds(1)))
    #expect(settlement(.retry(after: .seconds(60), reason: "X")) == written(.waiting, "X", delay: .seconds(60)))
  }

  @Test func `A push expires when its retry would be due too late`() {
    let late = QueuedPush(
      number: PushNumber(3), batch: 1, device: push.device, contact: push.contact, attempts: 0,
      giveUpAt: start + .seconds(59))
    #expect(settlement(.retry(after: .seconds(60), reason: "X"), late) == written(.failed, "X"))
    #expect(settlement(.retry(after: .seconds(59), reason: "X"), late) == written(.waiting, "X", delay: .seconds(59)))
    #expect(settlement(.retry(after: .seconds(3 * 3600), reason: "X")) == written(.failed, "X"))
    let gone = QueuedPush(
      number: PushNumber(3), batch: 1, device: push.device, contact: push.contact, attempts: 3, giveUpAt: start)
    #expect(settlement(.uncertain(reason: "X"), gone) == written(.uncertain, "X"))
  }

  @Test func `No push waits for longer than its message lives`() {
    var push = push
    push.messageExpiresAt = noon + 30
    for verdict in [Verdict.retry(after: .seconds(900), reason: "X"), .retry(after: .seconds(3 * 3600), reason: "X")] {
      #expect(settlement(verdict, push) == written(.waiting, "X", delay: .seconds(30)))
    }
    #expect(settlement(.retry(after: .seconds(5), reason: "X"), push)?.delay == .seconds(5))
    #expect(outcomePolicy().settlement(of: push, blockedBy: .refused(reason: "X")).delay == .seconds(30))
    push.messageExpiresAt = noon - 1
    #expect(outcomePolicy().settlement(of: push, blockedBy: .unavailable(reason: "X")).delay == .zero)
  }

  @Test func `A push with a fallback fails where its app's credentials are refused`() {
    var policy = outcomePolicy()
    policy.hasFallback = true
    let settlement = policy.settlement(of: push, blockedBy: .refused(reason: "X"))
    #expect(settlement.state == .failed && settlement.delay == nil && settlement.reason == "X" && !settlement.left)
    #expect(policy.settlement(of: push, blockedBy: .unavailable(reason: "X")).state == .waiting)
  }

  @Test func `Uncertain pushes follow the policy`() {
    #expect(settlement(.uncertain(reason: "X"), nil, .skip) == written(.uncertain, "X"))
    #expect(settlement(.uncertain(reason: "X"), nil, .resend) == written(.waiting, "X", delay: .seconds(1)))
  }

  @Test func `What leaves once is not sent again, whatever the policy`() {
    for (verdict, state) in [
      (Verdict.uncertain(reason: "X"), PushState.uncertain), (.retry(after: nil, reason: "X"), .failed),
    ] {
      guard
        case .settled(let settlement) = outcomePolicy(.resend).action(
          of: outcome(verdict), for: push, in: .production, isOnce: true)
      else {
        Issue.record("\(verdict) is not settled")
        continue
      }
      #expect(settlement == written(state, "X"))
    }
  }

  @Test func `Refused credentials write no outcome`() {
    #expect(
      outcomePolicy().action(of: outcome(.credentialsRefused(reason: "X")), for: push, in: .sandbox)
        == .refused(reason: "X"))
  }

  @Test func `An unsent push waits as long as it has so far, counts no attempt, and expires`() {
    func settlement(waited: Int?) -> Settlement? {
      let giveUpAt = waited.map { start + .seconds(7200 - $0) }
      let push = QueuedPush(
        number: PushNumber(3), batch: 1, device: DeviceID(7), contact: ContactID(8), attempts: 0, giveUpAt: giveUpAt)
      let outcome = PushOutcome(index: 0, verdict: .unsent(reason: "X"), sentAt: nil)
      if case .unsent(let settlement) = outcomePolicy().action(of: outcome, for: push, in: .sandbox) {
        return settlement
      } else {
        return nil
      }
    }
    func waiting(_ seconds: Int) -> Settlement {
      Settlement(
        push: PushNumber(3), batch: 1, state: .waiting, reason: "X", left: false, delay: .seconds(seconds),
        timeout: RetryPolicy.pushes.giveUpAfter, cause: .unavailable)
    }
    #expect(settlement(waited: nil) == waiting(1))
    #expect(settlement(waited: 20) == waiting(20))
    #expect(settlement(waited: 3600) == waiting(300))
    #expect(
      settlement(waited: 7000)
        == Settlement(
          push: PushNumber(3), batch: 1, state: .failed, reason: "X", left: false, cause: .unavailable))
  }

  @Test func `A push refused before it left counts no attempt`() {
    let outcome = PushOutcome(index: 0, verdict: .payloadRefused(reason: "X"), sentAt: nil)
    #expect(
      outcomePolicy().action(of: outcome, for: push, in: .production)
        == .settled(
          Settlement(
            push: PushNumber(3), batch: 1, state: .failed, reason: "X", left: false, cause: .payloadRefused)))
  }

  @Test func `A push does not expire while credentials are refused`() {
    let late = QueuedPush(
      number: PushNumber(3), batch: 1, device: push.device, contact: push.contact, attempts: 0, giveUpAt: start)
    let settlement = outcomePolicy().settlement(of: late, blockedBy: .refused(reason: "X"))
    #expect(settlement.state == .waiting && settlement.timeout == nil && settlement.cause == .credentialsRefused)
  }

  @Test func `An invalid token fails its push, unless the device is kept`() {
    let outcome = outcome(.tokenInvalid(.wrongEnvironment, since: nil, reason: "BadDeviceToken"))
    guard case .invalid(let token) = outcomePolicy().action(of: outcome, for: push, in: .sandbox) else {
      Issue.record("not invalid")
      return
    }
    #expect(token.moment == noon && !token.isDated && token.cause == .wrongEnvironment && token.environment == .sandbox)
    #expect(
      outcomePolicy().settlement(of: token, deviceIsKept: false) == written(.failed, "BadDeviceToken", .tokenInvalid))
    #expect(
      outcomePolicy().settlement(of: token, deviceIsKept: true)
        == written(.waiting, "BadDeviceToken", delay: .seconds(1)))
    // While too many tokens look invalid, none is called dead.
    #expect(
      outcomePolicy().settlement(of: token, deviceIsKept: false, isBelieved: false)
        == written(.failed, "BadDeviceToken", .credentialsRefused))
  }

  @Test func `A reason is cut to 100 characters and has no U+0000`() {
    let reason = "a\0b" + String(repeating: "x", count: 500)
    #expect(settlement(.payloadRefused(reason: reason))?.reason == "ab" + String(repeating: "x", count: 98))
  }
}
