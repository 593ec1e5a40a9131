import Registry
import Testing
import Wire

@testable import Delivery

@Suite struct LaneStatusTests {
  let key = LaneStatus.Key(customer: CustomerID(1), lane: Lane(app: PushAppID(1), isSandbox: false))
  let start = ContinuousClock.now

  @Test func `A closed lane is tried by one caller when its delay is over, and opens for all when that succeeds`() {
    let lanes = LaneStatus()
    #expect(lanes.admit(key, now: start) == .open)
    #expect(lanes.close(key, "ConnectionRefused", now: start) == .seconds(1))
    #expect(lanes.admit(key, now: start) == .closed(reason: "ConnectionRefused", delay: .seconds(1)))
    let later = start + .seconds(1)
    #expect(lanes.admit(key, now: later) == .probe)
    #expect(lanes.admit(key, now: later) == .closed(reason: "ConnectionRefused", delay: .seconds(60)))
    lanes.open(key)
    #expect(lanes.admit(key, now: later) == .open)
  }

  @Test func `The delay doubles with each failure up to 30 seconds, and not with pushes of the same outage`() {
    let lanes = LaneStatus()
    var now = start
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      #expect(lanes.close(key, "x", now: now) == .seconds(seconds))
      #expect(lanes.close(key, "x", now: now) == .seconds(seconds))
      now += .seconds(seconds)
      #expect(lanes.admit(key, now: now) == .probe)
    }
  }

  @Test func `A push service's wish counts if it is longer, up to a quarter of an hour`() {
    let lanes = LaneStatus()
    #expect(lanes.close(key, "x", wish: .seconds(600), now: start) == .seconds(600))
    #expect(lanes.close(key, "x", wish: .seconds(86_400), now: start) == .seconds(900))
  }

  @Test func `A probe that had nothing to send leaves it to the next caller`() {
    let lanes = LaneStatus()
    lanes.close(key, "x", now: start)
    let later = start + .seconds(1)
    #expect(lanes.admit(key, now: later) == .probe)
    lanes.endProbe(key, now: later)
    #expect(lanes.admit(key, now: later) == .probe)
  }

  @Test func `Another lane stays open`() {
    let lanes = LaneStatus()
    lanes.close(key, "x", now: start)
    let sandbox = LaneStatus.Key(customer: key.customer, lane: Lane(app: key.lane.app, isSandbox: true))
    #expect(lanes.admit(sandbox, now: start) == .open)
  }
}
