import Foundation
import Support
import Testing
import Wire

/// Bodies, headers and paths that nobody means well with. Each run tries the same ones.
@Suite struct CarmaHostilityTests {
  @Test func `Corrupted bodies get a 200 or a 4xx`() async throws {
    try await withCarmaServer { carma in
      let good = Array(
        #"{"originalId":"u","listId":null,"firstName":"å","dateOfBirth":"1980-01-01","properties":{"a":"b","c":1.5,"d":null},"deviceInfo":[{"devicetoken":"abc","appType":"1","sandboxToken":"true","invalidationType":0,"dateOfInvalidation":null}]}"#
          .utf8)
      let raw = try RawHTTP(carma.server.url)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for seed in 0..<8 {
          group.addTask {
            var random = SeededGenerator(seed: UInt64(seed))
            for _ in 0..<150 {
              let body = random.tamper(good)
              let path = carma.path(Bool.random(using: &random) ? "pushdevices" : "pushdevices/invalidation")
              let head = """
                PUT \(path) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(carma.acme.backend)\r
                Content-Type: application/json\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n
                """
              let status = try await raw.send(Array(head.utf8) + body)?.status ?? 0
              #expect(
                status == 200 || (400..<500).contains(status), "\(status): \(String(decoding: body, as: UTF8.self))")
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await carma.put("after", token: "after").status == 200)
    }
  }

  @Test func `Values of every wrong kind in every field get a 200 or a 4xx`() async throws {
    try await withCarmaServer { carma in
      let fields =
        ["originalId", "listId", "dateOfBirth", "properties", "deviceInfo"] + ContactField.allCases.map(\.name)
      let deviceFields = [
        "devicetoken", "appType", "sandboxToken", "manufacturer", "model", "osVersion", "country", "timezone",
        "locale", "dateOfInvalidation", "invalidationType",
      ]
      let values = [
        "null", "true", "0", "-0", "1e5", "1.5", "-1", "99999999999999999999999", "1e999", #""""#, #"" ""#,
        #""\ud800""#, #""\u0000""#, #""\u0001""#, #""'; DROP TABLE device; --""#, #""$1""#, #""%s%n""#, "[]", "{}",
        "[[]]", #"{"a":{}}"#, #""\#(String(repeating: "x", count: 60_000))""#, #""1980-01-01T00:00:00+99:00""#,
        #""-infinity""#, #""infinity""#, "253402300799999", "253402300800000", "-62135596800000", "-62135596800001",
        #"{"\u0000":1}"#, #"{"":1}"#, #"{"a":"\\u0000"}"#, #""\\u0000""#, #"{"a":1e-300}"#, #"{"a":1e300}"#,
      ]
      for value in values {
        for field in fields {
          let rest = field == "deviceInfo" ? "" : #","deviceInfo":[{"devicetoken":"t"}]"#
          let id = field == "originalId" ? "" : #""originalId":"a","#
          try await expectNoFault(carma, #"{\#(id)"\#(field)":\#(value)\#(rest)}"#)
        }
        for field in deviceFields {
          let token = field == "devicetoken" ? "" : #""devicetoken":"t","#
          try await expectNoFault(carma, #"{"originalId":"a","deviceInfo":[{\#(token)"\#(field)":\#(value)}]}"#)
        }
      }
      let reply = try await carma.get("a")
      #expect(reply.status == 200)
      _ = try reply.json
    }
  }

  private func expectNoFault(_ carma: CarmaServer, _ json: String) async throws {
    for path in ["pushdevices", "pushdevices/invalidation"] {
      let reply = try await carma.send("PUT", carma.path(path), json: json)
      #expect(reply.status == 200 || (400..<500).contains(reply.status), "\(reply.status) \(json.prefix(200))")
      _ = try reply.json
    }
  }

  @Test func `Requests that are not HTTP get a 4xx or a closed connection`() async throws {
    try await withCarmaServer { carma in
      let raw = try RawHTTP(carma.server.url)
      let key = "X-Carma-Authentication-Token: \(carma.acme.backend)\r\n"
      let path = carma.path("pushdevices/a")
      let requests = [
        "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "G\0T / HTTP/1.1\r\n\r\n",
        "GET \(path) HTTP/1.1\r\n: x\r\n\r\n",
        "GET \(path) HTTP/1.1\r\nHost: x\r\nX y: z\r\n\r\n", "GET \(path)\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}",
        "GET \(path) HTTP/1.1\r\nHost: x\r\n\(key)\(key)\r\n", "GET \(path) HTTP/1.1\r\n\(key)\r\n",
        "GET \(path) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token:\r\n\r\n",
        "GET \(path) HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \u{1}\r\n\r\n",
        "GET \(path) HTTP/1.1\r\nHost: x\r\nX-Big: \(String(repeating: "a", count: 100_000))\r\n\r\n",
        "GET \(path) HTTP/1.1\r\nHost: x\r\n\(String(repeating: "A: b\r\n", count: 5_000))\r\n",
        "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /\(String(repeating: "a/", count: 5_000)) HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x:y/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET //// HTTP/1.1\r\nHost: x\r\n\r\n", "GET ? HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /?# HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /rest/ø HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /rest/%C3 HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        "PUT \(path) HTTP/1.1\r\nHost: x\r\n\(key)Content-Length: -1\r\n\r\n",
        "PUT \(path) HTTP/1.1\r\nHost: x\r\n\(key)Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        "PUT \(path) HTTP/1.1\r\nHost: x\r\n\(key)Content-Length: 99999999999999999999\r\n\r\n{}",
        "PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\n\(key)Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{}",
        "PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\n\(key)Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\n\(key)Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        "PUT \(carma.path("pushdevices")) HTTP/1.1\r\nHost: x\r\n\(key)Content-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      ]
      for request in requests {
        let reply = try await raw.send(request)
        #expect(reply.map { $0.status < 500 } ?? true, "\(reply?.status ?? 0): \(request.prefix(80))")
      }
      #expect(try await carma.put("after", token: "after").status == 200)
      #expect(try await carma.rows().count == 3)
    }
  }

  @Test func `Corrupted paths get a 4xx`() async throws {
    try await withCarmaServer { carma in
      let raw = try RawHTTP(carma.server.url)
      let good = Array(carma.path("pushdevices/lars%40somewhere.se").utf8)
      var random = SeededGenerator(seed: 7)
      for _ in 0..<500 {
        let path = random.tamper(good).filter { $0 > 0x20 && $0 != 0x7F }
        let bytes =
          Array("GET ".utf8) + path
          + Array(
            " HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(carma.acme.backend)\r\nConnection: close\r\n\r\n"
              .utf8)
        let reply = try await raw.send(bytes)
        #expect(reply.map { (400..<500).contains($0.status) } ?? true, "\(String(decoding: path, as: UTF8.self))")
      }
    }
  }
}
