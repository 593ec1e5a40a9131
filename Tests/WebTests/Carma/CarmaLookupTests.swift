import Postgres
import Support
import Testing
import Wire

@Suite struct CarmaLookupTests {
  @Test func `A contact is found by its percent-encoded id`() async throws {
    try await withCarmaServer { carma in
      for (originalID, encoded) in [
        ("lars@somewhere.se", "lars%40somewhere.se"), ("lars@somewhere.se", "lars@somewhere.se"), ("a/b", "a%2Fb"),
        ("a/b", "a%2fb"), ("/", "%2F"), ("a+b", "a+b"), ("a+b", "a%2Bb"), ("a b", "a%20b"), ("å", "%C3%A5"),
        ("👩‍👩‍👧", "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"), ("100%", "100%25"), ("a?b#c", "a%3Fb%23c"),
        ("..", "%2E%2E"), ("a;b=c&d", "a;b=c&d"), ("invalidation", "invalidation"),
        ("{originalId}", "%7BoriginalId%7D"),
        ("a\\b", "a%5Cb"), ("'; --", "%27;%20--"), ("\u{1}", "%01"),
      ] as [(String, String)] {
        let escaped = originalID == "\u{1}" ? "\\u0001" : originalID.replacing("\\", with: "\\\\")
        let put = try await carma.put(escaped, token: "t")
        #expect(put.status == 200, "\(originalID)")
        for name in ["pushdevices", "devices"] {
          let get = try await carma.send("GET", carma.path("\(name)/\(encoded)"))
          #expect(get.status == 200, "\(originalID)")
          #expect(try get.json == put.json, "\(originalID)")
          #expect(try get.json.string("originalId") == originalID, "\(originalID)")
        }
      }
    }
  }

  @Test func `An unknown contact is a 404`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.get("nobody")
      #expect(reply.status == 404)
      #expect(reply.error == "originalId names no contact of this customer.")
    }
  }

  @Test func `A path that is not percent-encoded text is a 400`() async throws {
    try await withCarmaServer { carma in
      for encoded in ["%", "%4", "%zz", "%FF", "%C3", "%00", "a%00b", "%ED%A0%80"] as [String] {
        let raw = try RawHTTP(carma.server.url)
        let reply = try await raw.send(
          "GET \(carma.path("pushdevices/\(encoded)")) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(carma.acme.backend)\r\n\r\n"
        )
        #expect(reply?.status == 400, "\(encoded)")
      }
    }
  }

  @Test func `A contact imported by other means is found, with no devices`() async throws {
    try await withCarmaServer { carma in
      try await carma.database.query(
        "INSERT INTO contact (customer_id, original_id, first_name) VALUES ($1, 'imported', 'Ann')",
        carma.acme.id.rawValue)
      let reply = try await carma.get("imported")
      #expect(try reply.json.string("firstName") == "Ann")
      #expect(try reply.json.array("deviceInfo") == [])
    }
  }
}
