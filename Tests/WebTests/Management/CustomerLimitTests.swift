import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// Quiet hours and caps of a customer, from the setting to a message.
@Suite struct CustomerLimitTests {
  @Test func `A customer's quiet hours and caps are changed by API`() async throws {
    try await withManagementServer { managed in
      let initial = try await managed.send("GET", "/api/v1/customer").json
      #expect(initial["quietHours"] == nil && initial["caps"] == [])
      let changed = try await managed.send(
        "PATCH", "/api/v1/customer",
        json: """
          {"quietHours":{"start":"21:00","end":"08:00"},"caps":[{"count":3,"per":"24h","purpose":"marketing"},{"count":9,"per":"7d"}]}
          """
      ).json
      #expect(changed["quietHours"] == ["start": "21:00", "end": "08:00", "policy": "hold"])
      #expect(
        changed["caps"] == [["count": 3, "per": "24h", "purpose": "marketing"], ["count": 9, "per": "7d"]])
      for json in [
        #"{"quietHours":{"start":"21:00","end":"21:00"}}"#, #"{"quietHours":{"start":"9pm","end":"08:00"}}"#,
        #"{"quietHours":"21:00-08:00"}"#, #"{"quietHours":{"start":"21:00"}}"#,
        #"{"caps":[{"count":0,"per":"24h"}]}"#, #"{"caps":[{"count":1,"per":"31d"}]}"#,
        #"{"caps":[{"count":1,"per":"24h"},{"count":1,"per":"24h"}]}"#, #"{"caps":{"count":1,"per":"24h"}}"#,
        #"{"caps":[{"count":1,"per":"1h"},{"count":1,"per":"2h"},{"count":1,"per":"3h"},{"count":1,"per":"4h"},{"count":1,"per":"5h"},{"count":1,"per":"6h"}]}"#,
      ] {
        #expect(try await managed.send("PATCH", "/api/v1/customer", json: json).status == 400, "\(json)")
      }
      let unchanged = try await managed.send("GET", "/api/v1/customer").json
      #expect(unchanged == changed)
      // Null leaves both as they are, as with every field of this request.
      let kept = try await managed.send("PATCH", "/api/v1/customer", json: #"{"quietHours":null,"caps":null}"#).json
      #expect(kept == changed)
      let removed = try await managed.send("PATCH", "/api/v1/customer", json: #"{"quietHours":"","caps":[]}"#).json
      #expect(removed == initial)
    }
  }

  @Test func `A message beyond a cap is accepted, and its reply says that it is skipped`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      _ = try await Customers(bench.pool).update(
        bench.customer, CustomerUpdate(caps: [Cap("1/24h/marketing")].compactMap(\.self)))
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "sender", scope: .send).token
      try await bench.withWholeServer { server in
        func send(_ purpose: String) async throws -> JSONValue {
          let reply = try await server.send(
            "POST", "/api/v1/messages", key: key,
            json: """
              {"appId":"com.acme.app","to":{"originalId":"user1@example.com"},"message":{"alert":"x"},"purpose":"\(purpose)","wait":30}
              """)
          #expect(reply.status == 201)
          return try reply.json
        }
        let first = try await send("marketing")
        #expect(first.string("state") == "accepted")
        let capped = try await send("marketing")
        #expect(capped.string("state") == "failed")
        let push = try #require(capped.array("pushes")?.first)
        #expect(push.string("state") == "skipped" && push.string("reason") == "capped 1/24h marketing")
        let id = try #require(capped.string("messageId"))
        let shown = try await server.send("GET", "/api/v1/messages/\(id)", key: key).json
        #expect(shown == capped)
        let transactional = try await send("transactional")
        #expect(transactional.string("state") == "accepted")
        #expect(bench.simulator.apns.requests.count == 2)
      }
    }
  }

  @Test func `A message in quiet hours is held, and its reply says until when`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let (start, end) = try await bench.database.query(
        """
        SELECT to_char(now() AT TIME ZONE 'UTC' - interval '1 hour', 'HH24:MI'), to_char(now() AT TIME ZONE 'UTC' + interval '1 hour', 'HH24:MI')
        """)[0].decode(String.self, String.self)
      let hours = try #require(QuietHours("\(start)-\(end)"))
      _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(quietHours: .set(hours)))
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "sender", scope: .send).token
      try await bench.withWholeServer { server in
        let reply = try await server.send(
          "POST", "/api/v1/messages", key: key,
          json: """
            {"appId":"com.acme.app","to":{"originalId":"user1@example.com"},"message":{"alert":"x"},"purpose":"marketing"}
            """)
        let held = try reply.json
        #expect(held.string("state") == "waiting" && held["deliverAt"] == nil)
        let until = try #require(held.string("heldUntil").flatMap { Timestamp($0) })
        #expect(until.date > Date(timeIntervalSinceNow: 3000) && until.date < Date(timeIntervalSinceNow: 4700))
        let id = try #require(held.string("messageId"))
        let shown = try await server.send("GET", "/api/v1/messages/\(id)", key: key).json
        #expect(shown == held)
      }
    }
  }
}
