import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Web
import Wire

/// Cloud Softphone's gateway, from a PBX's request to the phone.
@Suite struct SoftphoneRoutesTests {
  private static let sent = #"{"code":200,"status":200,"response":"Your message was sent."}"#

  @Test func `The vendor's single push is sent, and a dead token is told in his words`() async throws {
    try await withSoftphoneGateway { gateway in
      let push =
        #"{"DeviceToken": "ValidToken", "Selector": "ValidSelector", "AppId": "valid.appid", "verb": "NotifyGenericTextMessage", "Message": "Some message"}"#
      let reply = try await gateway.send("/send", push)
      #expect(reply.status == 200 && reply.text == Self.sent)
      #expect(gateway.bench.simulator.fcm.requests.map(\.token) == ["ValidToken"])
      let data = try gateway.data()
      #expect(data["Message"] == "Some message" && data["type"] == "NotifyGenericTextMessage")
      let contact = try await Contacts(gateway.bench.pool).find(
        gateway.bench.customer, originalID: "ValidSelector", apps: [PushAppID(2)])
      #expect(contact?.devices.map(\.token) == ["ValidToken"])

      gateway.bench.simulator.fcm.unregister(token: "ValidToken")
      let dead = #"{"code":404,"status":404,"response":"Pnmediator returned unknown error: ERR:404 Not Found"}"#
      #expect(try await gateway.send("/send", push).text == dead)
      // Once the device is retired, the push service is not asked.
      try await waitUntil {
        try await Contacts(gateway.bench.pool).find(
          gateway.bench.customer, originalID: "ValidSelector", apps: [PushAppID(2)])?.devices.first?.invalidatedAt
          != nil
      }
      #expect(try await gateway.send("/send", push).text == dead)
      #expect(gateway.bench.simulator.fcm.requests.count == 2)
    }
  }

  @Test func `Lists from many clients at once are sent, and no push of them is refused`() async throws {
    try await withSoftphoneGateway { gateway in
      let push =
        #"{"DeviceToken": "ValidToken", "Selector": "s", "AppId": "valid.appid", "verb": "NotifyReprovision"}"#
      _ = try await gateway.send("/send", push)
      // More pushes than a customer may have waiting for the database, each taken for itself. The client has eight connections.
      let list = "[" + Array(repeating: push, count: 600).joined(separator: ",") + "]"
      let replies = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<8 { group.addTask { try await gateway.send("/multisend", list).text } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let sent = "[" + Array(repeating: Self.sent, count: 600).joined(separator: ",") + "]"
      #expect(replies.filter { $0 != sent } == [])
    }
  }

  @Test func `The vendor's list is answered push by push, and one object as a list of one`() async throws {
    try await withSoftphoneGateway { gateway in
      gateway.bench.simulator.fcm.unregister(token: "ValidToken2")
      let list =
        #"[{"DeviceToken": "ValidToken1", "Selector": "ValidSelector1", "AppId": "valid.appid", "verb": "NotifyGenericTextMessage", "Message": "some message"}, {"DeviceToken": "ValidToken2", "Selector": "ValidSelector2", "AppId": "valid.appid", "verb": "NotifyGenericTextMessage", "Message": "some other message"}, null]"#
      let reply = try await gateway.send("/multisend", list)
      #expect(
        reply.text
          == "[\(Self.sent),"
          + #"{"code":404,"status":404,"response":"Pnmediator returned an error: ERR:404 Not Found\n"},"#
          + #"{"code":400,"status":400,"response":"Bad object you sent here"}]"#)
      let one =
        #"{"DeviceToken": "ValidToken", "Selector": "ValidSelector", "AppId": "valid.appid", "verb": "NotifyGenericTextMessage", "Message": "Some message"}"#
      #expect(try await gateway.send("/multisend", one).text == "[\(Self.sent)]")
      #expect(
        try await gateway.send("/multisend", "[null]").text
          == #"[{"code":400,"status":400,"response":"Bad object you sent here"}]"#)
      #expect(try await gateway.send("/multisend", "[]").text == "[]")
    }
  }

  @Test func `What is no request of the protocol is an HTTP 400`() async throws {
    try await withSoftphoneGateway { gateway in
      for path in ["/send", "/multisend"] {
        for body in ["null", "5", #""x""#, "{", ""] {
          #expect(try await gateway.send(path, body).status == 400, "\(path) \(body)")
        }
        #expect(try await gateway.send(path, nil, headers: [("Content-Type", "text/plain")]).status == 400)
        #expect(try await gateway.send(path, nil).status == 400)
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
          let reply = try await gateway.server.send(method, "/k/\(gateway.key)/pnm2\(path)", json: "{}")
          #expect(reply.status == 400, "\(method) \(path)")
        }
      }
      #expect(try await gateway.send("/send", "[]").status == 400)
      let many = "[" + Array(repeating: "null", count: 1001).joined(separator: ",") + "]"
      #expect(try await gateway.send("/multisend", many).status == 400)
      let most = "[" + Array(repeating: "null", count: 1000).joined(separator: ",") + "]"
      #expect(try await gateway.send("/multisend", most).status == 200)
    }
  }

  @Test func `Half a surrogate pair is replaced, and U+0000 is its push's own fault`() async throws {
    try await withSoftphoneGateway { gateway in
      func push(_ text: String) -> String {
        #"{"DeviceToken":"ValidToken","Selector":"a","AppId":"valid.appid","verb":"NotifyGenericTextMessage","Message":"\#(text)"}"#
      }
      let list = "[\(push(#"Hi \ud83d"#)),\(push(#"a\u0000b"#)),\(push("Bye"))]"
      let refusal = #"{"code":400,"status":400,"response":"Message holds U+0000."}"#
      let answered = try await gateway.send("/multisend", list).text
      #expect(answered == "[\(Self.sent),\(refusal),\(Self.sent)]")
      let messages = gateway.bench.simulator.fcm.requests.compactMap { $0.message["data"]?.string("Message") }
      #expect(Set(messages) == ["Hi \u{FFFD}", "Bye"])
      #expect(try await gateway.send("/send", push(#"a\u0000b"#)).text == refusal)
      #expect(try await gateway.send("/send", push(#"\udc00"#)).text == Self.sent)
      #expect(try gateway.data().string("Message") == "\u{FFFD}")
    }
  }

  @Test func `What a client has to correct is code 400, which names the attribute`() async throws {
    try await withSoftphoneGateway { gateway in
      let ok = #""DeviceToken":"ValidToken","Selector":"a","AppId":"valid.appid","verb":"NotifyTextMessage""#
      for (body, sentence) in [
        ("{}", "verb is missing."), (#"{"verb":"NotifyTextMessage"}"#, "AppId is missing."),
        (#"{"verb":"NotifyTextMessage","AppId":"valid.appid"}"#, "DeviceToken is missing."),
        (#"{"verb":"NotifyTextMessage","AppId":"valid.appid","DeviceToken":"Valid"}"#, "DeviceToken is no base64."),
        (#"{"verb":"NotifyTextMessage","AppId":"valid.appid","DeviceToken":"a b="}"#, "DeviceToken is no base64."),
        (
          #"{"verb":"NotifyTextMessage","AppId":"valid.appid","DeviceToken":"ValidToken"}"#,
          "Selector is missing: NotifyTextMessage needs it."
        ),
        (#"{"verb":7,"AppId":"valid.appid","DeviceToken":"ValidToken"}"#, "verb must be a text."),
        ("{\(ok),\"AppId\":\"com.none\"}", "AppId is not known here: add it as a push app."),
        ("{\(ok),\"verb\":\"Reboot\"}", "verb is not known: it begins with Notify, as in NotifyTextMessage."),
        ("{\(ok),\"verb\":\"NotifyGenericTextMessage\"}", "Message is missing: NotifyGenericTextMessage shows it."),
        (
          gateway.push("NotifyTextMessage", #""Badge":-1"#), "Badge must be a whole number from 0 to 2147483647."
        ),
        (gateway.push("NotifyTextMessage", #""Message":{"a":1}"#), "Message must be a text."),
        (
          gateway.push("NotifyIncomingCall"),
          "AppId is not the PushKit AppId, which NotifyIncomingCall needs on iOS."
        ),
      ] {
        let reply = try await gateway.send("/send", body)
        #expect(reply.status == 200)
        #expect(try reply.json.integer("code") == 400 && reply.json.integer("status") == 400, "\(body)")
        #expect(try reply.json.string("response") == sentence)
      }
      let large = gateway.push("NotifyReprovision", "\"x\":\"\(String(repeating: "y", count: 5000))\"")
      #expect(try await gateway.send("/send", large).json.integer("code") == 400)
      #expect(gateway.bench.simulator.apns.count == 0 && gateway.bench.simulator.fcm.requests.isEmpty)
    }
  }

  @Test func `Passing failures are tried again while the client waits`() async throws {
    try await withSoftphoneGateway { gateway in
      gateway.bench.simulator.fcm.rule(.any, .refuse(.unavailable()), times: 2)
      let push = gateway.push("NotifyReprovision", to: "valid.appid", token: "ValidToken")
      #expect(try await gateway.send("/send", push).text == Self.sent)
      #expect(gateway.bench.simulator.fcm.requests.count == 3)
      // What the push service said is told before it is written.
      let accepted = "SELECT FROM push WHERE state = 'accepted'"
      try await waitUntil { try await !gateway.bench.database.query(accepted).isEmpty }
      let rows = try await gateway.bench.database.query("SELECT state, attempts::int8 FROM push")
      let (state, attempts) = try #require(rows.first).decode(String.self, Int64.self)
      #expect(rows.count == 1 && state == "accepted" && attempts == 3)
    }
  }

  @Test func `What has no verdict in time is code 500, and is sent nevertheless`() async throws {
    try await withSoftphoneGateway(verdictTimeout: .milliseconds(200)) { gateway in
      gateway.bench.simulator.fcm.rule(.any, .refuse(.unavailable()))
      let push = gateway.push("NotifyReprovision", to: "valid.appid", token: "ValidToken")
      let reply = try await gateway.send("/send", push)
      #expect(
        reply.text
          == #"{"code":500,"status":500,"response":"The push service has not accepted the message in time."}"#)
      gateway.bench.simulator.fcm.removeRules()
      let accepted = "SELECT FROM push WHERE state = 'accepted'"
      try await waitUntil { try await !gateway.bench.database.query(accepted).isEmpty }
    }
  }

  @Test func `Refused credentials are code 500 at once, and no token dies of them`() async throws {
    try await withSoftphoneGateway(verdictTimeout: .seconds(600)) { gateway in
      gateway.bench.simulator.apns.rule(.any, .refuse(status: 403, reason: "InvalidProviderToken"))
      let reply = try await gateway.send("/send", gateway.push("NotifyReprovision"))
      #expect(
        reply.text
          == #"{"code":500,"status":500,"response":"The push service refuses the app's credentials: see pushcart app check."}"#
      )
      #expect(
        try await gateway.bench.database.query("SELECT FROM device WHERE invalidated_at IS NOT NULL").isEmpty)
    }
  }

  @Test func `The old service takes forms and answers in words`() async throws {
    try await withSoftphoneGateway { gateway in
      func form(_ body: String, type: String = "application/x-www-form-urlencoded") async throws -> (Int, String) {
        let reply = try await gateway.post("", body, type: type)
        return (reply.status, reply.text)
      }
      // 0xFB 0xEF 0xBE is "++++" in base64, and clients forget to encode it.
      let bytes = [UInt8](repeating: 0xFB, count: 30)
      let token = Data(bytes).base64EncodedString()
      let ok = "verb=NotifyTextMessage&AppId=com.acme.phone&Selector=a&Message=Hi+there%21&DeviceToken="
      #expect(try await form(ok + token) == (200, "OK"))
      #expect(gateway.bench.simulator.apns.requests.last?.token == String(repeating: "fb", count: 30))
      #expect(try gateway.payload()["aps"]?["alert"] == "Hi there!")
      #expect(try await form(ok + token, type: "application/x-www-form-urlencoded; charset=utf-8") == (200, "OK"))
      gateway.bench.simulator.apns.expire(token: String(repeating: "fb", count: 30), since: Date())
      #expect(try await form(ok + token) == (200, "ERR:404 Not Found"))
      #expect(try await form("verb=NotifyTextMessage&AppId=com.none&DeviceToken=AAAA") == (200, "ERR:400 Bad Request"))
      for name in ["verb", "AppId", "DeviceToken"] {
        let (status, text) = try await form((ok + token).replacing("\(name)=", with: "x="))
        #expect(status == 400 && text.contains("\(name) is missing."))
      }
      #expect(try await form(ok + token, type: "text/plain").0 == 400)
      #expect(try await form("verb=%zz").0 == 400)
      #expect(try await gateway.server.send("GET", "/k/\(gateway.key)/pnm2").status == 400)
    }
  }

  @Test(arguments: ["NotifyTextMessage", "NotifyGenericTextMessage", "NotifyIncomingCall", "NotifyReprovision"])
  func `The old service needs verb, AppId and DeviceToken alone`(verb: String) async throws {
    try await withSoftphoneGateway { gateway in
      for app in ["valid.appid", SoftphoneGateway.calls] {
        let token = app == "valid.appid" ? "ValidToken" : SoftphoneGateway.token(1)
        let reply = try await gateway.post(
          "", "verb=\(verb)&AppId=\(app)&DeviceToken=\(token)", type: "application/x-www-form-urlencoded")
        #expect(reply.status == 200 && reply.text == "OK", "\(app): \(reply.text)")
      }
      #expect(try gateway.data()["type"] == .string(verb))
      #expect(try gateway.payload()["type"] == .string(verb))
    }
  }

  @Test func `A Selector that is a number keeps its plus sign in forms`() async throws {
    try await withSoftphoneGateway { gateway in
      for selector in ["+4930123456", "%2B4930123456"] {
        let form = "verb=NotifyIncomingCall&AppId=valid.appid&DeviceToken=ValidToken&Selector=\(selector)"
        #expect(try await gateway.post("", form, type: "application/x-www-form-urlencoded").text == "OK")
        #expect(try gateway.data()["s"] == "+4930123456")
      }
      let owners = try await gateway.bench.database.query("SELECT original_id FROM contact")
      #expect(try owners.map { try $0.decode(String.self) } == ["+4930123456"])
    }
  }

  @Test func `No path of the gateway answers 404, and a slash at its end is as good as none`() async throws {
    try await withSoftphoneGateway { gateway in
      let push = gateway.push("NotifyReprovision")
      let form = "verb=NotifyReprovision&AppId=\(SoftphoneGateway.app)&DeviceToken=\(SoftphoneGateway.token(1))"
      let type = "application/x-www-form-urlencoded"
      #expect(try await gateway.send("/send/", push).text == Self.sent)
      #expect(try await gateway.send("/multisend/", push).text == "[\(Self.sent)]")
      #expect(try await gateway.post("/", form.replacing("+", with: "%2B"), type: type).text == "OK")
      let key = gateway.key
      for path in [
        "//k/\(key)/pnm2/send", "/k//\(key)/pnm2/send", "/k/\(key)//pnm2/send", "/k/\(key)/pnm2//send",
        "/k/\(key)/pnm2/send//", "/k/\(key)/pnm2/sends", "/k/\(key)/pnm2/send/x", "/k/\(key)", "/k//pnm2/send", "/k/",
        "/pnm2/sends", "//pnm2/send", "/pnm2//", "/k/\(key)/pnm3/send",
      ] {
        let reply = try await gateway.server.send("POST", path, json: push)
        #expect(reply.status == 400 && reply.error?.contains("at this path") == true, "\(path): \(reply.status)")
      }
      #expect(try await gateway.server.send("POST", "/pnm", json: push).status == 404)
      #expect(gateway.bench.simulator.apns.requests.count == 3)
    }
  }

  @Test func `A dead token is told at once, whatever else its batch waits for`() async throws {
    // The silent one has no verdict within this time, and the dead one has on a busy machine, too.
    try await withSoftphoneGateway(verdictTimeout: .seconds(20)) { gateway in
      let fcm = gateway.bench.simulator.fcm
      fcm.unregister(token: "DeadToken")
      fcm.rule(.prefix("SilentToken"), .ignore)
      func push(_ token: String) -> String {
        gateway.push("NotifyReprovision", to: "valid.appid", token: Data(token.utf8).base64EncodedString())
      }
      let reply = try await gateway.send("/multisend", "[\(push("SilentToken")),\(push("DeadToken"))]")
      guard case .array(let verdicts) = try reply.json else { throw CancellationError() }
      #expect(verdicts.map { $0.integer("code") } == [500, 404], "\(reply.text)")
      fcm.answerIgnored()
    }
  }

  @Test func `Where most tokens of a list look dead, the app may be at fault, and none is told as dead`() async throws {
    try await withSoftphoneGateway(verdictTimeout: .seconds(5)) { gateway in
      let fcm = gateway.bench.simulator.fcm
      fcm.rule(.prefix("Silent"), .ignore)
      fcm.rule(.prefix("Dead"), .refuse(.unregistered))
      let pushes = (["SilentToken"] + (1...60).map { "DeadToken\($0)" }).map { token in
        gateway.push("NotifyReprovision", to: "valid.appid", token: Data(token.utf8).base64EncodedString())
      }
      let reply = try await gateway.send("/multisend", "[\(pushes.joined(separator: ","))]")
      guard case .array(let verdicts) = try reply.json else { throw CancellationError() }
      #expect(verdicts.map { $0.integer("code") } == [Int64](repeating: 500, count: 61), "\(reply.text)")
      fcm.answerIgnored()
    }
  }
}

extension SoftphoneGateway {
  func post(_ path: String, _ body: String, type: String) async throws -> TestReply {
    try await server.send("POST", "/k/\(key)/pnm2\(path)", headers: [("Content-Type", type)], body: body)
  }
}

/// Who may send.
@Suite struct SoftphoneAccessTests {
  private static let push =
    #"{"verb":"NotifyReprovision","AppId":"valid.appid","DeviceToken":"ValidToken","Selector":"a"}"#

  @Test func `The key is in the path, the bearer's token, or the password of Basic`() async throws {
    try await withSoftphoneGateway { gateway in
      func status(_ path: String, _ authorization: String? = nil) async throws -> Int {
        let headers = authorization.map { [("Authorization", $0)] } ?? []
        return try await gateway.server.send("POST", path, headers: headers, json: Self.push).status
      }
      let basic = Data("anybody:\(gateway.key)".utf8).base64EncodedString()
      #expect(try await status("/k/\(gateway.key)/pnm2/send") == 200)
      #expect(try await status("/pnm2/send", "Bearer \(gateway.key)") == 200)
      #expect(try await status("/pnm2/send", "basic \(basic)") == 200)
      for wrong in [nil, "Bearer x", "Basic \(Data(gateway.key.utf8).base64EncodedString())x", "Basic !", "Digest a"] {
        #expect(try await status("/pnm2/send", wrong) == 401, "\(wrong ?? "")")
      }
      #expect(try await status("/k/pck_1_x/pnm2/send") == 401)
      let keys = AccessKeys(gateway.bench.pool)
      let device = try await keys.make(gateway.bench.customer, name: "app", scope: .device).token
      #expect(try await status("/k/\(device)/pnm2/send") == 403)
      let bound = try await keys.make(
        gateway.bench.customer, name: "other", scope: .send, appID: SoftphoneGateway.app
      ).token
      let reply = try await gateway.server.send("POST", "/k/\(bound)/pnm2/send", json: Self.push)
      #expect(try reply.json.integer("code") == 400)
    }
  }

  @Test(arguments: [
    ("127.0.0.0/8", nil, nil, 200), ("10.0.0.0/8", nil, nil, 401), ("10.0.0.0/8", nil, "10.1.2.3", 401),
    ("10.0.0.0/8", "127.0.0.1", "10.1.2.3", 200), ("127.0.0.0/8", "127.0.0.1", "192.0.2.7", 401),
    ("2001:db8::7", "127.0.0.1", "2001:db8::7", 200), ("2001:db8::7", "127.0.0.1", "2001:db8::8", 401),
  ])
  func `Without a key the client has to be in a listed network, whatever it says of itself`(
    networks: String, proxy: String?, forwarded: String?, status: Int
  ) async throws {
    var settings = SoftphoneSettings()
    settings.networks = try #require(IPNetworks(networks))
    settings.customer = CustomerID(1)
    var server = WebServerSettings()
    if let proxy { server.trustedProxies = try #require(TrustedProxies(proxy)) }
    try await withSoftphoneGateway(settings: settings, server: server) { gateway in
      let headers = forwarded.map { [("X-Forwarded-For", $0)] } ?? []
      let reply = try await gateway.server.send("POST", "/pnm2/send", headers: headers, json: Self.push)
      #expect(reply.status == status)
    }
  }

  @Test func `No key of a path is in a log or a metric's name`() async throws {
    let log = LogCapture()
    try await withSoftphoneGateway(logger: log.logger) { gateway in
      for path in ["/send", "/multisend", "", "/none"] {
        _ = try await gateway.send(path, Self.push)
        _ = try await gateway.send(path, "{")
        _ = try await gateway.server.send("GET", "/k/\(gateway.key)/pnm2\(path)")
      }
      #expect(log.lines.contains { $0.contains("/k/{accessKey}/pnm2/send") })
      #expect(log.lines.filter { $0.contains(gateway.key) || $0.contains(gateway.key.suffix(20)) } == [])
    }
  }
}
