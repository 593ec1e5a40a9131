import Postgres
import Registry
import Support
import Testing
import Wire

/// Carma's own routes for lists, as back ends feed them.
@Suite struct CarmaListTests {
  private struct Fed: Sendable {
    let managed: ManagementServer
    let list: Int64

    func send(
      _ method: String, _ path: String, _ json: String? = nil, key: String? = nil,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestReply {
      let path = "/rest/\(managed.customer)/\(path)"
      let reply = try await managed.server.send(
        method, path, headers: [("X-Carma-Authentication-Token", key ?? managed.key)], json: json)
      #expect(managed.contract.problems(method, path, reply) == [], sourceLocation: sourceLocation)
      return reply
    }

    func update(_ originalID: String, _ json: String, force: Bool = true) async throws -> TestReply {
      try await send("PUT", "lists/\(list)/contacts/\(originalID)/update\(force ? "?force=true" : "")", json)
    }

    func register(_ originalID: String, _ token: String) async throws {
      let reply = try await send(
        "PUT", "apps/com.acme.app/pushdevices",
        #"{"originalId":"\#(originalID)","listId":\#(list),"deviceInfo":[{"devicetoken":"\#(token)"}]}"#)
      #expect(reply.status == 200, "\(reply.text)")
    }

    /// Who is on the list, page by page.
    func contacts(_ kind: String, pageSize: Int = 1000) async throws -> [String] {
      var (found, last): ([String], Int64) = ([], -1)
      while true {
        let page = try await send(
          "GET", "lists/\(list)/contacts/\(kind)?pageSize=\(pageSize)&lastId=\(last)&channel=MIXED")
        guard case .array(let items) = try page.json, let end = items.last?.integer("id") else { return found }
        #expect(items.count <= pageSize)
        found += items.compactMap { $0.string("originalId") }
        last = end
      }
    }
  }

  private func withList(_ body: @escaping @Sendable (Fed) async throws -> Void) async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let list = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"news"}"#).json.integer("listId")
      try await body(Fed(managed: managed, list: try #require(list)))
    }
  }

  @Test func `A contact that is missing is made by force alone, and joins the list`() async throws {
    try await withList { fed in
      let body = """
        {"id":0,"listId":\(fed.list),"originalId":"lars@example.com","firstName":"Lars","zipCode":"22100","dateOfBirth":"1980-02-29",
         "timeZone":"Europe/Stockholm","unsubscribed":false,"bounced":false,"optOutDate":0,"properties":{"food":"meat"},
         "namedProperties":{"visits":3}}
        """
      #expect(try await fed.update("lars%40example.com", body, force: false).status == 404)
      #expect(try await fed.send("GET", "lists/\(fed.list)/contacts/lars%40example.com").status == 404)
      let made = try await fed.update("lars%40example.com", body)
      #expect(made.status == 200, "\(made.text)")
      let contact = try made.json
      #expect(contact.string("originalId") == "lars@example.com" && contact.integer("listId") == fed.list)
      #expect(contact.string("zipcode") == "22100" && contact.string("dateOfBirth") == "1980-02-29")
      #expect(contact["properties"] == ["food": "meat", "visits": "3"])
      #expect(contact["unsubscribed"] == false && contact["bounced"] == false && contact["active"] == true)
      #expect(contact["lastName"] == .null && contact["optOutDate"] == .null)
      #expect(try await fed.send("GET", "lists/\(fed.list)/contacts/lars%40example.com").json == contact)
      // By now it is there, and needs no force.
      let changed = try await fed.update(
        "lars%40example.com", #"{"firstName":"","properties":{"food":null}}"#, force: false)
      #expect(try changed.json["firstName"] == .null && changed.json["properties"] == ["visits": "3"])
    }
  }

  @Test func `A contact that is known but not on the list joins it by force, and stays on its others`() async throws {
    try await withList { fed in
      let other = try await fed.managed.send("POST", "/api/v1/lists", json: #"{"name":"offers"}"#).json.integer(
        "listId")
      try await fed.register("a", "aa")
      let path = "lists/\(try #require(other))/contacts/a/update"
      #expect(try await fed.send("PUT", path, "{}").status == 404)
      #expect(try await fed.send("PUT", "\(path)?force=true", "{}").json.integer("listId") == other)
      let lists = try await fed.managed.send("GET", "/api/v1/contacts/a").json.array("listIds")?.map { $0.integer }
      #expect(lists == [fed.list, other])
      for (list, json) in [
        ("999999", "{}"), ("\(fed.list)", #"{"timeZone":"CET"}"#), ("\(fed.list)", #"{"originalId":"b"}"#),
      ] {
        let refused = try await fed.send("PUT", "lists/\(list)/contacts/a/update?force=true", json)
        #expect(refused.status == (list == "999999" ? 404 : 400), "\(refused.text)")
      }
    }
  }

  @Test func `unsubscribed true suppresses marketing, and false lifts nothing`() async throws {
    try await withList { fed in
      let gone = try await fed.update("a", #"{"unsubscribed":true}"#).json
      #expect(gone["unsubscribed"] == true && gone.integer("optOutDate") != nil)
      let again = try await fed.update("a", #"{"unsubscribed":false,"mobileUnsubscribed":false}"#).json
      #expect(again["unsubscribed"] == true && again["optOutDate"] == gone["optOutDate"])
      #expect(try await fed.update("a", #"{"unsubscribed":"true"}"#).status == 200)
      _ = try await fed.update("b", #"{"mobileUnsubscribed":1}"#)
      _ = try await fed.update("c", "{}")
      #expect(try await fed.contacts("unsubscribed") == ["a", "b"])
      let suppressions = try await fed.managed.send("GET", "/api/v1/suppressions?originalId=a").json.array("items")
      #expect(suppressions?.map { $0.string("scope") } == ["marketing"])
      let lines = try await fed.managed.send("GET", "/api/v1/audit").json.array("items")?
        .filter { $0.string("action") == "suppression.add" }
      #expect(lines?.count == 2)
      // Nobody who is suppressed by the customer can be made to get marketing by an update.
      #expect(try await fed.managed.send("GET", "/api/v1/suppressions").json.array("items")?.count == 2)
    }
  }

  @Test func `A list's contacts come in pages by lastId, whatever their kind`() async throws {
    try await withList { fed in
      for number in 1...5 { try await fed.register("c\(number)", "a\(number)") }
      _ = try await fed.managed.send(
        "PUT", "/api/v1/contacts/c2", json: #"{"emailAddress":"c2@example.com","properties":{"n":1}}"#)
      try await fed.managed.database.query(
        """
        UPDATE device SET invalidated_at = now(), invalidation_type = 2, invalidation_reason = 'Unregistered'
         WHERE contact_id IN (SELECT contact_id FROM contact WHERE original_id IN ('c3', 'c5'))
        """)
      // A second, valid device.
      try await fed.register("c5", "ff")
      #expect(try await fed.contacts("all", pageSize: 2) == ["c1", "c2", "c3", "c4", "c5"])
      #expect(try await fed.contacts("all") == ["c1", "c2", "c3", "c4", "c5"])
      #expect(try await fed.contacts("bounced", pageSize: 1) == ["c3"])
      #expect(try await fed.contacts("unsubscribed") == [])
      let found = try await fed.send(
        "GET", "lists/\(fed.list)/contacts/all?email=c2%40example.com&includeProperties=false")
      guard case .array(let items) = try found.json else {
        Issue.record("\(found.text)")
        return
      }
      #expect(items.map { $0.string("originalId") } == ["c2"] && items.first?["properties"] == [:])
      for query in ["pageSize=0", "pageSize=1001", "lastId=x", "includeProperties=maybe"] {
        #expect(try await fed.send("GET", "lists/\(fed.list)/contacts/all?\(query)").status == 400, "\(query)")
      }
      #expect(try await fed.send("GET", "lists/999999/contacts/all").status == 404)
    }
  }

  @Test func `Lists tell how many contacts they have, and how those can be reached`() async throws {
    try await withList { fed in
      try await fed.register("a", "aa")
      _ = try await fed.update("a", #"{"emailAddress":"a@example.com","unsubscribed":true}"#)
      _ = try await fed.update("b", #"{"mobileNumber":"+31612345678"}"#)
      guard case .array(let lists) = try await fed.send("GET", "lists").json else {
        Issue.record("no array")
        return
      }
      #expect(lists.map { $0.integer("id") } == [fed.list] && lists.first?.integer("contacts") == 2)
      #expect(lists.first?["permissions"] == ["read": true, "write": true, "execute": true])
      #expect(try await fed.send("GET", "lists?typeId=1").json == .array(lists))
      #expect(try await fed.send("GET", "lists?typeId=2").json == [])
      let list = try await fed.send("GET", "lists/\(fed.list)").json
      #expect(list.integer("contacts") == 2 && list.integer("unsubscribes") == 1 && list.integer("pushIds") == 1)
      let breakdown = try #require(list["breakdown"])
      #expect(breakdown["email"] == ["contacts": 1, "unsubscribed": 1, "bounced": 0])
      #expect(breakdown["mobile"] == ["contacts": 1, "unsubscribed": 0, "bounced": 0])
      #expect(breakdown["ios"] == ["contacts": 1, "unsubscribed": 1, "bounced": 0])
      #expect(breakdown["windowsPush"] == ["contacts": 0, "unsubscribed": 0, "bounced": 0])
      #expect(try await fed.send("GET", "lists/999999").status == 404)
    }
  }

  @Test func `Properties have the names and types of their values, and sendouts are campaigns`() async throws {
    try await withList { fed in
      _ = try await fed.update("a", #"{"properties":{"food":"meat","visits":3,"mixed":1}}"#)
      _ = try await fed.update("b", #"{"properties":{"mixed":"x","rate":1.5}}"#)
      guard case .array(let properties) = try await fed.send("GET", "properties").json else {
        Issue.record("no array")
        return
      }
      #expect(properties.map { $0.string("name") } == ["food", "mixed", "rate", "visits"])
      #expect(properties.map { $0.string("dataType") } == ["STRING", "STRING", "STRING", "BIGINT"])
      _ = try await fed.managed.send(
        "POST", "/api/v1/sendouts",
        json: #"{"name":"Spring","appId":"com.acme.app","audience":{"all":true},"message":{"alert":"Hi"}}"#)
      guard case .array(let campaigns) = try await fed.send("GET", "campaigns").json else {
        Issue.record("no array")
        return
      }
      #expect(campaigns.map { $0.string("name") } == ["Spring"])
      #expect(campaigns.first?.integer("campaignTypeId") == 20 && campaigns.first?["locked"] == false)
    }
  }

  @Test func `A key of a device opens none of it`() async throws {
    try await withList { fed in
      let keys = AccessKeys(fed.managed.database.pool)
      let device = try await keys.make(fed.managed.customer, name: "app", scope: .device).token
      let backend = try await keys.make(fed.managed.customer, name: "back end", scope: .backend).token
      for (method, path) in [
        ("GET", "lists"), ("GET", "lists/\(fed.list)"), ("GET", "lists/\(fed.list)/contacts/all"),
        ("GET", "properties"), ("GET", "campaigns"),
      ] {
        #expect(try await fed.send(method, path, key: device).status == 403, "\(path)")
        #expect(try await fed.send(method, path, key: backend).status == 200, "\(path)")
      }
      let path = "lists/\(fed.list)/contacts/a/update?force=true"
      #expect(try await fed.send("PUT", path, "{}", key: device).status == 403)
      #expect(try await fed.send("PUT", path, "{}", key: backend).status == 200)
    }
  }
}
