import Operations
import Sendouts
import Support
import Testing
import Wire

@Suite struct ManagementTriggerTests {
  @Test func `A trigger is added, listed, shown and changed`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      _ = try await managed.send("PUT", "/api/v1/templates/order", json: #"{"body":"x"}"#)
      let added = try await managed.send(
        "POST", "/api/v1/triggers",
        json: """
          {"name":"Order shipped","description":"By the shop","appIds":["com.acme.app","com.acme.app"],
           "message":{"alert":"Hi {{firstName}}","info":"{{orderNo}}","fields":{"n":1}},"template":"order"}
          """)
      #expect(added.status == 201)
      let trigger = try added.json
      #expect(trigger.integer("triggerId") == 1 && trigger["active"] == true)
      #expect(trigger["appIds"] == ["com.acme.app"] && trigger.string("template") == "order")
      #expect(try await managed.send("GET", "/api/v1/triggers/1").json == trigger)
      #expect(try await managed.send("GET", "/api/v1/triggers").json.array("items") == [trigger])
      #expect(try await managed.send("GET", "/api/v1/triggers?after=1").json.array("items") == [])

      #expect(try await managed.send("PATCH", "/api/v1/triggers/1", json: "{}").json == trigger)
      let changed = try await managed.send(
        "PATCH", "/api/v1/triggers/1",
        json: #"{"name":"Shipped","description":"","template":"","message":{"alert":"x"},"active":false}"#
      ).json
      #expect(changed.string("name") == "Shipped" && changed["active"] == false)
      #expect(changed["description"] == nil && changed["template"] == nil && changed["message"] == ["alert": "x"])
      #expect(try await managed.send("GET", "/api/v1/triggers/1").json == changed)
    }
  }

  @Test func `What removes a numbered thing is described in its words`() {
    let removal = NumberedOperations<Triggers>(.triggers).remove("Its name is free again.")
    let description = removal.description
    #expect(description.name == "DELETE /api/v1/triggers/{id}" && description.id == "removeTrigger")
    #expect(description.summary == "Remove a trigger" && removal.audit == "trigger.remove")
    #expect(description.responses.map(\.description) == ["The trigger as it was."])
    #expect(description.errors.map(\.description) == ["The customer has no trigger of this number."])
  }

  @Test func `A trigger that cannot be is refused`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let more = #""appId":"com.acme.app","message":{"alert":"x"}"#
      let first = #"{"name":"First",\#(more)}"#
      #expect(try await managed.send("POST", "/api/v1/triggers", json: first).status == 201)
      for (json, status, error) in [
        (#"{"name":"Second"}"#, 400, "message is missing"), (#"{"name":" ",MORE}"#, 400, "name is empty"),
        (#"{"name":"a\u0001",MORE}"#, 400, "name holds a control character"),
        (#"{"name":"x","appId":"com.acme.app","message":{}}"#, 400, "message"),
        (#"{"name":"x","appId":"com.acme.app","message":{"alert":"{{#a}}"}}"#, 400, "message.alert does not parse"),
        (#"{"name":"x","appId":"com.none","message":{"alert":"x"}}"#, 404, "appId names no push app"),
        (#"{"name":"x","message":{"alert":"x"}}"#, 400, "appId is missing"),
        (#"{"name":"x","template":"none",MORE}"#, 400, "template names no template"),
        (#"{"name":"x","active":true,MORE}"#, 400, "active is not a known field"),
        (#"{"name":"First",MORE}"#, 409, "There is a trigger of this name already"),
      ] as [(String, Int, String)] {
        let reply = try await managed.send(
          "POST", "/api/v1/triggers", json: json.replacing("MORE", with: more))
        #expect(reply.status == status && reply.error?.hasPrefix(error) == true, "\(reply.text)")
        #expect(try await managed.send("GET", "/api/v1/triggers").json.array("items")?.count == 1, "\(json)")
      }
    }
  }

  @Test func `A change that cannot be is refused, and changes nothing`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      for name in ["First", "Second"] {
        _ = try await managed.send(
          "POST", "/api/v1/triggers", json: #"{"name":"\#(name)","appId":"com.acme.app","message":{"alert":"x"}}"#)
      }
      let before = try await managed.rows()
      for (path, json, status) in [
        ("/api/v1/triggers/2", #"{"name":"First"}"#, 409), ("/api/v1/triggers/2", #"{"appId":"com.none"}"#, 404),
        ("/api/v1/triggers/2", #"{"appIds":[]}"#, 400), ("/api/v1/triggers/2", #"{"template":"none"}"#, 400),
        ("/api/v1/triggers/2", #"{"active":"no"}"#, 400), ("/api/v1/triggers/3", #"{"active":false}"#, 404),
        ("/api/v1/triggers/x", #"{"active":false}"#, 400),
      ] {
        let reply = try await managed.send("PATCH", path, json: json)
        #expect(reply.status == status, "\(json): \(reply.text)")
      }
      #expect(try await managed.rows() == before)
    }
  }
}
