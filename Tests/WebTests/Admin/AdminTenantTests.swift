import Support
import Testing
import Wire

@Suite struct AdminTenantTests {
  /// What another customer has is to a key as if it were not there: the reply is the same as for a number that nobody has.
  @Test func `No id of another customer leads anywhere`() async throws {
    try await withManagedSite { managed in
      let app = try await managed.addApp()
      let list =
        try await managed.send("POST", "/api/v1/lists", json: #"{"name":"theirs"}"#).json.integer("listId") ?? 0
      let key =
        try await managed.send("POST", "/api/v1/keys", json: #"{"name":"k","scope":"device"}"#).json
        .integer("keyId") ?? 0
      _ = try await managed.send("PUT", "/api/v1/templates/offer", json: #"{"body":"x"}"#)
      let sendout =
        try await managed.send(
          "POST", "/api/v1/sendouts",
          json: #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#
        ).json.integer("sendoutId") ?? 0

      let nobody = 999_999
      let crossings: [(method: String, path: (Any) -> String, own: Any, foreign: Any, body: String?)] = [
        ("DELETE", { "/api/v1/keys/\($0)" }, key, nobody, nil),
        ("GET", { "/api/v1/apps/\($0)" }, app, nobody, nil),
        ("PATCH", { "/api/v1/apps/\($0)" }, app, nobody, #"{"name":"stolen"}"#),
        ("POST", { "/api/v1/apps/\($0)/check" }, app, nobody, nil),
        ("GET", { "/api/v1/templates/\($0)" }, "offer", "nothing", nil),
        ("GET", { "/api/v1/sendouts/\($0)" }, sendout, nobody, nil),
        ("GET", { "/api/v1/sendouts/\($0)/pushes" }, sendout, nobody, nil),
        ("POST", { "/api/v1/sendouts/\($0)/start" }, sendout, nobody, nil),
        ("POST", { "/api/v1/sendouts/\($0)/pause" }, sendout, nobody, nil),
        ("POST", { "/api/v1/sendouts/\($0)/resume" }, sendout, nobody, nil),
        ("POST", { "/api/v1/sendouts/\($0)/cancel" }, sendout, nobody, nil),
      ]
      for crossing in crossings {
        let foreign = try await managed.send(
          crossing.method, crossing.path(crossing.own), key: managed.otherKey, json: crossing.body)
        let absent = try await managed.send(
          crossing.method, crossing.path(crossing.foreign), key: managed.otherKey, json: crossing.body)
        #expect(foreign.status == 404, "\(crossing.method) \(crossing.path(crossing.own))")
        #expect(foreign.text == absent.text)
      }
      try await bodies(managed, list: list)
      try await untouched(managed, app: app, key: key, sendout: sendout)
    }
  }

  /// Ids in bodies: the other customer has an app of its own, and names the first one's list and template.
  private func bodies(_ managed: ManagedSite, list: Int64) async throws {
    let own = try await managed.send(
      "POST", "/api/v1/sendouts", key: managed.otherKey,
      json: #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#)
    #expect(own.status == 404)
    _ = try await managed.send(
      "POST", "/api/v1/apps", key: managed.otherKey, json: #"{"name":"O","appId":"com.other","appType":1}"#)
    for (audience, template) in [(#"{"listId":\#(list)}"#, "null"), (#"{"all":true}"#, #""offer""#)] {
      let reply = try await managed.send(
        "POST", "/api/v1/sendouts", key: managed.otherKey,
        json: #"{"appId":"com.other","audience":\#(audience),"template":\#(template),"message":{"alert":"x"}}"#)
      #expect(reply.status == 400)
    }
    for path in ["/api/v1/lists", "/api/v1/templates", "/api/v1/sendouts"] {
      #expect(try await managed.send("GET", path, key: managed.otherKey).json.array("items") == [])
    }
  }

  private func untouched(_ managed: ManagedSite, app: Int64, key: Int64, sendout: Int64) async throws {
    #expect(try await managed.send("GET", "/api/v1/apps/\(app)").json.string("name") == "Acme")
    #expect(try await managed.send("GET", "/api/v1/sendouts/\(sendout)").json.string("state") == "draft")
    let keys = try await managed.send("GET", "/api/v1/keys").json.array("items")
    #expect(keys?.first { $0.integer("keyId") == key }?["revokedAt"] == nil)
  }
}
