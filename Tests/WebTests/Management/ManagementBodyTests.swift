import Support
import Testing
import Wire

@Suite struct ManagementBodyTests {
  @Test func `An unknown field is named and refused`() async throws {
    try await withManagementServer { managed in
      let bodies = [
        ("/api/v1/keys", #"{"name":"x","scope":"backend","scoop":1}"#, "scoop"),
        ("/api/v1/apps", #"{"name":"x","appId":"a.b","appType":1,"teamID":"x"}"#, "teamID"),
        ("/api/v1/lists", #"{"name":"x","Name":"y"}"#, "Name"),
        (
          "/api/v1/sendouts",
          #"{"appId":"a.b","audience":{"all":true,"list":1},"message":{"alert":"x"}}"#, "audience.list"
        ),
        (
          "/api/v1/sendouts", #"{"appId":"a.b","audience":{"all":true},"message":{"alert":"x","titel":"y"}}"#,
          "message.titel"
        ),
      ]
      for (path, body, field) in bodies {
        let reply = try await managed.send("POST", path, json: body)
        #expect(reply.status == 400)
        #expect(reply.error?.hasPrefix("\(field) is not a known field; known are ") == true, "\(reply.text)")
      }
    }
  }

  @Test func `A missing or invalid field is named with what it must be`() async throws {
    try await withManagementServer { managed in
      let bodies = [
        ("/api/v1/keys", #"{"name":"x"}"#, "scope is missing."),
        ("/api/v1/keys", #"{"name":7,"scope":"backend"}"#, "name must be a string."),
        ("/api/v1/keys", #"{"name":null,"scope":"backend"}"#, "name must be a string."),
        (
          "/api/v1/keys", #"{"name":"x","scope":"all"}"#,
          "scope must be one of device, send, backend, admin, gateway, datasync."
        ),
        ("/api/v1/keys", #"{"name":"  ","scope":"device"}"#, "name is empty."),
        ("/api/v1/keys", #"{"name":false,"scope":"device"}"#, "name must be a string."),
        ("/api/v1/keys", #"{"name":"x","scope":"device","scope":"admin"}"#, "scope is given twice."),
        ("/api/v1/lists", #"{"name":"#, "The body is not well-formed JSON at byte 8."),
        ("/api/v1/lists", #"[]"#, "The body must be an object."),
      ]
      for (path, body, sentence) in bodies {
        let reply = try await managed.send("POST", path, json: body)
        #expect(reply.status == 400)
        #expect(reply.error == sentence)
      }
    }
  }

  @Test func `No body, however hostile, is answered by a 5xx`() async throws {
    let hostile = [
      "", "null", "[]", "{", "\u{0}", "\"", "{\"name\":\"\\u0000\"}", "{\"name\":\"\\ud800\"}",
      String(repeating: "[", count: 30_000), String(repeating: "{\"a\":", count: 10_000),
      #"{"name":1e999999}"#, #"{"name":-0}"#, #"{"appType":99999999999999999999999}"#,
      #"{"name":"x","scope":"device","scope":"admin"}"#,
      #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x","fields":{"a":"\u0000"}}}"#,
      #"{"appId":"com.acme.app","audience":{"originalIds":["\u0000"]},"message":{"alert":"x"}}"#,
      #"{"appId":"com.acme.app","audience":{"listId":9223372036854775807},"message":{"alert":"x"}}"#,
      #"{"appId":"com.acme.app","audience":{"listId":-1},"message":{"alert":"x"}}"#,
      #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"{{#x}}"}}"#,
      #"{"appId":"com.acme.app","audience":{"all":true},"message":{"badge":-5,"alert":"x"}}"#,
      #"{"appId":"com.acme.app","appType":4,"audience":{"all":true},"message":{"alert":"x"}}"#,
      #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x","fields":{"a":"#
        + String(repeating: "[", count: 500) + String(repeating: "]", count: 500) + "}}}",
      #"{"contentType":"text/html","body":"\u0000"}"#, #"{"contentType":"\u0000","body":"x"}"#,
    ]
    try await withManagementServer { managed in
      try await managed.addApp()
      let routes = [
        ("POST", "/api/v1/keys"), ("POST", "/api/v1/apps"), ("PATCH", "/api/v1/apps/1"), ("POST", "/api/v1/lists"),
        ("PUT", "/api/v1/templates/offer"), ("POST", "/api/v1/sendouts"),
      ]
      for (method, path) in routes {
        for body in hostile {
          let reply = try await managed.send(method, path, json: body)
          #expect((200..<500).contains(reply.status), "\(method) \(path) \(body.prefix(60)): \(reply.text)")
        }
      }
    }
  }

  @Test func `A body must be JSON, be labelled JSON, and not be too large`() async throws {
    try await withManagementServer { managed in
      let plain = try await managed.send("POST", "/api/v1/lists", headers: [("Content-Type", "text/plain")])
      #expect(plain.status == 415)
      let large = #"{"name":"\#(String(repeating: "x", count: 70_000))"}"#
      #expect(try await managed.send("POST", "/api/v1/lists", json: large).status == 413)
    }
  }

  @Test func `An unknown, repeated or out-of-range query parameter is refused`() async throws {
    try await withManagementServer { managed in
      for query in ["stat=failed", "limit=0", "limit=1001", "limit=x", "after=0", "after=+1", "limit=1&limit=2"] {
        #expect(try await managed.send("GET", "/api/v1/sendouts?\(query)").status == 400, "\(query)")
      }
      let reply = try await managed.send("GET", "/api/v1/sendouts/1/pushes?state=gone")
      #expect(reply.error?.hasPrefix("state must be one of queued, ") == true)
    }
  }
}
