import Registry
import Support
import Testing
import Wire

@Suite struct CarmaLimitTests {
  @Test func `A body of 64 KiB is read, and one byte more is a 413`() async throws {
    try await withCarmaServer { carma in
      func body(_ size: Int) -> String {
        let bare = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}],"x":""}"#
        return bare.replacing(#""""#, with: "\"" + String(repeating: "y", count: size - bare.utf8.count) + "\"")
      }
      #expect(try await carma.put(body(65536)).status == 200)
      let reply = try await carma.put(body(65537))
      #expect(reply.status == 413)
      #expect(reply.error == "The body is larger than 65536 bytes.")
    }
  }

  @Test func `A hundred devices are taken, one more is a 400 and changes nothing`() async throws {
    try await withCarmaServer { carma in
      func body(_ count: Int) -> String {
        let devices = (1...count).map { #"{"devicetoken":"t\#($0)"}"# }.joined(separator: ",")
        return #"{"originalId":"a","deviceInfo":[\#(devices)]}"#
      }
      let tooMany = [try await carma.put(body(101)), try await carma.invalidate(body(101))]
      #expect(tooMany.map(\.status) == [400, 400])
      #expect(tooMany.allSatisfy { $0.error == "deviceInfo[100] is one more than 100." }, "\(tooMany[0].text)")
      #expect(try await carma.rows() == [])
      _ = try await Customers(carma.database.pool).update(carma.acme.id, CustomerUpdate(devicesPerContact: 100))
      #expect(try await carma.put(body(100)).json.array("deviceInfo")?.count == 100)
    }
  }

  @Test func `More valid devices than a contact may have are a 400 that names field and limit`() async throws {
    try await withCarmaServer { carma in
      let devices = (1...51).map { #"{"devicetoken":"t\#($0)"}"# }.joined(separator: ",")
      for key in [carma.acme.device, carma.acme.backend] {
        let reply = try await carma.put(#"{"originalId":"a","deviceInfo":[\#(devices)]}"#, key: key)
        #expect(reply.status == 400)
        #expect(
          reply.error == "deviceInfo holds more than 50 valid devices, the devicesPerContact of this customer.")
      }
      #expect(try await carma.rows() == [])
    }
  }

  @Test func `A chunked body is limited all the same`() async throws {
    try await withCarmaServer { carma in
      let raw = try RawHTTP(carma.server.url)
      let head = """
        PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r
        X-Carma-Authentication-Token: \(carma.acme.backend)\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n
        """
      let chunk = "1000\r\n" + String(repeating: " ", count: 4096) + "\r\n"
      let large = try await raw.send(head + String(repeating: chunk, count: 100) + "0\r\n\r\n")
      #expect(large?.status == 413)
      let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
      let small = json.map { "1\r\n\($0)\r\n" }.joined()
      #expect(try await raw.send(head + small + "0\r\n\r\n")?.status == 200)
    }
  }

  @Test func `A missing or different content type is a 415`() async throws {
    try await withCarmaServer { carma in
      for type in [
        nil, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/jso", "json",
        "application",
      ] as [String?] {
        for path in ["pushdevices", "pushdevices/invalidation"] {
          let raw = try RawHTTP(carma.server.url)
          let body = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
          let field = type.map { "Content-Type: \($0)\r\n" } ?? ""
          let reply = try await raw.send(
            """
            PUT \(carma.path(path)) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(carma.acme.backend)\r
            \(field)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)
            """)
          #expect(reply?.status == 415, "\(type ?? "none")")
          #expect(
            reply?.text.contains(#"{"error":"The body must be JSON, sent as Content-Type: application/json."}"#) == true
          )
        }
      }
    }
  }

  @Test func `JSON is JSON in any case and with any parameters`() async throws {
    try await withCarmaServer { carma in
      for type in [
        "application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8",
      ] as [String] {
        let raw = try RawHTTP(carma.server.url)
        let body = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
        let reply = try await raw.send(
          """
          PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(carma.acme.backend)\r
          Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)
          """)
        #expect(reply?.status == 200, "\(type)")
      }
    }
  }

  @Test func `Malformed JSON is a 400`() async throws {
    try await withCarmaServer { carma in
      for body in [
        "", "{", "null", "[]", "\"x\"", "{\"originalId\":\"a\"", "{\"originalId\":\"a\",}", "nonsense", "{} {}",
      ] as [String] {
        let reply = try await carma.put(body)
        #expect(reply.status == 400, "\(body)")
        #expect(reply.error?.isEmpty == false, "\(body)")
      }
    }
  }

  @Test func `Deep nesting is a 400`() async throws {
    try await withCarmaServer { carma in
      for bracket in ["[", #"{"a":"#] {
        let deep = String(repeating: bracket, count: 10_000)
        let reply = try await carma.put(#"{"originalId":"a","x":\#(deep)"#)
        #expect(reply.status == 400)
        #expect(reply.error == "The body is nested more than 32 deep.")
      }
    }
  }

  @Test func `Another method on a known path is a 405 that says which are allowed`() async throws {
    try await withCarmaServer { carma in
      for (path, allowed) in [
        ("pushdevices", "PUT"), ("pushdevices/invalidation", "GET, HEAD, PUT"), ("pushdevices/a", "GET, HEAD"),
        ("devices", "PUT"),
      ] {
        for method in ["POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
          let reply = try await carma.send(method, carma.path(path))
          #expect(reply.status == 405, "\(method) \(path)")
          #expect(reply.header("Allow") == allowed)
          #expect(reply.error == "This path answers \(allowed).")
        }
      }
    }
  }

  @Test func `An unknown path is a 404 in JSON`() async throws {
    try await withCarmaServer { carma in
      for path in [
        "/", "/rest", "/rest/1", "/rest/1/apps/com.acme.app", "/rest/1/apps/a/pushdevices/b/c", "/nothing",
        "/rest/1/apps/a/pushdevice",
      ] as [String] {
        let reply = try await carma.send("GET", path)
        #expect(reply.status == 404, "\(path)")
        #expect(reply.error == "There is nothing at this path.", "\(path)")
        #expect(reply.header("Content-Type")?.hasPrefix("application/json") == true, "\(path)")
      }
    }
  }

  @Test func `An unknown app is a 404`() async throws {
    try await withCarmaServer { carma in
      let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
      for app in ["com.nothing", "COM.ACME.APP", "com.acme.app%20", "%2E%2E", "%C3%A9"] {
        let replies = [try await carma.put(json, app: app), try await carma.get("a", app: app)]
        #expect(replies.map(\.status) == [404, 404])
      }
    }
  }

  @Test func `Every reply has its own request id`() async throws {
    try await withCarmaServer { carma in
      let replies = [
        try await carma.put("a", token: "t"), try await carma.get("a"), try await carma.get("b"),
        try await carma.put("{"), try await carma.send("GET", "/nothing"), try await carma.get("a", key: "x"),
      ]
      let ids = replies.compactMap { $0.header("X-Request-Id") }
      #expect(Set(ids).count == replies.count)
    }
  }
}
