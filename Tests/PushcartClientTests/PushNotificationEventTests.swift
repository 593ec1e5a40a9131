import Crypto
import Foundation
import PushcartClient
import Testing
import Wire

@testable import Subscriptions

@Suite struct PushNotificationEventTests {
  private static let children = DatasyncEvent.ChildrenUpdate(
    added: ["carol": ["age": 20]], changed: ["alice": ["age": 34]], removed: ["bob"])
  static let events: [(DatasyncEvent, PushNotificationEvent.Event)] = [
    (.valueChanged(["name": "Alice"]), .valueChange(.value(["name": "Alice"]))),
    (.valueChanged(.null), .valueChange(.value(.null))),
    (.valueTooBig, .valueChange(.tooBig)), (.valueChangedHidingData, .valueChange(.hidden)),
    (.childrenTooBig, .childrenUpdate(.tooBig)), (.revoked(reason: "expired"), .revocation(reason: "expired")),
  ]

  @Test func `Every event is read as the hub wrote it, encrypted or not`() throws {
    let key = Data((0..<32).map { UInt8($0) })
    for (event, expected) in Self.events {
      for secret in [nil, Array(key)] {
        let payload = try NotificationSealing.map(event, app: "com.acme.app", path: "/users", key: secret)
        #expect(PushNotificationEvent.isPushNotification(payload))
        let read = try PushNotificationEvent(payload, key: secret == nil ? nil : key)
        #expect(read.appId == "com.acme.app" && read.path == "/users" && read.event == expected)
      }
    }
  }

  @Test func `Children come with their values, or as names alone`() throws {
    let full = try PushNotificationEvent(
      DatasyncPayload.map(.childrenUpdated(Self.children), app: "a", path: "/"))
    guard case .childrenUpdate(.full(let details)) = full.event else { return #expect(Bool(false)) }
    #expect(details.additions == ["carol": ["age": 20]] && details.changes == ["alice": ["age": 34]])
    #expect(details.removals == ["bob"])
    let names = try PushNotificationEvent(
      DatasyncPayload.map(.childrenUpdated(Self.children.onlyKeys), app: "a", path: "/"))
    guard case .childrenUpdate(.onlyKeys(let only)) = names.event else { return #expect(Bool(false)) }
    #expect(only.additions == ["carol"] && only.changes == ["alice"] && only.removals == ["bob"])
  }

  @Test func `An encrypted notification shows app and path alone, and opens with its own key, app and path only`()
    throws
  {
    let key = [UInt8](repeating: 7, count: 32)
    let payload = try NotificationSealing.map(.valueChanged("secret"), app: "a", path: "/p", key: key)
    #expect(Set(payload.keys) == ["webcom.app", "webcom.path", "webcom.sealed"])
    #expect(throws: PushNotificationEvent.Problem.keyMissing) { try PushNotificationEvent(payload) }
    var wrong = key
    wrong[31] ^= 1
    let sealed = payload["webcom.sealed"] ?? ""
    for (changed, secret) in [
      (payload, wrong), (payload.merging(["webcom.path": "/q"]) { $1 }, key),
      (payload.merging(["webcom.app": "b"]) { $1 }, key),
      (payload.merging(["webcom.sealed": String(sealed.dropLast(4)) + "AAAA"]) { $1 }, key),
      (payload.merging(["webcom.sealed": ""]) { $1 }, key),
    ] {
      #expect(throws: PushNotificationEvent.Problem.notOpened) {
        try PushNotificationEvent(changed, key: Data(secret))
      }
    }
  }

  @Test(arguments: [
    [:], ["alert": "x"], ["webcom.app": "a", "webcom.path": "p", "webcom.event": "Value.TooBig"],
    ["webcom.app": "a", "webcom.path": "/p"],
  ])
  func `A push of another sender is none`(payload: [String: String]) {
    #expect(!PushNotificationEvent.isPushNotification(payload))
    #expect(throws: PushNotificationEvent.Problem.otherSender) { try PushNotificationEvent(payload) }
  }
}
