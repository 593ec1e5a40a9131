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

  @Test func `Versions are listed by page, the newest first`() async throws {
    try await withManagementServer { managed in
      for version in 1...3 {
        _ = try await managed.send("PUT", "/api/v1/templates/preview", json: #"{"body":"\#(version)"}"#)
      }
      let path = "/api/v1/templates/preview/versions"
      let first = try await managed.send("GET", "\(path)?limit=2").json
      #expect(first.array("items")?.map { $0.integer("version") } == [3, 2] && first.string("next") == "2")
      #expect(first.array("items")?.allSatisfy { $0["body"] == nil } == true)
      let second = try await managed.send("GET", "\(path)?limit=2&after=2").json
      #expect(second.array("items")?.map { $0.integer("version") } == [1] && second["next"] == nil)
      #expect(try await managed.send("GET", "\(path)?after=1").json.array("items") == [])
      let refused = try await managed.send("GET", "\(path)?after=x")
      #expect(refused.status == 400 && refused.error == "after must be a version, such as 3.")
      #expect(try await managed.send("GET", "/api/v1/templates/other/versions").status == 404)
    }
  }

  @Test func `A text is shown as the page of a contact, with its device and its properties`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let registered = try await managed.send(
        "PUT", "/rest/\(managed.customer)/apps/com.acme.app/pushdevices",
        headers: [("X-Carma-Authentication-Token", managed.key)],
        json: """
          {"originalId":"lars","firstName":"<Lars>","properties":{"food":"fish","drink":"tea"},
          "deviceInfo":[{"devicetoken":"aa","model":"iPhone"}]}
          """)
      #expect(registered.status == 200, "\(registered.text)")
      func preview(_ json: String) async throws -> TestReply {
        try await managed.send("POST", "/api/v1/pages/preview", json: json)
      }
      let names = ["firstName", "food", "drink", "device.model", "app.appId", "sendout.alert", "sendout.fields.code"]
      let body = names.map { "{{\($0)}}" }.joined(separator: " ")
      let shown = try await preview(
        #"{"body":"\#(body)","originalId":"lars","properties":{"food":"meat"},"#
          + #""message":{"alert":"Hi {{firstName}}","fields":{"code":"A1"}}}"#
      ).json
      #expect(shown.string("page") == "&lt;Lars&gt; meat tea iPhone com.acme.app Hi &lt;Lars&gt; A1")
      #expect(shown.array("problems") == [] && shown.array("warnings") == [])
      let nobody = try await preview(#"{"body":"<script>{{firstName}}","contentType":"text/html"}"#).json
      #expect(nobody.string("page") == "<script>" && nobody.array("warnings")?.count == 1)
      let broken = try await preview(#"{"body":"a\n b{{#c}}","originalId":"lars"}"#).json
      #expect(broken["page"] == nil)
      let problem = try #require(broken.array("problems")?.first)
      #expect(problem.integer("line") == 2 && problem.integer("column") == 3)
      #expect(try await preview(#"{"body":"x","originalId":"mia"}"#).status == 404)
      #expect(try await preview(#"{"body":""}"#).status == 400)
      #expect(try await preview(#"{"body":"x","message":{"alert":"{{#a"}}"#).status == 400)
      #expect(try await managed.send("GET", "/api/v1/templates").json.array("items") == [])
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
