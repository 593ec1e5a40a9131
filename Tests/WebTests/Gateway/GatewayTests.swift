import Delivery
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Hybrid
@testable import Web

@Suite struct GatewayTests {
  /// The hub with an app of Hybrid Messaging and a contact whose telephone number is 0031600000001.
  private struct Gateway: Sendable {
    static let appKey = "00000000-0001-8000-8000-000000000001"

    let bench: SendingBench
    let server: TestWebServer
    let contract: APIContract
    let token: String

    func post(
      _ body: String, to path: String = "/gateway.ashx", type: String = "application/json",
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestReply {
      let reply = try await server.post(path, Array(body.utf8), type: type)
      #expect(contract.problems("POST", path, reply) == [], sourceLocation: sourceLocation)
      return reply
    }

    func get(_ query: String) async throws -> TestReply {
      let reply = try await server.send("GET", "/gateway.ashx?\(query)")
      #expect(contract.problems("GET", "/gateway.ashx", reply) == [])
      return reply
    }

    /// A request of these messages, in JSON.
    func json(_ msg: String, token: String? = nil) -> String {
      #"{"messages":{"authentication":{"producttoken":"\#(token ?? self.token)"},"msg":[\#(msg)]}}"#
    }

    /// The same in XML.
    func xml(_ msg: String, token: String? = nil) -> String {
      "<MESSAGES><AUTHENTICATION><PRODUCTTOKEN>\(token ?? self.token)</PRODUCTTOKEN></AUTHENTICATION>\(msg)</MESSAGES>"
    }

    /// A message that is accepted, with `more` in it.
    func message(_ more: String = "", to number: String = "0031600000001", text: String = "Hello") -> String {
      #"{"from":"Company","to":[{"number":"\#(number)"}],"body":{"content":"\#(text)"},"appKey":"\#(Self.appKey)"\#(more)}"#
    }

    func countMessages() async throws -> Int {
      try await bench.database.query("SELECT count(*) FROM message")[0].decode(Int.self)
    }
  }

  private func withGateway(_ body: @escaping @Sendable (Gateway) async throws -> Void) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      try await bench.database.query("UPDATE contact SET original_id = '0031600000001'")
      try await bench.database.query(
        """
        INSERT INTO hybrid_app (customer_id, app_id, app_key, pin_text, voice_text, moved_text, secret)
        VALUES ($1::bigint, 'com.acme.app', $2::text::uuid, '', '', '', '')
        """, bench.customer.rawValue, Gateway.appKey)
      let token = try await AccessKeys(bench.pool).make(bench.customer, name: "gateway", scope: .gateway).token
      try await bench.withWholeServer { server in
        let contract = try await APIContract()
        try await body(Gateway(bench: bench, server: server, contract: contract, token: token))
      }
    }
  }

  @Test func `JSON is accepted message by message, with CM's replies byte for byte`() async throws {
    try await withGateway { gateway in
      for path in ["/gateway.ashx", "/v1.0/message"] {
        let one = try await gateway.post(gateway.json(gateway.message(#","reference":"a""#)), to: path)
        #expect(one.status == 200)
        #expect(
          one.text
            == #"{"details":"Created 1 message(s)","errorCode":0,"messages":[{"to":"0031600000001","status":"Accepted","reference":"a","parts":1,"messageDetails":null,"messageErrorCode":0}]}"#
        )
      }
      let empty = gateway.message(#","reference":"b""#, text: "")
      let both = try await gateway.post(gateway.json("\(gateway.message(#","Reference":"a""#)),\(empty)"))
      #expect(both.status == 200)
      #expect(
        both.text
          == #"{"details":"Created 1 message(s)","errorCode":201,"messages":[{"to":"0031600000001","status":"Accepted","reference":"a","parts":1,"messageDetails":null,"messageErrorCode":0},{"to":"0031600000001","status":"Rejected","reference":"b","parts":0,"messageDetails":"A body without content was found","messageErrorCode":304}]}"#
      )
      let none = try await gateway.post(gateway.json(empty))
      #expect(none.status == 400)
      #expect(
        none.text
          == #"{"details":"Created 0 message(s)","errorCode":201,"messages":[{"to":"0031600000001","status":"Rejected","reference":"b","parts":0,"messageDetails":"A body without content was found","messageErrorCode":304}]}"#
      )
      #expect(try await gateway.countMessages() == 3)
    }
  }

  @Test func `XML is accepted with an empty reply, or refused as a whole with CM's text`() async throws {
    try await withGateway { gateway in
      let from = "<FROM>Company</FROM>"
      let to = "<TO>0031600000001</TO>"
      let body = "<BODY>Hello</BODY>"
      let key = "<APPKEY>\(Gateway.appKey)</APPKEY>"
      let good = "<MSG>\(from)\(to)\(body)\(key)</MSG>"
      for path in ["/gateway.ashx", "/v1.0/message"] {
        for start in ["", "\u{FEFF}", #"<?xml version="1.0"?>"#, "\n"] {
          let reply = try await gateway.post(start + gateway.xml(good), to: path, type: "text/xml")
          #expect(reply.status == 200 && reply.text == "", "\(start)")
        }
      }
      let sent = try await gateway.countMessages()
      #expect(sent == 8)
      for (msg, text) in [
        ("<MSG>\(to)\(body)\(key)</MSG>", "No FROM field found in a MSG node."),
        ("<MSG>\(from)\(body)\(key)</MSG>", "No phone numbers found. Message will not be sent."),
        ("<MSG>\(from)<TO/>\(body)\(key)</MSG>", "Rejected: Gsm '' is not a number."),
        ("<MSG>\(from)<TO>0612345678</TO>\(body)\(key)</MSG>", "Rejected: Gsm '0612345678' is not a number."),
        ("<MSG>\(from)\(to)<BODY> </BODY>\(key)</MSG>", "A body without content was found"),
        (
          "<MSG>\(from)\(to)\(body)\(key)<ALLOWEDCHANNELS>Fax</ALLOWEDCHANNELS></MSG>",
          "ALLOWEDCHANNELS must be SMS or Push."
        ),
        ("<MSG>\(from)\(to)\(body)\(key)<VALIDITY>2017-04-20 11:50:05</VALIDITY></MSG>", "VALIDITY is in the past."),
        ("<MSG>\(from)\(to)\(body)</MSG>", "Message is unrouteable."),
        ("", "A MESSAGES node requires at least one MSG node"),
        ("<MSG>", "The XML is not well formed at line 1, column 125."),
      ] {
        // Whatever is wrong with one, the others are not sent either.
        let all = msg.isEmpty || msg == "<MSG>" || text == "Message is unrouteable." ? [msg] : [good + msg, msg + good]
        for msg in all {
          let reply = try await gateway.post(gateway.xml(msg), type: "application/xml")
          #expect(reply.status == 200 && reply.text == "Error: ERROR \(text)", "\(msg)")
        }
      }
      for (token, text) in [
        ("x", "Invalid product token."), ("", "No account found for the given authentication"),
        (UUID().uuidString, "No account found for the given authentication"),
      ] {
        let reply = try await gateway.post(gateway.xml(good, token: token), type: "application/xml")
        #expect(reply.status == 200 && reply.text == "Error: ERROR \(text)")
      }
      #expect(try await gateway.countMessages() == sent)
    }
  }

  @Test func `Every form of a number leads to the same contact, and each of several numbers has its result in order`()
    async throws
  {
    try await withGateway { gateway in
      let numbers = ["0031600000001", "+31600000001", "31600000001", "0600000001", "x", "", "+31 6 0000 0001"]
      let to = numbers.map { #"{"number":"\#($0)"}"# }.joined(separator: ",")
      let message = #"{"from":"A","to":[\#(to)],"body":{"content":"x"},"appKey":"\#(Gateway.appKey)"}"#
      let reply = try await gateway.post(gateway.json(message))
      let results = try #require(try reply.json.array("messages"))
      #expect(results.map { $0.string("to") } == numbers)
      #expect(results.map { $0.integer("messageErrorCode") } == [0, 0, 0, 303, 303, 303, 0])
      #expect(results[3].string("messageDetails") == "Gsm '0600000001' is not a number.")
      #expect(try await gateway.countMessages() == 4)
    }
  }

  @Test func `Only a key of scope gateway opens it, and that opens nothing else`() async throws {
    try await withGateway { gateway in
      let (keys, customer) = (AccessKeys(gateway.bench.pool), gateway.bench.customer)
      var others = [
        "", "x", UUID().uuidString, "00000000-0000-0000-0000-000000000000", "00000000-0001-8000-8000-000000000001",
      ]
      for scope in AccessScope.allCases where scope != .gateway {
        let app = scope == .datasync ? "com.acme.app" : nil
        others.append(try await keys.make(customer, name: "k", scope: scope, appID: app).token)
      }
      for token in others {
        let reply = try await gateway.post(gateway.json(gateway.message(), token: token))
        #expect(reply.status == 400)
        #expect(
          reply.text == #"{"details":"No account found for the given authentication","errorCode":101,"messages":[]}"#)
        let query = try await gateway.get("producttoken=\(token)&from=A&to=0031600000001&body=x")
        #expect(query.status == 200 && query.text.hasPrefix("Error: ERROR "))
      }
      #expect(try await gateway.post(#"{"messages":{"msg":[{}]}}"#).text.contains(#""errorCode":101"#))
      #expect(try await gateway.countMessages() == 0)
      for path in [
        "/api/v1/keys", "/api/v1/messages/1", "/rest/\(customer)/triggers",
        "/rest/\(customer)/apps/com.acme.app/pushdevices/a",
      ] {
        let reply = try await gateway.server.send(
          "GET", path, key: gateway.token, headers: [("X-Carma-Authentication-Token", gateway.token)])
        #expect(reply.status == 403, "\(path)")
      }
      let upper = try await gateway.post(gateway.json(gateway.message(), token: gateway.token.uppercased()))
      #expect(upper.status == 200)
      let key = try #require(try await keys.list(customer).first { $0.scope == .gateway })
      let admin = try await keys.make(customer, name: "k", scope: .admin).token
      _ = try await gateway.server.send("DELETE", "/api/v1/keys/\(key.keyId)", key: admin)
      #expect(try await gateway.post(gateway.json(gateway.message())).text.contains(#""errorCode":101"#))
    }
  }

  @Test func `Each code has its message`() async throws {
    try await withGateway { gateway in
      for (message, code) in [
        (#"{"from":"","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 301),
        (#"{"from":"TwelveLetter","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 301),
        (#"{"from":"12345678901234567","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 301),
        (#"{"from":"A\tB","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 301),
        (#"{"from":"Ä","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 301),
        (#"{"from":"A","to":[],"body":{"content":"x"}}"#, 302), (#"{"from":"A","body":{"content":"x"}}"#, 302),
        (#"{"from":"A","to":[{"number":"0612345678"}],"body":{"content":"x"}}"#, 303),
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":" \n"}}"#, 304),
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"a\u0000"}}"#, 304),
        (#"{"from":"A","to":[{"number":"0031600000001"}]}"#, 304),
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"\#(tooManyMarks)"}}"#, 304),
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"\#(largeCharacter)","type":"AUTO"}}"#, 304),
        // Neither a push nor an SMS can take it: there are no app and no provider.
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"x"}}"#, 403),
        (
          #"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"x"},"appKey":"00000000-0000-0000-0000-000000000000"}"#,
          103
        ),
        (#"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"x"},"appKey":"x"}"#, 103),
      ] as [(String, Int64)] as [(String, Int64)] {
        let reply = try await gateway.post(gateway.json(message))
        let result = try #require(try reply.json.array("messages")?.first)
        #expect(reply.status == 400 && result.integer("messageErrorCode") == code, "\(reply.text)")
        #expect(result.string("status") == "Rejected" && result.integer("parts") == 0, "\(message)")
      }
    }
  }

  @Test func `A request that is none is refused as a whole with 202, and one without messages with 203`() async throws {
    try await withGateway { gateway in
      let bodies: [(String, Int64)] = [
        ("", 202), ("{", 202), ("[]", 202), ("nonsense", 202), ("{}", 203), (#"{"messages":{"msg":{}}}"#, 203),
        (gateway.json(Array(repeating: "{}", count: 1001).joined(separator: ",")), 203),
      ]
      for (body, code) in bodies {
        let reply = try await gateway.post(body, type: "text/plain")
        #expect(reply.status == 400, "\(body.prefix(20))")
        #expect(try reply.json.integer("errorCode") == code && reply.json.array("messages") == [], "\(reply.text)")
      }
    }
  }

  @Test func `A thousand messages are answered one by one, and a body over 4 MiB is refused, framed or not`()
    async throws
  {
    try await withGateway { gateway in
      let many = (0..<1000).map { gateway.message(#","reference":"\#($0)""#, to: $0 % 2 == 0 ? "0031600000001" : "x") }
      let reply = try await gateway.post(gateway.json(many.joined(separator: ",")))
      let results = try #require(try reply.json.array("messages"))
      #expect(results.map { $0.string("reference") } == (0..<1000).map(String.init))
      #expect(try reply.json.string("details") == "Created 500 message(s)")
      #expect(try await gateway.countMessages() == 500)

      let blanks = String(repeating: " ", count: 4 * 1024 * 1024)
      let raw = try RawHTTP(gateway.server.url)
      let start = "POST /gateway.ashx HTTP/1.1\r\nHost: x\r\n"
      // Before the body is there, its type says in which form the reply is.
      let length = "Content-Length: \(blanks.utf8.count + 2)\r\n\r\n"
      let json = try #require(try await raw.send(start + length))
      #expect(json.status == 413 && json.text.contains(#""errorCode":202,"messages":[]}"#), "\(json.text)")
      let xml = try #require(try await raw.send(start + "Content-Type: application/xml\r\n" + length))
      #expect(xml.status == 413 && xml.text.contains("\r\n\r\nError: ERROR The body is larger than"), "\(xml.text)")
      // Of somebody who is not known, no more than 64 KiB are read.
      let strange = try await gateway.post(String(blanks.dropLast(2) + "{}"))
      #expect(strange.status == 413 && strange.text.contains("Put it before the messages"), "\(strange.text)")
      let known = gateway.json(gateway.message("", to: "0031600000001"))
      let rest = blanks.dropLast(known.utf8.count)
      #expect(try await gateway.post(known + rest).status == 200)
      #expect(try await gateway.post(rest + known).status == 413)
      #expect(try await gateway.post(known.replacing(gateway.token, with: "\(UUID())") + rest).status == 413)
      let chunk = "10000\r\n\(String(repeating: " ", count: 65_536))\r\n"
      let chunked =
        start + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 65) + "0\r\n\r\n"
      #expect(try await raw.send(chunked)?.status == 413)
    }
  }

  @Test func `GET sends one SMS and HEAD nothing, and its errors are texts`() async throws {
    try await withGateway { gateway in
      let token = "producttoken=\(gateway.token)"
      for (query, text) in [
        ("\(token)&from=A&to=0031600000001&body=x&appkey=\(Gateway.appKey)", "Error: ERROR Message is unrouteable."),
        ("\(token)&from=A&to=0600000001&body=x", "Error: ERROR Rejected: Gsm '0600000001' is not a number."),
        ("\(token)&from=A&to=&body=x", "Error: ERROR Rejected: Gsm '' is not a number."),
        ("\(token)&from=A&body=x", "Error: ERROR No phone numbers found. Message will not be sent."),
        ("\(token)&to=0031600000001&body=x", "Error: ERROR No FROM field found in a MSG node."),
        ("\(token)&from=A&to=0031600000001", "Error: ERROR A body without content was found"),
        ("from=A&to=0031600000001&body=x", "Error: ERROR No account found for the given authentication"),
        ("producttoken=x&from=A&to=0031600000001&body=x", "Error: ERROR Invalid product token."),
        (
          "producttoken=\(UUID())&from=A&to=0031600000001&body=x",
          "Error: ERROR No account found for the given authentication"
        ),
      ] {
        let reply = try await gateway.get(query)
        #expect(reply.status == 200 && reply.text == text, "\(query)")
      }
      let head = try await gateway.server.send("HEAD", "/gateway.ashx?\(token)&from=A&to=0031600000001&body=x")
      #expect(head.status == 400 && head.body.isEmpty)
    }
  }

  @Test(arguments: ["PUT", "DELETE", "PATCH"])
  func `Another method gets a 400 with nothing`(method: String) async throws {
    try await withGateway { gateway in
      let reply = try await gateway.server.send(method, "/gateway.ashx")
      #expect(reply.status == 400 && reply.body.isEmpty)
    }
  }

  @Test func `A message that the database refuses fails alone, and never as if nothing was done`() async throws {
    try await withGateway { gateway in
      try await gateway.bench.database.query(
        "ALTER TABLE tracked_message ADD CONSTRAINT no_boom CHECK (body <> 'boom')")
      let many = (0..<300).map { gateway.message(text: $0 == 299 ? "boom" : "Hello") }
      let reply = try await gateway.post(gateway.json(many.joined(separator: ",")))
      #expect(reply.status == 200)
      let codes = try #require(try reply.json.array("messages")?.map { $0.integer("messageErrorCode") })
      #expect(codes == Array(repeating: 0, count: 299) + [500])
      let xml = (0..<300).map { number in
        """
        <MSG><FROM>Company</FROM><TO>0031600000001</TO><BODY>\(number == 299 ? "boom" : "Hello")</BODY>\
        <APPKEY>\(Gateway.appKey)</APPKEY></MSG>
        """
      }
      let unknown = try await gateway.post(gateway.xml(xml.joined()), type: "application/xml")
      #expect(unknown.status == 503 && unknown.text.hasSuffix("Whether this was done is unknown."), "\(unknown.text)")
      #expect(try await gateway.countMessages() == 598)
    }
  }

  @Test func `A key that is used too often waits, on both ways`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let token = try await AccessKeys(database.pool).make(customer, name: "k", scope: .gateway).token
      let cache = AccessKeyCache(database.pool)
      let authenticator = Authenticator(cache, requestsPerKey: 1, replyBudget: ReplyBudget())
      #expect(try await authenticator.opensGateway(token))
      await #expect(throws: HTTPErrorResponse.self) {
        while true { _ = try await authenticator.opensGateway(token) }
      }
      // However often it is attempted, a request counts once.
      let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/gateway.ashx")
      var uncounted = FastRequest(
        Request(head: head, body: RequestBody(buffer: ByteBuffer())), from: IPAddress(nil))
      uncounted.found.access = .success(try await cache.authenticate(token))
      var request = uncounted
      try await waitUntil { (try? authenticator.gatewayAccess(token, &request)) != nil }
      for _ in 0..<10 { #expect(try authenticator.gatewayAccess(token, &request) != nil) }
      await #expect(throws: HTTPErrorResponse.self) {
        while true {
          var request = uncounted
          _ = try await request.complete { try authenticator.gatewayAccess(token, &$0) }
        }
      }
    }
  }

  @Test func `No beginning of a request and no damage to one is left without an answer`() async throws {
    try await withGateway { gateway in
      let whole = Array(gateway.json(gateway.message(#","validity":"2h","allowedChannels":["Push"]"#)).utf8)
      var generator = SeededGenerator(seed: 11)
      let damaged = (0..<200).map { _ in generator.tamper(whole) }
      for bytes in stride(from: 0, to: whole.count, by: 3).map({ Array(whole[..<$0]) }) + damaged {
        let reply = try await gateway.server.post("/gateway.ashx", bytes)
        #expect(reply.status == 200 || reply.status == 400, "\(String(decoding: bytes, as: UTF8.self)): \(reply.text)")
      }
    }
  }
}

/// More combining marks than any text has, and a character that no SMS can hold.
private let tooManyMarks = "x" + String(repeating: "\u{301}", count: 31)
private let largeCharacter = "👩" + String(repeating: "\u{200D}👩", count: 200)

@Suite struct BodySharesTests {
  @Test func `A client whose bodies are slow to come leaves room for others, and has room again once they have`() throws
  {
    let clients = try (0...16).map { try #require(IPAddress("192.0.2.\($0)")) }
    var shares = BodyShares()
    func take(_ bytes: Int, _ client: Int) -> Bool { shares.take(bytes, of: clients[client]) }
    #expect(take(BodyShares.one, 0) && !take(1, 0) && take(1, 1))
    shares.end(BodyShares.one, of: clients[0])
    shares.release(1)
    shares.end(1, of: clients[1])
    // Those that have come still take memory.
    for client in 1...15 { #expect(take(BodyShares.one, client)) }
    #expect(!take(1, 16))
    shares.release(BodyShares.one)
    #expect(take(BodyShares.one, 0))
  }
}

/// What the gateway makes of each field, before anything is asked of the database.
@Suite struct GatewayCheckTests {
  private let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func check(_ change: (inout GatewayRequest.Message) -> Void) throws -> HybridMessage {
    var message = GatewayRequest.Message()
    (message.sender, message.recipients, message.text) = ("Company", ["0031612345678"], "Hello")
    change(&message)
    return try #require(GatewayCheck(now: now).items([message]).first).result.get()
  }

  private func refusal(_ change: (inout GatewayRequest.Message) -> Void) -> GatewayRefusal? {
    do {
      _ = try check(change)
      return nil
    } catch { return error as? GatewayRefusal }
  }

  @Test func `Fields become those of the message, and empty ones none`() throws {
    let bare = try check { ($0.reference, $0.validity, $0.appKey, $0.kind, $0.maximumParts) = ("", " ", "", "", "") }
    #expect(bare.number.e164 == "+31612345678" && bare.sender == "Company" && bare.text == "Hello")
    #expect(bare.coding == .gsm7 && bare.maximumParts == 8 && bare.reference == nil && bare.expiresAt == nil)
    #expect(bare.channels == [] && bare.appKey == nil && bare.kind == nil)
    let full = try check {
      ($0.reference, $0.validity, $0.kind, $0.maximumParts, $0.minimumParts) = ("a-1", "2h", "CRITICAL", "3", "1")
      ($0.textType, $0.channels, $0.appKey) = ("AUTO", ["sms", "PUSH"], "00000000-0001-8000-8000-00000000000A")
    }
    #expect(full.coding == .automatic && full.maximumParts == 3 && full.reference == "a-1" && full.kind == .critical)
    #expect(full.expiresAt == now.addingTimeInterval(7200) && full.channels == [.sms, .push] && full.appKey != nil)
    #expect(try check { $0.coding = "8" }.coding == .ucs2)
    #expect(try check { $0.sender = " Hybrid Test " }.sender == "Hybrid Test")
    #expect(try check { $0.sender = "+1234567890123456" }.sender == "+1234567890123456")
    #expect(try check { $0.reference = String(repeating: "a", count: 32) }.reference?.count == 32)
    #expect(try check { $0.recipients = [" 0031612345678\n"] }.number.e164 == "+31612345678")
  }

  @Test func `A field with another value is refused with 305 and its name`() {
    let refusals: [(String, (inout GatewayRequest.Message) -> Void)] = [
      ("validity", { $0.validity = "1h ago" }), ("validity", { $0.validity = "2017-04-20 11:50:05 GMT" }),
      ("validity", { $0.validity = "0m" }), ("dcs", { $0.coding = "4" }), ("body.type", { $0.textType = "binary" }),
      ("maximumNumberOfMessageParts", { $0.maximumParts = "9" }),
      ("maximumNumberOfMessageParts", { $0.maximumParts = "0" }),
      ("minimumNumberOfMessageParts", { $0.minimumParts = "x" }),
      ("minimumNumberOfMessageParts", { ($0.minimumParts, $0.maximumParts) = ("3", "2") }),
      ("reference", { $0.reference = String(repeating: "a", count: 33) }), ("reference", { $0.reference = "a b" }),
      ("reference", { $0.reference = "é" }), ("allowedChannels", { $0.channels = ["WhatsApp"] }),
      ("appMessageType", { $0.kind = "urgent" }), ("dcs", { $0.unreadableField = "dcs" }),
    ]
    for (field, change) in refusals {
      let refusal = refusal(change)
      #expect(
        refusal?.code == 305 && refusal?.details.hasPrefix("\(field) ") == true,
        "\(field): \(String(describing: refusal))")
      #expect(refusal?.xmlText.hasPrefix("\(field.uppercased()) ") == true)
    }
    #expect(refusal { $0.appKey = "x" }?.code == 103)
    #expect(refusal { $0.channels = ["Push"] }?.details.hasPrefix("appKey is needed") == true)
  }

  @Test func `What another room refuses has its code and a text in both forms`() {
    for refusal in [
      HybridRefusal.appKeyUnknown, .senderInvalid, .textInvalid, .fieldInvalid, .suppressed, .noProvider, .unavailable,
      .outcomeUnknown,
    ] {
      #expect(GatewayRefusal.refused(refusal).code == refusal.rawValue)
      #expect(!GatewayRefusal.refused(refusal).details.isEmpty && !GatewayRefusal.refused(refusal).xmlText.isEmpty)
    }
  }

  @Test func `A long text is cut at a character, and no reply repeats more than 64 bytes`() throws {
    let family = "👨‍👩‍👧‍👦"
    let text = try check { $0.text = String(repeating: "a", count: 4090) + family }.text
    #expect(text == String(repeating: "a", count: 4090))
    #expect(try check { $0.text = String(repeating: "é", count: 3000) }.text.utf8.count == 4096)
    let marks = "e" + String(repeating: "\u{301}", count: 5000)
    #expect(refusal { $0.text = marks } == .badText(.tooManyMarks))
    #expect(try check { $0.text = "e" + String(repeating: "\u{301}", count: 30) }.text.unicodeScalars.count == 31)
    for (coding, isRefused) in [("AUTO", true), ("UNICODE", true), (nil, false)] {
      let refusal = refusal { ($0.text, $0.textType) = (largeCharacter, coding) }
      #expect(refusal == (isRefused ? .badText(.characterTooLarge) : nil), "\(coding ?? "GSM-7")")
    }
    let refusal = refusal { $0.recipients = [String(repeating: "é", count: 1000)] }
    #expect(refusal == .badNumber(String(repeating: "é", count: 1000)))
    #expect(refusal?.details == "Gsm '\(String(repeating: "é", count: 32))' is not a number.")
  }
}
