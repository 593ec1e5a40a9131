import Content
import Crypto
import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

/// What the verbs become on the phones.
@Suite struct SoftphoneVerbTests {
  @Test func `A text is shown on iOS with its sender, its number and its sound`() async throws {
    try await withSoftphoneGateway { gateway in
      let more = """
        "Badge":3,"Sound":"s1.caf","UserName":"lars","UserDisplayName":"Lars {{x}}","Message":"Hi {{firstName}}",\
        "ContentType":"text/plain","Id":"m1","ThreadId":"t1","Extra":{"a":[1]}
        """
      _ = try await gateway.send("/send", gateway.push("NotifyTextMessage", more))
      let request = try #require(gateway.bench.simulator.apns.requests.last)
      #expect(request.token == String(repeating: "01", count: 32) && request.header("apns-topic") == "com.acme.phone")
      #expect(request.header("apns-push-type") == "alert" && request.header("apns-priority") == "10")
      let payload = try gateway.payload()
      #expect(
        payload["aps"] == [
          "alert": ["title": "Lars {{x}}", "body": "Hi {{firstName}}"], "badge": 3, "sound": "s1.caf",
          "thread-id": "t1", "content-available": 1,
        ])
      #expect(payload["sm"] == "acc1" && payload["Id"] == "m1" && payload["Extra"] == ["a": [1]])
      #expect(payload["Message"] == "Hi {{firstName}}" && payload["UserName"] == "lars" && payload["Badge"] == 3)
      #expect(payload["pushreadurl"] == nil && payload["DeviceToken"] == nil && payload["verb"] == nil)
    }
  }

  @Test func `Contents that only the app reads are silent`() async throws {
    try await withSoftphoneGateway { gateway in
      for (type, isSilent) in [
        ("application/im-iscomposing+xml", true), ("message/imdn+xml; charset=utf-8", true), ("Message/IMDN+XML", true),
        ("text/plain", false), ("image/jpeg", false), ("", false),
      ] as [(String, Bool)] {
        let more = #""Message":"x","Badge":1,"Sound":"default","ContentType":"\#(type)""#
        _ = try await gateway.send("/send", gateway.push("NotifyTextMessage", more))
        let request = try #require(gateway.bench.simulator.apns.requests.last)
        #expect(request.header("apns-push-type") == (isSilent ? "background" : "alert"), "\(type)")
        #expect(try (gateway.payload()["aps"] == ["content-available": 1]) == isSilent, "\(type)")
        _ = try await gateway.send(
          "/send", gateway.push("NotifyTextMessage", to: "valid.appid", token: "ValidToken", more))
        let android = try #require(gateway.bench.simulator.fcm.requests.last)
        #expect(android.message["android"]?["priority"] == (isSilent ? "NORMAL" : "HIGH"), "\(type)")
        #expect(try gateway.data()["sm"] == "acc1" && gateway.data()["Badge"] == "1", "\(type)")
      }
    }
  }

  @Test func `To the PushKit AppId every verb is a call, with that AppId as topic`() async throws {
    try await withSoftphoneGateway { gateway in
      for verb in [
        "NotifyIncomingCall", "NotifyReprovision", "NotifyTextMessage", "NotifyIncomingCallMissed",
        "NotifyIncomingCallAnsweredElsewhere", "NotifyBalance",
      ] {
        let push = gateway.push(verb, to: SoftphoneGateway.calls, #""Message":"x","Id":"c1","Callee":"sip:b@x""#)
        #expect(try await gateway.send("/send", push).json.integer("code") == 200, "\(verb)")
        let request = try #require(gateway.bench.simulator.apns.requests.last)
        #expect(request.header("apns-topic") == "com.acme.phone.voip" && request.header("apns-push-type") == "voip")
        #expect(request.header("apns-priority") == "10")
        let payload = try gateway.payload()
        #expect(payload["Id"] == "c1")
        switch verb {
        case "NotifyIncomingCall": #expect(payload["s"] == "acc1" && payload["c"] == "sip:b@x")
        case "NotifyIncomingCallMissed": #expect(payload["s_missed"] == "acc1" && payload["s"] == nil)
        case "NotifyTextMessage": #expect(payload["sm"] == "acc1")
        default: #expect(payload["type"] == .string(verb) && payload["s"] == nil)
        }
        let expiry = request.header("apns-expiration").flatMap { Int($0) }
        #expect((expiry != nil) == verb.hasPrefix("NotifyIncomingCall"))
      }
    }
  }

  @Test(arguments: ["valid.appid", SoftphoneGateway.app])
  func `Attributes with names of the hub's own or of FCM's reach the app behind an x`(app: String) async throws {
    try await withSoftphoneGateway { gateway in
      let names =
        MessageTemplate.reservedFields.map(\.text).sorted() + [
          "from", "message_type", "collapse_key", "google.x", "gcm.y",
        ]
      let given = names.map { "\"\($0)\":\"\($0)\"" } + [#""type":"t""#, #""x-url":"own""#, #""note":"n""#]
      let token = app == SoftphoneGateway.app ? SoftphoneGateway.token(1) : "ValidToken"
      let push = gateway.push("NotifyReprovision", to: app, token: token, given.joined(separator: ","))
      #expect(try await gateway.send("/send", push).json.integer("code") == 200)
      let data = try app == SoftphoneGateway.app ? gateway.payload() : gateway.data()
      for name in names where name != "url" { #expect(data["x-\(name)"] == .string(name), "\(name)") }
      #expect(data["x-url"] == "own" && data["x-x-url"] == "url" && data["note"] == "n")
      #expect(data["type"] == "NotifyReprovision" && data["x-type"] == "t" && data["from"] == nil)
    }
  }

  @Test func `A call lives for 30 seconds on Android, too`() async throws {
    try await withSoftphoneGateway { gateway in
      _ = try await gateway.send("/send", gateway.push("NotifyIncomingCall", to: "valid.appid", token: "ValidToken"))
      let request = try #require(gateway.bench.simulator.fcm.requests.last)
      let ttl = request.message["android"]?.string("ttl").flatMap { Int($0.dropLast()) }
      #expect(ttl.map { (25...30).contains($0) } == true && request.message["android"]?["priority"] == "HIGH")
      #expect(try gateway.data()["s"] == "acc1")
    }
  }

  @Test func `Tokens of Firebase are the text in the base64, or what came`() async throws {
    try await withSoftphoneGateway { gateway in
      let native = "cXyz:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"
      for token in [native.base64, native.base64.filter { $0 != "=" }] {
        let reply = try await gateway.send(
          "/send", gateway.push("NotifyReprovision", to: "valid.appid", token: token))
        #expect(try reply.json.integer("code") == 200)
        #expect(gateway.bench.simulator.fcm.requests.last?.token == native)
      }
    }
  }

  @Test func `A text without Selector is of a contact that its token names`() async throws {
    try await withSoftphoneGateway { gateway in
      let push = gateway.push("NotifyGenericTextMessage", #""Message":"x","Selector":"","Sound":"default""#)
      #expect(try await gateway.send("/send", push).json.integer("code") == 200)
      #expect(try gateway.payload()["aps"] == ["alert": "x", "sound": "default"])
      let ids = try await gateway.bench.database.query("SELECT original_id FROM contact").map {
        try $0.decode(String.self)
      }
      let hash = SHA256.hash(data: Array(String(repeating: "01", count: 32).utf8))
      #expect(ids == ["token:" + Array(hash).hexDigits])
    }
  }

  @Test func `A softphone holds several accounts: the last one keeps the device, and each push names its own`()
    async throws
  {
    try await withSoftphoneGateway { gateway in
      for selector in ["acc1", "acc2"] {
        let push = gateway.push("NotifyTextMessage", #""Message":"x""#).replacing("acc1", with: selector)
        #expect(try await gateway.send("/send", push).json.integer("code") == 200)
        #expect(try gateway.payload()["sm"] == .string(selector))
      }
      let holders = try await gateway.bench.database.query(
        "SELECT original_id FROM contact JOIN device USING (customer_id, contact_id)")
      #expect(try holders.map { try $0.decode(String.self) } == ["acc2"])
    }
  }

  @Test func `Calls to all accounts of a softphone at once are all sent`() async throws {
    try await withSoftphoneGateway { gateway in
      let codes = try await withThrowingTaskGroup(of: Int64?.self) { group in
        for account in 1...20 {
          let call = gateway.push("NotifyIncomingCall", to: SoftphoneGateway.calls).replacing(
            "acc1", with: "account\(account)")
          group.addTask { try await gateway.send("/send", call).json.integer("code") }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes == Array(repeating: 200, count: 20))
      #expect(gateway.bench.simulator.apns.count == 20)
    }
  }

  @Test func `Marketers reach softphones, and have no part in calls`() async throws {
    try await withSoftphoneGateway { gateway in
      for (app, token) in [("valid.appid", "ValidToken"), (SoftphoneGateway.app, SoftphoneGateway.token(1))] {
        _ = try await gateway.send("/send", gateway.push("NotifyReprovision", to: app, token: token))
      }
      let message = """
        {"appIds":["valid.appid","com.acme.phone"],"to":{"originalId":"acc1"},"message":{"alert":"Hi {{originalId}}","sound":"s1.caf"},"wait":30}
        """
      let reply = try await gateway.server.send("POST", "/api/v1/messages", key: gateway.key, json: message)
      #expect(try reply.json.string("state") == "accepted")
      #expect(try gateway.payload()["aps"] == ["alert": "Hi acc1", "sound": "s1.caf"])
      for shown in [try gateway.payload(), try gateway.data()] {
        #expect(
          shown["type"] == "NotifyGenericTextMessage" && shown["Message"] == "Hi acc1" && shown["Sound"] == "s1.caf")
      }
      let call = message.replacing(#"["valid.appid","com.acme.phone"]"#, with: #"["com.acme.phone.voip"]"#)
      let refused = try await gateway.server.send("POST", "/api/v1/messages", key: gateway.key, json: call)
      #expect(refused.status == 400 && refused.error?.contains("is a PushKit AppId") == true)
    }
  }
}

extension String {
  fileprivate var base64: String { Data(utf8).base64EncodedString() }
}
