import Crypto
import Foundation
import PushcartClient
import Testing
import Wire

@testable import Subscriptions

@Suite struct PushNotificationEventTests {
  private static let children = DataTreeEvent.ChildrenUpdate(
    added: ["carol": ["age": 20]], changed: ["alice": ["age": 34]], removed: ["bob"])
  static let events: [(DataTreeEvent, PushNotificationEvent.Event)] = [
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

  @Test func `An event of the deepest value is read, encrypted or not`() throws {
    var value: JSONValue = 1
    for _ in 0..<JSONReader.Rules.usual.deepest { value = .array([value]) }
    for _ in 0..<DataTreePath.maximumDepth - 1 { value = ["name": value] }
    let event = DataTreeEvent.childrenUpdated(.init(added: ["child": value]))
    let key = Data(repeating: 7, count: 32)
    for secret in [nil, Array(key)] {
      let payload = try NotificationSealing.map(event, app: "com.acme.app", path: "/", key: secret)
      let read = try PushNotificationEvent(payload, key: key)
      guard case .childrenUpdate(.full(let children)) = read.event else { return #expect(Bool(false)) }
      #expect(children.additions == ["child": value])
    }
  }

  @Test func `Children come with their values, or as names alone`() throws {
    let full = try PushNotificationEvent(
      DataTreePayload.map(.childrenUpdated(Self.children), app: "a", path: "/"))
    guard case .childrenUpdate(.full(let details)) = full.event else { return #expect(Bool(false)) }
    #expect(details.additions == ["carol": ["age": 20]] && details.changes == ["alice": ["age": 34]])
    #expect(details.removals == ["bob"])
    let names = try PushNotificationEvent(
      DataTreePayload.map(.childrenUpdated(Self.children.onlyKeys), app: "a", path: "/"))
    guard case .childrenUpdate(.onlyKeys(let only)) = names.event else { return #expect(Bool(false)) }
    #expect(only.additions == ["carol"] && only.changes == ["alice"] && only.removals == ["bob"])
  }

  /// The document's example for a service extension, whose print appends to `lines`.
  private static func told(_ notification: PushNotificationEvent) -> [String] {
    var lines: [String] = []
    func print(_ line: String) { lines.append(line) }
    print("A notification has been received from Webcom app: \(notification.appId) on path: \(notification.path)")
    switch notification.event {
    case let .valueChange(.value(value)):
      print("Value has changed: \(value.serialized)")
    case .valueChange(.hidden):
      print("Value has changed, but you have to read it explicitly")
    case .valueChange(.tooBig):
      print("Value has changed, but it oversizes the notification")
    case let .childrenUpdate(.full(details)):
      print("Some child nodes have changed:")
      print("\(details.additions.count) added, \(details.changes.count) changed, \(details.removals.count) removed")
    case let .childrenUpdate(.onlyKeys(details)):
      print("Some child nodes have changed, but we only have their keys (no values):")
      print("\(details.additions.count) added, \(details.changes.count) changed, \(details.removals.count) removed")
    case .childrenUpdate(.tooBig):
      print("Some child nodes have changed, but they oversize the notification")
    case let .revocation(reason: reason):
      print("The subscription was revoked: \(reason)")
    }
    return lines
  }

  @Test func `The document's example tells every event, of the map that the hub sends`() throws {
    let received = "A notification has been received from Webcom app: my-app on path: /myPath/myUserList"
    for (event, data, lines) in [
      ("Value.Changed", #"{"age":34,"name":"Alice"}"#, [#"Value has changed: {"age":34,"name":"Alice"}"#]),
      ("Value.ChangedHidingData", nil, ["Value has changed, but you have to read it explicitly"]),
      ("Value.TooBig", nil, ["Value has changed, but it oversizes the notification"]),
      (
        "Children.Updated", #"{"added":{"carol":{"age":20}},"changed":{},"removed":["bob"]}"#,
        ["Some child nodes have changed:", "1 added, 0 changed, 1 removed"]
      ),
      (
        "Children.Updated", #"{"added":{"carol":null},"changed":{"dave":null},"removed":["bob"]}"#,
        [
          "Some child nodes have changed, but we only have their keys (no values):",
          "1 added, 1 changed, 1 removed",
        ]
      ),
      ("Children.TooBig", nil, ["Some child nodes have changed, but they oversize the notification"]),
      ("Revoked", #"{"reason":"expired"}"#, ["The subscription was revoked: expired"]),
    ] as [(String, String?, [String])] {
      var payload = ["webcom.app": "my-app", "webcom.path": "/myPath/myUserList", "webcom.event": event]
      payload["webcom.data"] = data
      let notification = try PushNotificationEvent(payload)
      #expect(Self.told(notification) == [received] + lines)
      // Byte for byte what the hub writes of it.
      let read = try #require(DataTreePayload.event(in: payload))
      #expect(DataTreePayload.map(read, app: "my-app", path: "/myPath/myUserList") == payload)
    }
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
