import Operations
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct UserTests {
  private let mia = #"{"email":"Mia@Example.com","name":"Mia Jansen","role":"analyst"}"#

  @Test func `A user is added, listed, shown, changed, reset and removed`() async throws {
    try await withManagementServer { managed in
      let added = try await managed.send("POST", "/api/v1/users", json: mia)
      #expect(added.status == 201)
      let user = try added.json
      #expect(user.integer("userId") == 1 && user.string("email") == "Mia@Example.com" && user["disabled"] == false)
      #expect(user.string("role") == "analyst" && user["seesPersonal"] == false && user["hasPassword"] == false)
      let link = try #require(user.string("link"))
      #expect(link.wholeMatch(of: #/\/console\/welcome\/[A-Za-z0-9_-]{43}/#) != nil)

      let shown = try await managed.send("GET", "/api/v1/users/1").json
      #expect(shown["link"] == nil && shown.string("linkExpiresAt") != nil)
      #expect(try await managed.send("GET", "/api/v1/users").json.array("items") == [shown])
      #expect(try await managed.send("GET", "/api/v1/users?after=1").json.array("items") == [])
      #expect(try await managed.send("PATCH", "/api/v1/users/1", json: "{}").json == shown)

      let changed = try await managed.send(
        "PATCH", "/api/v1/users/1", json: #"{"name":"Mia J.","role":"marketer","disabled":true}"#
      ).json
      #expect(changed.string("name") == "Mia J." && changed["seesPersonal"] == true && changed["disabled"] == true)

      let reset = try await managed.send("POST", "/api/v1/users/1/reset")
      let second = try #require(try reset.json.string("link"))
      #expect(reset.status == 200 && second != link)
      #expect(try await managed.send("DELETE", "/api/v1/users/1").json.string("name") == "Mia J.")
      #expect(try await managed.send("GET", "/api/v1/users/1").status == 404)
      #expect(try await managed.send("GET", "/api/v1/users").json.array("items") == [])

      let log = try await managed.send("GET", "/api/v1/audit")
      #expect(
        try log.json.array("items")?.map { $0.string("action") } == [
          "user.remove", "user.reset", "user.change", "user.add",
        ])
      for link in [link, second] { #expect(!log.text.contains(link)) }
    }
  }

  @Test(arguments: [
    (#"{"role":"owner"}"#, 400, "email is missing"), (#"{"email":"a@b.de"}"#, 400, "role is missing"),
    (#"{"email":"a@b.de","role":"boss"}"#, 400, "role must be one of owner, marketer, analyst, operator"),
    (#"{"email":"nobody","role":"owner"}"#, 400, "email is no e-mail address"),
    (#"{"email":"a@b.de","role":"owner","name":" "}"#, 400, "name is empty"),
    (#"{"email":"a@b.de","role":"owner","disabled":true}"#, 400, "disabled is not a known field"),
    (#"{"email":"a@b.de","role":"owner","password":"x"}"#, 400, "password is not a known field"),
    (#"{"email":"MIA@example.com","role":"owner"}"#, 409, "There is a user of this email already"),
  ])
  func `A user that cannot be is refused`(json: String, status: Int, error: String) async throws {
    try await withManagementServer { managed in
      _ = try await managed.send("POST", "/api/v1/users", json: mia)
      let before = try await managed.rows()
      let reply = try await managed.send("POST", "/api/v1/users", json: json)
      #expect(reply.status == status && reply.error?.hasPrefix(error) == true, "\(reply.text)")
      #expect(try await managed.rows() == before)
    }
  }

  @Test func `An e-mail address cannot be changed`() async throws {
    try await withManagementServer { managed in
      _ = try await managed.send("POST", "/api/v1/users", json: mia)
      let reply = try await managed.send("PATCH", "/api/v1/users/1", json: #"{"email":"eve@example.com"}"#)
      #expect(reply.status == 400 && reply.error?.hasPrefix("email is not a known field") == true)
    }
  }

  @Test func `A key neither sees nor takes over a user of another customer`() async throws {
    try await withManagementServer { managed in
      _ = try await managed.send("POST", "/api/v1/users", json: mia)
      let before = try await managed.rows()
      let taken = try await managed.send("POST", "/api/v1/users", key: managed.otherKey, json: mia)
      #expect(taken.status == 409 && !taken.text.contains("Mia"))
      for (method, path, json) in [
        ("GET", "/api/v1/users/1", nil), ("PATCH", "/api/v1/users/1", #"{"role":"owner"}"#),
        ("POST", "/api/v1/users/1/reset", nil), ("DELETE", "/api/v1/users/1", nil),
      ] as [(String, String, String?)] {
        #expect(
          try await managed.send(method, path, key: managed.otherKey, json: json).status == 404, "\(method) \(path)")
      }
      #expect(try await managed.send("GET", "/api/v1/users", key: managed.otherKey).json.array("items") == [])
      #expect(try await managed.rows() == before)
    }
  }

  @Test func `Users are for keys of scope admin alone`() async throws {
    try await withManagementServer { managed in
      let key = try await AccessKeys(managed.database.pool).make(managed.customer, name: "low", scope: .backend).token
      #expect(try await managed.send("GET", "/api/v1/users", key: key).status == 403)
      #expect(try await managed.send("POST", "/api/v1/users", key: key, json: mia).status == 403)
    }
  }

  @Test func `A customer has a time zone, approval and a threshold, and refuses what is none`() async throws {
    try await withManagementServer { managed in
      let initial = try await managed.send("GET", "/api/v1/customer").json
      #expect(initial.string("timeZone") == "UTC" && initial["approval"] == false)
      #expect(initial.integer("sendThreshold") == 1000)
      let changed = try await managed.send(
        "PATCH", "/api/v1/customer", json: #"{"timeZone":"Europe/Berlin","approval":true,"sendThreshold":0}"#
      ).json
      #expect(changed.string("timeZone") == "Europe/Berlin" && changed["approval"] == true)
      #expect(changed.integer("sendThreshold") == 0)
      for json in [
        #"{"timeZone":"Mars/Olympus"}"#, #"{"timeZone":""}"#, #"{"timeZone":"GMT+5"}"#,
        #"{"timeZone":"europe/berlin"}"#,
        #"{"sendThreshold":-1}"#, #"{"approval":"yes"}"#,
      ] {
        #expect(try await managed.send("PATCH", "/api/v1/customer", json: json).status == 400, "\(json)")
      }
      #expect(try await managed.send("GET", "/api/v1/customer").json == changed)
    }
  }
}
