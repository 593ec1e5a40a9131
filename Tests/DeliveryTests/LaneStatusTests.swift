import Providers
import Registry
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct LaneStatusTests {
  let key = LaneKey(customer: CustomerID(1), lane: Lane(app: PushAppID(1), isSandbox: false))
  let clock = SteerableClock()

  @Test func `A closed lane is tried by one caller when its delay is over, and opens for all when that succeeds`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    let reason = ClosureReason.unavailable(reason: "ConnectionRefused")
    #expect(lanes.admit(key) == .open)
    #expect(lanes.close(key, reason).delay == .seconds(1))
    #expect(lanes.admit(key) == .closed(reason: reason, delay: .seconds(1)))
    clock.advance(by: .seconds(1))
    #expect(lanes.admit(key) == .probe)
    #expect(lanes.admit(key) == .closed(reason: reason, delay: .seconds(60)))
    lanes.open(key)
    #expect(lanes.admit(key) == .open)
  }

  @Test func `The delay doubles with each failure up to 30 seconds, and not with pushes of the same outage`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      #expect(lanes.close(key, .unavailable(reason: "x")).delay == .seconds(seconds))
      #expect(lanes.close(key, .unavailable(reason: "x")).delay == .seconds(seconds))
      clock.advance(by: .seconds(seconds))
      #expect(lanes.admit(key) == .probe)
    }
  }

  @Test func `A push service's Retry-After counts if it is longer, up to a quarter of an hour`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    #expect(lanes.close(key, .unavailable(reason: "x"), retryAfter: .seconds(600)).delay == .seconds(600))
    #expect(lanes.close(key, .unavailable(reason: "x"), retryAfter: .seconds(86_400)).delay == .seconds(900))
  }

  @Test func `A probe that had nothing to send leaves it to the next caller`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    lanes.close(key, .unavailable(reason: "x"))
    clock.advance(by: .seconds(1))
    #expect(lanes.admit(key) == .probe)
    lanes.endProbe(key)
    #expect(lanes.admit(key) == .probe)
  }

  @Test func `Another lane stays open`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    lanes.close(key, .unavailable(reason: "x"))
    let sandbox = LaneKey(customer: key.customer, lane: Lane(app: PushAppID(1), isSandbox: true))
    #expect(lanes.admit(sandbox) == .open)
  }

  @Test func `A refusal closes a lane with the same back-off, and is news once`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    let refused = ClosureReason.refused(reason: "InvalidProviderToken")
    let first = lanes.close(key, refused)
    #expect(first.isFresh && first.shouldLog)
    let same = lanes.close(key, refused)
    #expect(!same.isFresh && !same.shouldLog)
    #expect(lanes.admit(key, triesRefused: true) == .open)
    #expect(lanes.admit(key) == .closed(reason: refused, delay: first.delay))
    clock.advance(by: first.delay)
    #expect(lanes.admit(key) == .probe)
    let again = lanes.close(key, refused)
    #expect(again.isFresh && !again.shouldLog && again.delay == first.delay * 2)
    #expect(lanes.close(key, .refused(reason: "another")).shouldLog)
    lanes.open(key)
    #expect(lanes.close(key, refused).shouldLog)
  }

  @Test func `Single messages that lose a push each close a lane as one slice does, and an answer makes up for them`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    var lost = ServiceAvailability()
    lost.record(.uncertain(reason: "RequestTimeout"))
    var answered = ServiceAvailability()
    answered.record(.accepted)
    for _ in 1...9 { #expect(lanes.record(lost, key, by: .anyFailure) == nil) }
    lanes.record(answered, key, by: .anyFailure)
    for _ in 1...9 { #expect(lanes.record(lost, key, by: .anyFailure) == nil) }
    #expect(lanes.admit(key) == .open)
    #expect(lanes.record(lost, key, by: .anyFailure)?.reason == "RequestTimeout")
    #expect(lanes.admit(key) == .closed(reason: .unavailable(reason: "RequestTimeout"), delay: .seconds(1)))
  }

  @Test func `What was seen of a service more than a minute ago says nothing`() {
    let lanes = LaneStatus(clock: { [clock] in clock.now })
    var lost = ServiceAvailability()
    lost.record(.uncertain(reason: "RequestTimeout"))
    for _ in 1...9 { lanes.record(lost, key, by: .anyFailure) }
    clock.advance(by: .seconds(61))
    #expect(lanes.record(lost, key, by: .anyFailure) == nil)
    #expect(lanes.admit(key) == .open)
  }
}
