import Support
import Testing
import Wire

@Suite struct ManagementListTests {
  @Test func `A list takes the number that apps send, once`() async throws {
    try await withManagementServer { managed in
      let added = try await managed.send(
        "POST", "/api/v1/lists", json: #"{"name":"newsletter","listId":1000000005}"#)
      #expect(added.status == 201)
      #expect(try added.json.integer("listId") == 1_000_000_005)
      let again = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"other","listId":1000000005}"#)
      #expect(again.status == 409)
      #expect(again.error == "There is a list of this number already.")
      let theirs = try await managed.send(
        "POST", "/api/v1/lists", key: managed.otherKey, json: #"{"name":"newsletter","listId":1000000005}"#)
      #expect(theirs.status == 201)
      let next = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"other","listId":null}"#)
      #expect(next.status == 201)

      // The guide's own sample.
      try await managed.addApp()
      let put = try await managed.send(
        "PUT", "/rest/\(managed.customer)/apps/com.acme.app/pushdevices",
        headers: [("X-Carma-Authentication-Token", managed.key)],
        json: #"{"listId":1000000005,"originalId":"abcabc123123","deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(put.status == 200)
      #expect(try put.json.integer("listId") == 1_000_000_005)
    }
  }

  @Test func `An impossible list number is refused`() async throws {
    try await withManagementServer { managed in
      for number in ["0", "-1", "9223372036854775808", "1.5", #""5""#, "[]"] as [String] {
        let reply = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"x","listId":\#(number)}"#)
        #expect(reply.status == 400, "\(number)")
        #expect(try await managed.send("GET", "/api/v1/lists").json.array("items") == [], "\(number)")
      }
    }
  }
}
