import Foundation
import Providers
import Testing
import Wire

@testable import Delivery

@Suite struct JudgementTests {
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)
  private let push = QueuedPush(device: DeviceID(7), contact: ContactID(8), attempts: 0, giveUpAt: nil)

  private func outcomePolicy(_ policy: UncertainPolicy = .resend) -> OutcomePolicy {
    OutcomePolicy(policy: policy, retrySchedule: RetrySchedule(), jitter: 1, now: { noon })
  }

  private func outcome(_ verdict: Verdict) -> PushOutcome { PushOutcome(index: 0, verdict: verdict, sentAt: noon) }

  private func settlement(
    _ verdict: Verdict, _ push: QueuedPush? = nil, _ policy: UncertainPolicy = .resend
  ) -> Settlement? {
    let action = outcomePolicy(policy).action(of: outcome(verdict), for: push ?? self.push, in: .production)
    if case .settled(let settlement) = action { return settlement } else { return nil }
  }

  private func written(_ state: PushState, _ reason: String? = nil, delay: Duration? = nil) -> Settlement {
    Settlement(
      device: DeviceID(7), state: state, reason: reason, left: true, sentAt: noon, delay: delay,
      timeout: delay == nil ? nil : RetrySchedule().timeout)
  }

  @Test func `Accepted and refused payloads are the end of it`() {
    #expect(settlement(.accepted) == written(.accepted))
    #expect(settlement(.payloadRefused(reason: "BadTopic")) == written(.failed, "BadTopic"))
  }

  @Test func `What may be tried again waits, as long as the push service asks or longer`() {
    #expect(settlement(.retry(after: nil, reason: "X")) == written(.waiting, "X", delay: .seconds(1)))
    #expect(settlement(.retry(after: .seconds(60), reason: "X")) == written(.waiting, "X", delay: .seconds(60)))
  }

  @Test func `It is given up when it would be due after its time`() {
    let late = QueuedPush(
      device: push.device, contact: push.contact, attempts: 0, giveUpAt: noon.addingTimeInterval(59))
    #expect(settlement(.retry(after: .seconds(60), reason: "X"), late) == written(.failed, "X"))
    #expect(settlement(.retry(after: .seconds(59), reason: "X"), late) == written(.waiting, "X", delay: .seconds(59)))
    #expect(settlement(.retry(after: .seconds(3 * 3600), reason: "X")) == written(.failed, "X"))
    let gone = QueuedPush(device: push.device, contact: push.contact, attempts: 3, giveUpAt: noon)
    #expect(settlement(.uncertain(reason: "X"), gone) == written(.uncertain, "X"))
  }

  @Test func `What may have left follows the policy`() {
    #expect(settlement(.uncertain(reason: "X"), nil, .skip) == written(.uncertain, "X"))
    #expect(settlement(.uncertain(reason: "X"), nil, .resend) == written(.waiting, "X", delay: .seconds(1)))
  }

  @Test func `What was refused for the app is written nowhere`() {
    #expect(
      outcomePolicy().action(of: outcome(.credentialsRefused(reason: "X")), for: push, in: .sandbox)
        == .refused(reason: "X"))
  }

  @Test func `What could not leave waits as long again as it has, counts no attempt, and is given up in time`() {
    func settlement(waited: TimeInterval?) -> Settlement? {
      let giveUpAt = waited.map { noon.addingTimeInterval(7200 - $0) }
      let push = QueuedPush(device: DeviceID(7), contact: ContactID(8), attempts: 0, giveUpAt: giveUpAt)
      let outcome = PushOutcome(index: 0, verdict: .unsent(reason: "X"), sentAt: nil)
      if case .unsent(let settlement) = outcomePolicy().action(of: outcome, for: push, in: .sandbox) {
        return settlement
      } else {
        return nil
      }
    }
    func waiting(_ seconds: Int) -> Settlement {
      Settlement(
        device: DeviceID(7), state: .waiting, reason: "X", left: false, delay: .seconds(seconds),
        timeout: RetrySchedule().timeout)
    }
    #expect(settlement(waited: nil) == waiting(1))
    #expect(settlement(waited: 20) == waiting(20))
    #expect(settlement(waited: 3600) == waiting(300))
    #expect(
      settlement(waited: 7000) == Settlement(device: DeviceID(7), state: .failed, reason: "X", left: false))
  }

  @Test func `What was refused without leaving counts no attempt`() {
    let outcome = PushOutcome(index: 0, verdict: .payloadRefused(reason: "X"), sentAt: nil)
    #expect(
      outcomePolicy().action(of: outcome, for: push, in: .production)
        == .settled(Settlement(device: DeviceID(7), state: .failed, reason: "X", left: false)))
  }

  @Test func `A push held up by refused credentials is not given up for it`() {
    let late = QueuedPush(device: push.device, contact: push.contact, attempts: 0, giveUpAt: noon)
    let settlement = outcomePolicy().settlement(of: late, blockedBy: .refused(reason: "X"))
    #expect(settlement.state == .waiting && settlement.timeout == nil)
  }

  @Test func `A dead token fails its push, unless the device is kept`() {
    let outcome = outcome(.tokenInvalid(.wrongEnvironment, since: nil, reason: "BadDeviceToken"))
    guard case .invalid(let token) = outcomePolicy().action(of: outcome, for: push, in: .sandbox) else {
      Issue.record("not invalid")
      return
    }
    #expect(token.moment == noon && !token.isDated && token.cause == .wrongEnvironment && token.environment == .sandbox)
    #expect(outcomePolicy().settlement(of: token, deviceIsKept: false) == written(.failed, "BadDeviceToken"))
    #expect(
      outcomePolicy().settlement(of: token, deviceIsKept: true)
        == written(.waiting, "BadDeviceToken", delay: .seconds(1)))
  }

  @Test func `A reason is kept short and without what PostgreSQL cannot hold`() {
    let reason = "a\0b" + String(repeating: "x", count: 500)
    #expect(settlement(.payloadRefused(reason: reason))?.reason == "ab" + String(repeating: "x", count: 98))
  }
}
