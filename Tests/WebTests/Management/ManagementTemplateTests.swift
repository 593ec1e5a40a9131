import Support
import Testing
import Wire

@Suite struct ManagementTemplateTests {
  @Test func `Saving adds versions, and each can be read`() async throws {
    try await withManagementServer { managed in
      for version in 1...2 {
        let saved = try await managed.send(
          "PUT", "/api/v1/templates/offer", json: #"{"contentType":"text/html","body":"<p>\#(version)</p>"}"#)
        #expect(saved.status == 200)
        #expect(try saved.json.integer("version") == Int64(version))
      }
      let current = try await managed.send("GET", "/api/v1/templates/offer").json
      #expect(current.string("body") == "<p>2</p>")
      #expect(current.string("contentType") == "text/html; charset=utf-8")
      let first = try await managed.send("GET", "/api/v1/templates/offer?version=1").json
      #expect(first.string("body") == "<p>1</p>")

      let list = try await managed.send("GET", "/api/v1/templates").json
      #expect(list.array("items")?.map { $0.integer("version") } == [2])
      #expect(list.array("items")?.allSatisfy { $0["body"] == nil } == true)
    }
  }

  @Test func `Whoever saves a script is told that it never runs`() async throws {
    try await withManagementServer { managed in
      func save(_ body: String, _ type: String = "text/html") async throws -> JSONValue {
        try await managed.send(
          "PUT", "/api/v1/templates/offer", json: #"{"contentType":"\#(type)","body":"\#(body)"}"#
        ).json
      }
      let warned = try await save("<script>x</script>").array("warnings")
      #expect(warned?.count == 1 && warned?.first?.text?.hasPrefix("Scripts and handlers") == true)
      #expect(try await save("<p>x</p>")["warnings"] == nil)
      #expect(try await save("<script>x</script>", "text/plain")["warnings"] == nil)
      #expect(try await managed.send("GET", "/api/v1/templates/offer?version=1").json["warnings"] == nil)
    }
  }

  @Test func `A template that does not parse is refused with line and reason`() async throws {
    try await withManagementServer { managed in
      let reply = try await managed.send(
        "PUT", "/api/v1/templates/offer", json: #"{"body":"<p>\n{{#a}}</p>"}"#)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("body does not parse: line ") == true, "\(reply.text)")
      #expect(try await managed.send("GET", "/api/v1/templates/offer").status == 404)
    }
  }

  @Test func `An unknown template or version is a 404`() async throws {
    try await withManagementServer { managed in
      _ = try await managed.send("PUT", "/api/v1/templates/offer", json: #"{"body":"x"}"#)
      for path in ["/api/v1/templates/other", "/api/v1/templates/offer?version=2"] {
        #expect(try await managed.send("GET", path).status == 404)
      }
      #expect(try await managed.send("GET", "/api/v1/templates/offer?version=0").status == 400)
    }
  }

  @Test func `A text of 256 KiB fits however it is escaped, and a longer one is refused`() async throws {
    try await withManagementServer { managed in
      let escaped = String(repeating: #"\u00e9"#, count: 128 * 1024)
      let fits = try await managed.send("PUT", "/api/v1/templates/large", json: #"{"body":"\#(escaped)"}"#)
      #expect(fits.status == 200)
      let longer = try await managed.send("PUT", "/api/v1/templates/large", json: #"{"body":"\#(escaped)x"}"#)
      #expect(longer.status == 400)
      #expect(longer.error == "body is longer than 256 KiB.")
    }
  }

  /// A control character takes six bytes in JSON, the most that any byte of a text can.
  @Test func `The limit of the request leaves room for every text that a template may have`() async throws {
    try await withManagementServer { managed in
      let worst = String(repeating: #"\u0001"#, count: 256 * 1024)
      let body = #"{"contentType":"application/json; charset=utf-8","body":"\#(worst)"}"#
      let padding = String(repeating: " ", count: 6 * 256 * 1024 + 4096 - body.utf8.count)
      #expect(try await managed.send("PUT", "/api/v1/templates/worst", json: body + padding).status == 200)
      let larger = try await managed.send("PUT", "/api/v1/templates/worst", json: body + padding + " ")
      #expect(larger.status == 413)
      #expect(larger.error == "The body is larger than 1576960 bytes.")
      let longer = body.replacing(#"\u0001""#, with: #"\u0001\u0001""#)
      #expect(
        try await managed.send("PUT", "/api/v1/templates/worst", json: longer).error
          == "body is longer than 262144 characters.")
    }
  }
}
