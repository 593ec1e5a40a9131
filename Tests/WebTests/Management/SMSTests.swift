import Crypto
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Sendouts
import Providers
import Simulator
import Support
import Testing
import Wire

/// SMS from the provider's settings to the status report, with the Simulator as CM and as Twilio.
@Suite struct SMSTests {
  /// Registers telephone numbers, each of a contact of its own.
  private func register(_ numbers: [String], _ bench: SendingBench) async throws {
    let app = try await PushApps(bench.pool).resolve(bench.customer, appID: PushApp.smsAppID)
    for number in numbers {
      let body = PushDevicesBody(
        "00\(number)", firstName: "N\(number.suffix(1))", token: "+\(number)", type: .sms)
      try await RegistrationBatcher(bench.pool, limits: .patient).register(
        bench.customer, try Registration(body, apps: [app]), returnsContact: false)
    }
  }

  /// A sendout to all numbers.
  private func send(_ bench: SendingBench, _ message: MessageBody) async throws -> SendoutKey {
    let reply = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(name: "SMS", appId: PushApp.smsAppID, audience: .all, message: message, start: true))
    return SendoutKey(bench.customer, reply.sendoutId)
  }

  private func withServer(
    _ body: @escaping @Sendable (SendingBench, TestWebServer, _ key: String) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      bench.simulator.sms.register(productToken: "sesame")
      bench.simulator.sms.register(accountSID: "AC1", authToken: "sesame")
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "admin", scope: .admin).token
      try await withTestWebServer(try WholeWebServer(bench).routes) { server in
        try await body(bench, server, key)
      }
    }
  }

  @Test func `A provider is set, shown without its secret, checked and changed`() async throws {
    try await withServer { bench, server, key in
      #expect(try await server.send("GET", "/api/v1/sms", key: key).status == 404)
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      #expect(set.status == 200, "\(set)")
      let shown = try await server.send("GET", "/api/v1/sms", key: key)
      #expect(shown.text == set.text && !shown.text.contains("sesame"))
      #expect(
        try shown.json.string("statusUrl")?.hasPrefix("https://push.example.com/sms/status/\(bench.customer)-") == true)
      let check = try await server.send("POST", "/api/v1/sms/check", key: key)
      #expect(try check.json.array("checks")?.first?.string("verdict") == "accepted", "\(check)")
      let changed = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: """
          {"provider":"twilio","sender":"+15005550006","accountSid":"AC1","authToken":"wrong",\
          "url":"\(bench.simulator.twilioURL("AC1"))"}
          """)
      #expect(try changed.json.string("provider") == "twilio", "\(changed)")
      #expect(try changed.json.integer("pushAppId") == set.json.integer("pushAppId"))
      let refused = try await server.send("POST", "/api/v1/sms/check", key: key)
      #expect(try refused.json.array("checks")?.first?.string("verdict") == "refused", "\(refused)")
      #expect(bench.simulator.sms.messages.isEmpty)
    }
  }

  @Test func `Settings that cannot be so are refused by their names`() async throws {
    try await withManagementServer(apns: PushServiceSettings()) { managed in
      for (body, words) in [
        (#"{"provider":"cm","sender":"Acme"}"#, "productToken is missing"),
        (#"{"provider":"cm","sender":"A name that is too long","productToken":"t"}"#, "sender must be"),
        (
          #"{"provider":"cm","sender":"Acme","productToken":"t","url":"http://cm.example/"}"#,
          "url must begin with https"
        ),
        (#"{"provider":"cm","sender":"Acme","productToken":"t","url":"https://10.0.0.1/"}"#, "private"),
        (
          #"{"provider":"cm","sender":"Acme","productToken":"t","url":"http://127.0.0.1:8080/"}"#, "url must be at port"
        ),
        (
          #"{"provider":"cm","sender":"Acme","productToken":"t","url":"https://localhost/"}"#,
          "url must be at a host of the"
        ),
        (
          #"{"provider":"cm","sender":"Acme","productToken":"t","voiceUrl":"https://127.0.0.1/"}"#,
          "voiceUrl must not be a private"
        ),
        (
          #"{"provider":"cm","sender":"Acme","productToken":"t","authToken":"x"}"#,
          "authToken belongs to the provider twilio"
        ),
        (#"{"provider":"twilio","sender":"Acme","accountSid":"A/C","authToken":"x"}"#, "accountSid holds"),
        (#"{"provider":"http","sender":"Acme","url":"https://a.example/"}"#, "template is missing"),
        (
          #"{"provider":"http","sender":"Acme","template":{"contentType":"form","body":"{to}{text}"}}"#,
          "url is missing"
        ),
        (
          #"{"provider":"http","sender":"Acme","url":"https://a.example/","template":{"contentType":"json","body":"{to} {text}"}}"#,
          "no JSON"
        ),
        (
          #"{"provider":"http","sender":"A","url":"https://a.example/","template":{"contentType":"form","body":"{to}{text}","x":1}}"#,
          "member x"
        ),
        (
          #"{"provider":"http","sender":"A","url":"https://a.example/","template":{"contentType":"form","body":"{to}{text}","headers":{"Host":"b"}}}"#,
          "header Host"
        ),
      ] as [(String, String)] {
        let reply = try await managed.send("PUT", "/api/v1/sms", json: body)
        #expect(reply.status == 400 && reply.error?.contains(words) == true, "\(reply)")
        #expect(try await managed.send("GET", "/api/v1/sms").status == 404, "\(body)")
      }
    }
  }

  @Test func `A sendout goes by SMS, each with its own text, and CM's reports are in the ledger`() async throws {
    try await withServer { bench, server, key in
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      let numbers = (1...5).map { "3161234567\($0)" }
      try await register(numbers, bench)
      bench.simulator.sms.rule(.prefix(numbers[2]), .refuse(.message(402)))
      bench.simulator.sms.rule(.prefix(numbers[3]), .refuse(.message(303)))
      let first = try await bench.withHubs {
        let key = try await send(bench, MessageBody(alert: "Hi {{firstName}}"))
        #expect(
          try await bench.until(key, .finished).counts == SendoutCounts(audience: 5, sent: 5, accepted: 3, failed: 2))
        return key
      }
      let messages = bench.simulator.sms.messages.filter(\.isAccepted)
      #expect(Set(messages.map(\.text)) == ["Hi N1", "Hi N2", "Hi N5"] && messages.allSatisfy { $0.from == "Acme" })

      // One is delivered, one is on the national blacklist, and one is reported twice.
      let path = "/sms/status/\(try set.json.string("statusUrl")?.split(separator: "/").last ?? "")"
      func report(_ number: String, _ code: String, _ error: String = "") async throws -> Int {
        let reference = messages.first { $0.to == number }?.reference ?? ""
        return try await server.send(
          "POST", path,
          json:
            #"{"messages":{"msg":{"reference":"\#(reference)","status":{"code":"\#(code)","errorCode":"\#(error)"}}}}"#
        ).status
      }
      #expect(try await report(numbers[0], "2") == 200)
      #expect(try await report(numbers[1], "3", "37") == 200)
      #expect(try await report(numbers[4], "3", "24") == 200)
      #expect(try await report(numbers[4], "2") == 200)
      #expect(try await report(numbers[4], "3", "8") == 200)
      let pushes = try await bench.pushes(first)
      #expect(
        Set(pushes.map { "\($0.delivery ?? "none") \($0.deliveryReason ?? "")" }) == [
          "delivered ", "failed 37 opted out (national blacklist)", "none ",
        ])
      #expect(pushes.count { $0.delivery == "delivered" } == 2)
      let why = try await bench.sendouts.why(bench.customer, first.sendout, originalID: "00\(numbers[1])")
      #expect(why.lines.contains { $0.text == "Not delivered: 37 opted out (national blacklist)." })
      let refused = try await bench.sendouts.why(bench.customer, first.sendout, originalID: "00\(numbers[2])")
      #expect(refused.lines.contains { $0.text.contains("402 opted out") })

      // Who has opted out gets nothing more, even if the number is registered again; a bad number is tried again then.
      try await register(numbers, bench)
      bench.simulator.sms.removeRules()
      try await bench.withHubs {
        let key = try await send(bench, MessageBody(alert: "Again"))
        #expect(try await bench.until(key, .finished).counts == SendoutCounts(audience: 3, sent: 3, accepted: 3))
      }
      #expect(
        Set(bench.simulator.sms.messages.filter { $0.text == "Again" }.map(\.to)) == [
          numbers[0], numbers[3], numbers[4],
        ])
    }
  }

  @Test func `Twilio's signed reports are taken, and others refused`() async throws {
    try await withServer { bench, server, key in
      _ = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: """
          {"provider":"twilio","sender":"+15005550006","accountSid":"AC1","authToken":"sesame",\
          "url":"\(bench.simulator.twilioURL("AC1"))"}
          """)
      try await register(["31612345678"], bench)
      let sendout = try await bench.withHubs {
        let key = try await send(bench, MessageBody(alert: "Hi"))
        try await bench.until(key, .finished)
        return key
      }
      let message = try #require(bench.simulator.sms.messages.first)
      let push = signed(sendout, try await bench.pushes(sendout)[0].pushNo)
      let settings = try await server.send("GET", "/api/v1/sms", key: key).json
      let url = "\(settings.string("statusUrl") ?? "")?reference=\(push.text)"
      #expect(message.to == "31612345678")
      let path = String(url.dropFirst("https://push.example.com".count))
      let body = "MessageSid=SM1&MessageStatus=delivered&To=%2B31612345678"
      func post(_ signature: String) async throws -> Int {
        try await server.send(
          "POST", path, headers: [("X-Twilio-Signature", signature)], json: body
        ).status
      }
      #expect(try await post("AAAA") == 403)
      #expect(try await bench.pushes(sendout)[0].delivery == nil)
      let text = url + "MessageSidSM1MessageStatusdeliveredTo+31612345678"
      #expect(try await post(twilioSignature(of: text, authToken: "sesame")) == 200)
      #expect(try await bench.pushes(sendout)[0].delivery == "delivered")
    }
  }

  @Test func `A forged address, junk, and another customer's report change nothing`() async throws {
    try await withServer { bench, server, key in
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      let token = String(try set.json.string("statusUrl")?.split(separator: "/").last ?? "")
      let report = #"{"messages":{"msg":{"reference":"10000001","status":{"code":"2"}}}}"#
      for forged in [
        "1", "\(bench.customer)-", "\(bench.customer)-AAAAAAAAAAAAAAAAAAAAAA", "9\(token)", "\(token)x", "-\(token)",
      ] {
        #expect(try await server.send("POST", "/sms/status/\(forged)", json: report).status == 404, "\(forged)")
      }
      #expect(try await server.send("POST", "/sms/status/\(token)", json: "hello").status == 400)
      #expect(try await server.send("POST", "/sms/status/\(token)", json: report).status == 200)
      // A push of another app is none of the provider's business.
      let sendout = try await bench.withHubs {
        try await bench.addDevices(1)
        let key = try await bench.send("Hi")
        try await bench.until(key, .finished)
        return key
      }
      let reference = signed(sendout, PushNumber(1)).text
      let foreign = #"{"messages":{"msg":{"reference":"\#(reference)","status":{"code":"3","errorCode":"37"}}}}"#
      #expect(try await server.send("POST", "/sms/status/\(token)", json: foreign).status == 200)
      #expect(try await bench.pushes(sendout)[0].delivery == nil)
    }
  }

  /// The reference that the push's provider gets.
  private func signed(_ sendout: SendoutKey, _ push: PushNumber) -> SMSReference {
    SMSStatusAddresses(key: Array(0..<32), publicURL: "").signed(
      SMSReference(sendout: sendout.sendout, push: push), of: sendout.customer)
  }

  @Test func `Whoever has the address alone, and not the message, can report nothing of it`() async throws {
    try await withServer { bench, server, key in
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      try await register(["31612345671", "31612345672"], bench)
      let sendout = try await bench.withHubs {
        let key = try await send(bench, MessageBody(alert: "Hi"))
        try await bench.until(key, .finished)
        return key
      }
      let path = "/sms/status/\(try set.json.string("statusUrl")?.split(separator: "/").last ?? "")"
      let messages = bench.simulator.sms.messages
      let codes = try messages.map { try #require(SMSReference($0.reference)?.code) }
      #expect(Set(codes).count == 2)
      func report(_ reference: SMSReference) async throws {
        let json = #"{"messages":{"msg":{"reference":"\#(reference.text)","status":{"code":"3","errorCode":"37"}}}}"#
        #expect(try await server.send("POST", path, json: json).status == 200)
      }
      // Without a code, with that of the other message, and with that of another customer.
      let own = try #require(SMSReference(messages[0].reference))
      let foreign = signed(SendoutKey(CustomerID(bench.customer.rawValue + 1), sendout.sendout), own.push)
      for code in [nil, codes[1], foreign.code, "0000000000"] {
        try await report(SMSReference(sendout: own.sendout, push: own.push, code: code))
      }
      #expect(try await bench.pushes(sendout).allSatisfy { $0.delivery == nil })
      try await report(own)
      #expect(try await bench.pushes(sendout).count { $0.delivery == "failed" } == 1)
    }
  }

  @Test func `A renewed address for status reports opens, and the one before no more`() async throws {
    try await withServer { bench, server, key in
      #expect(try await server.send("POST", "/api/v1/sms/status-address", key: key).status == 404)
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)?key=canary"}"#
      )
      #expect(set.status == 200 && !set.text.contains("canary"), "\(set)")
      let renewed = try await server.send("POST", "/api/v1/sms/status-address", key: key)
      #expect(renewed.status == 201, "\(renewed)")
      #expect(try await server.send("GET", "/api/v1/sms", key: key).text == renewed.text)
      let report = #"{"messages":{"msg":{"reference":"10000001","status":{"code":"2"}}}}"#
      var tokens: [String] = []
      for (reply, status) in [(set, 404), (renewed, 200)] {
        tokens.append(String(try #require(try reply.json.string("statusUrl")?.split(separator: "/").last)))
        #expect(try await server.send("POST", "/sms/status/\(tokens.last ?? "")", json: report).status == status)
      }
      #expect(tokens[0] != tokens[1])
      let log = try await server.send("GET", "/api/v1/audit", key: key)
      #expect(log.text.contains("sms.rotate") && !tokens.contains { log.text.contains($0) })
      // Another hub that starts now has the new one.
      let fresh = SMSStatusAddresses(key: Array(0..<32), publicURL: "https://push.example.com")
      #expect(fresh.customer(of: tokens[0]) == bench.customer)
      try await fresh.refresh(from: bench.pool)
      #expect(fresh.customer(of: tokens[0]) == nil && fresh.customer(of: tokens[1]) == bench.customer)
    }
  }

  @Test func `An opt-out that a report brought is undone by an admin, and the audit log has both`() async throws {
    try await withServer { bench, server, key in
      let set = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      try await register(["31612345671", "31612345672"], bench)
      try await bench.withHubs {
        let key = try await send(bench, MessageBody(alert: "Hi"))
        try await bench.until(key, .finished)
      }
      let path = "/sms/status/\(try set.json.string("statusUrl")?.split(separator: "/").last ?? "")"
      let reference = try #require(bench.simulator.sms.messages.first { $0.to == "31612345671" }?.reference)
      let report = #"{"messages":{"msg":{"reference":"\#(reference)","status":{"code":"3","errorCode":"37"}}}}"#
      #expect(try await server.send("POST", path, json: report).status == 200)
      func audience() async throws -> Int {
        try await bench.withHubs {
          let key = try await send(bench, MessageBody(alert: "Again"))
          return Int(try await bench.until(key, .finished).counts?.audience ?? 0)
        }
      }
      #expect(try await audience() == 1)
      let undone = try await server.send("DELETE", "/api/v1/sms/optouts/0031612345671", key: key)
      #expect(undone.status == 200, "\(undone)")
      #expect(try undone.json.string("reason") == "37 opted out (national blacklist)")
      #expect(try await audience() == 2)
      for number in ["0031612345671", "0031612345672", "0031699999999"] {
        #expect(try await server.send("DELETE", "/api/v1/sms/optouts/\(number)", key: key).status == 404)
      }
      #expect(try await server.send("DELETE", "/api/v1/sms/optouts/0612", key: key).status == 400)
      let log = try await server.send("GET", "/api/v1/audit", key: key)
      let line = try #require(try log.json.array("items")?.first)
      let device = try await bench.database.query("SELECT device_id FROM device WHERE token = '+31612345671'")[0]
        .decode(Int64.self)
      #expect(line.string("action") == "sms.allow" && line.string("target") == "device \(device)")
      #expect(!log.text.contains("31612345671"), "\(log.text)")
      #expect(line["before"]?.string("reason") == "37 opted out (national blacklist)")
    }
  }

  @Test func `Carma's replies show no telephone numbers among the devices`() async throws {
    try await withServer { bench, server, key in
      _ = try await server.send(
        "PUT", "/api/v1/sms", key: key,
        json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(bench.simulator.cmURL)"}"#)
      try await register(["31612345678"], bench)
      for app in ["sms", SendingBench.appID] {
        let reply = try await server.send(
          "GET", "/rest/\(bench.customer)/apps/\(app)/pushdevices/0031612345678",
          headers: [("X-Carma-Authentication-Token", key)])
        #expect(!reply.text.contains("+316"), "\(reply)")
      }
    }
  }
}

private func twilioSignature(of text: String, authToken: String) -> String {
  let code = HMAC<Insecure.SHA1>.authenticationCode(
    for: Data(text.utf8), using: SymmetricKey(data: Data(authToken.utf8)))
  return Data(code).base64EncodedString()
}
