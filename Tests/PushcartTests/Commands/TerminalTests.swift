import Foundation
import Testing
import Wire

@testable import Pushcart

@Suite struct TerminalTests {
  @Test func `A table's columns are as wide as their widest cell`() {
    var table = TextTable("#Key", "Name", "Revoked")
    table.add("1", "app push user", nil)
    table.add("12", "é", "now")
    #expect(
      table.text(empty: "None.") == """
        Key  Name           Revoked
        ───  ─────────────  ───────
          1  app push user  –
         12  é              now

        """)
    #expect(TextTable("Name").text(empty: "None.") == "None.\n")
  }

  @Test func `A progress bar fits the terminal and is full only at the end`() {
    let running = sendout(.running, SendoutCounts(audience: 1000, queued: 1, sent: 999, accepted: 987, failed: 12))
    let bar = ProgressLine.bar(running, width: 80)
    #expect(bar.count < 80)
    #expect(bar.hasPrefix("Sendout 7 running 99 % [██"))
    #expect(bar.hasSuffix("░] 999 of 1000, failed 12"))
    #expect(ProgressLine.bar(running, width: 30) == "Sendout 7 running 99 % 999 of 1000, failed 12")

    let done = sendout(.finished, SendoutCounts(audience: 2, sent: 2, accepted: 2))
    #expect(ProgressLine.bar(done, width: 60) == "Sendout 7 finished 100 % [█████████████████████████] 2 of 2")
  }

  @Test func `A progress line in a log names the counts that are not zero`() {
    let running = sendout(.running, SendoutCounts(audience: 10, queued: 4, sending: 3, sent: 3, accepted: 2, failed: 1))
    #expect(
      ProgressLine.line(running)
        == "sendout 7 running: 30 %, audience 10, queued 4, sending 3, sent 3, accepted 2, failed 1")
    #expect(ProgressLine.line(sendout(.freezing, SendoutCounts())) == "sendout 7 freezing: 0 %")
  }

  @Test func `A sendout that waits says until when, and what for`() {
    let moment = Timestamp("2036-12-24T17:30:00Z")
    var waiting = sendout(.scheduled, SendoutCounts())
    #expect(waiting.waits(of: CustomerID(3)) == nil)
    waiting.nextAt = moment
    #expect(
      waiting.waits(of: CustomerID(3))
        == "Sendout 7 is scheduled: it starts at 2036-12-24 17:30:00 (UTC). Ctrl-C ends the wait alone.")
    waiting.campaign.localTime = WallTime("2036-12-25T07:30")
    #expect(waiting.waits(of: CustomerID(3))?.contains("in the first zone at 2036-12-24 17:30:00 (UTC)") == true)
    waiting.state = .running
    #expect(waiting.waits(of: CustomerID(3)) == "Sendout 7 goes on until 2036-12-25T07:30 has come in its last zone.")
    waiting.decision = WinnerDecision(state: .waiting)
    #expect(waiting.waits(of: CustomerID(3))?.hasSuffix("It is decided at 2036-12-24 17:30:00 (UTC).") == true)
    waiting.decision = WinnerDecision(state: .waitingForPerson)
    #expect(
      waiting.waits(of: CustomerID(3))?.hasSuffix("pushcart sendout winner 7 --customer 3 --variant NAME") == true)
    waiting.state = .finished
    #expect(waiting.waits(of: CustomerID(3)) == nil)
    #expect(sendout(.running, SendoutCounts()).waits(of: CustomerID(3)) == nil)
  }

  private func sendout(_ state: SendoutState, _ counts: SendoutCounts) -> SendoutReply {
    SendoutReply(
      sendoutId: SendoutID(7), name: "Friday", apps: [.example],
      state: state, onUncertain: .resend, createdAt: Timestamp(.distantPast), counts: counts)
  }
}
