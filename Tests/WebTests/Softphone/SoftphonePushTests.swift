import Testing
import Wire

@testable import Web

@Suite struct SoftphonePushTests {
  private static let good: [UTF8String: JSONValue] = [
    "verb": "NotifyTextMessage", "AppId": "valid.appid", "DeviceToken": "ValidToken", "Selector": "a", "Message": "Hi",
  ]

  @Test(
    arguments: [
      ("Message", "a\0"), ("AppId", "valid\0.appid"), ("Selector", "\0"), ("verb", "Notify\0"), ("Any", ["b": ["\0"]]),
      ("Any", ["b\0": 1]),
    ] as [(String, JSONValue)])
  func `U+0000 in an attribute is the push's own fault`(_ name: String, _ value: JSONValue) {
    let refusal = #expect(throws: SoftphoneRefusal.self) {
      try SoftphonePush(Self.good.merging([UTF8String(name): value]) { $1 })
    }
    #expect(refusal?.sentence == "\(name) holds U+0000.")
    #expect(throws: Never.self) { try SoftphonePush(Self.good) }
  }
}
