import Support
import Testing
import Wire

@Suite struct ManagementSegmentTests {
  @Test func `A filter is given as a line or as a tree, and shown as both`() async throws {
    try await withManagementServer { managed in
      let line = try await managed.send(
        "POST", "/api/v1/segments", json: #"{"name":"A","filter":"country in ('SE', 'NO')"}"#)
      #expect(line.status == 201)
      let tree = try await managed.send(
        "POST", "/api/v1/segments",
        json: #"{"name":"B","filter":{"field":"country","op":"in","value":["SE","NO"]}}"#)
      #expect(tree.status == 201)
      #expect(try line.json["filter"] == tree.json["filter"])
      #expect(try line.json["text"] == "country in ('SE', 'NO')")
      let wrong = try await managed.send("POST", "/api/v1/segments", json: #"{"name":"C","filter":"contry = 'SE'"}"#)
      #expect(wrong.status == 400)
      #expect(wrong.error == "filter at 1: no field is called contry; did you mean country?", "\(wrong.text)")
    }
  }

  @Test func `A count under way has the status 202 and a percentage`() async throws {
    try await withManagementServer { managed in
      let exact = #"{"filter":"everyone","exact":true}"#
      var reply = try await managed.send("POST", "/api/v1/segments/count", json: exact)
      while reply.status == 202 {
        let percent = try #require(try reply.json.integer("percent"))
        #expect((0...100).contains(percent))
        reply = try await managed.send("POST", "/api/v1/segments/count", json: exact)
      }
      #expect(reply.status == 200)
      let counted = try reply.json
      #expect(counted["exact"] == true && counted["percent"] == nil && counted["asOf"] != nil)
      let estimate = try await managed.send("POST", "/api/v1/segments/count", json: #"{"filter":"everyone"}"#)
      #expect(estimate.status == 200)
      #expect(try estimate.json["contacts"] == counted["contacts"])
    }
  }

  @Test func `A segment is changed, used and removed`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let segment = try await managed.send("POST", "/api/v1/segments", json: #"{"name":"A","static":true}"#)
      let id = try #require(try segment.json.integer("segmentId"))
      let changed = try await managed.send("PATCH", "/api/v1/segments/\(id)", json: #"{"name":"B","description":"x"}"#)
      #expect(changed.status == 200)
      let now = try changed.json
      #expect(now["name"] == "B" && now["description"] == "x" && now["static"] == true)
      let cleared = try await managed.send("PATCH", "/api/v1/segments/\(id)", json: #"{"description":""}"#)
      #expect(try cleared.json["description"] == nil)
      let user = try await managed.send(
        "POST", "/api/v1/segments", json: #"{"name":"user","filter":{"not":{"segment":"B"}}}"#)
      #expect(try user.json["text"] == .string("not in segment \(id)"))
      let number = try #require(try user.json.integer("segmentId"))
      let refused = try await managed.send("DELETE", "/api/v1/segments/\(id)")
      #expect(refused.status == 409)
      #expect(refused.error == "The segment is used by segment user. Change or remove that first.")
      #expect(try await managed.send("DELETE", "/api/v1/segments/\(number)").status == 200)
      #expect(try await managed.send("DELETE", "/api/v1/segments/\(id)").status == 200)
      #expect(try await managed.send("GET", "/api/v1/segments/\(id)").status == 404)
      #expect(try await managed.send("GET", "/api/v1/segments/\(id)/contacts").status == 404)
    }
  }

  @Test func `The audit log has no filter, as that can name people`() async throws {
    try await withManagementServer { managed in
      let added = try await managed.send(
        "POST", "/api/v1/segments", json: #"{"name":"A","filter":"originalId = 'secretive@example.com'"}"#)
      let id = try #require(try added.json.integer("segmentId"))
      _ = try await managed.send(
        "PATCH", "/api/v1/segments/\(id)", json: #"{"filter":"originalId != 'secretive@example.com'"}"#)
      let log = try await managed.send("GET", "/api/v1/audit")
      #expect(log.text.contains("segment.change") && log.text.contains(#""changed":["filter"]"#))
      #expect(!log.text.contains("secretive"))
    }
  }

  @Test func `An audience has one way to say who, beside whom it excludes`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      func count(_ audience: String) async throws -> TestReply {
        try await managed.send(
          "POST", "/api/v1/sendouts/audience", json: #"{"appId":"com.acme.app","audience":\#(audience)}"#)
      }
      #expect(try await count(#"{"all":true,"exclude":"country = 'SE'"}"#).status == 200)
      #expect(try await count(#"{"filter":"has device","exclude":{"bucket":[0,10]}}"#).status == 200)
      for audience in [
        #"{"exclude":"country = 'SE'"}"#, #"{"all":true,"filter":"everyone"}"#, #"{"segmentId":1,"originalIds":["a"]}"#,
        "{}",
        #"{"filter":"contry = 1"}"#, #"{"segmentId":999}"#,
      ] {
        #expect(try await count(audience).status == 400, "\(audience)")
      }
    }
  }

  @Test func `A filter that names what does not exist is refused with its place, wherever it is taken`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      #expect(
        try await managed.send("POST", "/api/v1/segments", json: #"{"name":"A","filter":"everyone"}"#).status == 201)
      let sendout = #""appId":"com.acme.app","message":{"alert":"x"}"#
      let draft = #"{"name":"A",\#(sendout),"audience":{"all":true}}"#
      #expect(try await managed.send("POST", "/api/v1/sendouts", json: draft).status == 201)
      for (filter, problem) in [
        (#""not in list 'nope'""#, "at 13: no list is called 'nope'."),
        (#"{"or":[{"everyone":true},{"segment":99}]}"#, "at or[1].segment: there is no segment 99."),
        (#""everyone and outcome of sendout 77 = 'any'""#, "at 33: there is no sendout 77."),
      ] {
        for (method, path, body, field) in [
          ("POST", "segments", #"{"name":"B","filter":\#(filter)}"#, "filter"),
          ("PATCH", "segments/1", #"{"filter":\#(filter)}"#, "filter"),
          ("POST", "segments/count", #"{"filter":\#(filter)}"#, "filter"),
          ("POST", "contacts/search", #"{"filter":\#(filter)}"#, "filter"),
          ("POST", "segments/explain", #"{"filter":\#(filter),"originalId":"a"}"#, "filter"),
          (
            "POST", "sendouts/audience", #"{"appId":"com.acme.app","audience":{"filter":\#(filter)}}"#,
            "audience.filter"
          ),
          ("POST", "sendouts", #"{\#(sendout),"audience":{"all":true,"exclude":\#(filter)}}"#, "audience.exclude"),
          ("PATCH", "sendouts/1", #"{"audience":{"filter":\#(filter)}}"#, "audience.filter"),
        ] {
          let refused = try await managed.send(method, "/api/v1/\(path)", json: body)
          #expect(refused.status == 400 && refused.error == "\(field) \(problem)", "\(method) \(path): \(refused.text)")
        }
        let line = filter.hasPrefix("{") ? filter : String(filter.dropFirst().dropLast())
        for path in ["contacts", "exports/contacts", "exports/pushes"] {
          let refused = try await managed.send("GET", "/api/v1/\(path)?filter=\(PercentEncoding.encode(line))")
          #expect(refused.status == 400 && refused.error == "filter \(problem)", "\(path): \(refused.text)")
        }
      }
    }
  }

  @Test func `A sendout's reply has the filters of its audience as trees and as lines`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let list = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).json.integer("listId") ?? 0
      func audience(_ json: String) async throws -> JSONValue? {
        let body = #"{"name":"A","appId":"com.acme.app","audience":\#(json),"message":{"alert":"x"}}"#
        let made = try await managed.send("POST", "/api/v1/sendouts", json: body)
        #expect(made.status == 201, "\(made.text)")
        let id = try #require(try made.json.integer("sendoutId"))
        let shown = try await managed.send("GET", "/api/v1/sendouts/\(id)").json["audience"]
        #expect(try made.json["audience"] == shown)
        return shown
      }
      #expect(
        try await audience(#"{"filter":"( in list 'news' )","exclude":{"everyone":true}}"#)
          == [
            "filter": ["list": .integer(list)], "text": .string("in list \(list)"), "exclude": ["everyone": true],
            "excludeText": "everyone",
          ])
      #expect(
        try await audience(#"{"all":true,"exclude":"has device"}"#)
          == ["all": true, "exclude": ["device": ["everyone": true]], "excludeText": "has device"])
      #expect(try await audience(#"{"all":true}"#) == ["all": true])
      // A request has one of the two.
      let both =
        #"{"name":"A","appId":"com.acme.app","audience":{"filter":"everyone","text":"everyone"},"message":{"alert":"x"}}"#
      #expect(try await managed.send("POST", "/api/v1/sendouts", json: both).status == 400)
    }
  }
}
