import Delivery
import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

@Suite struct PhoneMessageTests {
  @Test func `Messages are listed as the documents print them`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: "0031600000000")
      try await phones.database.query("UPDATE hybrid_registration SET verified_at = '2016-01-01'")
      try await phones.addMessage(
        "Your first message!", to: "31600000000", at: "2016-05-22T23:41:28.563Z", status: "Delivered")
      try await phones.addMessage(#"Say "hi" é"#, to: "31600000000", at: "2016-05-22T23:41:29Z")
      let ids = try await phones.database.query("SELECT message_guid::text FROM tracked_message ORDER BY message_no")
        .map {
          try $0.decode(String.self)
        }
      let first = """
        {"ID":"\(ids[0])","UpdateID":"7000000000001","Recipient":"0031600000000","Sender":"MyApp",\
        "Body":"Your first message!","DateTime":"2016-05-22T23:41:28.563","Status":"Delivered",\
        "UpdateIDs":["7000000000001","7000000001001"]}
        """
      let second = """
        {"ID":"\(ids[1])","UpdateID":"7000000000002","Recipient":"0031600000000","Sender":"MyApp",\
        "Body":"Say \\"hi\\" é","DateTime":"2016-05-22T23:41:29.000","Status":"Sent",\
        "UpdateIDs":["7000000000002","7000000001002"]}
        """
      #expect(try await phone.send("GET", "/v1.0/messages").text == "[\(second),\(first)]")
      for (options, expected) in [
        ("$orderby=DateTime", "[\(first),\(second)]"), ("$top=0", "[]"), ("%24top=1", "[\(second)]"),
        ("$top=1&$skip=1&$orderby=DateTime%20desc", "[\(first)]"), ("$skip=5", "[]"),
        ("$expand=&x=y", "[\(second),\(first)]"),
        // What the published clients ask for.
        (
          "$select=ID,Body,DateTime,Sender&$orderby=DateTime%20desc&$top=1",
          #"[{"ID":"\#(ids[1])","Sender":"MyApp","Body":"Say \"hi\" é","DateTime":"2016-05-22T23:41:29.000"}]"#
        ),
        (
          "$select=ID,Body,DateTime,Sender,UpdateIDs&$filter=DateTime%20gt%20DateTime'2016-05-22T23:41:28.563",
          #"[{"ID":"\#(ids[1])","Sender":"MyApp","Body":"Say \"hi\" é","DateTime":"2016-05-22T23:41:29.000","UpdateIDs":["7000000000002","7000000001002"]}]"#
        ),
      ] {
        let reply = try await phone.send("GET", "/v1.0/messages?\(options)")
        #expect(reply.text == expected, "\(options)")
        #expect(reply.header("X-Total-Count") == nil)
      }
      let counted = try await phone.send(
        "GET", "/v1.0/messages?$inlinecount=allpages&$top=1&$filter=length(Body)%20gt%201")
      #expect(counted.header("X-Total-Count") == "2")
      #expect(counted.text == "[\(second)]")
      let wrong = try await phone.send("GET", "/v1.0/messages?$filter=Body%20eq%20'x")
      #expect(wrong.status == 400 && wrong.text.contains("$filter is wrong: character 9"))
    }
  }

  @Test func `A phone sees the messages to its app and number since it verified that, and no others`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: "0031612345678")
      try await phones.addMessage("mine", to: "31612345678")
      try await phones.addMessage("another number's", to: "31612345679")
      try await phones.addMessage("another app's", to: "31612345678", app: "com.acme.other")
      try await phones.addMessage("earlier", to: "31612345678", at: "2016-01-01")
      try await phones.database.query(
        """
        INSERT INTO tracked_message (customer_id, sendout_id, message_no, app_id, recipient, sender, body, kind, parts)
        VALUES ($1::bigint, 1, 1, 'com.acme.app', '31612345678', 'x', 'another customer''s', 'default', 1::int2)
        """, phones.managed.other.rawValue)
      func bodies(_ phone: TestPhone, _ options: String = "") async throws -> [String] {
        try await phone.send("GET", "/v1.0/messages\(options)").json.items.compactMap { $0.string("Body") }
      }
      #expect(try await bodies(phone) == ["mine"])
      #expect(try await bodies(phone, "?$filter=true%20or%20Recipient%20ne%20''") == ["mine"])

      // Somebody who only claims the number sees nothing, nor does who had it and gave it up.
      var thief = phones.phone()
      try await thief.register(#"{"Msisdn":"0031612345678"}"#)
      #expect(try await bodies(thief) == [])
      _ = try await phone.put(#"{"Msisdn":"0031600000001"}"#)
      #expect(try await bodies(phone) == [])
    }
  }

  @Test func `A plus sign in a filter is a blank, and an encoded one a plus sign`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: "0031612345678")
      for text in ["two words", "a+b"] { try await phones.addMessage(text, to: "31612345678") }
      for (filter, expected) in [
        ("Body+eq+'two+words'", ["two words"]), ("Body%20eq%20'two%20words'", ["two words"]),
        ("Body+eq+'a%2Bb'", ["a+b"]), ("Body+eq+'a+b'", []), ("substringof('o+w',Body)", ["two words"]),
        ("DateTime+gt+datetimeoffset'2016-01-01T00:00:00+01:00'", ["a+b", "two words"]),
      ] as [(String, [String])] {
        let reply = try await phone.send("GET", "/v1.0/messages?$filter=\(filter)")
        #expect(try reply.json.items.compactMap { $0.string("Body") }.sorted() == expected, "\(filter): \(reply.text)")
      }
    }
  }

  @Test func `A confirmation reaches its message, again and again, with one signature for many phones`() async throws {
    try await withPhoneServer { phones in
      let confirmations = Confirmations()
      var whole = WholeWebServer(
        phones.database.pool, vault: phones.managed.vault,
        services: try PushServices(.nowhere, logger: TestServer.logger))
      whole.confirm = { await confirmations.add($0, $1, $2) }
      var verified: [TestPhone] = []
      for number in ["0031611111111", "0031622222222"] { verified.append(try await phones.phone(verified: number)) }
      let devices = verified.map(\.deviceID)
      try await withTestWebServer(try whole.routes) { server in
        let now = Int64(Date().timeIntervalSince1970)
        for device in devices + devices {
          let phone = TestPhone(server, appKey: phones.app.appKey, secret: phones.app.appSecret, deviceID: device)
          let reply = try await phone.send(
            "PUT", "/v1.0/messages", #"{"UpdateID":"70000000015","Status":"Delivered"}"#, at: now)
          #expect(reply.status == 200 && reply.text == "{}")
        }
        let phone = TestPhone(server, appKey: phones.app.appKey, secret: phones.app.appSecret, deviceID: devices[0])
        for (json, status) in [
          (
            #"{"UpdateIDs":["70000000015","x","5"],"Status":"Delivered","ReadByRecipient":"2016-05-22T23:41:28.563"}"#,
            200
          ),
          (#"{"UpdateIDs":["x"],"Status":"Delivered"}"#, 200), (#"{"Status":"Delivered"}"#, 400),
          (#"{"UpdateID":"70000000015","Status":"Eaten"}"#, 400), (#"{"UpdateID":"70000000015"}"#, 400),
          (#"{"UpdateID":"70000000015","Status":"Delivered","ReadByRecipient":"yesterday"}"#, 400),
        ] { #expect(try await phone.send("PUT", "/v1.0/messages", json).status == status, "\(json)") }
      }
      let seen = await confirmations.seen
      #expect(
        seen == [
          "31611111111 70000000015 Delivered", "31622222222 70000000015 Delivered", "31611111111 70000000015 Delivered",
          "31622222222 70000000015 Delivered", "31611111111 70000000015 Delivered 2016-05-22T23:41:28.563Z",
        ])
    }
  }
}

private actor Confirmations {
  private(set) var seen: [String] = []

  func add(_ app: HybridApp, _ number: PhoneNumber, _ confirmation: MessageConfirmation) {
    let ids = confirmation.updates.map(\.description).joined(separator: ",")
    let read = confirmation.readAt.map { " \(Timestamp($0))" } ?? ""
    seen.append("\(number.digits) \(ids) \(confirmation.status.rawValue)\(read)")
  }
}

extension JSONValue {
  fileprivate var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }
}
