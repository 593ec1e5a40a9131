import Foundation
import Testing
import Wire

@testable import Delivery

@Suite struct PushIdentityTests {
  @Test func `A push has one name for ever, of the form of a UUID, and no other push has it`() {
    let key = SendoutKey(CustomerID(1), SendoutID(2))
    let id = PushIdentity.id(key, DeviceID(3))
    #expect(id == PushIdentity.id(key, DeviceID(3)))
    #expect(id.uuidString == "0CD5FB93-B148-8FD4-818B-C8E1583650FB")
    #expect(id != PushIdentity.id(SendoutKey(CustomerID(2), SendoutID(1)), DeviceID(3)))
    #expect(PushIdentity.collapseID(key) == "s2")
  }

  @Test func `A sendout's key is read back from what it is written as, and from nothing else`() {
    #expect(SendoutKey("12/34") == SendoutKey(CustomerID(12), SendoutID(34)))
    for text in ["", "/", "1/", "1/2/3", "a/b", "-1/2", "1/0", " 1/2", "1/99999999999999999999"] {
      #expect(SendoutKey(text) == nil)
    }
  }
}
