import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct CarmaInvalidationTests {
  @Test func `The guide's payload invalidates a device and keeps its row`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("abcabc123123", token: "abc123abc123kmlkmlkml_2")
      let reply = try await carma.invalidate(
        """
        {
          "deviceInfo": [{"devicetoken":
            "abc123abc123kmlkmlkml_2", "invalidationType": "1"}],
          "originalId": "abcabc123123"
        }
        """)
      #expect(reply.status == 200)
      let device = try #require(try reply.json.array("deviceInfo")?.first)
      #expect(device["invalidationType"] == 1)
      #expect(device.integer("dateOfInvalidation") != nil)
      #expect(try await carma.get("abcabc123123").json == reply.json)
      let events = try await carma.database.query("SELECT kind, reason FROM device_event ORDER BY device_event_id")
      #expect(try events.map { try $0.decode(String.self, String?.self).0 } == ["registered", "invalidated"])
      #expect(try events[1].decode(String.self, String?.self).1 == "app")
    }
  }

  @Test func `Repeating an invalidation changes nothing`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","invalidationType":1}]}"#
      let first = try await carma.invalidate(json)
      let rows = try await carma.rows()
      let second = try await carma.invalidate(json)
      #expect(second.status == 200)
      #expect(try second.json == first.json)
      #expect(try await carma.rows() == rows)
    }
  }

  @Test func `The date of invalidation is the given one`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      for date in ["1700000000123", #""2023-11-14T22:13:20.123Z""#, #""1700000000123""#] {
        let reply = try await carma.invalidate(
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","dateOfInvalidation":\#(date)}]}"#)
        let device = try reply.json.array("deviceInfo")?.first
        #expect(device?["dateOfInvalidation"] == .integer(1_700_000_000_123))
        // Left out, the type is 1: by app or user.
        #expect(device?["invalidationType"] == 1)
      }
      let later = try await carma.invalidate(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","invalidationType":7,"dateOfInvalidation":1800000000000}]}"#
      )
      #expect(try later.json.array("deviceInfo")?.first?["dateOfInvalidation"] == .integer(1_800_000_000_000))
      #expect(try later.json.array("deviceInfo")?.first?["invalidationType"] == 7)
      let events = try await carma.database.query("SELECT count(*) FROM device_event WHERE kind = 'invalidated'")
      #expect(try events[0].decode(Int.self) == 1)
    }
  }

  @Test func `An unregistered token is a 404 that names it, and no other token is invalidated`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "mine")
      _ = try await carma.put("b", token: "theirs")
      let rows = try await carma.rows()
      for token in ["theirs", "nobodys"] {
        let reply = try await carma.invalidate(
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"mine"},{"devicetoken":"\#(token)"}]}"#)
        #expect(reply.status == 404)
        #expect(reply.error == "deviceInfo[1].devicetoken is not registered for this originalId.")
      }
      let unknown = try await carma.invalidate(#"{"originalId":"nobody","deviceInfo":[{"devicetoken":"mine"}]}"#)
      #expect(unknown.status == 404)
      #expect(try await carma.rows() == rows)
    }
  }

  @Test func `To a device key the reply is the same whether a token is registered for the contact or not`() async throws
  {
    try await withCarmaServer { carma in
      for (contact, token) in [("a", "mine"), ("b", "theirs")] { _ = try await carma.put(contact, token: token) }
      func body(_ contact: String, _ token: String) -> String {
        #"{"originalId":"\#(contact)","deviceInfo":[{"devicetoken":"\#(token)"}]}"#
      }
      for (contact, token) in [("a", "theirs"), ("a", "nobodys"), ("nobody", "mine"), ("a", "mine")] {
        let reply = try await carma.invalidate(body(contact, token), key: carma.acme.device)
        #expect(reply.status == 200)
        #expect(try reply.json.string("originalId") == contact)
        #expect(try reply.json.array("deviceInfo")?.first?["invalidationType"] == 1)
      }
      #expect(try await carma.get("a").json.array("deviceInfo")?.first?["invalidationType"] == 1)
      #expect(try await carma.get("b").json.array("deviceInfo")?.first?["invalidationType"] == 0)
    }
  }

  @Test func `An ambiguous appId without appType is refused, and says so`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","appType":1},{"devicetoken":"t","appType":2}]}"#,
        app: "com.acme.both")
      func invalidate(_ type: String) async throws -> TestReply {
        try await carma.send(
          "PUT", carma.path("pushdevices/invalidation", app: "com.acme.both"),
          json: #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"\#(type)}]}"#)
      }
      let rows = try await carma.rows()
      let ambiguous = try await invalidate("")
      #expect(ambiguous.status == 400)
      #expect(
        ambiguous.error == "deviceInfo[0].appType is needed: this appId stands for apps on several platforms.")
      #expect(try await carma.rows() == rows)
      let reply = try await invalidate(#","appType":"2""#)
      let types = try reply.json.array("deviceInfo")?.map { [$0.string("appType"): $0.integer("invalidationType")] }
      #expect(types == [["1": 0], ["2": 1]])
    }
  }

  @Test func `A token in another app of the same contact is a 404`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      let rows = try await carma.rows()
      let reply = try await carma.send(
        "PUT", carma.path("pushdevices/invalidation", app: "com.acme.both"),
        json: #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","appType":1}]}"#)
      #expect(reply.status == 404)
      #expect(reply.error == "deviceInfo[0].devicetoken is not registered for this originalId.")
      #expect(try await carma.rows() == rows)
    }
  }

  @Test func `A token is the same in upper and lower case, and of one given twice the last counts`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "00FCab")
      let reply = try await carma.invalidate(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"00fcAB","invalidationType":5},{"devicetoken":"00FCAB","invalidationType":6}]}"#
      )
      #expect(reply.status == 200)
      let devices = try reply.json.array("deviceInfo")
      #expect(devices?.map { $0.string("devicetoken") } == ["00FCab"])
      #expect(devices?.first?["invalidationType"] == 6)
      let events = try await carma.database.query("SELECT count(*) FROM device_event WHERE kind = 'invalidated'")
      #expect(try events[0].decode(Int.self) == 1)
    }
  }

  @Test func `An invalidation of type 0 is refused`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      let reply = try await carma.invalidate(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","invalidationType":0}]}"#)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("deviceInfo[0].invalidationType must not be 0") == true)
    }
  }

  @Test func `A hundred devices are invalidated together`() async throws {
    try await withCarmaServer { carma in
      _ = try await Customers(carma.database.pool).update(carma.acme.id, CustomerUpdate(devicesPerContact: 100))
      let devices = (0..<100).map { #"{"devicetoken":"t\#($0)"}"# }.joined(separator: ",")
      let json = #"{"originalId":"a","deviceInfo":[\#(devices)]}"#
      _ = try await carma.put(json)
      let reply = try await carma.invalidate(json)
      #expect(try reply.json.array("deviceInfo")?.count { $0["invalidationType"] == 1 } == 100)
    }
  }
}
